"""What `solve`, `explain`, `balance` and `fleet` take."""

import argparse


def add_inputs(command: argparse.ArgumentParser) -> None:
    """Add what says which job is placed on which cluster."""
    command.add_argument(
        "job",
        metavar="JOB",
        help="job graph (JSON or YAML), a saved Flink answer to /jobs/:jobid, a folder of saved "
        "answers, or a metric log",
    )
    command.add_argument("cluster", metavar="CLUSTER", help="cluster file (YAML or JSON)")
    command.add_argument("--costs", metavar="FILE", help="costs made by `edgeplace costs`")
    command.add_argument("--rules", metavar="FILE", help="rules (YAML or JSON): pin, match, ...")
    command.add_argument(
        "--current",
        metavar="FILE",
        help="where the subtasks run now: a plan or a schedulercfg; default: as the costs or the "
        "job file saw it",
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
    if text not in ("milp", "cp-sat") and not text.startswith("pulp:"):
        raise argparse.ArgumentTypeError(
            f"there is no back end {text!r}: use milp, cp-sat or pulp:NAME"
        )
    return text


def add_balance(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", exit_codes: str
) -> None:
    """Add `balance`."""
    balance = commands.add_parser(
        "balance",
        help="spread: the plan whose fullest TaskManager is least loaded, proved",
        description="Place every subtask so that the fullest TaskManager is as little loaded as "
        "can be, in cores, checkpointed bytes and sent bytes, as CAPS (EuroSys 2025) weighs them. "
        "Slots, and where rules let subtasks run, are kept to; links, memory and latency are not "
        "looked at: limits that the plan exceeds are named.",
        epilog="example:\n  edgeplace balance job.json cluster.yaml --costs costs.json "
        "--time-limit 20 -o plan.json\n\n" + exit_codes,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_inputs(balance)
    balance.add_argument("--time-limit", metavar="S", help="wall time of the search")
    balance.add_argument("-o", "--output", metavar="FILE", help="write the plan (JSON or YAML)")
    balance.add_argument("--json", action="store_true", help="print the answer as JSON")
    balance.set_defaults(run="balance")


def add_fleet(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", exit_codes: str
) -> None:
    """Add `fleet`."""
    fleet = commands.add_parser(
        "fleet",
        help="repeat: the same jobs at very many sites -> a plan for each, proved",
        description="Place the jobs of a template, a cluster with one site of each kind, at every "
        "site of a table: least WAN bytes of all sites together, within what they share. The table "
        "has a row for each copy of a site: its columns 'id' (its name) and 'site' (of which site "
        "of the cluster it is a copy), and any of rates, rates:JOB (factor on the demand), "
        "cores:NODE, slots:TASKMANAGER, bandwidth_bytes_per_s, delay_ms and price_per_byte.",
        epilog="example:\n  edgeplace fleet job.json cluster.yaml --rules rules.yaml "
        "--sites shops.csv -o plans.csv\n\n" + exit_codes,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    fleet.add_argument(
        "jobs", nargs="+", metavar="JOB", help="job graphs, each as for `edgeplace solve`"
    )
    fleet.add_argument("cluster", metavar="CLUSTER", help="cluster file (YAML or JSON)")
    fleet.add_argument(
        "--sites",
        required=True,
        metavar="TABLE",
        help="the copies of sites (CSV, or Parquet with pandas and pyarrow installed)",
    )
    fleet.add_argument(
        "--costs",
        action="append",
        default=[],
        metavar="FILE",
        help="costs of the job of that name, made by `edgeplace costs`; may be given several times",
    )
    fleet.add_argument("--rules", metavar="FILE", help="rules (YAML or JSON): pin, match")
    fleet.add_argument("--time-limit", metavar="S", help="wall time of the search")
    fleet.add_argument(
        "--gap",
        default="1e-6",
        help="relative gap that is good enough (default: %(default)s)",
    )
    fleet.add_argument(
        "--workers", type=int, default=1, metavar="N", help="threads (default: %(default)s)"
    )
    fleet.add_argument(
        "-o",
        "--output",
        metavar="TABLE",
        help="write the TaskManager of each subtask of each copy (CSV or Parquet)",
    )
    fleet.add_argument("--json", action="store_true", help="print the summary as JSON")
    fleet.set_defaults(run="fleet")
