"""`edgeplace completion`."""

import argparse

import shtab

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.registry import parser as command_line
from edgeplace.cli.registry import walk

_SHELLS = ("bash", "zsh", "fish")
_NAMES = {
    "FILE": {
        *("CLUSTER", "CONTROL", "FILE", "INSTANCES", "JOB", "JOURNAL", "LOG", "PLAN"),
        *("SCHEDULERCFG", "TABLE"),
    },
    "DIRECTORY": {"DIR", "FLINK_HOME", "FOLDER"},
}
"""What completes an argument -> names of arguments in help texts."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = (
        "Print a script that lets a shell complete commands, options, choices and files."
    )
    parser.epilog = (
        "examples:\n"
        "  edgeplace completion bash > ~/.local/share/bash-completion/completions/edgeplace\n"
        "  edgeplace completion zsh > ~/.zfunc/_edgeplace      with fpath+=~/.zfunc in .zshrc\n"
        "  edgeplace completion fish > ~/.config/fish/completions/edgeplace.fish\n\n"
        "Write it anew after an update of edgeplace."
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", choices=_SHELLS, help="bash, zsh or fish")


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Print the script for a shell."""
    whole = command_line()
    for command, _ in walk(whole):
        for action in command._actions:
            names = (action.metavar,) if isinstance(action.metavar, str) else action.metavar or ()
            for kind, of_files in _NAMES.items():
                # `FILE.svg` is a file, too.
                if any(name.partition(".")[0] in of_files for name in names):
                    action.complete = getattr(shtab, kind)  # type: ignore[attr-defined]
    console.raw(shtab.complete(whole, args.shell))
    return ExitStatus.OK
