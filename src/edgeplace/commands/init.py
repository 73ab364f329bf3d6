"""`edgeplace init`."""

import argparse
import difflib
import sys
from collections.abc import Sequence
from pathlib import Path

from edgeplace.case.starter import (
    CLUSTER_FILE,
    JOB_FILE,
    RULES_FILE,
    Documents,
    documents_in,
    example_cluster,
    example_job,
    knows_where_it_runs,
    own_data_rules,
    project_text,
    rules_text,
)
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.model import PROJECT_FILE, InvalidInputError, JobGraph, some, write_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = (
        f"Write {PROJECT_FILE} for the current folder: the jobs, cluster, costs and rules that "
        "are there already, and an example to edit for a job or a cluster that is missing. On a "
        "terminal, ask what the options do not say. Overwrite no file."
    )
    parser.epilog = (
        "examples:\n"
        "  edgeplace init\n"
        "  edgeplace init --defaults --paid no --jobmanager http://localhost:8081\n"
        "  edgeplace init --stay-on-site decode,detect\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
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
    found = documents_in(Path())
    jobs, cluster, rules = list(found.jobs), found.cluster(), found.rules_file()
    lacking = [*([] if jobs else [JOB_FILE]), *([] if cluster else [CLUSTER_FILE])]
    answers = _Answers(args, console, found)
    paid = answers.paid()
    stay, never = answers.rules(rules)
    at = found.clusters[cluster] if cluster else None
    own = () if rules else own_data_rules(list(found.jobs.values()), at)
    if own and answers.foreign_data():
        own = tuple(rule.model_copy(update={"open_sites": ("*",)}) for rule in own)
    lacking += [RULES_FILE] if stay or never or own else []
    for name in lacking:
        if Path(name).exists():
            raise InvalidInputError(
                f"{name} is there, but it is no valid document of its kind",
                f"correct it (edgeplace validate {name}), or give it another name",
            )
    texts = {}
    if not jobs:
        texts[JOB_FILE] = example_job(at)
    if cluster is None:
        texts[CLUSTER_FILE] = example_cluster(list(found.jobs.values()), paid)
    if stay or never or own:
        texts[RULES_FILE] = rules_text(stay, never, own)
        rules = RULES_FILE
    texts[PROJECT_FILE] = project_text(
        jobs or [JOB_FILE],
        cluster or CLUSTER_FILE,
        list(found.costs),
        rules,
        args.jobmanager,
        paid,
        priced=cluster is None or found.clusters[cluster].currency is not None,
    )
    for name, text in texts.items():
        write_text(text, name)
    _say(console, found, texts)
    return ExitStatus.OK


class _Answers:
    """Answers by options, by a person on a terminal, or by default."""

    def __init__(self, args: argparse.Namespace, console: Console, found: Documents) -> None:
        self._args = args
        self._console = console
        self._found = found
        self._asks = not args.defaults and sys.stdin.isatty() and console.err.is_terminal

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
        placed = knows_where_it_runs(self._found)
        if never and not placed:
            raise InvalidInputError(
                "--never-move: no costs file here says where the subtasks run now",
                "measure the job first (edgeplace costs), or use --stay-on-site",
            )
        for names in filter(None, (stay, never)):
            _check_operators(names, jobs)
        if file or not jobs:
            return stay or (), never or ()
        if stay is None:
            stay = self._operators(
                "Whose input must not leave the site where it is produced?", jobs
            )
        if never is None and placed:
            never = self._operators("What must not move from where it runs now?", jobs)
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


def _check_operators(names: Sequence[str], jobs: Sequence[JobGraph]) -> None:
    known = [ref for job in jobs for op in job.operators for ref in (op.name, op.id)]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.6)
            raise InvalidInputError(
                f"there is no operator {name!r} in the jobs of this folder",
                f"did you mean {near[0]!r}?" if near else f"there are {some(known) or 'none'}",
            )


def _say(console: Console, found: Documents, texts: dict[str, str]) -> None:
    taken = [*found.jobs, found.cluster(), *found.costs, found.rules_file()]
    names = [name for name in taken if name]
    if names:
        console.text(f"found: {', '.join(names)}")
    for name in texts:
        what = {
            JOB_FILE: " (an example: edit it)",
            CLUSTER_FILE: " (an example: edit it)",
        }
        console.text(f"written: {name}{what.get(name, '')}")
    console.text("next: edgeplace validate, then edgeplace solve")
