"""`edgeplace flink install`."""

import argparse

from edgeplace.adapters.flink.install import KEY, Installation, install, uninstall
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus

_DONE = {
    "copied": "agent's jar copied to",
    "replaced": "agent's jar replaced at",
    "unchanged": "agent's jar in place already:",
    "removed": "agent's jar removed from",
    "absent": "there is no agent's jar at",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command, and its help."""
    parser.description = (
        "Put the agent's jar into a Flink home and print the one line that the "
        "JobManager's configuration needs. The configuration is never edited."
    )
    parser.epilog = (
        "examples:\n  edgeplace flink install /opt/flink\n"
        "  edgeplace flink install /opt/flink --plans /var/lib/flink/plans --lost fallback\n"
        "  edgeplace flink install /opt/flink --undo"
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "flink_home", metavar="FLINK_HOME", help="the folder that holds Flink's bin, conf and lib"
    )
    parser.add_argument(
        "--plans",
        metavar="DIR",
        help="folder of plans (default: edgeplace in Flink's folder of configuration)",
    )
    parser.add_argument(
        "--lost",
        choices=("strict", "fallback"),
        help="subtasks planned on a TaskManager that is gone wait for it (strict, the default), "
        "or run elsewhere meanwhile and come home",
    )
    parser.add_argument("--undo", action="store_true", help="remove the jar again")
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Copy or remove the jar, and print the remaining steps."""
    if args.undo:
        done = uninstall(args.flink_home)
    else:
        done = install(args.flink_home, plans=args.plans, lost=args.lost)
    if args.json:
        console.json(_as_json(done))
        return ExitStatus.OK
    console.text(f"Flink {done.flink} at {done.home}")
    console.text(f"{_DONE[done.action]} {done.jar}")
    for warning in done.warnings:
        console.problem(f"warning: {warning}")
    if done.action == "removed":
        console.text("a JobManager that was started with the agent keeps it until it restarts")
        console.text(
            f"if the JobManager reads another folder than {done.line.file.parent}: take the agent "
            "out of its configuration before it restarts, or it will not start"
        )
    elif not args.undo:
        _say_what_is_left(done, console)
    return ExitStatus.OK


def _say_what_is_left(done: Installation, console: Console) -> None:
    line = done.line
    console.text()
    if line.in_place:
        console.text(f"{line.file} has the line already:")
        console.text(f"  {line.text}")
        console.text("restart the JobManager if it has not been since, then check:")
    else:
        what = f"replace the value of {KEY}" if line.replaces else "add this line at the end"
        console.text(f"1. in {line.file}, {what}:")
        console.text(f"     {line.text}", style="bold")
        if line.replaces:
            console.text(f"   it is now: {line.replaces}")
            console.text("   (keep the key as it is written there, nested or flat)")
        else:
            console.text("   (as a line of its own, also where the file has a nested `env:`)")
        console.text(
            "   (if the JobManager runs with another FLINK_CONF_DIR, in that folder's file)"
        )
        console.text(
            "2. restart the JobManager, and only it (without high availability its jobs end: stop "
            "them with a savepoint first)"
        )
        console.text("3. check:")
    console.text("     edgeplace flink doctor --jobmanager http://localhost:8081")


def _as_json(done: Installation) -> dict[str, object]:
    return {
        "flink_home": str(done.home),
        "flink": done.flink,
        "jar": str(done.jar),
        "action": done.action,
        "configuration_file": str(done.line.file),
        "line": done.line.text,
        "line_in_place": done.line.in_place,
        "replaces": done.line.replaces,
        "warnings": list(done.warnings),
    }
