"""`edgeplace flink discover`."""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgeplace.adapters.flink.apply import plan_of_now, tasks_by_id
from edgeplace.adapters.flink.discover import (
    Discovered,
    Sites,
    born_where_it_runs,
    cluster_yaml,
    discover,
    discover_in,
    round_trips_ms,
)
from edgeplace.adapters.flink.plans import is_schedulercfg
from edgeplace.adapters.flink.rest import LiveFlink, choose, listed, names_of
from edgeplace.cli.connection import same_connection, session
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.options import add_rest
from edgeplace.cli.quantities import size
from edgeplace.model import (
    Cluster,
    InvalidInputError,
    JobGraph,
    check_writable,
    dump,
    first_few,
    read,
    write_text,
)

_MOST_PLACES = 6


@dataclass(frozen=True)
class _Job:
    graph: JobGraph
    places: Mapping[str, Sequence[str | None]]
    """Operator id -> the cluster file's name of each subtask's TaskManager, None: nowhere."""
    plan: str
    """The placement as a schedulercfg; empty if it is not requested."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command, and its help."""
    parser.description = (
        "Ask a running Flink for its TaskManagers and a job: which machines there are, "
        "with how many cores and slots, what the job is made of, and where it runs. What Flink "
        "does not know (sites, links, classes of machines) is taken from --sites or --inventory, "
        "or is a default that is labelled as one."
    )
    parser.epilog = (
        "examples:\n"
        "  edgeplace flink discover --jobmanager http://localhost:8081\n"
        "  edgeplace flink discover --jobmanager http://localhost:8081 --sites sites.yaml \\\n"
        "      -o cluster.yaml --job-out job.json\n"
        "  edgeplace flink discover --jobmanager http://localhost:8081 \\\n"
        "      --plan-out now.schedulercfg\n"
        "  kubectl get nodes,pods -o json > kubernetes.json\n"
        "  edgeplace flink discover --jobmanager http://localhost:8081 \\\n"
        "      --kubernetes kubernetes.json -o cluster.yaml\n"
        "\n"
        "a file of sites:\n"
        "  sites:\n"
        '    - {id: lyon, hosts: ["10.0.1.*"], node_class: pi}\n'
        '    - {id: cloud, hosts: ["10.0.0.5", "server-*"], node_class: server, tier: cloud}\n'
        "  links: [{source: lyon, target: cloud, bandwidth_bytes_per_s: 500000, delay_ms: 25, "
        "both_ways: true}]\n"
        "  node_classes: [{id: pi, speed: 0.3}, {id: server, speed: 1}]\n"
        "  checkpoint_storage: cloud\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_rest(parser)
    parser.add_argument("--job", metavar="NAME_OR_ID", help="which job, where Flink runs several")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--sites",
        metavar="FILE",
        help="sites with patterns of their hosts or resource ids, links, node classes (YAML)",
    )
    where.add_argument(
        "--inventory",
        "--kubernetes",
        metavar="FILE",
        help="what kubectl get nodes,pods -o json says, an Ansible inventory, a table (CSV) or a "
        "cluster file: sites, classes and cores are its, slots and memory are Flink's",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the cluster file (YAML)")
    parser.add_argument("--job-out", metavar="FILE", help="write the job graph (JSON)")
    parser.add_argument(
        "--plan-out",
        metavar="FILE",
        help="write where the job runs now as a plan to edit and apply (schedulercfg)",
    )
    parser.add_argument(
        "--ping",
        action="store_true",
        help="measure the round trip from here to each TaskManager (TCP connections to its port)",
    )
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Show Flink's data, and write the requested files."""
    for path in filter(None, (args.output, args.job_out, args.plan_out)):
        check_writable(path)
    if args.plan_out and not is_schedulercfg(args.plan_out):
        raise InvalidInputError(
            f"--plan-out {args.plan_out}: `edgeplace flink apply` takes a file of that name for a "
            "plan of `edgeplace solve`",
            "end the name in .schedulercfg",
        )
    sites = read(args.sites, Sites) if args.sites else None
    inventory = read(args.inventory, Cluster) if args.inventory else None
    with session(args) as client:
        found = discover_in(client, inventory) if inventory else discover(client, sites)
        job, no_job = _job(LiveFlink(client), args, found)
        trips = round_trips_ms(found.registered) if args.ping else {}
    # Both files are checked before either is written.
    files = [(args.output, cluster_yaml(found, args.jobmanager))] if args.output else []
    if args.job_out and job:
        files.append((args.job_out, dump(job.graph)))
    if args.plan_out and job:
        files.append((args.plan_out, job.plan))
    new = [(path, text) for path, text in files if not _is_there(path, text)]
    for path, text in new:
        write_text(text, path)
    if args.json:
        console.json(_as_json(found, job, trips, args))
        return ExitStatus.OK
    _show(console, found, job, no_job, trips, args)
    for path, _ in files:
        written = any(path == p for p, _ in new)
        console.text(f"written to {path}" if written else f"{path} says so already")
    if args.plan_out and job:
        _explain_plan(console, job.graph, args)
    return ExitStatus.OK


def _explain_plan(console: Console, graph: JobGraph, args: argparse.Namespace) -> None:
    for op in tasks_by_id(graph):
        console.text(
            f"note: in {args.plan_out}, {op.id} is task {op.name!r}: its name cannot stand there, "
            "or another task has it, too",
            style="dim",
        )
    console.command(
        f"edit {args.plan_out}, then: ",
        ["edgeplace", "flink", "apply", args.plan_out, *same_connection(args), "--dry-run"],
    )


def _job(live: LiveFlink, args: argparse.Namespace, found: Discovered) -> tuple[_Job | None, str]:
    """Return the chosen job, or the reason why there is none."""
    jobs = live.jobs()
    asked_for = any((args.job, args.job_out, args.plan_out))
    if not asked_for and len(jobs) != 1:
        return None, f"Flink runs {listed(jobs)}" + ("; --job says which" if jobs else "")
    chosen = choose(jobs, args.job)
    if chosen is None:
        wanted = f"job {args.job!r} does not run" if args.job else "Flink runs no job"
        raise InvalidInputError(f"{live.url}: {wanted}", f"Flink runs {listed(jobs)}")
    try:
        graph, seen = live.job_graph(chosen.id), live.placement(chosen.id)
    except InvalidInputError as e:
        if asked_for:
            raise
        return None, e.what
    names = names_of(found.registered, found.cluster)
    places = {v: tuple(tm and names.get(tm, tm) for tm in row) for v, row in seen.items()}
    plan = plan_of_now(graph, seen, live.task_managers()) if args.plan_out else ""
    return _Job(born_where_it_runs(graph, places, found.cluster), places, plan), ""


def _is_there(path: str, text: str) -> bool:
    """Return whether the file already has this text.

    Raises
    ------
    InvalidInputError
        If it has another one.
    """
    try:
        there = Path(path).read_bytes()
    except FileNotFoundError:
        return False
    except OSError as e:
        raise InvalidInputError(f"{path}: cannot be read: {e.strerror}", "another name") from e
    if there != text.encode():
        raise InvalidInputError(
            f"{path} is there already, and says something else",
            "choose another name, and take over from it what you want to keep",
        )
    return True


def _show(
    console: Console,
    found: Discovered,
    job: _Job | None,
    no_job: str,
    trips: Mapping[str, float | None],
    args: argparse.Namespace,
) -> None:
    cluster = found.cluster
    console.text(f"Flink {found.release} at {args.jobmanager}", style="bold")
    names = names_of(found.registered, cluster)
    ids = {mine: rid for rid, mine in names.items()}
    rows = []
    for node in cluster.nodes:
        for i, tm in enumerate(t for t in cluster.task_managers if t.node == node.id):
            machine = (node.site, node.id, node.node_class, f"{node.cores:g}")
            own = (tm.id, tm.host, str(tm.slots), size(tm.memory_bytes))
            trip = trips.get(ids[tm.id])
            ping = ("-" if trip is None else f"{trip:.2f} ms",) if args.ping else ()
            rows.append((*(machine if i == 0 else ("",) * 4), *own, *ping))
    columns = ["site", "node", "class", ">cores", "TaskManager", "host", ">slots", ">memory"]
    console.table(columns + [">from here"] * args.ping, rows)
    if args.ping:
        console.text("round trips are from this machine, not between sites (median of 5)")
    if job is None:
        console.text(no_job)
    else:
        interval = job.graph.checkpoint_interval_ms
        often = f"checkpoints every {interval / 1000:g} s" if interval else "no checkpoints"
        console.heading(f"job {job.graph.name} ({job.graph.job_id}), {often}")
        feeds = {op.id: _inputs(job.graph, op.id) for op in job.graph.operators}
        console.table(
            ("operator", ">subtasks", "input", "runs at"),
            [
                (op.name, str(op.parallelism), feeds[op.id], _places(job.places[op.id]))
                for op in job.graph.operators
            ],
        )
    console.text()
    console.notes((*cluster.notes, *(job.graph.notes if job else ())))


def _inputs(graph: JobGraph, operator: str) -> str:
    names = {op.id: op.name for op in graph.operators}
    found = [f"{s.ship_strategy.value} {names[s.source]}" for s in graph.streams]
    mine = [text for text, s in zip(found, graph.streams, strict=True) if s.target == operator]
    return ", ".join(mine) or "-"


def _places(places: Sequence[str | None]) -> str:
    counts = Counter(place or "nowhere" for place in places).most_common()
    shown = [f"{place} x{n}" if n > 1 else place for place, n in counts]
    return first_few(shown, _MOST_PLACES, before_rest=", and ")


def _as_json(
    found: Discovered,
    job: _Job | None,
    trips: Mapping[str, float | None],
    args: argparse.Namespace,
) -> dict[str, object]:
    return {
        "jobmanager": args.jobmanager,
        "flink": found.release,
        "cluster": found.cluster.model_dump(mode="json", exclude_defaults=True),
        "job": job and job.graph.model_dump(mode="json", exclude_defaults=True),
        "placement": job and job.places,
        "round_trip_from_here_ms": trips if args.ping else None,
    }
