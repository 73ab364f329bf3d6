"""The frame around the sections of a page."""

from collections.abc import Sequence
from importlib.resources import files

from edgeplace import __version__
from edgeplace.report.markup import Markup, element
from edgeplace.report.parts import Section

# No script runs and nothing is loaded, whatever the names contain.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(title: str, lead: Markup, sections: Sequence[Section]) -> str:
    """Return a whole HTML file.

    Parameters
    ----------
    lead
        The text below the title, before the first section.
    """
    style = files("edgeplace.report").joinpath("style.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{title} - edgeplace"),
        element("link", rel="icon", href="data:,"),
        element("style", Markup(style)),
    )
    contents = element(
        "nav",
        element("ul", *(element("li", element("a", s.title, href=f"#{s.name}")) for s in sections)),
        aria_label="Contents",
    )
    main = element(
        "main",
        *(
            element(
                "section",
                element("h2", s.title, id=f"{s.name}-title"),
                s.body,
                id=s.name,
                aria_labelledby=f"{s.name}-title",
            )
            for s in sections
        ),
        id="main",
        tabindex="-1",
    )
    body = element(
        "body",
        element("a", "Skip to the first section", href="#main", class_="skip"),
        element("header", element("h1", title), lead),
        contents,
        main,
        element("footer", element("p", f"Made by edgeplace {__version__}.")),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"
