import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from edgeplace.adapters.flink.collect.poll import Poll

REASON = "the testbed is not in the wheel, and not beside these tests"
record_demo = pytest.importorskip("testbed.experiments.record_demo", reason=REASON)
main = pytest.importorskip("testbed.__main__", reason=REASON)
errors = pytest.importorskip("testbed.errors", reason=REASON)

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
    # This process lives on, and other tests send it signals.
    monkeypatch.setattr("signal.signal", lambda *args: None)

    assert main.main() == 1
    assert capsys.readouterr().err.startswith("testbed: root is needed")
    assert not out.exists()


@pytest.mark.parametrize("restarts", [True, False], ids=["restarts", "no-answer"])
def test_a_recording_with_a_gap_is_given_up_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restarts: bool
) -> None:
    said = "poll 1: .*no connection"
    if restarts:
        said = "poll 1: the job is RESTARTING"
        poller = SimpleNamespace(poll=lambda describe: Poll("RESTARTING"))
        monkeypatch.setattr(record_demo, "Poller", lambda *args: poller)
    rest = SimpleNamespace(url="http://127.0.0.1:1")
    cluster = SimpleNamespace(rest=rest, check_alive=lambda: None)

    with (
        pytest.raises(errors.TestbedError, match=said),
        record_demo._complete_gzip(tmp_path / "log.jsonl.gz") as log,
    ):
        record_demo._poll(cluster, "a" * 32, log, seconds=10.0)
    assert not list(tmp_path.iterdir())
