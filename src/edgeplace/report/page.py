"""The frame around the sections of a page."""

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files

from edgeplace import __version__
from edgeplace.report.markup import Markup, element
from edgeplace.report.parts import Section

# Nothing is loaded, and no script runs but our own, whatever the names contain.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(title: str, lead: Markup, sections: Sequence[Section]) -> str:
    """Return a whole HTML file.

    Parameters
    ----------
    lead
        The text below the title, before the first section.
    """
    style = _text_of("style.css")
    scripts = [_text_of(s.script) for s in sections if s.script]
    policy = _POLICY
    if scripts:
        policy += "; script-src " + " ".join(map(_source, scripts))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
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
        *(element("script", Markup(code)) for code in scripts),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _text_of(name: str) -> str:
    return files("edgeplace.report").joinpath(name).read_text(encoding="utf-8")


def _source(script: str) -> str:
    """Return what a policy calls a script that may run."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{b64encode(digest).decode()}'"
