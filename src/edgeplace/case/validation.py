"""Read all files of a case, and say everything that is wrong with them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from edgeplace.adapters.flink.plans import read_plan
from edgeplace.case.cluster_notes import cluster_notes
from edgeplace.case.cross_checks import (
    Misfit,
    born_in_cluster,
    costs_of_jobs,
    names_of_jobs,
    rules_of_case,
    survived_sites,
    unknown_classes,
)
from edgeplace.case.files import case_of, load_any_job
from edgeplace.cli.quantities import count
from edgeplace.model import (
    PROJECT_FILE,
    Cluster,
    Costs,
    InvalidInputError,
    JobGraph,
    Mistake,
    Plan,
    Project,
    Rules,
    doubled_files,
    is_installed,
    load,
    looks_like,
    missing_files,
    read,
    read_project,
    some,
    unusable_addresses,
)

_KINDS = {
    "edgeplace/cluster": "cluster",
    "edgeplace/costs": "costs",
    "edgeplace/job-graph": "jobs",
    "edgeplace/plan": "current",
    "edgeplace/project": "project",
    "edgeplace/rules": "rules",
}
"""Format of a document -> field of a project file that names it."""


@dataclass(frozen=True)
class ReadFile:
    """A file that is what it should be."""

    path: str
    kind: str
    summary: str


@dataclass
class Validation:
    """What was read and compared, and what is wrong."""

    files: list[ReadFile] = field(default_factory=list)
    misfits: list[Misfit] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)
    """What was checked of one file against another."""
    notes: list[str] = field(default_factory=list)


def validate(paths: Sequence[str], environment: str | None = None) -> Validation:
    """Return what is wrong with files, each alone and with one another.

    Parameters
    ----------
    paths
        Files of a case, or one project file, which names them.
    environment
        The environment in which the project file is meant; None: as its fields say.
    """
    found = Validation()
    given = _Given(found, environment)
    for path in paths:
        given.read(path)
    given.compare()
    return found


class _Given:
    def __init__(self, found: Validation, environment: str | None) -> None:
        self._found = found
        self._environment = environment
        self._read: set[Path] = set()
        self._jobs: dict[str, JobGraph] = {}
        self._clusters: dict[str, Cluster] = {}
        self._costs: dict[str, Costs] = {}
        self._rules: dict[str, Rules] = {}
        self._current: list[str] = []
        self._taken: list[str] = []

    def read(self, path: str) -> None:
        """Read a file of whatever kind."""
        with self._misfit_of(path):
            if Path(path).resolve() in self._read:
                raise InvalidInputError(f"{path}: the file is given twice", "give it once")
            self._read.add(Path(path).resolve())
            data: Any = None
            with suppress(InvalidInputError):
                data = load(path)
            found = looks_like(data)
            if found and found not in _KINDS:
                raise InvalidInputError(
                    f"{path}: validate does not check documents of {found!r}", "leave it out"
                )
            kind = _KINDS.get(found or "") or _nearest_kind(data) or "jobs"
            if kind == "project" or Path(path).name == PROJECT_FILE:
                self._read_project(path)
            else:
                self._read_as(kind, path)

    def _read_project(self, path: str) -> None:
        project = read_project(path, self._environment)
        asked = [self._environment] if self._environment else [None, *project.environments]
        # What an environment takes from the project is missing once.
        missing = dict.fromkeys(m for name in asked for m in missing_files(path, environment=name))
        wrong = [*missing, *doubled_files(path), *unusable_addresses(path)]
        self._found.misfits += [Misfit(path, mistake) for mistake in wrong]
        absent = [f for f in ("jobs", "cluster") if not getattr(project, f)]
        if absent:
            self._found.notes.append(f"{path} has no {some(absent)}; solve needs jobs and cluster")
        self._seen(path, "project", _project_summary(project))
        # The cluster says which costs a job of CAPS has.
        for kind in ("cluster", "jobs", "costs", "rules", "current", "taken"):
            named = getattr(project, kind)
            listed = named if isinstance(named, tuple) else filter(None, [named])
            for file in dict.fromkeys(listed):
                with self._misfit_of(file):
                    if Path(file).exists():
                        self._read_as(kind, file)

    def _read_as(self, kind: str, path: str) -> None:
        match kind:
            case "cluster":
                cluster = self._clusters[path] = read(path, Cluster)
                self._seen(path, "cluster", _cluster_summary(cluster))
            case "costs":
                costs = self._costs[path] = read(path, Costs)
                self._seen(path, "costs", f"{costs.job!r}: {count(len(costs.operators))} operators")
            case "rules":
                rules = self._rules[path] = read(path, Rules)
                self._seen(path, "rules", _rules_summary(rules))
            case "current" | "taken":
                plan = read_plan(path)
                (self._taken if kind == "taken" else self._current).append(path)
                jobs = some([repr(job) for job in plan.jobs]) if isinstance(plan, Plan) else ""
                self._seen(path, "plan" if jobs else "schedulercfg", jobs)
            case _:
                job, _ = load_any_job(path, next(iter(self._clusters.values()), None))
                self._jobs[path] = job
                self._seen(path, "job", _job_summary(job))

    def compare(self) -> None:
        """Check each file against the others, if each alone is what it should be."""
        if self._found.misfits:
            return
        jobs, cluster = self._jobs, next(iter(self._clusters.values()), None)
        self._alone("cluster", self._clusters)
        self._alone("rules", self._rules)
        self._found.misfits += names_of_jobs(jobs)
        checks: list[tuple[bool, str, Callable[[], Iterator[Misfit]]]] = [
            (bool(jobs and self._costs), "costs against jobs", self._compare_costs),
            (bool(jobs and cluster), "jobs against the cluster", self._compare_births),
            (bool(jobs and self._rules), "rules against jobs", self._compare_rules),
        ]
        for possible, title, check in checks:
            if possible:
                places = " and the cluster" if cluster and title.startswith("rules") else ""
                self._found.compared.append(title + places)
                self._found.misfits += check()
        if jobs and cluster and not self._found.misfits:
            self._compare_all()

    def _compare_costs(self) -> Iterator[Misfit]:
        return costs_of_jobs(self._costs, self._jobs)

    def _compare_births(self) -> Iterator[Misfit]:
        for cluster in self._clusters.values():
            yield from born_in_cluster(self._jobs, cluster)

    def _compare_rules(self) -> Iterator[Misfit]:
        cluster = next(iter(self._clusters.values()), None)
        for file, rules in self._rules.items():
            yield from rules_of_case(file, rules, self._jobs.values(), cluster)
            if cluster is not None:
                yield from survived_sites(file, rules, cluster)

    def _compare_all(self) -> None:
        """Put all together as `solve` does, without the search."""
        cluster_file = next(iter(self._clusters))
        try:
            case = case_of(
                list(self._jobs),
                cluster_file,
                list(self._costs),
                next(iter(self._rules), None),
                self._current,
                self._taken,
            )
            self._found.notes += [*case.notes, *cluster_notes(case.cluster)]
            self._found.notes += unknown_classes(self._jobs, self._costs, case.cluster)
            unmeasured = [job.name for job in case.jobs if not any(o.cost for o in job.operators)]
            if unmeasured:
                self._found.notes.append(
                    f"job {some(list(map(repr, unmeasured)))} has no costs yet, which solve needs: "
                    "edgeplace costs measures them"
                )
                return
            if not is_installed("solve"):
                self._found.notes.append(
                    "not checked: what solve assumes of them; pip install 'edgeplace[solve]'"
                )
                return
            from edgeplace.solver import assumptions

            self._found.compared.append("all together, as solve reads them")
            self._found.notes += assumptions(case.jobs, case.cluster, case.rules, case.current)
        except InvalidInputError as e:
            self._misfit("", e.what, e.cure)

    def _alone(self, kind: str, files: dict[str, Any]) -> None:
        names = list(files)
        for file in names[1:]:
            self._misfit(file, f"{names[0]} is a {kind} file too", f"give one {kind} file")

    def _seen(self, path: str, kind: str, summary: str) -> None:
        self._found.files.append(ReadFile(path, kind, summary))

    def _misfit(self, file: str, what: str, cure: str) -> None:
        self._found.misfits.append(Misfit(file, Mistake(what, cure)))

    @contextmanager
    def _misfit_of(self, path: str) -> Iterator[None]:
        try:
            yield
        except InvalidInputError as e:
            said = e.mistakes or (Mistake(e.what.removeprefix(f"{path}: "), e.cure),)
            self._found.misfits += [Misfit(path, mistake) for mistake in said]


def _nearest_kind(data: Any) -> str | None:
    """Return the kind of document that has most keys of data, or nearly; None: none has any."""
    kinds: dict[str, Any] = {
        "project": Project,
        "jobs": JobGraph,
        "cluster": Cluster,
        "costs": Costs,
        "rules": Rules,
        "current": Plan,
    }
    if not isinstance(data, dict):
        return None
    named = data.get("jobs")
    if isinstance(named, list) and any(isinstance(entry, dict) for entry in named):
        del kinds["project"]  # Its jobs are names of files; those of rules have fields.
    shared = {
        name: sum(
            (key in kind.model_fields)
            + bool(get_close_matches(str(key), list(kind.model_fields), 1, 0.8))
            for key in data
        )
        for name, kind in kinds.items()
    }
    best = max(shared, key=lambda name: shared[name])
    return best if shared[best] else None


def _rules_summary(rules: Rules) -> str:
    parts = [_number(len(rules.rules), "rule")]
    if rules.jobs:
        parts.append(f"requirements of {_number(len(rules.jobs), 'job')}")
    return ", ".join(parts)


def _number(n: int, noun: str) -> str:
    return f"{count(n)} {noun}" + ("" if n == 1 else "s")


def _cluster_summary(cluster: Cluster) -> str:
    return ", ".join(
        [
            _number(len(cluster.sites), "site"),
            _number(len(cluster.nodes), "node"),
            _number(sum(t.slots for t in cluster.task_managers), "slot"),
            _number(len(cluster.links), "link"),
        ]
    )


def _job_summary(job: JobGraph) -> str:
    subtasks = sum(op.parallelism for op in job.operators)
    operators = _number(len(job.operators), "operator")
    return f"{job.name!r}: {operators}, {_number(subtasks, 'subtask')}"


def _project_summary(project: Project) -> str:
    parts = [_number(len(project.jobs), "job")] if project.jobs else []
    parts += [
        name for name in ("cluster", "costs", "rules", "jobmanager") if getattr(project, name)
    ]
    return ", ".join(parts)
