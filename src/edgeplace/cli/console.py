"""Output of a command: tables with colours on a terminal, plain text elsewhere."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO
from unicodedata import category

from rich import box
from rich.console import Console as RichConsole
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

_PLAIN_WIDTH = 100_000
"""Width that keeps a row of a table on one line if the output is not a terminal."""


class Console:
    """Standard output and standard error of one command.

    Names come from users and may contain anything, so nothing is interpreted as markup.
    """

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.out = self._documents = _rich(out or sys.stdout)
        self.err = _rich(err or sys.stderr)

    def print_to_standard_error(self) -> None:
        """Reserve standard output for one document."""
        self.out = self.err

    def document(self, text: str) -> None:
        """Print a document on standard output, unchanged."""
        self._documents.out(text, end="", highlight=False)

    def text(self, text: str = "", style: str = "") -> None:
        """Print a line."""
        self.out.print(Text(visible(text, keep="\n"), style=style), soft_wrap=True)

    def raw(self, text: str) -> None:
        """Print text for programs, unchanged."""
        self.out.out(text, end="", highlight=False)

    def heading(self, text: str) -> None:
        """Print the title of a section."""
        self.text()
        self.text(text, style="bold")

    def table(
        self, columns: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str] = ()
    ) -> None:
        """Print a table; columns whose title starts with `>` are aligned to the right.

        Parameters
        ----------
        styles
            Style of each row; used on terminals only.
        """
        table = self._table(columns, rows, styles)
        if self.out.is_terminal:
            self.out.print(table)
            return
        # The last column needs no padding.
        with self.out.capture() as printed:
            self.out.print(table)
        self.raw("".join(f"{line.rstrip()}\n" for line in printed.get().split("\n")[:-1]))

    def has_room(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
        """Return whether a table fits the terminal without breaking a cell."""
        natural = self.out.options.update(max_width=_PLAIN_WIDTH)
        needed = self.out.measure(self._table(columns, rows), options=natural).maximum
        return needed <= self.out.width

    def _table(
        self, columns: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str] = ()
    ) -> Table:
        table = Table(box=box.SIMPLE_HEAD if self.out.is_terminal else None, pad_edge=False)
        for title in columns:
            right = title.startswith(">")
            table.add_column(
                Text(visible(title.lstrip(">"))),
                justify="right" if right else "left",
                overflow="fold",
            )
        for i, row in enumerate(rows):
            table.add_row(
                *(Text(visible(cell)) for cell in row), style=styles[i] if styles else None
            )
        return table

    def problem(self, text: str) -> None:
        """Print an error or a warning on standard error."""
        self.err.print(Text(visible(text, keep="\n"), style="red"), soft_wrap=True)

    @contextmanager
    def progress(self, title: str) -> Iterator["Bar"]:
        """Show a progress bar while the block runs, if standard error is a terminal."""
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            console=self.err,
            transient=True,
            disable=not self.err.is_terminal,
        ) as progress:
            yield Bar(progress, title)


class Bar:
    """One progress bar."""

    def __init__(self, progress: Progress, title: str) -> None:
        self._progress = progress
        self._task = progress.add_task(title, total=1.0)

    def __call__(self, text: str, share: float | None = None) -> None:
        """Show the current step, and the completed share of the work."""
        self._progress.update(self._task, description=text, completed=share)


def visible(text: str, keep: str = "") -> str:
    """Return text with line ends and control characters escaped: a name stays on its line."""
    return "".join(
        ascii(c)[1:-1] if category(c) in ("Cc", "Zl", "Zp") and c not in keep else c for c in text
    )


class _Rich(RichConsole):
    """A stream that ignores a closed pipe (`| head`), so that the command keeps its exit
    status.
    """

    def on_broken_pipe(self) -> None:
        """Stop printing."""
        self.quiet = True


def _rich(file: TextIO) -> RichConsole:
    plain = not file.isatty()
    return _Rich(
        file=file,
        force_terminal=not plain,
        markup=False,
        highlight=False,
        emoji=False,
        width=_PLAIN_WIDTH if plain else None,
        no_color=plain or None,
    )
