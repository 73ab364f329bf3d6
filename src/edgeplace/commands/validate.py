"""`edgeplace validate`."""

import argparse
from pathlib import Path

from edgeplace.case.validation import Validation, validate
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.from_project import environment_of
from edgeplace.cli.options import add_environment
from edgeplace.model import PROJECT_FILE, InvalidInputError, is_installed

LOADS = ("edgeplace.solver",) if is_installed("solve") else ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = (
        "Read the files of a case, and say everything that is wrong: each with file, line and "
        "cure. Check each file against the others: costs against jobs, sources of jobs against "
        "the cluster, names of rules against both. Search for no plan."
    )
    parser.epilog = (
        "examples:\n"
        "  edgeplace validate                               all files of edgeplace.yaml\n"
        "  edgeplace validate job.yaml cluster.yaml rules.yaml\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="jobs, cluster, costs, rules and plans in any order, or a project file (default: "
        "edgeplace.yaml in the current folder)",
    )
    add_environment(parser)
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Check the files, and show what is wrong."""
    files = args.files
    if not files:
        if not Path(PROJECT_FILE).is_file():
            raise InvalidInputError(
                f"no FILE is given, and there is no {PROJECT_FILE} in this folder",
                "name the files, or write a project file: edgeplace init",
            )
        files = [PROJECT_FILE]
    found = validate(files, environment_of(args))
    if args.json:
        console.json(_plain(found))
    else:
        _show(found, console)
    return ExitStatus.INVALID_INPUT if found.misfits else ExitStatus.OK


def _plain(found: Validation) -> dict[str, object]:
    return {
        "valid": not found.misfits,
        "files": [{"file": f.path, "kind": f.kind, "summary": f.summary} for f in found.files],
        "compared": found.compared,
        "mistakes": [{"file": file or None, **m._asdict()} for file, m in found.misfits],
        "notes": found.notes,
    }


def _show(found: Validation, console: Console) -> None:
    if found.files:
        rows = [(file.path, file.kind, file.summary) for file in found.files]
        console.table(("file", "kind", "content"), rows)
    if found.compared:
        console.text(f"checked: each file alone; {'; '.join(found.compared)}")
    elif found.files:
        later = "; they are compared once each is right" if found.misfits else ""
        console.text(f"checked: each file alone{later}")
    console.notes(dict.fromkeys(found.notes))
    for file, mistake in found.misfits:
        at = f"{file}:{mistake.line}: " if mistake.line else f"{file}: " if file else ""
        cure = f"\n  cure: {mistake.cure}" if mistake.cure else ""
        console.problem(f"{at}{mistake.what}{cure}")
    if found.misfits:
        n = len(found.misfits)
        console.problem(f"{n} {'mistake' if n == 1 else 'mistakes'}")
    else:
        console.text("valid", style="green")
