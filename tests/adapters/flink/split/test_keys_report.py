"""`JOBID.keys.json` as docs/keys.md shows it, and what is not one."""

import json
from pathlib import Path

import pytest

from edgeplace.adapters.flink.plans import PlansFolder
from edgeplace.adapters.flink.split import read_keys_report
from edgeplace.model import InvalidInputError
from tests.support.markdown import blocks

PAGE = Path(__file__).parents[4] / "docs" / "keys.md"
SHOWN = next(b.text for b in blocks(PAGE) if b.language == "json").replace("...}", "1}")


def written(folder: Path, text: str) -> PlansFolder:
    (folder / "j1.keys.json").write_text(text)
    return PlansFolder(folder)


def test_what_the_page_shows_is_read(tmp_path: Path) -> None:
    report = read_keys_report(written(tmp_path, SHOWN), "j1")
    assert report is not None
    (words,) = report.splits
    assert (words.combine, words.routers_following, words.imbalance) == ("words: combine", 2, 0.021)
    assert words.weights == {"*": (1.0, 1.0, 3.0, 3.0)}
    assert (words.hot[0].hash, words.hot[0].workers) == ("877a9e069eaf8ded", 4)


def test_a_job_without_a_router_has_no_report(tmp_path: Path) -> None:
    assert read_keys_report(PlansFolder(tmp_path), "j1") is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("garbage", "not written by"),
        (SHOWN[: len(SHOWN) // 2], "not written by"),
        (json.dumps(json.loads(SHOWN) | {"edgeplace_keys": 2}), "version 2, this release reads"),
        (json.dumps(json.loads(SHOWN) | {"splits": [{"combine": "c"}]}), "splits.0"),
    ],
)
def test_what_is_no_report_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        read_keys_report(written(tmp_path, text), "j1")
