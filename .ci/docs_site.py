"""Hooks of MkDocs: what the site has beside the pages in docs/."""

import os
import posixpath
import re
from collections.abc import Iterator
from typing import Any

from mkdocs.structure.files import File, Files

from edgeplace.cli.registry import parser, walk

COMMANDS = "reference/commands.md"
"""Page that is made when the site is built."""
_OUTSIDE = re.compile(r"\]\((\.\./[^)\s]*)\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the page of the command line: what `--help` says."""
    files.append(File.generated(config, COMMANDS, content="\n".join(_commands_page())))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Lead links to files beside docs/ to the repository."""
    folder = posixpath.dirname(page.file.src_uri)

    def lead(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", folder, link[1].partition("#")[0]))
        if path.startswith("docs/"):
            return link[0]
        anchor = link[1].partition("#")[1:]
        return f"]({config.repo_url.rstrip('/')}/blob/main/{path}{''.join(anchor)})"

    return _OUTSIDE.sub(lead, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Make no header of a table's empty corner: a screen reader would read one without a name."""
    return html.replace("<th></th>", "<td></td>")


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Give the theme's search a name."""
    return output.replace('role="dialog">', 'role="dialog" aria-label="Search">')


def on_post_template(output: str, template_name: str, config: Any) -> str:
    """Do the same on the page that says that there is none."""
    return on_post_page(output, None, config)


def _commands_page() -> Iterator[str]:
    # argparse wraps its lines for the terminal it finds.
    os.environ["COLUMNS"] = "100"
    yield "# The command line\n"
    yield "What `--help` says of each command. [The tutorial](../tutorial.md) shows them at work.\n"
    for command, _ in walk(parser()):
        yield f"## {command.prog}\n\n```text\n{command.format_help().rstrip()}\n```\n"
