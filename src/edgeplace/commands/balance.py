"""`edgeplace balance`."""

import argparse
import dataclasses
from typing import TYPE_CHECKING

from edgeplace.case.files import inputs_of, read_case
from edgeplace.case.told import with_names
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.options import add_inputs
from edgeplace.cli.outputs import Outputs
from edgeplace.cli.quantities import exact, percent
from edgeplace.model import Case, InvalidInputError, Limit, Plan, Status
from edgeplace.views.tables import show_plan
from edgeplace.views.terms import Terms

if TYPE_CHECKING:
    from edgeplace.solver.worker_load import Balance, FullestWorker

_PLAN = "-o"
_STATUS = {
    Status.OPTIMAL: ExitStatus.OK,
    Status.FEASIBLE: ExitStatus.NOT_PROVED,
    Status.INFEASIBLE: ExitStatus.INFEASIBLE,
    Status.UNKNOWN: ExitStatus.NO_PLAN,
}

LOADS = ("edgeplace.solver.worker_load",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command, and its help."""
    parser.description = (
        "Minimise the load of the fullest TaskManager, in cores, checkpointed bytes and sent "
        "bytes, with the weights of CAPS (EuroSys 2025). The plan respects slots and the places "
        "that rules allow. It does not consider links, memory and latency; the command names the "
        "limits that the plan exceeds."
    )
    parser.epilog = (
        "example:\n  edgeplace balance job.json cluster.yaml --costs costs.json "
        "--time-limit 20 -o plan.json\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_inputs(parser)
    parser.add_argument("--time-limit", metavar="S", help="wall time of the search")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the plan (JSON or YAML; -: standard output)"
    )
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Find the plan, compare its fullest TaskManager with the current one's, and write it."""
    from edgeplace.solver.worker_load import balance

    outputs = Outputs(console, {_PLAN: args.output}, inputs_of(args), args.json)
    case = read_case(args)
    before, unknown = _before(case)
    with console.progress("balancing"):
        found = balance(case.jobs, case.cluster, case.rules, args.time_limit)
    after = _fullest(case, found.plan) if found.plan else None
    if found.plan:
        plan = with_names(found.plan, case.jobs)
        found = dataclasses.replace(found, plan=plan)
        outputs.document(_PLAN, plan)
    status = _status(found)
    if args.json:
        console.json(_plain(status, found, before, after))
    else:
        _show(console, case, status, found, before, after)
        console.notes(case.notes)
        if unknown:
            console.text(f"note: the current placement is not compared: {unknown}", style="dim")
        if found.plan:
            outputs.say_written(_PLAN, "plan")
    if not found.plan:
        outputs.say_not_written(_PLAN, "plan", "no plan was found")
    return _STATUS[status]


def _before(case: Case) -> "tuple[FullestWorker | None, str]":
    """Return the fullest TaskManager of the current plan, or why it is unknown."""
    try:
        return _fullest(case, case.current), ""
    except InvalidInputError as e:
        return None, e.what


def _fullest(case: Case, plan: Plan | None) -> "FullestWorker | None":
    from edgeplace.solver.worker_load import fullest_worker

    return None if plan is None else fullest_worker(case.jobs, case.cluster, plan, case.rules)


def _status(found: "Balance") -> Status:
    if found.plan is None:
        return Status.INFEASIBLE if found.bound == float("inf") else Status.UNKNOWN
    return Status.OPTIMAL if found.proved else Status.FEASIBLE


def _exceeded(found: "Balance") -> tuple[Limit, ...]:
    return found.evaluation.violations if found.evaluation else ()


def _plain(
    status: Status, found: "Balance", before: "FullestWorker | None", after: "FullestWorker | None"
) -> dict[str, object]:
    """Return the answer as plain data."""
    known = found.plan is not None
    return {
        "status": status.value,
        "plan": found.plan.model_dump(mode="json") if found.plan else None,
        "largest_load": found.largest_load if known else None,
        "bound": found.bound if known else None,
        "proved": found.proved,
        "before": dataclasses.asdict(before) if before else None,
        "after": dataclasses.asdict(after) if after else None,
        "exceeded": [v.model_dump(mode="json") for v in _exceeded(found)],
    }


def _show(
    console: Console,
    case: Case,
    status: Status,
    found: "Balance",
    before: "FullestWorker | None",
    after: "FullestWorker | None",
) -> None:
    if status is Status.INFEASIBLE:
        console.text(
            "no plan exists: subtasks do not fit the slots where they may run", style="bold red"
        )
        return
    if found.plan is None or after is None:
        console.text("no plan found in the time", style="yellow")
        return
    show_plan(console, case.jobs, found.plan)
    terms = Terms.of(case.cluster)
    console.heading("the fullest TaskManager")
    console.table(
        ("", "TaskManager", ">node's cores", ">checkpointed", ">sent", ">load"),
        [
            (
                name,
                worker.task_manager,
                percent(worker.node_share),
                terms.rate(worker.checkpoint_bytes_per_s),
                terms.rate(worker.sent_bytes_per_s),
                exact(worker.largest_load),
            )
            for name, worker in (("current", before), ("balanced", after))
            if worker
        ],
    )
    console.text("load: 0 is an even share, 1 is a TaskManager full of the most expensive subtasks")
    console.heading("proof")
    console.text(
        f"{status.value}: load {exact(found.largest_load)}, no plan has less than "
        f"{exact(found.bound)}",
        style="green" if found.proved else "yellow",
    )
    for violation in _exceeded(found):
        console.text(f"this plan exceeds {terms.limit(violation)}", style="bold yellow")
