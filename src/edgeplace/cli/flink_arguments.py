"""The arguments of `edgeplace flink discover | collect | install | doctor | apply | drain`."""

import argparse
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_RAW = argparse.RawDescriptionHelpFormatter
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_BYTES = {"": 1, "k": 1000, "M": 10**6, "G": 10**9, "T": 10**12}
_LEAST_LOG_BYTES = 10**6


def add_flink(commands: "Commands", exit_codes: str) -> None:
    """Add the group of commands that work on a Flink."""
    flink = commands.add_parser(
        "flink",
        help="measure a running Flink and make it obey: collect, apply plans, drain nodes",
        description="Read what a running Flink is and does, and make it obey plans while its jobs "
        "run. An agent in the JobManager asks for the slots that a plan names; nothing changes on "
        "the TaskManagers or in the jobs. discover and collect need no agent.",
        epilog="the way:\n"
        "  edgeplace flink discover --jobmanager http://localhost:8081 -o cluster.yaml\n"
        "  edgeplace flink collect --jobmanager http://localhost:8081 --duration 10m\n"
        "  edgeplace flink install /opt/flink      once, then restart the JobManager\n"
        "  edgeplace flink doctor --jobmanager http://localhost:8081\n"
        "  edgeplace flink apply plan.json --jobmanager http://localhost:8081 --dry-run\n"
        "  edgeplace flink apply plan.json --jobmanager http://localhost:8081\n"
        "  edgeplace flink drain pi-3 --jobmanager http://localhost:8081 --for 1h\n\n" + exit_codes,
        formatter_class=_RAW,
    )
    group = flink.add_subparsers(dest="flink_command", metavar="COMMAND", required=True)
    _add_discover(group, exit_codes)
    _add_collect(group, exit_codes)
    _add_install(group)
    _add_doctor(group, exit_codes)
    _add_apply(group, exit_codes)
    _add_drain(group, exit_codes)
    for command in group.choices.values():
        command.add_argument(
            "--traceback", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
        )


def _add_discover(group: "Commands", exit_codes: str) -> None:
    discover = group.add_parser(
        "discover",
        help="write a cluster file and a job graph from what Flink has registered",
        description="Ask a running Flink for its TaskManagers and a job: which machines there are, "
        "with how many cores and slots, what the job is made of, and where it runs. What Flink "
        "does not know (sites, links, classes of machines) is taken from --sites, or is a default "
        "that is labelled as one.",
        epilog="examples:\n"
        "  edgeplace flink discover --jobmanager http://localhost:8081\n"
        "  edgeplace flink discover --jobmanager http://localhost:8081 --sites sites.yaml \\\n"
        "      -o cluster.yaml --job-out job.json\n"
        "  edgeplace flink discover --jobmanager http://localhost:8081 \\\n"
        "      --plan-out now.schedulercfg\n"
        "\n"
        "a file of sites:\n"
        "  sites:\n"
        '    - {id: lyon, hosts: ["10.0.1.*"], node_class: pi}\n'
        '    - {id: cloud, hosts: ["10.0.0.5", "server-*"], node_class: server, tier: cloud}\n'
        "  links: [{source: lyon, target: cloud, bandwidth_bytes_per_s: 500000, delay_ms: 25, "
        "both_ways: true}]\n"
        "  node_classes: [{id: pi, speed: 0.3}, {id: server, speed: 1}]\n"
        "  checkpoint_storage: cloud\n\n" + exit_codes,
        formatter_class=_RAW,
    )
    _add_rest(discover)
    discover.add_argument("--job", metavar="NAME_OR_ID", help="which job, where Flink runs several")
    discover.add_argument(
        "--sites",
        metavar="FILE",
        help="sites with patterns of their hosts or resource ids, links, node classes (YAML)",
    )
    discover.add_argument("-o", "--output", metavar="FILE", help="write the cluster file (YAML)")
    discover.add_argument("--job-out", metavar="FILE", help="write the job graph (JSON)")
    discover.add_argument(
        "--plan-out",
        metavar="FILE",
        help="write where the job runs now as a plan to edit and apply (schedulercfg)",
    )
    discover.add_argument(
        "--ping",
        action="store_true",
        help="measure the round trip from here to each TaskManager (TCP connections to its port)",
    )
    discover.add_argument("--json", action="store_true", help="print what was found as JSON")
    discover.set_defaults(run="flink.discover")


def _add_collect(group: "Commands", exit_codes: str) -> None:
    collect = group.add_parser(
        "collect",
        help="record a running job's metrics into a log for `edgeplace costs`",
        description="Poll Flink's REST API for a job's metrics, places and checkpoints into a "
        "metric log, until --duration is over or Ctrl-C. Restarts of the job and the JobManager "
        "and network cuts are gaps in the log, after which it goes on; so does a log in a folder "
        "when this is started again.",
        epilog="examples:\n"
        "  edgeplace flink collect --jobmanager http://localhost:8081 --duration 10m\n"
        "  edgeplace flink collect --jobmanager http://localhost:8081 --job telemetry "
        "-o /var/log/edgeplace --max-bytes 200MB\n"
        "  edgeplace costs metrics --cluster cluster.yaml -o costs.json\n\n" + exit_codes,
        formatter_class=_RAW,
    )
    _add_rest(collect)
    collect.add_argument(
        "--job",
        metavar="NAME_OR_ID",
        help="a name is waited for, and followed when the job is submitted again; an id means this "
        "run (default: this run of the only job)",
    )
    collect.add_argument(
        "-o",
        "--output",
        metavar="PLACE",
        default="metrics",
        help="a folder of files, continued if it is there, or one new file if it ends in .gz "
        "(default: %(default)s)",
    )
    collect.add_argument(
        "--interval",
        type=_positive,
        metavar="S",
        help="seconds between polls (default: 10); not below Flink's own "
        "metrics.fetcher.update-interval",
    )
    collect.add_argument(
        "--duration",
        dest="duration_s",
        type=_duration_s,
        metavar="TIME",
        help="such as 90s, 30m, 1h, 2d (default: until Ctrl-C)",
    )
    collect.add_argument(
        "--max-bytes",
        type=_log_bytes,
        default="1GB",
        metavar="SIZE",
        help="of the log on disk, such as 200MB: of a folder the oldest files are then removed, "
        "one file ends there (default: %(default)s)",
    )
    collect.add_argument("--json", action="store_true", help="print a summary as JSON at the end")
    collect.set_defaults(run="flink.collect")


def _add_install(group: "Commands") -> None:
    install = group.add_parser(
        "install",
        help="put the agent's jar into a Flink home",
        description="Put the agent's jar into a Flink home and print the one line that the "
        "JobManager's configuration needs. The configuration is never edited.",
        epilog="examples:\n  edgeplace flink install /opt/flink\n"
        "  edgeplace flink install /opt/flink --plans /var/lib/flink/plans --lost fallback\n"
        "  edgeplace flink install /opt/flink --undo",
        formatter_class=_RAW,
    )
    install.add_argument(
        "flink_home", metavar="FLINK_HOME", help="the folder that holds Flink's bin, conf and lib"
    )
    install.add_argument(
        "--plans",
        metavar="DIR",
        help="folder of plans (default: edgeplace in Flink's folder of configuration)",
    )
    install.add_argument(
        "--lost",
        choices=("strict", "fallback"),
        help="subtasks planned on a TaskManager that is gone wait for it (strict, the default), "
        "or run elsewhere meanwhile and come home",
    )
    install.add_argument("--undo", action="store_true", help="remove the jar again")
    install.add_argument("--json", action="store_true", help="print what was done as JSON")
    install.set_defaults(run="flink.install")


def _add_doctor(group: "Commands", exit_codes: str) -> None:
    doctor = group.add_parser(
        "doctor",
        help="find what hinders placement on a running Flink",
        description="Look at a running Flink: is the agent there, and what would keep plans from "
        "being obeyed. Changes nothing.",
        epilog="example:\n  edgeplace flink doctor --jobmanager http://localhost:8081 "
        "--cluster cluster.yaml\n\n" + exit_codes,
        formatter_class=_RAW,
    )
    _add_connection(doctor)
    doctor.add_argument(
        "--cluster", metavar="FILE", help="cluster file: checks links and cores too"
    )
    doctor.add_argument("--json", action="store_true", help="print the findings as JSON")
    doctor.set_defaults(run="flink.doctor")


def _add_apply(group: "Commands", exit_codes: str) -> None:
    apply = group.add_parser(
        "apply",
        help="move a running job to where a plan says, verified, or leave it where it is",
        description="Show which subtasks of a running job a plan would move; then write the plan "
        "for the agent, wait, verify every subtask by Flink's REST API, and see the job stay "
        "healthy: running, a checkpoint completed, no restart. If any of that fails, the former "
        "placement is restored and verified. Applied twice, a plan changes nothing.",
        epilog="examples:\n"
        "  edgeplace flink apply plan.json --jobmanager http://localhost:8081 --dry-run\n"
        "  edgeplace flink apply plan.json --jobmanager http://localhost:8081 --cluster "
        "cluster.yaml\n"
        "  EDGEPLACE_FLINK_TOKEN=... edgeplace flink apply plan.json --jobmanager "
        "https://flink.example:8081 \\\n      --plans /mnt/plans --ca-file ca.pem\n\n"
        "Run it where the agent's folder of plans is: on the JobManager's machine, or where the "
        "folder is\nmounted.\n\n" + exit_codes,
        formatter_class=_RAW,
    )
    apply.add_argument(
        "plan",
        metavar="PLAN",
        help="a plan written by `edgeplace solve -o`, or a schedulercfg",
    )
    _add_connection(apply)
    apply.add_argument(
        "--job", metavar="NAME_OR_ID", help="which job, where the plan can be for several"
    )
    apply.add_argument(
        "--cluster",
        metavar="FILE",
        help="cluster file, if the plan has its names of TaskManagers and not Flink's",
    )
    _add_change(apply)
    apply.set_defaults(run="flink.apply")


def _add_drain(group: "Commands", exit_codes: str) -> None:
    drain = group.add_parser(
        "drain",
        help="move all that runs on a node elsewhere for a time",
        description="Empty a node: place every job with subtasks there anew without it, apply "
        "that, and verify that nothing runs there. After --for, the jobs return by themselves. "
        "With --cluster and --costs the solver decides where the subtasks of the measured job go "
        "(fewest moves, then WAN traffic); others go to where most slots are free.",
        epilog="examples:\n"
        "  edgeplace flink drain pi-3 --jobmanager http://localhost:8081 --dry-run\n"
        "  edgeplace flink drain pi-3 --jobmanager http://localhost:8081 --for 30m --cluster "
        "cluster.yaml \\\n      --costs costs.json --rules rules.yaml\n"
        "  edgeplace flink drain pi-3 --jobmanager http://localhost:8081 --undo\n\n" + exit_codes,
        formatter_class=_RAW,
    )
    drain.add_argument(
        "node",
        metavar="NODE",
        help="resource id or host of a TaskManager, or a node or site of the cluster file",
    )
    _add_connection(drain)
    drain.add_argument(
        "--for",
        dest="for_s",
        type=_duration_s,
        default="1h",
        metavar="TIME",
        help="how long, such as 10m, 1h, 2d (default: %(default)s)",
    )
    drain.add_argument("--undo", action="store_true", help="let the jobs return now")
    drain.add_argument("--cluster", metavar="FILE", help="cluster file: its names, and the solver")
    drain.add_argument(
        "--costs", metavar="FILE", help="costs made by `edgeplace costs`: the solver decides"
    )
    drain.add_argument("--rules", metavar="FILE", help="rules for the solver")
    _add_change(drain)
    drain.set_defaults(run="flink.drain")


def _add_connection(command: argparse.ArgumentParser) -> None:
    _add_rest(command)
    command.add_argument(
        "--plans",
        metavar="DIR",
        help="the agent's folder of plans (default: where the JobManager says it is)",
    )


def _add_rest(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--jobmanager",
        required=True,
        metavar="URL",
        help="Flink's REST API, such as http://localhost:8081",
    )
    command.add_argument(
        "--credentials",
        metavar="FILE",
        help="`token: ...`, or `user: ...` and `password: ...`; chmod 600. Without it, the "
        "variables EDGEPLACE_FLINK_TOKEN, or EDGEPLACE_FLINK_USER and EDGEPLACE_FLINK_PASSWORD",
    )
    command.add_argument(
        "--ca-file", metavar="FILE", help="certificates to trust (PEM), in place of the system's"
    )


def _add_change(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--dry-run", action="store_true", help="show what would change, and change nothing"
    )
    command.add_argument(
        "--max-moves", type=_count, metavar="N", help="refuse if more subtasks would move"
    )
    command.add_argument(
        "--timeout",
        type=_positive,
        default=120.0,
        metavar="S",
        help="seconds for a move to be seen healthy, and again for the way back (default: 120)",
    )
    command.add_argument("--json", action="store_true", help="print the outcome as JSON")


def _duration_s(text: str) -> int:
    hit = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    if not hit or not int(hit[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write 90s, 30m, 1h or 2d")
    return int(hit[1]) * _SECONDS[hit[2]]


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of 0 or more")
    return int(text)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return value


def _log_bytes(text: str) -> int:
    hit = re.fullmatch(r"([0-9]{1,15})\s*([kMGT]?)B?", text)
    size = int(hit[1]) * _BYTES[hit[2]] if hit else 0
    if size < _LEAST_LOG_BYTES:
        raise argparse.ArgumentTypeError(f"{text!r} is no size of 1MB or more, such as 200MB, 1GB")
    return size
