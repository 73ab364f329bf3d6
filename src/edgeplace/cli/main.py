"""Run one command, and end with its exit status."""

from typing import TYPE_CHECKING

from edgeplace.cli import interruption

# Everything else loads after the handler of Ctrl-C is installed.
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from edgeplace.cli.console import Console
    from edgeplace.cli.exit_status import ExitStatus
    from edgeplace.model import EdgeplaceError


def main(argv: "Sequence[str] | None" = None, console: "Console | None" = None) -> "ExitStatus":
    """Run one command and return its exit status.

    Parameters
    ----------
    argv
        Arguments without the program's name; None: those of the process.
    console
        Output of the command; None: standard output and standard error.
    """
    import sys
    import traceback

    from edgeplace.adapters.flink.errors import (
        AgentMissingError,
        FlinkNotFoundError,
        FlinkUnreachableError,
        PlanNotWrittenError,
        PrometheusUnreachableError,
    )
    from edgeplace.cli.amounts import read_amounts
    from edgeplace.cli.console import Console
    from edgeplace.cli.exit_status import ExitStatus
    from edgeplace.cli.from_project import take_project
    from edgeplace.cli.registry import parser
    from edgeplace.cli.telling import telling
    from edgeplace.model import EdgeplaceError, InvalidInputError, MissingExtraError, with_line
    from edgeplace.spark_stats import SparkUnavailableError

    console = console or Console()
    try:
        args = parser().parse_args(argv)
    except SystemExit as e:
        return ExitStatus.OK if not e.code else ExitStatus.INVALID_INPUT
    if not hasattr(args.module, "run"):
        args.parser.print_help()
        return ExitStatus.OK
    args.argv = sys.argv[1:] if argv is None else list(argv)
    try:
        with telling(args, console):
            read_amounts(args)
            take_project(args, console)
            return _run(args, console)
    except MissingExtraError as e:
        return _failed(console, args, e, ExitStatus.MISSING_EXTRA)
    except InvalidInputError as e:
        return _failed(
            console, args, with_line(e, getattr(args, "rules", None)), ExitStatus.INVALID_INPUT
        )
    except (
        FlinkUnreachableError,
        FlinkNotFoundError,
        PrometheusUnreachableError,
        SparkUnavailableError,
    ) as e:
        return _failed(console, args, e, ExitStatus.UNREACHABLE)
    except (PlanNotWrittenError, AgentMissingError) as e:
        return _failed(console, args, e, ExitStatus.NOT_APPLIED)
    except EdgeplaceError as e:
        return _failed(console, args, e, ExitStatus.INTERNAL_ERROR)
    except KeyboardInterrupt:
        console.problem("interrupted")
        return ExitStatus.INTERRUPTED
    except OSError as e:
        console.problem(f"edgeplace {args.command}: the output cannot be written: {e}")
        return ExitStatus.INVALID_INPUT
    except Exception as e:
        console.problem(traceback.format_exc().rstrip())
        console.problem(f"this is a bug of edgeplace: {type(e).__name__}: {e}")
        return ExitStatus.INTERNAL_ERROR


def _run(args: "argparse.Namespace", console: "Console") -> "ExitStatus":
    from contextlib import nullcontext
    from importlib import import_module

    from edgeplace.model import needing

    # An import that Ctrl-C interrupts may continue as if nothing had happened.
    with needing():
        for name in getattr(args.module, "LOADS", ()):
            import_module(name)
    interruption.raises()
    status: ExitStatus
    # Commands that change Flink restore it before they end.
    asks_flink = args.command == "flink" or getattr(args, "control_command", "") == "run"
    with needing(), nullcontext() if asks_flink else interruption.ends_soon():
        status = args.module.run(args, console)
    return status


def _failed(
    console: "Console", args: "argparse.Namespace", error: "EdgeplaceError", status: "ExitStatus"
) -> "ExitStatus":
    import traceback

    if args.traceback:
        console.problem(traceback.format_exc().rstrip())
    name = args.command
    if name in ("flink", "control"):
        name = f"{name} {getattr(args, f'{name}_command')}"
    console.problem(f"edgeplace {name}: {error}")
    return status


def entry() -> None:
    """Run the command line and end the process with its exit status."""
    interruption.leave_at_once()
    import os
    import sys

    _open_standard_files()
    status = main()
    interruption.leave_at_once()
    code = int(_flushed(status))
    if "edgeplace.solver" in sys.modules:
        from edgeplace.solver import at_work

        if at_work():
            os._exit(code)
    sys.exit(code)


def _open_standard_files() -> None:
    """Open the standard files that the process was started without (`>&-`).

    Otherwise the next opened file would get their numbers, and receive the printed text.
    """
    import os
    import sys
    from io import TextIOWrapper

    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free is this one.
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8"))
    for file in (sys.stdout, sys.stderr):
        if isinstance(file, TextIOWrapper):
            # Characters that the terminal's encoding lacks are escaped.
            file.reconfigure(errors="backslashreplace")


def _flushed(status: "ExitStatus") -> "ExitStatus":
    """Flush the output, and ignore a closed pipe, at which Python would print an error."""
    import os
    import sys

    from edgeplace.cli.exit_status import ExitStatus

    for file in (sys.stdout, sys.stderr):
        try:
            file.flush()
        except OSError as e:
            os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
            if not isinstance(e, BrokenPipeError) and not status:
                print(f"edgeplace: the output cannot be written: {e}", file=sys.stderr)
                return ExitStatus.INVALID_INPUT
    return status


if __name__ == "__main__":
    entry()
