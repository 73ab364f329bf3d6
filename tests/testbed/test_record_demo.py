import sys
from pathlib import Path

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
record_demo = pytest.importorskip("testbed.record_demo", reason=REASON)
main = pytest.importorskip("testbed.__main__", reason=REASON)

GOOD = {
    "Source: sensors": ["pi-lyon-2", "pi-lyon-1", "pi-nice-1", "pi-nice-1"],
    "decode": ["server-1", "pi-lyon-1", "server-1", "pi-nice-1"],
    "filter": ["pi-nice-1", "pi-lyon-1", "server-1", "server-1"],
    "features": ["server-1", "server-1", "pi-nice-2", "pi-nice-2"],
    "window": ["pi-lyon-1", "server-1"],
    "sink: Writer": ["pi-lyon-1"],
}


def test_sources_at_their_sites_and_work_on_both_kinds_of_machine_is_wanted() -> None:
    assert record_demo.is_wanted(GOOD)


@pytest.mark.parametrize(
    ("operator", "task_managers"),
    [
        ("Source: sensors", ["pi-lyon-2", "pi-nice-2", "pi-nice-1", "pi-nice-1"]),
        ("Source: sensors", ["pi-lyon-2", "pi-lyon-1", "pi-nice-1", "pi-lyon-1"]),
        ("Source: sensors", ["server-1", "pi-lyon-1", "pi-nice-1", "pi-nice-1"]),
        ("decode", ["server-1", "server-1", "server-1", "server-1"]),
        ("filter", ["pi-lyon-1", "pi-lyon-2", "pi-nice-1", "pi-nice-2"]),
        ("features", ["server-1", "server-1", "pi-lyon-1", "server-1"]),
        ("decode", ["server-1", "pi-lyon-2", "pi-lyon-2", "server-1"]),
    ],
    ids=[
        "other-site",
        "one-astray",
        "on-server",
        "never-on-pi",
        "never-on-server",
        "three-on-pi",
        "two-decodes",
    ],
)
def test_other_placements_are_not_wanted(operator: str, task_managers: list[str]) -> None:
    assert not record_demo.is_wanted({**GOOD, operator: task_managers})


def test_a_recording_without_root_is_refused_before_any_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "log.jsonl.gz"
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(record_demo, "flink_home", lambda: pytest.fail("looked for Flink"))
    monkeypatch.setattr(sys, "argv", ["testbed", "record", "--out", str(out)])

    assert main.main() == 1
    assert capsys.readouterr().err.startswith("testbed: root is needed")
    assert not out.exists()
