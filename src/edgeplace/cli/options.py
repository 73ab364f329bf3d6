"""Options that several commands share, and the parsers of their values."""

import argparse
import re
from pathlib import Path
from typing import Any

from edgeplace.model import (
    BACKENDS,
    DEFAULT_OBJECTIVE,
    OBJECTIVES,
    PRESETS,
    PULP,
    did_you_mean,
    is_backend,
)

CASE, BENCH, COSTS, FLINK = "case", "bench", "costs", "flink"
"""What a command takes from a project file: `project` of its arguments."""
GAP_HELP = "gap that is good enough: 5%% or 0.05 (default: 0, proved best)"
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def add_project(command: argparse.ArgumentParser, wanted: str) -> None:
    """Let a command take what the command line does not say from the project file."""
    command.set_defaults(project=wanted)
    add_environment(command)


def add_environment(command: argparse.ArgumentParser) -> None:
    """Add the choice of an environment of the project file."""
    command.add_argument(
        "--env",
        metavar="NAME",
        help="environment of edgeplace.yaml, such as prod (default: $EDGEPLACE_ENV)",
    )


_IN_PROJECT = "in a folder with edgeplace.yaml"


class _CaseFiles(argparse.Action):
    """Takes `JOB ... CLUSTER`, and PLAN behind them if the command has one.

    Without JOB and CLUSTER the project file names them.
    """

    def __init__(self, *args: Any, with_plan: bool = False, **more: Any) -> None:
        super().__init__(*args, **more)
        self._with_plan = with_plan

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Set `jobs` and `cluster`, and `plan` if the command has one."""
        files = list(values)
        if self._with_plan:
            if not files:
                parser.error(
                    f"PLAN is missing: give JOB ... CLUSTER PLAN, or PLAN alone {_IN_PROJECT}"
                )
            namespace.plan = files.pop()
        if len(files) == 1 and "=" in files[0] and not Path(files[0]).exists():
            parser.error(f"there is no file {files[0]!r}; a supposed case is --set NAME=VALUE")
        if len(files) == 1:
            asked, alone = (" PLAN", "PLAN alone") if self._with_plan else ("", "no file")
            parser.error(
                f"CLUSTER is missing: give JOB ... CLUSTER{asked}, or {alone} {_IN_PROJECT}"
            )
        namespace.jobs, namespace.cluster = files[:-1], files[-1] if files else None


def add_inputs(command: argparse.ArgumentParser, with_plan: bool = False) -> None:
    """Add the arguments for jobs and cluster, and for a plan behind them."""
    command.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        action=_CaseFiles,
        with_plan=with_plan,
        help="JOB ... CLUSTER" + (" PLAN" if with_plan else "") + ". A job is a job graph (JSON or "
        "YAML), a saved Flink answer to /jobs/:jobid, a folder of saved answers, or a metric log; "
        "several jobs share the cluster. Without JOB and CLUSTER: those of edgeplace.yaml in the "
        "current folder"
        + (". PLAN is the plan to explain: a plan or a schedulercfg" if with_plan else ""),
    )
    command.set_defaults(jobs=[], cluster=None)
    add_project(command, CASE)
    command.add_argument(
        "--costs",
        action="append",
        default=[],
        metavar="FILE",
        help="costs made by `edgeplace costs`; repeat it for several jobs",
    )
    command.add_argument("--rules", metavar="FILE", help="rules (YAML or JSON): pin, match, ...")
    command.add_argument(
        "--current",
        action="append",
        default=[],
        metavar="FILE",
        help="where the subtasks run now: a plan or a schedulercfg; repeat it for several jobs "
        "(default: as the costs or the job file saw it)",
    )
    add_taken(command)


def add_taken(command: argparse.ArgumentParser) -> None:
    """Add what other jobs hold."""
    command.add_argument(
        "--taken",
        action="append",
        default=[],
        metavar="PLAN",
        help="plan of other jobs that run on the cluster, as `solve -o` writes it: what they take "
        "of slots, cores, memory and links is not there; repeat it for several plans",
    )


def add_backend(command: argparse.ArgumentParser) -> None:
    """Add the choice of the solver."""
    command.add_argument(
        "--backend",
        default="milp",
        type=_backend,
        metavar="NAME",
        help="milp (HiGHS), cp-sat (OR-Tools), or pulp:NAME, a solver that PuLP finds on this "
        "machine: pulp:CBC, pulp:SCIP, pulp:Gurobi, ... (default: %(default)s)",
    )


def _backend(text: str) -> str:
    if not is_backend(text):
        use = did_you_mean(text, BACKENDS, f"use {', '.join(BACKENDS)} or {PULP}NAME")
        raise argparse.ArgumentTypeError(f"there is no back end {text!r}: {use}")
    return text


def add_case(command: argparse.ArgumentParser, with_plan: bool = False) -> None:
    """Add the arguments for job and cluster, and for the judgement of plans."""
    add_inputs(command, with_plan)
    add_objective(command)


class _Optimise(argparse.Action):
    """Takes the name of a preset, and sets `objective` to the list that it stands for."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Set `optimise` and `objective`."""
        namespace.optimise = values
        namespace.objective = ",".join(PRESETS[str(values)])


def preset_of(args: argparse.Namespace) -> str:
    """Return the objective that `--optimise` stands for, as a line of text."""
    return f"--optimise {args.optimise} stands for --objective {args.objective}"


def add_objective(command: argparse.ArgumentParser) -> None:
    """Add the choice of the objective: a preset, or a list."""
    choice = command.add_mutually_exclusive_group()
    choice.add_argument(
        "--optimise",
        action=_Optimise,
        choices=tuple(PRESETS),
        help="what matters most; each stands for a list of --objective: "
        + "; ".join(f"{name}: {','.join(terms)}" for name, terms in PRESETS.items()).replace(
            "%", "%%"
        ),
    )
    choice.add_argument(
        "--objective",
        metavar="LIST",
        help=f"terms in order of weight, of {', '.join(OBJECTIVES)}; wan:5%% lets later terms "
        f"worsen wan by 5%% (default: {','.join(DEFAULT_OBJECTIVE)})",
    )


_JOBMANAGER = "Flink's REST API, such as http://localhost:8081"
_OF_PROJECT = "default: $EDGEPLACE_JOBMANAGER, or that of edgeplace.yaml in the current folder"


def add_rest(command: argparse.ArgumentParser) -> None:
    """Add the options for the connection to Flink's REST API."""
    command.add_argument("--jobmanager", metavar="URL", help=f"{_JOBMANAGER}; {_OF_PROJECT}")
    _add_access(command)


def add_rest_or_prometheus(command: argparse.ArgumentParser) -> None:
    """Add the options for the connection to Flink's REST API, Prometheus or Graphite's files."""
    where = command.add_mutually_exclusive_group()
    where.add_argument("--jobmanager", metavar="URL", help=f"{_JOBMANAGER}; {_OF_PROJECT}")
    where.add_argument(
        "--prometheus",
        metavar="URL",
        help="Prometheus, or another server with its HTTP API, that scrapes Flink: read the "
        "metrics of the past, such as http://localhost:9090",
    )
    where.add_argument(
        "--whisper",
        metavar="PLACE",
        help="Graphite's folder of Whisper files, or a tar file of it: read the metrics of the "
        "past, such as /var/lib/graphite/whisper",
    )
    _add_access(command, "; with --prometheus, EDGEPLACE_PROMETHEUS_TOKEN, _USER and _PASSWORD")


def _add_access(command: argparse.ArgumentParser, more: str = "") -> None:
    command.add_argument(
        "--credentials",
        metavar="FILE",
        help="`token: ...`, or `user: ...` and `password: ...`; chmod 600. Without it, the "
        "variables EDGEPLACE_FLINK_TOKEN, or EDGEPLACE_FLINK_USER and EDGEPLACE_FLINK_PASSWORD"
        + more,
    )
    command.add_argument(
        "--ca-file", metavar="FILE", help="certificates to trust (PEM), in place of the system's"
    )
    add_project(command, FLINK)


def add_connection(command: argparse.ArgumentParser) -> None:
    """Add the options for the connection to Flink and for the agent's folder of plans."""
    add_rest(command)
    command.add_argument(
        "--plans",
        metavar="DIR",
        help="the agent's folder of plans (default: where the JobManager says it is)",
    )


def add_change(command: argparse.ArgumentParser) -> None:
    """Add the options for the change of a running job."""
    command.add_argument(
        "--dry-run", action="store_true", help="show what would change, and change nothing"
    )
    command.add_argument(
        "--max-moves", type=_count, metavar="N", help="refuse if more subtasks would move"
    )
    command.add_argument(
        "--timeout",
        type=positive,
        default=120.0,
        metavar="S",
        help="seconds for a move to be seen healthy, and again for the way back (default: 120)",
    )
    command.add_argument("--json", action="store_true", help="print the outcome as JSON")


def duration_s(text: str) -> int:
    """Return the seconds of a time such as `90s`, `30m`, `1h` or `2d`.

    Raises
    ------
    argparse.ArgumentTypeError
        If the text is none.
    """
    hit = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    if not hit or not int(hit[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time; write 90s, 30m, 1h or 2d")
    return int(hit[1]) * _SECONDS[hit[2]]


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 0 or more")
    return int(text)


def positive(text: str) -> float:
    """Return a number of seconds above 0.

    Raises
    ------
    argparse.ArgumentTypeError
        If the text is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value
