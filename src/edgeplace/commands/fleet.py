"""`edgeplace fleet`."""

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from edgeplace.adapters.flink import load_job
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.outputs import Outputs
from edgeplace.cli.quantities import percent, seconds
from edgeplace.model import (
    Cluster,
    Costs,
    InvalidInputError,
    JobGraph,
    Rules,
    Status,
    read,
)
from edgeplace.views.terms import Terms

if TYPE_CHECKING:
    from edgeplace.solver.fleet import FleetResult

_PLANS = "-o"

LOADS = ("edgeplace.solver.fleet",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command, and its help."""
    parser.description = (
        "Place the jobs of a template, a cluster with one site of each kind, at every "
        "site of a table: least WAN bytes of all sites together, within what they share. The table "
        "has a row for each replica of a site: its columns 'id' (its name) and 'site' (the site "
        "of the cluster that it replicates), and any of rates, rates:JOB (factor on the demand), "
        "cores:NODE, slots:TASKMANAGER, bandwidth_bytes_per_s, delay_ms and price_per_byte."
    )
    parser.epilog = (
        "example:\n  edgeplace fleet job.json cluster.yaml --rules rules.yaml "
        "--sites shops.csv -o plans.csv\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "jobs", nargs="+", metavar="JOB", help="job graphs, each as for `edgeplace solve`"
    )
    parser.add_argument("cluster", metavar="CLUSTER", help="cluster file (YAML or JSON)")
    parser.add_argument(
        "--sites",
        required=True,
        metavar="TABLE",
        help="the replicas of sites (CSV, or Parquet with pandas and pyarrow installed)",
    )
    parser.add_argument(
        "--costs",
        action="append",
        default=[],
        metavar="FILE",
        help="costs of the job of that name, made by `edgeplace costs`; may be given several times",
    )
    parser.add_argument("--rules", metavar="FILE", help="rules (YAML or JSON): pin, match")
    parser.add_argument("--time-limit", metavar="S", help="wall time of the search")
    parser.add_argument(
        "--gap",
        default="1e-6",
        help="relative gap that is good enough (default: %(default)s)",
    )
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="threads (default: %(default)s)"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="TABLE",
        help="write the TaskManager of each subtask of each replica (CSV or Parquet)",
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Place the jobs at every replica of every site, and write where each subtask runs."""
    from edgeplace.case.fleet_files import check_table, read_sites, write_plans
    from edgeplace.solver.fleet import Fleet, solve_fleet

    if args.output:
        check_table(args.output)
    outputs = Outputs(
        console,
        {_PLANS: args.output},
        (*args.jobs, args.cluster, *args.costs, args.rules, args.sites),
        args.json,
    )
    cluster = read(args.cluster, Cluster)
    jobs = _jobs(args.jobs, args.costs)
    rules = read(args.rules, Rules) if args.rules else Rules()
    table = read_sites(args.sites)
    sites = [s.id for s in cluster.sites]
    for site in table.ids:
        if site not in sites:
            raise InvalidInputError(
                f"{args.sites}: replica {table.ids[site][0]!r} is of site {site!r}, which the "
                "cluster does not have",
                f"the sites are {', '.join(sites)}: correct the name, or add the site to "
                f"{args.cluster}",
            )
    fleet = Fleet(jobs, cluster, table.replicas([job.name for job in jobs]), rules)
    with console.progress("reading the fleet in") as tell:
        result = solve_fleet(fleet, args.gap, args.time_limit, workers=args.workers, progress=tell)
    if args.output and result.places:
        write_plans(args.output, result, table.ids)
    if args.json:
        console.json(_plain(result, cluster))
    else:
        _show(console, result, cluster)
        if result.places:
            outputs.say_written(_PLANS, "plans")
    if not result.places:
        outputs.say_not_written(_PLANS, "plans", "no plan was found")
    return _status(result, args.gap)


def _jobs(paths: Sequence[str], costs: Sequence[str]) -> list[JobGraph]:
    """Return the jobs, each with its costs."""
    jobs = {job.name: job for job, _ in map(load_job, paths)}
    if len(jobs) < len(paths):
        raise InvalidInputError(
            f"{len(paths)} job files hold {len(jobs)} jobs: two have the same name",
            "give each job once, under a name of its own",
        )
    for path in costs:
        measured = read(path, Costs)
        # The costs of a single job need not bear its name.
        name = next(iter(jobs)) if len(jobs) == 1 else measured.job
        if name not in jobs:
            raise InvalidInputError(
                f"{path}: these are costs of job {measured.job!r}",
                f"the jobs are {', '.join(jobs)}",
            )
        jobs[name] = jobs[name].with_costs(measured)
    return list(jobs.values())


def _status(result: "FleetResult", gap: float) -> ExitStatus:
    if result.status is Status.INFEASIBLE:
        return ExitStatus.INFEASIBLE
    if result.status is Status.UNKNOWN:
        return ExitStatus.NO_PLAN
    if result.status is Status.OPTIMAL or result.gap <= gap:
        return ExitStatus.OK
    return ExitStatus.NOT_PROVED


def _at_home(result: "FleetResult", cluster: Cluster) -> Mapping[str, int]:
    """Return how many subtasks of each site's replicas run at their own replica of the site."""
    site_of = {n.id: n.site for n in cluster.nodes}
    home = [site_of[t.node] for t in cluster.task_managers]
    return {
        site: sum(int((places == t).sum()) for t, at in enumerate(home) if at == site)
        for site, places in result.places.items()
    }


def _plain(result: "FleetResult", cluster: Cluster) -> dict[str, object]:
    """Return the answer as plain data, without the plans."""
    home = _at_home(result, cluster)
    known = bool(result.places)
    return {
        "status": result.status.value,
        "wan": result.wan if known else None,
        "bound": result.bound if known else None,
        "gap": result.gap if known else None,
        "prices": dict(result.prices),
        "conflict": result.conflict,
        "sites": {
            site: {
                "replicas": len(places),
                "subtasks": int(places.size),
                "at_their_site": home[site],
            }
            for site, places in result.places.items()
        },
        "runtime_s": dict(result.runtime_s),
    }


def _show(console: Console, result: "FleetResult", cluster: Cluster) -> None:
    if result.status is Status.INFEASIBLE:
        console.text("no plan exists", style="bold red")
        console.text(f"  {result.conflict}")
        return
    if not result.places:
        console.text("no plan found in the time", style="yellow")
        return
    home = _at_home(result, cluster)
    console.table(
        ("site", ">replicas", ">subtasks", ">at their site", ">at shared sites"),
        [
            (
                site,
                f"{len(places):,}",
                f"{places.size:,}",
                f"{home[site]:,} ({percent(home[site] / places.size)})",
                f"{places.size - home[site]:,}",
            )
            for site, places in result.places.items()
        ],
    )
    terms = Terms.of(cluster)
    if result.prices:
        console.heading(
            "what one more unit (of links: one byte/s) of what all share would save of wan, at the "
            "margin"
        )
        console.table(
            ("limit", ">saves"),
            [(name, terms.value("wan", value)) for name, value in result.prices.items()],
        )
    console.heading("proof")
    console.text(
        f"{result.status.value} after {seconds(result.runtime_s['all'])}",
        style="green" if result.status is Status.OPTIMAL else "yellow",
    )
    console.table(
        ("objective", ">value", ">bound", ">gap"),
        [
            (
                "wan",
                terms.exactly("wan", result.wan),
                terms.exactly("wan", result.bound),
                percent(result.gap),
            )
        ],
    )
