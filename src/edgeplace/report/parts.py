"""The parts of pages: sections, tables, bars."""

from collections.abc import Sequence
from dataclasses import dataclass

from edgeplace.cli.quantities import percent
from edgeplace.report.markup import Markup, element, fragment
from edgeplace.solver.tolerances import TOLERANCE

_FIRST = 20
_MOST = 1000
_LONGEST = 400
"""Most characters of a cell; a thousand rules may hold a source in place."""


@dataclass(frozen=True)
class Section:
    """A part of a page with its own heading."""

    name: str
    """Its anchor."""
    title: str
    body: Markup
    script: str = ""
    """File of this package that runs at the end of the page."""


def table(
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    marks: Sequence[str] = (),
) -> Markup:
    """Return a table; columns whose title starts with `>` are aligned to the right.

    Parameters
    ----------
    marks
        Class of each row: `best`, `broken` or none.
    """
    right = ["number" if c.startswith(">") else None for c in columns]
    head = [
        element("th", c.removeprefix(">"), scope="col", class_=side)
        for c, side in zip(columns, right, strict=True)
    ]
    body = []
    for i, row in enumerate(rows):
        first, *others = map(_cut, row)
        cells = [element("td", c, class_=s) for c, s in zip(others, right[1:], strict=True)]
        mark = marks[i] if marks else ""
        body.append(element("tr", element("th", first, scope="row"), *cells, class_=mark or None))
    whole = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", element("tr", *head)),
        element("tbody", *body),
    )
    return scrolling(whole, caption)


def long_table(
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    marks: Sequence[str] = (),
) -> Markup:
    """Return a table whose later rows are folded, and whose last rows may be omitted."""
    if len(rows) <= _FIRST:
        return table(caption, columns, rows, marks)
    rest = rows[_FIRST:_MOST]
    folded = [
        element("summary", f"Show {len(rest):,} more"),
        table(f"{caption}, continued", columns, rest, marks[_FIRST:_MOST]),
    ]
    if len(rows) > _MOST:
        left = f"{len(rows) - _MOST:,} more are not shown here; --json has them all."
        folded.append(element("p", left, class_="note"))
    return fragment(
        [
            table(f"{caption}: the first {_FIRST}", columns, rows[:_FIRST], marks[:_FIRST]),
            element("details", *folded),
        ]
    )


def scrolling(content: Markup, label: str) -> Markup:
    """Return content that scrolls if it is wider than the page, also with the keyboard."""
    return element("div", content, class_="scroll", role="region", tabindex="0", aria_label=label)


def bar(share: float) -> Markup:
    """Return a share of a limit as a bar with its percentage."""
    width = 100 * min(share, 1.0)
    full = element("span", style=f"width:{width:.1f}%")
    state = "bar over" if share > 1 + TOLERANCE else "bar"
    return fragment([element("span", full, class_=state, aria_hidden="true"), " ", percent(share)])


def facts(pairs: Sequence[tuple[str, str, str]]) -> Markup:
    """Return (name, figure, figure to compare with) as a list of definitions."""
    return element(
        "dl",
        *(
            element(
                "div",
                element("dt", name),
                element("dd", figure, element("small", beside) if beside else ""),
            )
            for name, figure, beside in pairs
        ),
        class_="facts",
    )


def paragraph(text: str, class_: str | None = None) -> Markup:
    """Return a paragraph."""
    return element("p", text, class_=class_)


def bullets(texts: Sequence[str], most: int = 50) -> Markup:
    """Return a list, cut if it is long."""
    more = [f"and {len(texts) - most:,} more"] if len(texts) > most else []
    return element("ul", *(element("li", _cut(t)) for t in [*texts[:most], *more]))


def _cut(text: str) -> str:
    if isinstance(text, Markup) or len(text) <= _LONGEST:
        return text
    return text[:_LONGEST].rsplit(" ", 1)[0] + " …"
