"""The parts of a Markdown page that a test can check: code blocks, commands, links, headings."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

_BLOCK = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?<=\n\n)(?: {4}[^\n]*(?:\n|$)+)+")
_PROGRAM = re.compile(
    r"\$ |(sudo|edgeplace|python3?|pipx?|uvx?|make|git|docker|kubectl|cd|mkdir|cp|mv|rm|export|curl"
    r"|bin/\S+|\.venv/\S+) "
)
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
    """A command of a shell block as words, and as it is written."""

    page: Path
    line: int
    words: tuple[str, ...]
    text: str

    def __str__(self):
        return f"{self.page.name}-{self.line}-{' '.join(self.words[:2])}"


def values_of(option: str, words: Sequence[str]) -> list[str]:
    """Return the word after each such option of a command."""
    return [value for name, value in pairwise(words) if name == option]


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    text = page.read_text()
    return [
        Block(page, hit[2], text.count("\n", 0, hit.start()) + 2, dedent(hit[3]))
        for hit in _BLOCK.finditer(text)
    ]


def commands(page: Path) -> list[Command]:
    """Return the commands of a page's shell blocks, also of those that are only indented."""
    fenced = [b for b in blocks(page) if b.language in _SHELL]
    found = sorted((*fenced, *_indented(page)), key=lambda b: b.line)
    return [c for b in found for c in _commands(b)]


def _indented(page: Path) -> Iterator[Block]:
    """Yield the indented blocks that begin with a program: they have no language."""
    text = _BLOCK.sub(lambda hit: "\n" * hit[0].count("\n"), page.read_text())
    for hit in _INDENTED.finditer(text):
        block = dedent(hit[0])
        if _PROGRAM.match(block):
            yield Block(page, "sh", text.count("\n", 0, hit.start()) + 1, block)


def _commands(block: Block) -> Iterator[Command]:
    """Yield a block's lines, or those after `$ ` where there are such."""
    text = block.text.replace("\\\n", "  ")
    prompted = "\n$ " in f"\n{text}"
    for offset, line in enumerate(text.splitlines()):
        if prompted and not line.startswith("$ "):
            continue
        words = shlex.split(line.removeprefix("$ "), comments=True)
        for written in line.removeprefix("$ ").split("&&") if words else ():
            end = words.index("&&") if "&&" in words else len(words)
            # Where the output goes is no word of the command.
            last = words.index(">") if ">" in words[:end] else end
            yield Command(block.page, block.line + offset, tuple(words[:last]), written)
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
