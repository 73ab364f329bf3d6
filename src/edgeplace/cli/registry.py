"""The table of commands. The module of a command loads when the command is called."""

import argparse
import difflib
import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, cast

from edgeplace import __version__
from edgeplace.cli.exit_status import EXIT_CODES

if TYPE_CHECKING:
    from edgeplace.cli.console import Console
    from edgeplace.cli.exit_status import ExitStatus

    _Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    _Subparsers = argparse._SubParsersAction

COMMANDS = {
    "costs": "measure: metric logs of a running job -> costs per operator",
    "solve": "decide: job, cluster and costs -> a proven plan, or why there is none",
    "explain": "explain: limits in use, why each operator is where it is, effects of other places",
    "balance": "spread: the plan whose fullest TaskManager is least loaded, proved",
    "fleet": "repeat: the same jobs at very many sites -> a proven plan for each site",
    "bench": "compare: back ends on benchmark instances, or all policies on your own case",
    "init": "begin: write a project file for this folder, and examples of what it lacks",
    "validate": "check: all files of a case, each alone and against the others",
    "schema": "describe: the fields of a kind of document, for editors",
    "demo": "demonstrate: a recorded job, from metric log to costs, proven plan and schedulercfg",
    "control": "watch: a running job for weeks, where it would run better; simulate a load",
    "flink": "apply: measure a running Flink, make it follow plans, drain machines",
    "completion": "set up: complete commands, options and files in bash, zsh or fish",
    "help": "help: of a command, as its --help",
}
"""Command, which is also the name of its module in `edgeplace.commands` -> summary."""


class Command(Protocol):
    """The interface of a command's module.

    It may also have `LOADS`: names of modules that take long to load. They load before `run`, and
    not for `--help`.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of the command, and its help."""

    def run(self, args: argparse.Namespace, console: "Console") -> "ExitStatus":
        """Run the command. A group of commands does not have this function."""


_EVERYWHERE = {
    ("-q", "--quiet"): "no progress and no notices: the result, warnings and errors alone",
    ("-v", "--verbose"): "say what is read, asked of Flink and searched",
    ("--traceback",): "show where in the code an error arose",
}
"""Options that are accepted before and after a command's name -> their help."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line.

    Its result has the command's module as `module`, None without a command, and the parser of the
    command as `parser`.
    """
    parser = _Parser(
        prog="edgeplace",
        description="Place the subtasks of a Flink job on edge nodes and servers, with a proof.",
        epilog="Start with: edgeplace demo; in a folder of your own: edgeplace init\n\n"
        + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    version = f"edgeplace {__version__}"
    parser.add_argument("-V", "--version", action="version", version=version)
    for names, text in _EVERYWHERE.items():
        parser.add_argument(*names, action="store_true", help=text)
    parser.set_defaults(module=None, parser=parser)
    add_commands(parser, COMMANDS, "edgeplace.commands", dest="command")
    return parser


def add_commands(
    parser: argparse.ArgumentParser,
    summaries: Mapping[str, str],
    package: str,
    dest: str,
    modules: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Add the commands whose modules are in a package.

    Parameters
    ----------
    summaries
        Command, which is also the name of its module unless `modules` has another -> summary.
    dest
        Attribute of the result that gets the name of the command.
    modules
        Command -> name of its module, where they differ.
    """
    commands = cast(
        "_Commands",
        parser.add_subparsers(action=_Commands, dest=dest, metavar="COMMAND"),
    )
    commands.modules = {name: f"{package}.{modules.get(name, name)}" for name in summaries}
    for name, summary in summaries.items():
        commands.add_parser(name, help=summary)


def walk(
    parser: argparse.ArgumentParser, summary: str = ""
) -> Iterator[tuple[argparse.ArgumentParser, str]]:
    """Load and yield every command below a parser, the parser first, each with its summary.

    The commands of a group load after the group was yielded.
    """
    yield parser, summary
    for group in [a for a in parser._actions if isinstance(a, _Commands)]:
        summaries = {a.dest: a.help or "" for a in group._choices_actions}
        for name, command in group.choices.items():
            group.load(name, command)
            yield from walk(command, summaries[name])


class _Parser(argparse.ArgumentParser):
    """Takes files before, between and after options: `solve job.json --costs a.json sites.yaml`.

    `ArgumentParser` gives the first files to all positional arguments, and refuses the others.
    """

    _apart = False

    def _check_value(self, action: argparse.Action, value: object) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as e:
            e.message += _meant(str(value), map(str, action.choices or ()))
            raise

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse options and files apart; see `ArgumentParser`."""
        # The method below calls this one, and cannot parse commands of commands.
        if self._apart or self._subparsers is not None:
            return super().parse_known_args(args, namespace)
        self._refuse_unknown(sys.argv[1:] if args is None else args)
        self._apart = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._apart = False

    def _refuse_unknown(self, args: Sequence[str]) -> None:
        """Refuse an option that does not exist, before its value is taken for a file."""
        options = self._option_string_actions
        for arg in itertools.takewhile("--".__ne__, args):
            name = arg.partition("=")[0]
            if name.startswith("--") and not any(known.startswith(name) for known in options):
                self.error(f"unrecognized arguments: {name}{_meant(name, options)}")


class _Commands(_Subparsers):
    """Subparsers that load only the arguments of the called command."""

    modules: Mapping[str, str]
    """Command -> its module."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        name = str(values[0]) if values else ""
        # `super` refuses an unknown name.
        if name in self.choices:
            self.load(name, self.choices[name])
        super().__call__(parser, namespace, values, option_string)
        strays = getattr(namespace, argparse._UNRECOGNIZED_ARGS_ATTR, [])
        if strays:
            # With the usage of this command; `parse_args` would show that of all.
            command = self.choices[name]
            meant = _meant(strays[0].partition("=")[0], command._option_string_actions)
            command.error(f"unrecognized arguments: {' '.join(strays)}{meant}")

    def load(self, name: str, command: argparse.ArgumentParser) -> None:
        """Add the arguments of a command to its parser."""
        module = cast("Command", import_module(self.modules[name]))
        module.add_arguments(command)
        for names in _EVERYWHERE:
            command.add_argument(
                *names, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
            )
        command.set_defaults(module=module, parser=command)


def _meant(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), 1, 0.7)
    return f"; did you mean {near[0]!r}?" if near else ""
