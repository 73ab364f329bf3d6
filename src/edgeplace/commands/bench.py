"""`edgeplace bench`."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from edgeplace.bench.environment import cores
from edgeplace.bench.instances import from_network, named
from edgeplace.bench.profile import profile
from edgeplace.bench.record import Run, RunOutcome
from edgeplace.bench.run import Bench, Settings
from edgeplace.bench.summary import fastest_proofs, ratios, summarise
from edgeplace.case.files import case_of
from edgeplace.case.foreign_data import closed
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.options import (
    BENCH,
    GAP_HELP,
    add_objective,
    add_project,
    add_taken,
    preset_of,
)
from edgeplace.instances.index import Index
from edgeplace.instances.instance import Instance
from edgeplace.model import (
    BACKENDS,
    DEFAULT_OBJECTIVE,
    PULP,
    InvalidInputError,
    objective_levels,
    write,
    write_text,
)

_SITES = 8
"""Edge sites of an instance over a real network, by default."""

LOADS = ("edgeplace.bench.user_case",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command, and its help."""
    parser.description = (
        "Run back ends on instances, each run in a process of its own with a limit on "
        "time and memory; judge every plan by the evaluator and every claim by the others and by "
        "the best known values. With JOB and CLUSTER, or several jobs and CLUSTER: compare all "
        "published placement methods on your own case."
    )
    parser.epilog = (
        "examples:\n"
        "  edgeplace bench                                  the shipped instances, or your case\n"
        "                                                   in a folder with edgeplace.yaml\n"
        "  edgeplace bench tree multi-query-4-1 --out out   a family, and one by name\n"
        "  edgeplace bench scale-1000-7 --backends milp     generated: FAMILY-SIZE-SEED\n"
        "  edgeplace bench --topology Geant.graphml --sites 12\n"
        "  edgeplace bench job.json cluster.yaml --rules rules.yaml\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "instances",
        nargs="*",
        metavar="INSTANCES",
        help="families, names FAMILY-SIZE-SEED, instance files or folders of them; or "
        "JOB ... CLUSTER (default: jobs and cluster of edgeplace.yaml in the current folder; if "
        "there is none, all shipped instances)",
    )
    add_project(parser, BENCH)
    parser.add_argument(
        "--backends",
        metavar="LIST",
        help="milp, cp-sat, pulp:NAME (a solver that PuLP finds on this machine), published "
        "methods by name (docs/baselines.md), or all: all but PuLP's "
        "(default: milp,cp-sat; on your own case: milp and all published methods)",
    )
    parser.add_argument(
        "--topology",
        metavar="FILE",
        help="make an instance over a real network: GraphML, or a square CSV of round-trip times "
        "in ms",
    )
    parser.add_argument(
        "--sites",
        type=int,
        metavar="N",
        help="edge sites with sources, for --topology (default: 8)",
    )
    parser.add_argument(
        "--costs",
        action="append",
        default=[],
        metavar="FILE",
        help="costs of JOB, made by `edgeplace costs`; repeat it for several jobs",
    )
    parser.add_argument("--rules", metavar="FILE", help="rules for JOB (YAML or JSON)")
    add_taken(parser)
    add_objective(parser)
    parser.add_argument(
        "--time-limit",
        default=10.0,
        metavar="S",
        help="wall time of one run (default: %(default)s)",
    )
    parser.add_argument("--gap", default="0", help=GAP_HELP)
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="of the back ends' random choices and of --topology (default: %(default)s)",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="runs at a time (default: %(default)s)"
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="write report.html, results.jsonl (environment, then runs), profile.svg, and "
        "index.yaml with what is now best known",
    )
    parser.add_argument("--json", action="store_true", help="print runs and averages as JSON")


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Run back ends on instances, each in a process of its own, and compare answers and times."""
    from edgeplace.bench.run_tables import show_runs, show_summaries
    from edgeplace.bench.user_case import compared, is_case, show_case
    from edgeplace.report.bench_page import bench_page, case_page

    if args.time_limit <= 0 or not args.gap >= 0 or args.jobs < 1:
        raise InvalidInputError(
            f"--time-limit {args.time_limit:g}, --gap {args.gap:g}, --jobs {args.jobs}",
            "give a time limit above 0, a gap of 0 or more, and 1 job or more",
        )
    if args.sites is not None and not args.topology:
        raise InvalidInputError(
            "--sites counts the edge sites of an instance over a real network",
            "give the network too: --topology FILE",
        )
    case = bool(args.project_file) or is_case(args.instances)
    instances = _instances(args, case)
    objective = _objective(args, instances[0]) if case else ("wan",)
    by = objective_levels(objective)[0].name
    settings = Settings(
        backends=_backends(args.backends, case),
        objective=objective,
        time_limit_s=args.time_limit,
        gap=args.gap,
        seed=args.seed,
        jobs=args.jobs,
    )
    if args.jobs > cores():
        console.problem(
            f"{args.jobs} jobs of one worker each on {cores()} cores: they slow each other, and "
            "times say less"
        )
    bench = Bench(instances, settings)
    with _results(args.out) as results, console.progress("starting") as tell:
        bench.run(results, tell)
    runs = bench.runs()
    summaries = summarise(runs, args.time_limit)
    rows = compared(instances[0], bench.answers(instances[0].name), by) if case else []
    if args.out:
        _write(Path(args.out), bench, runs, len(instances))
        page = (
            case_page(bench, runs, instances[0], rows, objective)
            if case
            else bench_page(bench, runs, summaries, _ratios(runs), args.time_limit)
        )
        write_text(page, Path(args.out) / "report.html")
    if args.json:
        found = {
            "environment": bench.environment,
            "runs": [r.model_dump(mode="json") for r in runs],
            "by_backend": [s.as_json() for s in summaries],
            "wrong_records": bench.wrong_records(),
            "beaten": bench.beaten(),
        }
        console.json(found)
    else:
        if case:
            if args.optimise:
                console.text(preset_of(args), style="dim")
            show_case(console, instances[0], rows, runs, by)
        else:
            show_runs(console, runs, bench.terms)
            show_summaries(console, summaries, args.time_limit)
        for name, reasons in bench.wrong_records().items():
            for said in reasons:
                console.text(f"WRONG: the record of {name}: {said}", style="bold red")
        for name, said in bench.beaten().items():
            console.text(f"beats the best known of {name}: {said}", style="bold green")
        if args.out:
            console.text(f"results written to {args.out}")
    return _status(runs, bench)


def _instances(args: argparse.Namespace, case: bool) -> list[Instance]:
    if case:
        from edgeplace.bench.user_case import user_case

        *jobs, cluster = args.instances
        own = case_of(jobs, cluster, args.costs, args.rules, taken=args.taken)
        return [user_case(closed(own) if args.project_file else own)]
    if args.costs or args.rules or args.taken or args.objective != ",".join(DEFAULT_OBJECTIVE):
        raise InvalidInputError(
            "--costs, --rules, --taken, --objective and --optimise belong to a job of your own",
            "edgeplace bench JOB CLUSTER ...",
        )
    sites = _SITES if args.sites is None else args.sites
    found = [from_network(args.topology, sites, args.seed)] if args.topology else []
    return found if found and not args.instances else [*named(args.instances), *found]


def _objective(args: argparse.Namespace, case: Instance) -> tuple[str, ...]:
    """Return the objective of the user's own case.

    Raises
    ------
    InvalidInputError
        If it is not understood, or the cluster lacks what it needs.
    """
    objective = tuple(args.objective.split(","))
    objective_levels(objective, case.cluster)
    return objective


def _status(runs: Sequence[Run], bench: Bench) -> ExitStatus:
    if any(r.wrong for r in runs) or bench.wrong_records():
        return ExitStatus.WRONG_ANSWER
    if any(r.status is RunOutcome.ERROR for r in runs):
        return ExitStatus.INTERNAL_ERROR
    return ExitStatus.OK


def _write(out: Path, bench: Bench, runs: Sequence[Run], instances: int) -> None:
    """Write the picture and the updated index; the results are written already."""
    write_text(profile(_ratios(runs), instances), out / "profile.svg")
    write(Index(instances=bench.new_records()), out / "index.yaml")


def _ratios(runs: Sequence[Run]) -> dict[str, list[float]]:
    fastest = fastest_proofs(runs)
    return {
        name: ratios([r for r in runs if r.backend == name], fastest)
        for name in dict.fromkeys(r.backend for r in runs)
    }


def _backends(text: str | None, case: bool) -> tuple[str, ...]:
    from edgeplace.solver.baselines import PUBLISHED

    if text is None:
        return ("milp", *PUBLISHED) if case else BACKENDS
    known = (*BACKENDS, *PUBLISHED)
    names = known if text == "all" else tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name.startswith(PULP):
            from edgeplace.solver import loader

            loader(name, seed=0, workers=None)
        elif name not in known:
            raise InvalidInputError(
                f"--backends: there is no back end {name!r}",
                f"use all, or some of {', '.join(known)}, {PULP}NAME",
            )
    return names


@contextmanager
def _results(out: str | None) -> Iterator[TextIO | None]:
    if out is None:
        yield None
        return
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
        file = (Path(out) / "results.jsonl").open("w", encoding="utf-8")
    except OSError as e:
        raise InvalidInputError(
            f"--out {out}: cannot be written: {e.strerror}", "choose another folder"
        ) from e
    with file:
        yield file
