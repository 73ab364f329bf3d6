"""`edgeplace schema`."""

import argparse
import json
from pathlib import Path

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.schemas import DOCUMENTS, schema, write_schemas
from edgeplace.model import InvalidInputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = (
        "Print the JSON Schema of a kind of document, with which an editor completes and checks "
        "the fields as you type; or write those of all kinds into a folder."
    )
    parser.epilog = (
        "examples:\n"
        "  edgeplace schema cluster > cluster.schema.json\n"
        "  edgeplace schema -o schemas            one file for each kind, into this folder\n\n"
        "The first line of a YAML file names its schema:\n"
        "  # yaml-language-server: $schema=schemas/job.json"
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "kind", nargs="?", metavar="KIND", choices=tuple(DOCUMENTS), help=", ".join(DOCUMENTS)
    )
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", help="write the schemas of all kinds into a folder"
    )


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Print a schema, or write all."""
    if (args.kind is None) == (args.output is None):
        raise InvalidInputError(
            "either a kind of document is printed, or those of all kinds are written",
            "give a KIND, or -o FOLDER",
        )
    if args.output is None:
        console.raw(json.dumps(schema(args.kind), indent=1))
        return ExitStatus.OK
    folder = Path(args.output)
    write_schemas(folder)
    console.text(f"{len(DOCUMENTS)} schemas written to {folder}")
    return ExitStatus.OK
