"""The files that a command writes: checked before the work, `-` for standard output."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import BaseModel

from edgeplace.cli.console import Console
from edgeplace.model import InvalidInputError, check_outputs, dump, write_text

_STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


class Outputs:
    """The files that a command writes, by option.

    If a document goes to standard output, the text for people goes to standard error.

    Parameters
    ----------
    files
        Option -> its file, or None if it is not given.
    inputs
        The files that the command reads; None is ignored.
    json
        Whether `--json` is asked for, which prints to standard output.

    Raises
    ------
    InvalidInputError
        If a file cannot be written, is an input too, or if two outputs are the same file.
    """

    def __init__(
        self,
        console: Console,
        files: Mapping[str, str | None],
        inputs: Iterable[str | None] = (),
        json: bool = False,
    ) -> None:
        self._console = console
        self._files = {option: path for option, path in files.items() if path is not None}
        printed = [o for o, path in self._files.items() if path in _STANDARD_OUTPUT]
        if len(printed) + json > 1:
            wanted = " and ".join([*printed, *(["--json"] * json)])
            raise InvalidInputError(
                f"{wanted} would all write to standard output", "give the others a file"
            )
        check_outputs(
            {o: path for o, path in self._files.items() if o not in printed}, filter(None, inputs)
        )
        if printed:
            console.print_to_standard_error()

    def wants(self, option: str) -> bool:
        """Return whether an option is given."""
        return option in self._files

    def text(self, option: str, text: str | Iterable[str]) -> None:
        """Write text to the file of an option, if the option is given."""
        path = self._files.get(option)
        if path in _STANDARD_OUTPUT:
            self._console.document(text if isinstance(text, str) else "".join(text))
        elif path:
            write_text(text, path)

    def document(self, option: str, document: BaseModel) -> None:
        """Write a document: YAML if the file's name says so, else JSON."""
        path = self._files.get(option, "")
        self.text(option, dump(document, Path(path).suffix in (".yaml", ".yml")))

    def say_written(self, option: str, title: str) -> None:
        """Print the path of an option's file."""
        path = self._files.get(option)
        if path and path not in _STANDARD_OUTPUT:
            self._console.text(f"{title} written to {path}")

    def say_not_written(self, option: str, title: str, why: str) -> None:
        """Warn of an option's file that this run did not write: an older one may be there."""
        path = self._files.get(option)
        if path and path not in _STANDARD_OUTPUT:
            older = "; the existing file is older" if Path(path).is_file() else ""
            self._console.problem(f"{title} not written to {path}: {why}{older}")
