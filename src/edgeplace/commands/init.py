"""`edgeplace init`."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from edgeplace.case.foreign_data import own_data_rules
from edgeplace.case.starter import (
    CLUSTER_FILE,
    JOB_FILE,
    RULES_FILE,
    Documents,
    documents_in,
    example_cluster,
    example_job,
    project_text,
    rules_text,
    text_as,
)
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.model import (
    PROJECT_FILE,
    Cluster,
    InvalidInputError,
    JobGraph,
    did_you_mean,
    nearest,
    some,
    write_text,
)

_JOB_ENDINGS = (".yaml", ".yml")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = (
        f"Write {PROJECT_FILE} for the current folder: the jobs, cluster, costs and rules that "
        "are there already, and examples to edit for jobs or a cluster that are missing. On a "
        "terminal, ask what the options do not say. Overwrite no file."
    )
    parser.epilog = (
        "examples:\n"
        "  edgeplace init\n"
        "  edgeplace init parcels forklifts                 two jobs, with examples of what lacks\n"
        "  edgeplace init jobs/a.yaml jobs/b.yaml sites.csv\n"
        "  edgeplace init --defaults --paid no --jobmanager http://localhost:8081\n"
        "  edgeplace init --stay-on-site decode,detect\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="jobs, cluster, costs and rules of the project, in any order, in place of those of "
        "their kind in this folder. The name of a job, without a file, stands for its file "
        "NAME.yaml: an example, if it is not there",
    )
    parser.add_argument(
        "--paid",
        choices=("yes", "no"),
        help="whether bytes between sites are paid for. no: latency goes before them in the "
        "objective (default: yes)",
    )
    parser.add_argument(
        "--stay-on-site",
        type=_names,
        metavar="OPERATORS",
        help="their input must not leave the site where it is produced (names, with commas)",
    )
    parser.add_argument(
        "--foreign-data",
        choices=("yes", "no"),
        help="whether an edge site may serve data that is born at another one (default: no, if the "
        "jobs say where data is born and another site has room; the rule own_data says which)",
    )
    parser.add_argument(
        "--never-move",
        type=_names,
        metavar="OPERATORS",
        help="they stay where they run now; the costs have to say where that is",
    )
    parser.add_argument("--jobmanager", metavar="URL", help="Flink's REST API")
    parser.add_argument(
        "--defaults", action="store_true", help="ask nothing, on a terminal neither"
    )


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Look what is there, ask, and write what is missing."""
    if Path(PROJECT_FILE).exists():
        raise InvalidInputError(
            f"{PROJECT_FILE} is there already, and init overwrites nothing",
            "edit it; `edgeplace validate` checks it",
        )
    given, new = _given(args.files)
    found = documents_in(Path(), given)
    if new and not any(name in found.jobs for name in given):
        # Those of the folder are not meant.
        found.jobs, found.costs = {}, {}
    answers = _Answers(args, console, found)
    if not found.jobs and not new:
        new = answers.jobs()
    cluster, rules = found.cluster(), found.rules_file()
    paid = answers.paid()
    stay, never = answers.rules(rules)
    jobs = list(found.jobs.values())
    at = found.clusters[cluster] if cluster else None
    likely = text_as(example_cluster(jobs, paid), Cluster) if jobs and at is None else at
    texts = {file: example_job(likely, name) for file, name in new.items()}
    everything = [*jobs, *(text_as(text, JobGraph) for text in texts.values())]
    own = own_data_rules(everything, at) if jobs and not rules else ()
    if own and answers.foreign_data():
        own = tuple(rule.model_copy(update={"open_sites": ("*",)}) for rule in own)
    if cluster is None:
        texts[CLUSTER_FILE] = example_cluster(everything, paid)
    if stay or never or own:
        texts[RULES_FILE] = rules_text(
            _by_job(stay, jobs, len(everything) > 1),
            _by_job(never, found.where_known(), len(everything) > 1),
            own,
        )
        rules = RULES_FILE
    for name in texts:
        if Path(name).exists():
            raise InvalidInputError(
                f"{name} is there, but it is no valid document of its kind",
                f"correct it (edgeplace validate {shlex.quote(name)}), or give it another name",
            )
    texts[PROJECT_FILE] = project_text(
        [*found.jobs, *new],
        cluster or CLUSTER_FILE,
        list(found.costs),
        rules,
        args.jobmanager,
        paid,
        priced=at is None or at.currency is not None,
    )
    for name, text in texts.items():
        write_text(text, name)
    _say(console, found, texts)
    return ExitStatus.OK


def _given(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the files that are there, and those of jobs to write with the names of the jobs."""
    files: dict[str, None] = {}
    new: dict[str, str] = {}
    for name in names:
        file = name if Path(name).suffix or Path(name).exists() else f"{name}.yaml"
        if Path(file).exists():
            files[file] = None
        elif Path(file).suffix in _JOB_ENDINGS and Path(file).parent.is_dir():
            new[file] = Path(file).stem
        else:
            raise InvalidInputError(f"there is no file {file!r}", "give files that are there")
    beside = {str(path): path for file in new for path in Path(file).parent.iterdir()}
    for file in new:
        others = [each for each in beside if each not in files and Path(each).is_file()]
        if near := nearest(file, others, 0.8):
            raise InvalidInputError(
                f"there is no file {file!r}", f"did you mean {near!r}? Or write that file first"
            )
    return list(files), new


def _by_job(
    operators: Sequence[str], jobs: Sequence[JobGraph], several: bool
) -> list[tuple[str, Sequence[str]]]:
    """Return operators behind the job that has them, or behind an empty name."""
    found = [(job.name, [n for n in operators if n in _references([job])]) for job in jobs]
    return [(job if several else "", names) for job, names in found if names]


class _Answers:
    """Answers by options, by a person on a terminal, or by default."""

    def __init__(self, args: argparse.Namespace, console: Console, found: Documents) -> None:
        self._args = args
        self._console = console
        self._found = found
        self._asks = not args.defaults and sys.stdin.isatty() and console.err.is_terminal

    def jobs(self) -> dict[str, str]:
        """Return the files of the jobs to write, with their names."""
        if self._asks:
            said = _names(
                self._ask("What are your jobs called? Names with commas; Enter: one, an example: ")
            )
            if said:
                return {f"{name}.yaml": name for name in said}
        return {JOB_FILE: "example"}

    def paid(self) -> bool:
        """Return whether bytes are paid for."""
        question = "Are the bytes between sites paid for?"
        return self._yes(question, self._args.paid, default=True)

    def foreign_data(self) -> bool:
        """Return whether an edge site may serve data that is born at another one."""
        question = "May an edge site serve data that is born at another one?"
        return self._yes(question, self._args.foreign_data, default=False)

    def _yes(self, question: str, given: str | None, default: bool) -> bool:
        if given is not None:
            return given == "yes"
        while self._asks:
            said = self._ask(f"{question} {'[Y/n]' if default else '[y/N]'} ").lower()
            if said in ("", "y", "yes", "n", "no"):
                return said[0] == "y" if said else default
            self._console.notice("write y or n")
        return default

    def rules(self, file: str | None) -> tuple[Sequence[str], Sequence[str]]:
        """Return the operators whose input stays on its site, and those that never move.

        Parameters
        ----------
        file
            The rules that are there; nothing is asked then.
        """
        stay, never = self._args.stay_on_site, self._args.never_move
        jobs = list(self._found.jobs.values())
        if file and (stay or never):
            raise InvalidInputError(
                f"{file} is there already, and init overwrites nothing",
                f"add the rules to {file}, without --stay-on-site and --never-move",
            )
        placed = self._found.where_known()
        for names in filter(None, (stay, never)):
            _check_operators(names, jobs)
        if unplaced := [name for name in never or () if name not in _references(placed)]:
            raise InvalidInputError(
                f"--never-move: no costs file here says where {some(unplaced)} runs now",
                "measure the job first (edgeplace costs), or use --stay-on-site",
            )
        if file or not jobs:
            return stay or (), never or ()
        if stay is None:
            stay = self._operators(
                "Whose input must not leave the site where it is produced?", jobs
            )
        if never is None and placed:
            never = self._operators("What must not move from where it runs now?", placed)
        return stay or (), never or ()

    def _operators(self, question: str, jobs: Sequence[JobGraph]) -> Sequence[str]:
        if self._asks:
            known = [op.name for job in jobs for op in job.operators]
            self._console.notice(f"operators: {some(known, 12)}")
        while self._asks:
            names = _names(self._ask(f"{question} Names with commas; Enter: none: "))
            try:
                _check_operators(names, jobs)
            except InvalidInputError as e:
                self._console.problem(f"{e.what}; {e.cure}")
            else:
                return names
        return ()

    def _ask(self, question: str) -> str:
        self._console.err.print(question, end="")
        try:
            return input().strip()
        except EOFError:
            # Ctrl-D: the rest has its defaults.
            self._asks = False
            self._console.err.print()
            return ""


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _references(jobs: Sequence[JobGraph]) -> list[str]:
    return [ref for job in jobs for op in job.operators for ref in (op.name, op.id)]


def _check_operators(names: Sequence[str], jobs: Sequence[JobGraph]) -> None:
    known = _references(jobs)
    for name in names:
        if name not in known:
            raise InvalidInputError(
                f"there is no operator {name!r} in the jobs of this folder",
                did_you_mean(name, known),
            )


def _say(console: Console, found: Documents, texts: dict[str, str]) -> None:
    taken = [*found.jobs, found.cluster(), *found.costs, found.rules_file()]
    names = [name for name in taken if name]
    if names:
        console.text(f"found: {', '.join(names)}")
    for name, why in found.left_out.items():
        console.notice(f"left out: {name} ({why})")
    for name in texts:
        example = name not in (RULES_FILE, PROJECT_FILE)
        console.text(f"written: {name}{' (an example: edit it)' if example else ''}")
    console.text("next: edgeplace validate, then edgeplace solve")
