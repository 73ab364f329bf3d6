"""The parts of a Markdown page that a test can check: code blocks, commands, links, headings."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_SHELL = ("sh", "console", "bash")


class Block(NamedTuple):
    """A fenced block of code."""

    page: Path
    language: str
    line: int
    text: str

    def __str__(self):
        return f"{self.page.name}-{self.line}"


class Command(NamedTuple):
    """A line of a shell block, as words."""

    page: Path
    line: int
    words: tuple[str, ...]

    def __str__(self):
        return f"{self.page.name}-{self.line}-{' '.join(self.words[:2])}"


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    text = page.read_text()
    return [
        Block(page, hit[1], text.count("\n", 0, hit.start()) + 2, hit[2])
        for hit in _BLOCK.finditer(text)
    ]


def commands(page: Path) -> list[Command]:
    """Return the commands of a page's shell blocks."""
    return [c for b in blocks(page) if b.language in _SHELL for c in _commands(b)]


def _commands(block: Block) -> Iterator[Command]:
    """Yield a block's lines, or those after `$ ` where there are such."""
    text = block.text.replace("\\\n", "  ")
    prompted = "\n$ " in f"\n{text}"
    for offset, line in enumerate(text.splitlines()):
        if prompted and not line.startswith("$ "):
            continue
        words = shlex.split(line.removeprefix("$ "), comments=True)
        while words:
            end = words.index("&&") if "&&" in words else len(words)
            yield Command(block.page, block.line + offset, tuple(words[:end]))
            words = words[end + 1 :]


def links(page: Path) -> list[str]:
    """Return the targets of a page's links, code blocks excepted."""
    return _LINK.findall(_BLOCK.sub("", page.read_text()))


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    found = set()
    for title in _HEADING.findall(_BLOCK.sub("", page.read_text())):
        shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title)
        found.add(re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-"))
    return found
