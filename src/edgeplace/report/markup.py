"""HTML elements that escape their text, because names come from files of any origin."""

from collections.abc import Iterable
from html import escape

from edgeplace.cli.console import visible

_WRAPPING = frozenset(
    ["a", "caption", "dd", "h1", "h2", "h3", "li", "p", "small", "span", "summary", "td", "th"]
)
"""Elements whose text has several lines on a narrow page."""
_ARROW, _WHOLE_ARROW = "-&gt;", '<span class="arrow">-&gt;</span>'


class Markup(str):
    """HTML, escaped already."""

    __slots__ = ()


def fragment(parts: Iterable[str]) -> Markup:
    """Return parts in sequence: markup unchanged, text escaped."""
    return Markup("".join(p if isinstance(p, Markup) else escape(visible(p)) for p in parts))


def element(tag: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """Return an element.

    Parameters
    ----------
    children
        Text, which is escaped, and markup.
    attributes
        `class_` and `aria_label` stand for `class` and `aria-label`; None: left out.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{fragment([_plain(value)])}"'
        for key, value in attributes.items()
        if value is not None
    )
    close = "" if tag in ("link", "meta") else f"</{tag}>"
    if tag in _WRAPPING:
        children = tuple(map(_unbroken, children))
    return Markup(f"<{tag}{given}>{fragment(children)}{close}")


def _unbroken(text: str) -> Markup:
    """Return text whose arrows are not broken at the end of a line; browsers break at hyphens."""
    if isinstance(text, Markup):
        return text
    return Markup(fragment([text]).replace(_ARROW, _WHOLE_ARROW))


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else f"{round(value, 1):g}"
