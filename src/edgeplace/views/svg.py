"""Parts of pictures that are SVG files."""

from html import escape


def text_at(x: float, y: float, text: str, anchor: str) -> str:
    """Return a text element; `anchor` is SVG's `text-anchor`."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
