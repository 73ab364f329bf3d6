"""The messages that the pages explain are messages that edgeplace or Flink writes."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ("model", "solver", "spark_stats", "adapters", "control", "src/edgeplace")
OF_FLINK = (
    "Cannot reserve ... bytes of direct buffer memory",
    "Connection refused",
    "has no more allocated slots",
)
if not (ROOT / "docs").exists():
    pytest.skip("docs is not there", allow_module_level=True)


def messages():
    """Yield (page, message) for each row of the tables that begin with `you see`."""
    for name in ("troubleshooting.md", "flink.md"):
        in_table = False
        for line in (ROOT / "docs" / name).read_text().splitlines():
            in_table = line.startswith("| you see") or (in_table and line.startswith("|"))
            if in_table:
                # Code in the first column is the message; other code there is no message.
                found = re.findall(r"`([^`]+)`", line.split(" | ")[0])
                yield from ((name, text) for text in found[:1] if line.startswith("| `"))


@pytest.fixture(scope="module")
def texts():
    """All sources, with texts that are written in several pieces put together."""
    files = [p for d in SOURCES for e in ("py", "java") for p in (ROOT / d).rglob(f"*.{e}")]
    assert files
    return "\n".join(re.sub(r'"\s*(?:\+\s*)?f?"', "", p.read_text()) for p in files)


@pytest.mark.parametrize(("page", "message"), list(messages()))
def test_a_message_that_is_explained_is_written_somewhere(page, message, texts):
    if message in OF_FLINK:
        return
    # Where the page has `...`, or a number, the source has a value.
    parts = [p.strip() for p in re.split(r"\.\.\.|\d+", message)]
    assert [p for p in parts if p not in texts] == []
