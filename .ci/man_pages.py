"""Write a man page of each command: `python man_pages.py FOLDER`."""

import sys
from collections.abc import Iterator
from pathlib import Path

from argparse_manpage.manpage import Manpage

from edgeplace import __version__
from edgeplace.cli.registry import parser, walk


def man_pages() -> Iterator[tuple[str, str]]:
    """Yield the file name and the text of each page, in roff."""
    for command, summary in walk(parser()):
        page = Manpage(command, format="single-commands-section")
        page.prog = command.prog.replace(" ", "-")
        page.description = summary or command.description
        page.source = f"edgeplace {__version__}"
        page.manual = "edgeplace"
        # The lines of examples and exit codes stay lines.
        text = str(page).replace("\n.SH COMMENTS\n", "\n.SH NOTES\n.nf\n")
        yield f"{page.prog}.1", f"{text.rstrip()}\n"


def main() -> None:
    """Write the pages into a folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in man_pages():
        (folder / name).write_text(text, encoding="utf-8")
    print(f"{len(list(folder.iterdir()))} man pages in {folder}")


if __name__ == "__main__":
    main()
