"""What the command line understands."""

import argparse

from edgeplace import __version__
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.flink_arguments import add_flink
from edgeplace.cli.placement_arguments import add_backend, add_balance, add_fleet, add_inputs
from edgeplace.model import DEFAULT_OBJECTIVE, OBJECTIVES

_EXIT_CODES = "exit codes:\n" + "\n".join(
    f"  {status.value:>3}  {text}"
    for status, text in (
        (ExitStatus.OK, "done; solve: a plan, proved best or within --gap"),
        (ExitStatus.INTERNAL_ERROR, "a bug of edgeplace"),
        (ExitStatus.INVALID_INPUT, "wrong command line or input; the message has the cure"),
        (ExitStatus.INFEASIBLE, "no plan exists, proved; the conflict says why"),
        (ExitStatus.NOT_PROVED, "a plan that holds, stopped before it was proved best"),
        (ExitStatus.NO_PLAN, "stopped before a plan was found or shown impossible"),
        (ExitStatus.MISSING_EXTRA, "Spark, Java or pyarrow is not installed"),
        (
            ExitStatus.NOT_APPLIED,
            "flink apply/drain: refused or rolled back, the former placement runs",
        ),
        (
            ExitStatus.UNREACHABLE,
            "Flink cannot be reached or refuses, or flink collect got nothing; after a write: "
            "what runs could not be verified",
        ),
        (ExitStatus.HINDERED, "flink doctor: something hinders placement"),
        (ExitStatus.WRONG_ANSWER, "bench: an answer is wrong; the table says whose and why"),
        (
            ExitStatus.INTERRUPTED,
            "Ctrl-C; solve: the best plan so far, if there is one, is shown and written all the "
            "same; flink collect: before the first poll",
        ),
    )
)

_GAP = "gap that is good enough: 5%% or 0.05 (default: 0, proved best)"


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    parser = argparse.ArgumentParser(
        prog="edgeplace",
        description="Place the subtasks of a Flink job on edge nodes and servers, with a proof.",
        epilog="Start with: edgeplace demo\n\n" + _EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"edgeplace {__version__}")
    parser.add_argument(
        "--traceback", action="store_true", help="show where in the code an error arose"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_costs(commands)
    _add_solve(commands)
    _add_explain(commands)
    add_balance(commands, _EXIT_CODES)
    add_fleet(commands, _EXIT_CODES)
    _add_bench(commands)
    demo = commands.add_parser(
        "demo",
        help="the whole way on a recorded job: metric log, costs, proven plan, schedulercfg",
        description="Measure a job recorded on a real Flink with Spark, place it on Pis at two "
        "sites and a server, and show what was decided and why.",
    )
    demo.set_defaults(run="demo")
    add_flink(commands, _EXIT_CODES)
    for command in commands.choices.values():
        # Understood before and after the command's name.
        command.add_argument(
            "--traceback", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
        )
    return parser


def _add_costs(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    costs = commands.add_parser(
        "costs",
        help="measure: metric logs of a running job -> costs per operator",
        description="Turn metric logs into costs per operator and node class: true processing "
        "rate, selectivity, bytes, state. Reads edgeplace's metric log, Prometheus text and "
        "query_range JSON, Flink's slf4j reporter and the flink-placement project's metrics "
        "JSON lines, each also gzipped; the format is found by content.",
        epilog="example:\n  edgeplace costs metrics.jsonl.gz --cluster cluster.yaml -o costs.json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    costs.add_argument("logs", nargs="+", metavar="LOG", help="log files or folders of them")
    costs.add_argument(
        "--cluster", metavar="FILE", help="says on which class of node each TaskManager runs"
    )
    costs.add_argument("--job", metavar="FILE", help="the job graph, for logs that hold no plan")
    costs.add_argument(
        "--placement",
        metavar="SCHEDULERCFG",
        help="where the subtasks ran, for logs that do not say (needs --job and --cluster)",
    )
    costs.add_argument(
        "--rate",
        action="append",
        default=[],
        metavar="SOURCE=N",
        help="demand of a source in records/s, if the log shows it throttled",
    )
    costs.add_argument(
        "-o", "--output", metavar="FILE", help="write the costs (JSON or YAML; -: standard output)"
    )
    costs.add_argument(
        "--parquet", metavar="FOLDER", help="write the costs per operator and class as Parquet"
    )
    costs.add_argument(
        "--quarantine",
        metavar="FILE",
        help="write bad lines with file, line and reason (JSON lines)",
    )
    costs.add_argument("--json", action="store_true", help="print the costs as JSON")
    costs.set_defaults(run="costs")


def _add_solve(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    solve = commands.add_parser(
        "solve",
        help="decide: job, cluster and costs -> a proven plan, or why there is none",
        description="Place every subtask: fewest WAN bytes first, then latency, server cores and "
        "moves, within slots, CPU, memory, links and rules; with a proof, or a conflict that "
        "names what clashes and what would cure it.",
        epilog="example:\n  edgeplace solve job.json cluster.yaml --costs costs.json "
        "--schedulercfg schedulercfg\n\n" + _EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_case(solve)
    solve.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="WHAT=VALUE",
        help="ask what if, side by side with now: rate:SOURCE=N (records/s over all its subtasks), "
        "rate:SOURCE=x2, rate=x2 (all sources), site:ID=lost, link:A-B=0.5 (times, both ways; "
        "A->B: one way), node+=CLASS@SITE (one more node like those)",
    )
    solve.add_argument(
        "--pareto",
        nargs="?",
        const="",
        metavar="FILE.svg",
        help="show the plans that trade WAN bytes, latency and server cores for one another, and "
        "draw them into a file (time limit of all searches: 60 s unless said)",
    )
    solve.add_argument("--time-limit", metavar="S", help="wall time of the search")
    solve.add_argument("--gap", default="0", help=_GAP)
    add_backend(solve)
    solve.add_argument(
        "-o", "--output", metavar="FILE", help="write the plan (JSON or YAML; -: standard output)"
    )
    solve.add_argument("--schedulercfg", metavar="FILE", help="write the plan for Flink")
    solve.add_argument(
        "--report", metavar="FILE", help="write what was decided and why as a page (HTML)"
    )
    solve.add_argument("--json", action="store_true", help="print result and comparison as JSON")
    solve.set_defaults(run="solve")


def _add_case(command: argparse.ArgumentParser) -> None:
    """Add what says which job is placed on which cluster, and how plans are judged."""
    add_inputs(command)
    command.add_argument(
        "--objective",
        default=",".join(DEFAULT_OBJECTIVE),
        metavar="LIST",
        help=f"terms in order of weight, of {', '.join(OBJECTIVES)}; wan:5%% lets later terms "
        "worsen wan by 5%% (default: %(default)s)",
    )


def _add_explain(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    explain = commands.add_parser(
        "explain",
        help="why: what binds, why each operator is where it is, what another place would do",
        description="Say what binds in a plan and why each operator is where it is; for a subtask, "
        "every other place with what it would cost or break; what one more slot, core or Mbit/s "
        "is worth; what differs between two plans. Every figure is the evaluator's.",
        epilog="examples:\n"
        "  edgeplace explain job.json cluster.yaml plan.json --costs costs.json\n"
        "  edgeplace explain job.json cluster.yaml plan.json --subtask 'filter (2/4)'\n"
        "  edgeplace explain job.json cluster.yaml plan.json --prices --time-limit 30\n"
        "  edgeplace explain job.json cluster.yaml new.json --against old.json\n\n" + _EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_case(explain)
    explain.add_argument("plan", metavar="PLAN", help="the plan to explain: a plan or schedulercfg")
    question = explain.add_mutually_exclusive_group()
    question.add_argument(
        "--subtask", metavar="NAME", help="one subtask's other places: Flink's name, 'filter (2/4)'"
    )
    question.add_argument(
        "--prices",
        action="store_true",
        help="solve again with one more slot, core or Mbit/s where that may be scarce: 80 %% in "
        "use, or what keeps an operator from a better place, or the fullest of an edge site",
    )
    explain.add_argument(
        "--time-limit",
        default=10.0,
        metavar="S",
        help="wall time of all searches for --prices (default: %(default)s)",
    )
    add_backend(explain)
    question.add_argument(
        "--against", metavar="PLAN", help="show what differs: from this plan to PLAN"
    )
    explain.add_argument("--json", action="store_true", help="print it as JSON")
    explain.set_defaults(run="explain")


def _add_bench(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    bench = commands.add_parser(
        "bench",
        help="compare: back ends on benchmark instances, or all policies on your own case",
        description="Run back ends on instances, each run in a process of its own with a limit on "
        "time and memory; judge every plan by the evaluator and every claim by the others and by "
        "the best known values. With JOB and CLUSTER: compare all published placement methods on "
        "your own case.",
        epilog="examples:\n"
        "  edgeplace bench                                  the shipped instances\n"
        "  edgeplace bench tree multi-query-4-1 --out out   a family, and one by name\n"
        "  edgeplace bench scale-1000-7 --backends milp     generated: FAMILY-SIZE-SEED\n"
        "  edgeplace bench --topology Geant.graphml --sites 12\n"
        "  edgeplace bench job.json cluster.yaml --rules rules.yaml\n\n" + _EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    bench.add_argument(
        "instances",
        nargs="*",
        metavar="INSTANCES",
        help="families, names FAMILY-SIZE-SEED, instance files or folders of them; or JOB CLUSTER "
        "(default: all shipped instances)",
    )
    bench.add_argument(
        "--backends",
        metavar="LIST",
        help="milp, cp-sat, pulp:NAME (a solver that PuLP finds on this machine), published "
        "methods by name (docs/baselines.md), or all: all but PuLP's "
        "(default: milp,cp-sat; on your own case: milp and all published methods)",
    )
    bench.add_argument(
        "--topology",
        metavar="FILE",
        help="make an instance over a real network: GraphML, or a square CSV of round-trip times "
        "in ms",
    )
    bench.add_argument(
        "--sites",
        type=int,
        metavar="N",
        help="edge sites with sources, for --topology (default: 8)",
    )
    bench.add_argument("--costs", metavar="FILE", help="costs of JOB, made by `edgeplace costs`")
    bench.add_argument("--rules", metavar="FILE", help="rules for JOB (YAML or JSON)")
    bench.add_argument(
        "--time-limit",
        default=10.0,
        metavar="S",
        help="wall time of one run (default: %(default)s)",
    )
    bench.add_argument("--gap", default="0", help=_GAP)
    bench.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="of the back ends' random choices and of --topology (default: %(default)s)",
    )
    bench.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="runs at a time (default: %(default)s)"
    )
    bench.add_argument(
        "--out",
        metavar="DIR",
        help="write report.html, results.jsonl (environment, then runs), profile.svg, and "
        "index.yaml with what is now best known",
    )
    bench.add_argument("--json", action="store_true", help="print runs and averages as JSON")
    bench.set_defaults(run="bench")
