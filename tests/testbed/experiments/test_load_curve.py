"""Curves of load: a recorded one squeezed, and a producer in steps."""

import sys
from pathlib import Path

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
load_curve = pytest.importorskip("testbed.experiments.load_curve", reason=REASON)
errors = pytest.importorskip("testbed.errors", reason=REASON)
command = pytest.importorskip("testbed.__main__", reason=REASON)

TRACE = """date,messages
2019-10-06 22:00:00,500
2019-10-06 23:00:00,2000
2019-10-07 01:00:00,1000
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    file = tmp_path / "trace.csv"
    file.write_text(TRACE)
    return file


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["testbed", "curve", *map(str, words)])
    return int(command.main())


def test_a_trace_keeps_its_form(trace: Path) -> None:
    # Three hours in half a minute, and 2000 messages as 80 records/s.
    assert load_curve.of_trace(trace, 30, 80, steps=False) == [
        pytest.approx(p) for p in ((0, 20), (10, 80), (30, 40))
    ]


def test_a_trace_in_steps_jumps_at_each_time(trace: Path) -> None:
    points = load_curve.of_trace(trace, 30, 80, steps=True)

    assert points == [pytest.approx(p) for p in ((0, 20), (10, 20), (10, 80), (30, 80), (30, 40))]


def test_a_producer_grows_to_the_most_and_shrinks_to_the_least() -> None:
    producer = load_curve.Producer(
        start=100, most=300, least=50, growth=1.0, pause_s=0.5, change_s=10
    )

    points = producer.curve(70)

    jumps = [points[0], *points[2::2]]
    # Events in half a second, so twice as many in a second.
    assert jumps == [
        pytest.approx((at, 2 * events))
        for at, events in zip(range(0, 71, 10), (100, 200, 300, 150, 75, 50, 100, 200), strict=True)
    ]
    assert all(at == later for (at, _), (later, _) in zip(points[1::2], points[2::2], strict=True))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("date,messages\n1,5\nsoon,7\n", "line 3: a time and a load are needed, not 'soon,7'"),
        ("date,messages\n1,5\n", "at least two lines are needed"),
        ("date,messages\n2,5\n1,7\n", "whose times grow"),
        ("date,messages\n1,0\n2,0\n", "loads are 0 or more, and one of them more"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "trace.csv").write_text(text)

    with pytest.raises(errors.TestbedError, match=problem):
        load_curve.of_trace(tmp_path / "trace.csv", 10, 10, steps=False)


def test_the_command_writes_what_sources_read(
    monkeypatch: pytest.MonkeyPatch, trace: Path, tmp_path: Path
) -> None:
    out = tmp_path / "curve.csv"

    assert run(monkeypatch, "--trace", trace, "--seconds", 30, "--peak", 80, "--out", out) == 0

    assert out.read_text() == "seconds,rate\n0,20\n10,80\n30,40\n"


def test_the_command_refuses_a_producer_that_contradicts_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(monkeypatch, "--start", 10, "--low", 20, "--out", tmp_path / "curve.csv") == 1

    assert "low is above 0 and at most start" in capsys.readouterr().err
