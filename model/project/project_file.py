"""`edgeplace.yaml`: the files and settings that the commands of one folder share."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from edgeplace.model.base import Frozen, Id
from edgeplace.model.document import load, read
from edgeplace.model.errors import InvalidInputError, Mistake, Where
from edgeplace.model.objective import ObjectiveLevel
from edgeplace.model.parsing.complaint import mistake_at
from edgeplace.model.project.address import address_fault
from edgeplace.model.text import did_you_mean, nearest

PROJECT_FILE = "edgeplace.yaml"
"""Name of the project file of a folder."""


def _a_level(text: str) -> str:
    try:
        ObjectiveLevel.parse(text)
    except InvalidInputError as e:
        raise PydanticCustomError(
            "level", "this is no level of an objective", {"cure": e.cure}
        ) from None
    return text


def _each_term_once(levels: tuple[str, ...]) -> tuple[str, ...]:
    terms = [text.partition(":")[0].strip() for text in levels]
    if len(set(terms)) < len(terms):
        raise PydanticCustomError(
            "levels", "the objective names a term twice", {"cure": "name each term once"}
        )
    return levels


_OF_JOBMANAGER = ("credentials", "ca_file", "plans")
Level = Annotated[Id, AfterValidator(_a_level)]


class Environment(Frozen):
    """What is different in one of several places where the jobs run.

    Paths are relative to the folder of the project file. `credentials`, `ca_file` and `plans`
    belong to a JobManager: an environment that has its own takes none of them from the project.
    """

    cluster: Id | None = None
    """Cluster file."""
    costs: tuple[Id, ...] | None = None
    """Costs files, one for each measured job."""
    rules: Id | None = None
    """Rules file."""
    jobmanager: Id | None = None
    """Flink's REST API, such as `http://localhost:8081`."""
    credentials: Id | None = None
    """File with `token`, or `user` and `password`."""
    ca_file: Id | None = None
    """Certificates to trust (PEM)."""
    plans: Id | None = None
    """The agent's folder of plans; empty: where the JobManager says it is."""

    def changes(self) -> dict[str, object]:
        """Return the fields of a project that this environment replaces, with their values."""
        own = {name: getattr(self, name) for name in type(self).model_fields}
        return {
            name: value
            for name, value in own.items()
            if value is not None or (self.jobmanager and name in _OF_JOBMANAGER)
        }


class Project(Frozen):
    """The files of a case, and the Flink where it runs.

    Paths are relative to the folder of the project file.
    """

    format: Literal["edgeplace/project"] = "edgeplace/project"
    version: Literal[1] = 1
    jobs: tuple[Id, ...] = ()
    """Job files; several jobs share the cluster."""
    cluster: Id | None = None
    """Cluster file."""
    costs: tuple[Id, ...] = ()
    """Costs files, one for each measured job."""
    rules: Id | None = None
    """Rules file."""
    current: tuple[Id, ...] = ()
    """Plans or schedulercfgs: where the subtasks run now."""
    taken: tuple[Id, ...] = ()
    """Plans of other jobs that run on the cluster."""
    objective: Annotated[tuple[Level, ...], AfterValidator(_each_term_once)] = ()
    """Terms in order of weight, such as `wan:5%`; empty: the default objective."""
    optimise: Literal["bytes", "money", "latency", "headroom"] | None = None
    """What matters most, in place of `objective`: as the option `--optimise`."""
    jobmanager: Id | None = None
    """Flink's REST API, such as `http://localhost:8081`."""
    credentials: Id | None = None
    """File with `token`, or `user` and `password`."""
    ca_file: Id | None = None
    """Certificates to trust (PEM)."""
    plans: Id | None = None
    """The agent's folder of plans; empty: where the JobManager says it is."""
    environments: dict[Id, Environment] = Field(default_factory=dict)
    """Other places where the jobs run, such as `prod`, and what is different there."""

    @model_validator(mode="after")
    def _one_objective(self) -> Self:
        if self.objective and self.optimise:
            raise PydanticCustomError(
                "objective",
                "there are both 'objective' and 'optimise'",
                {"cure": "leave one of them out: 'optimise' stands for a list of terms"},
            )
        return self

    def in_environment(self, name: str, origin: str | Path) -> Self:
        """Return the project as it is in an environment.

        Raises
        ------
        InvalidInputError
            If `origin`, the project file, has no environment of that name.
        """
        if name not in self.environments:
            known = (
                f"it has {', '.join(self.environments)}" if self.environments else "add it there"
            )
            raise InvalidInputError(
                f"{origin}: there is no environment {name!r}",
                did_you_mean(name, self.environments, known),
            )
        return self.model_copy(update=self.environments[name].changes())


PROJECT_FILES = (
    "jobs",
    "cluster",
    "costs",
    "rules",
    "current",
    "taken",
    "credentials",
    "ca_file",
    "plans",
)
"""Fields of a project that name files."""


def read_project(path: str | Path, environment: str | None = None) -> Project:
    """Read a project file; paths in it are then relative to the current folder.

    Parameters
    ----------
    environment
        The environment in which the project is meant; None: as its fields say.

    Raises
    ------
    InvalidInputError
        If the file is not a project file, or has no such environment. Whether the files that it
        names exist is not checked.
    """
    project = read(path, Project)
    if environment is not None:
        project = project.in_environment(environment, path)
    folder = Path(path).parent
    resolved: dict[str, object] = {}
    for field in PROJECT_FILES:
        named = getattr(project, field)
        if isinstance(named, tuple):
            resolved[field] = tuple(str(folder / name) for name in named)
        elif named is not None:
            resolved[field] = str(folder / named)
    return project.model_copy(update=resolved)


def missing_files(
    path: str | Path, fields: Sequence[str] = PROJECT_FILES, environment: str | None = None
) -> Iterator[Mistake]:
    """Yield a mistake for each file that a project file names and that does not exist.

    Parameters
    ----------
    path
        The project file.
    fields
        Fields to check, of `PROJECT_FILES`.
    environment
        The environment in which the project is meant; None: as its fields say.
    """
    project, data = read(path, Project), load(path)
    changes: dict[str, object] = {}
    if environment is not None:
        project = project.in_environment(environment, path)
        changes = project.environments[environment].changes()
    folder = Path(path).parent
    for field in fields:
        home: Where = ("environments", environment) if environment and field in changes else ()
        named = getattr(project, field)
        several = isinstance(named, tuple)
        for i, name in enumerate(named if several else filter(None, [named])):
            if not (folder / name).exists():
                where: Where = (*home, field, i) if several else (*home, field)
                yield mistake_at(
                    data, where, path, f"there is no file {name!r}", _near(folder, name)
                )


def doubled_files(path: str | Path, fields: Sequence[str] = PROJECT_FILES) -> Iterator[Mistake]:
    """Yield a mistake for each file that a list of a project file, or of an environment, names
    twice.

    Parameters
    ----------
    path
        The project file.
    fields
        Fields to check, of `PROJECT_FILES`.
    """
    project, data = read(path, Project), load(path)
    homes: list[tuple[Where, Project | Environment]] = [((), project)]
    homes += [(("environments", name), own) for name, own in project.environments.items()]
    for home, of in homes:
        for field in fields:
            named = getattr(of, field, None)
            seen: dict[Path, str] = {}
            for i, name in enumerate(named if isinstance(named, tuple) else ()):
                file = (Path(path).parent / name).resolve()
                if file in seen:
                    yield mistake_at(
                        data,
                        (*home, field, i),
                        path,
                        f"{name!r} is there twice" + _otherwise_written(seen[file], name),
                        "leave one of the two out",
                    )
                seen.setdefault(file, name)


def _otherwise_written(first: str, name: str) -> str:
    return "" if first == name else f": the first time as {first!r}"


def unusable_addresses(path: str | Path) -> Iterator[Mistake]:
    """Yield a mistake for each JobManager of a project file whose address has a wrong form."""
    project, data = read(path, Project), load(path)
    named: list[tuple[Where, str | None]] = [(("jobmanager",), project.jobmanager)]
    named += [
        (("environments", name, "jobmanager"), own.jobmanager)
        for name, own in project.environments.items()
    ]
    for where, url in named:
        fault = address_fault(url) if url else None
        if fault:
            # It may hold a password, so it is not shown.
            yield mistake_at(data, where, path, f"the address {fault.what}", fault.cure)


def _near(folder: Path, name: str) -> str:
    beside = (folder / name).parent
    names = [p.name for p in beside.iterdir()] if beside.is_dir() else []
    near = nearest(Path(name).name, names)
    if near:
        return f"did you mean {str(Path(name).parent / near)!r}?"
    return f"correct the path; it starts from {folder.resolve()}"
