"""Output of a command: tables with colours on a terminal, plain text elsewhere."""

import json
import math
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO
from unicodedata import category

from rich import box
from rich.cells import cell_len
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
        self.quiet = False
        """Whether to leave out progress and notices."""
        self.steps = False
        """Whether to keep a line of each step of the work."""

    @property
    def on_terminal(self) -> bool:
        """Whether people read the output at once; colours alone may be asked of files, too."""
        return self.out.file.isatty()

    def print_to_standard_error(self) -> None:
        """Reserve standard output for one document."""
        self.out = self.err

    def document(self, text: str) -> None:
        """Print a document on standard output, unchanged."""
        self._documents.out(text, end="", highlight=False)

    def text(self, text: str = "", style: str = "") -> None:
        """Print a text; a terminal breaks it into lines between words."""
        _print(self.out, visible(text, keep="\n"), style)

    def command(self, before: str, words: Sequence[str]) -> None:
        """Print a command to copy, quoted for a shell, on one line also where that is long."""
        self.out.print(Text(visible(f"{before}{shlex.join(words)}")), soft_wrap=True)

    def notes(self, notes: Iterable[str]) -> None:
        """Print notes for the reader of what stands above."""
        for note in notes:
            self.text(f"note: {note}", style="dim")

    def line(self, line: Text) -> None:
        """Print a line with styles of its own; a terminal breaks it between words."""
        longest = max(map(cell_len, line.plain.split()), default=0)
        whole = not self.on_terminal or longest > self.out.width
        self.out.print(line, soft_wrap=whole)

    def raw(self, text: str) -> None:
        """Print text for programs, unchanged."""
        self.out.out(text, end="", highlight=False)

    def json(self, document: object) -> None:
        """Print a document for programs as JSON, names as they are written."""
        self.raw(json.dumps(_finite(document), indent=1, ensure_ascii=False) + "\n")

    def heading(self, text: str) -> None:
        """Print the title of a section."""
        self.text()
        self.text(text, style="bold")

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        styles: Sequence[str] = (),
        keys: Sequence[int] = (),
    ) -> None:
        """Print a table; columns whose title starts with `>` are aligned to the right.

        Parameters
        ----------
        styles
            Style of each row; used on terminals only.
        keys
            Columns that name a row: on a terminal without room for all columns, each part of them
            is a table with these. None: each row is told in lines there.
        """
        if self.on_terminal:
            self._fitted(columns, rows, styles, keys)
            return
        table = self._table(columns, rows, styles)
        # The last column needs no padding.
        with self.out.capture() as printed:
            self.out.print(table)
        self.raw("".join(f"{line.rstrip()}\n" for line in printed.get().split("\n")[:-1]))

    def has_room(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
        """Return whether a table fits the terminal without a cell of several lines."""
        return self._needed(self._table(columns, rows)) <= self.out.width

    def _needed(self, table: Table) -> int:
        natural = self.out.options.update(max_width=_PLAIN_WIDTH)
        return self.out.measure(table, options=natural).maximum

    def _widths(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int] | None:
        """Return the width of each column in which no word is broken; None: there is no room."""
        cells = [
            [title.lstrip(">"), *own]
            for title, own in zip(columns, _turned(columns, rows), strict=True)
        ]
        longest = [max(cell_len(visible(c)) for c in own) for own in cells]
        widths = [
            max(cell_len(w) for c in own for w in visible(c).split() or [""]) for own in cells
        ]
        between = self._needed(self._table(columns, rows)) - sum(longest)
        left = self.out.width - between - sum(widths)
        if left < 0:
            return None
        # What is left goes to the column whose cells have most lines, again and again.
        for _ in range(min(left, sum(longest) - sum(widths))):
            fullest = max(range(len(cells)), key=lambda i: longest[i] / max(widths[i], 1))
            widths[fullest] += 1
        return widths

    def _fitted(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        styles: Sequence[str],
        keys: Sequence[int],
    ) -> None:
        """Print a table, or several with some columns each, or lines: what there is room for."""
        widths = self._widths(columns, rows)
        if widths is not None:
            self.out.print(self._table(columns, rows, styles, widths))
            return
        parts = self._parts(columns, rows, keys)
        if parts is None:
            self._stacked(columns, rows, styles)
            return
        for part in parts:
            # A row that has nothing but its name is left out.
            told = [i for i, row in enumerate(rows) if any(row[c] for c in part if c not in keys)]
            own = _picked(part, columns), [_picked(part, rows[i]) for i in told]
            self.text()
            style = _picked(told, styles) if styles else ()
            self.out.print(self._table(*own, style, self._widths(*own)))

    def _parts(
        self, columns: Sequence[str], rows: Sequence[Sequence[str]], keys: Sequence[int]
    ) -> list[list[int]] | None:
        """Return the columns of each table that has room; None: not even one column has."""
        parts: list[list[int]] = []
        for i in (i for i in range(len(columns)) if keys and i not in keys):
            for others in (parts.pop() if parts else [], []):
                part = sorted({*keys, *others, i})
                own = [_picked(part, row) for row in rows]
                if self._widths(_picked(part, columns), own) is not None:
                    parts.append(part)
                    break
                if not others:
                    return None
                parts.append(others)
        return parts or None

    def _stacked(
        self, columns: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str]
    ) -> None:
        """Print each row as lines of title and cell, where a table has no room."""
        for i, row in enumerate(rows):
            self.text()
            for title, cell in zip(columns, row, strict=True):
                if cell:
                    name = title.lstrip(">")
                    self.text(f"{name}: {cell}" if name else cell, styles[i] if styles else "")

    def _table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        styles: Sequence[str] = (),
        widths: Sequence[int] | None = None,
    ) -> Table:
        edge = box.SIMPLE_HEAD if self.on_terminal else None
        # Two spaces between columns, with a box or without.
        table = Table(box=edge, pad_edge=False, show_edge=False, collapse_padding=edge is not None)
        for i, title in enumerate(columns):
            right = title.startswith(">")
            table.add_column(
                Text(visible(title.lstrip(">"))),
                justify="right" if right else "left",
                overflow="fold",
                width=widths[i] if widths else None,
            )
        for i, row in enumerate(rows):
            table.add_row(
                *(Text(visible(cell)) for cell in row), style=styles[i] if styles else None
            )
        return table

    def problem(self, text: str) -> None:
        """Print an error or a warning on standard error."""
        _print(self.err, visible(text, keep="\n"), "red")

    def notice(self, text: str) -> None:
        """Print a dim line on standard error, unless this is quiet."""
        if self.quiet:
            return
        _print(self.err, visible(text), "dim")

    @contextmanager
    def progress(self, title: str) -> Iterator["Bar"]:
        """Show a progress bar while the block runs, if standard error is a terminal.

        With `steps`, each step is a line too.
        """
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            console=self.err,
            transient=True,
            disable=self.quiet or not self.err.file.isatty(),
        ) as progress:
            yield Bar(progress, title, self.notice if self.steps else None)


class Bar:
    """One progress bar."""

    def __init__(
        self, progress: Progress, title: str, keep: Callable[[str], None] | None = None
    ) -> None:
        self._progress = progress
        self._keep = keep
        self._last = ""
        self._task = progress.add_task(title, total=1.0)

    def __call__(self, text: str, share: float | None = None) -> None:
        """Show the current step, and the completed share of the work."""
        if self._keep and text != self._last:
            self._keep(text)
        self._last = text
        self._progress.update(self._task, description=text, completed=share)


def _turned(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the cells of each column."""
    return [[row[i] for row in rows] for i in range(len(columns))]


def _picked(places: Sequence[int], of: Sequence[str]) -> list[str]:
    """Return what stands at some places."""
    return [of[i] for i in places]


def _print(stream: RichConsole, text: str, style: str) -> None:
    """Print a text; a terminal breaks it into lines between words."""
    if stream.file.isatty():
        text = "\n".join(_wrapped(line, stream.width) for line in text.split("\n"))
    stream.print(Text(text, style=style), soft_wrap=True)


def _wrapped(line: str, width: int) -> str:
    """Return a line as several, none wider than a width unless it is one word.

    Widths are in cells: letters of Chinese or Korean names take two.
    """
    indent = line[: len(line) - len(line.lstrip())]
    lines = [indent]
    for word in re.findall(r"\s*\S+", line.lstrip()):
        if lines[-1] != indent and cell_len(lines[-1] + word) > width:
            lines.append(indent)
        lines[-1] += word if lines[-1] != indent else word.lstrip()
    return "\n".join(lines)


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
    coloured = not plain or bool(os.environ.get("FORCE_COLOR"))
    return _Rich(
        file=file,
        force_terminal=coloured,
        markup=False,
        highlight=False,
        emoji=False,
        width=_PLAIN_WIDTH if plain else None,
        no_color=None if coloured else True,
    )


def _finite(document: Any) -> Any:
    """Return plain data with null in place of what is infinite: JSON has no infinity."""
    if isinstance(document, dict):
        return {key: _finite(value) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [_finite(value) for value in document]
    return None if isinstance(document, float) and not math.isfinite(document) else document
