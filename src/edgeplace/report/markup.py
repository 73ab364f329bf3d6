"""HTML elements that escape their text, because names come from files of any origin."""

from collections.abc import Iterable
from html import escape

from edgeplace.cli.console import visible


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
    return Markup(f"<{tag}{given}>{fragment(children)}{close}")


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else f"{round(value, 1):g}"
