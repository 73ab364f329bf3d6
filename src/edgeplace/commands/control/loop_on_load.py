"""The loop on a given load: its real step, in a Flink of arithmetic."""

import argparse
from typing import TYPE_CHECKING

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.quantities import percent, size
from edgeplace.model import Cluster, InvalidInputError, JobGraph, Rules, read

if TYPE_CHECKING:
    from edgeplace.control.load import Load
    from edgeplace.control.loop.simulated.simulated_loop import SimulatedLoop

_BEGAN_S = 4 * 86_400.0
"""A Monday, 00:00 UTC: `freeze` counts from the load's beginning."""
_SOLVE_S = 60.0


def run_loop(
    args: argparse.Namespace,
    console: Console,
    load: "Load",
    job: JobGraph,
    cluster: Cluster,
    rules: Rules | None,
) -> ExitStatus:
    """Run the loop of a control file on a load, and show each change and why.

    Raises
    ------
    InvalidInputError
        If the control file is none, or no plan to start with exists.
    """
    from edgeplace.control.loop.simulated.simulated_flink import Outage, SimulatedFlink
    from edgeplace.control.loop.simulated.simulated_loop import SimulatedLoop
    from edgeplace.control.settings import ControlSettings, refuse_periods
    from edgeplace.solver import solve

    refuse_periods(rules)
    settings = read(args.loop, ControlSettings)
    # The job, its costs and the cluster are those of the command line.
    settings = settings.model_copy(update={"job": job.name, "costs": settings.costs or "costs"})
    plan = solve(job, cluster, rules, time_limit_s=_SOLVE_S).plan
    if plan is None:
        raise InvalidInputError(
            f"no plan exists for job {job.name!r} to start with", "ask `edgeplace solve` why"
        )
    places = plan.of(job.name)
    outages = tuple(Outage(*given) for given in args.lose)
    known = {site.id for site in cluster.sites}
    for site in (*settings.survive, *(outage.site for outage in outages)):
        if site not in known:
            raise InvalidInputError(
                f"the cluster has no site {site!r}", f"its sites are {', '.join(sorted(known))}"
            )
    flink = SimulatedFlink(
        job, cluster, rules, load, places, _BEGAN_S, pause_s=args.pause, outages=outages
    )
    loop = SimulatedLoop(flink, settings, i_know=True)
    with console.progress(f"{load.name}: the loop"):
        loop.run()
    _show(args, console, load, loop)
    return ExitStatus.OK


def _show(args: argparse.Namespace, console: Console, load: "Load", loop: "SimulatedLoop") -> None:
    told = [
        (event.at_s - _BEGAN_S, stepped.says)
        for event, before, stepped in loop.steps
        if event.kind == "ended"
        or any(effect.kind == "apply" for effect in stepped.effects)
        or (before.change is not None and stepped.memory.change is None)
        or (stepped.memory.proposal is not None and before.proposal is None)
        or before.lost != stepped.memory.lost
        or before.kept_out != stepped.memory.kept_out
    ]
    begun = sum(e.kind == "apply" for _, _, s in loop.steps for e in s.effects)
    seconds = len(load.rates_per_s)
    if args.json:
        document = {
            "load": load.name,
            "seconds": seconds,
            "changes": begun,
            "late_s": loop.flink.late_s,
            "wan_bytes": loop.flink.wan_bytes,
            "lines": [{"at_s": at_s, "says": says} for at_s, says in told],
        }
        console.json(document)
        return
    for at_s, says in told:
        day, rest = divmod(int(at_s), 86_400)
        console.text(f"day {day + 1} {rest // 3600:02d}:{rest // 60 % 60:02d}  {says}")
    console.text(
        f"{begun} changes in {load.days:.2f} days; late {loop.flink.late_s:,.0f} s, "
        f"{percent(loop.flink.late_s / seconds)} of the time; {size(loop.flink.wan_bytes)} over "
        f"the WAN; last: {loop.memory.decision}"
    )
