"""`edgeplace control replay`: fold a journal anew, and see whether the same comes of it."""

import argparse
from pathlib import Path

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.model import InvalidInputError, read

LOADS = ("edgeplace.control.loop.journal",)
_MOST_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = (
        "Give the events of a journal to the loop once more. The same lines have to come of "
        "them, to the byte. With --with, show what another control file would have done."
    )
    parser.epilog = EXIT_CODES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("journal", metavar="JOURNAL", help="such as control/journal.jsonl")
    parser.add_argument(
        "--with",
        dest="other",
        metavar="CONTROL",
        help="put this control file in place of the one that the journal was written with; the "
        "answers of Flink and of the solver stay those of the journal",
    )


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Replay, and show where it differs."""
    from edgeplace.adapters.flink.plans import clock
    from edgeplace.control.loop.journal import replay
    from edgeplace.control.settings import ControlSettings

    other = read(args.other, ControlSettings) if args.other else None
    path = Path(args.journal)
    lines = differ = 0
    try:
        with path.open(newline="") as f:
            for line, _, given in replay(f, str(path), other):
                lines += 1
                same = f'"says":{_quoted(line.says)}' in given if other else line.text == given
                if same:
                    continue
                differ += 1
                if differ <= _MOST_SHOWN:
                    console.text(f"line {line.number}, {clock(line.event.at_s)}: {line.says}")
    except OSError as e:
        raise InvalidInputError(f"{path}: cannot be read: {e.strerror}", "give a journal") from e
    except UnicodeDecodeError as e:
        raise InvalidInputError(f"{path}: it is not text in UTF-8", "give a journal") from e
    if other:
        console.text(f"{differ:,} of {lines:,} lines would say something else")
        return ExitStatus.OK
    if differ:
        console.problem(
            f"edgeplace control replay: {differ:,} of {lines:,} lines come out otherwise: was the "
            "journal written by another release, or changed?"
        )
        return ExitStatus.WRONG_ANSWER
    console.text(f"{lines:,} lines, the same to the byte")
    return ExitStatus.OK


def _quoted(text: str) -> str:
    import json

    return json.dumps(text)
