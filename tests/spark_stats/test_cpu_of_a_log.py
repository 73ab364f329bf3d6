"""CPU by regression from a whole log: two Pis at several rates, and a server without CPU times."""

import json

import pytest

from edgeplace.model import dump
from edgeplace.spark_stats import add_to_ledger, costs_from_ledger, measure
from tests.support.measured import START, operator

pytest.importorskip("pyarrow", reason="a ledger needs pyarrow")
pytestmark = pytest.mark.slow

POLL_MS = 20_000
POLLS = 3 * 40
RESTART = 50
ALPHA = 0.04
SOURCE_MS, MAP_MS = 0.02, 0.05
"""CPU time a record, of an operator on a Pi."""


def rates(poll):
    """Return records/s of the source and of the two subtasks of `map`, new ones each 4 minutes."""
    source = (900, 2500, 400, 1700, 3200, 1200, 2100, 600, 2900, 1500)[poll // 12 % 10]
    share = (0.3, 0.7, 0.5, 0.9)[poll // 24 % 4]
    return source, share * source, (1 - share) * source


def write(recording, name, first, end, totals):
    """Write some polls. At `RESTART` all subtasks start anew, and that costs 9 s of CPU time."""
    for poll in range(first, end):
        at = START + POLL_MS * poll
        if poll == RESTART:
            totals["since"] = dict.fromkeys(("source", "one", "two"), 0.0)
            totals["cpu"] = {k: v + 9.0 for k, v in totals["cpu"].items()}
        attempt = int(poll >= RESTART)
        recording.placed(at, "source", ["10.0.0.1"], attempt)
        recording.placed(at, "map", ["10.0.0.1", "10.0.0.2"], attempt)
        recording.placed(at, "sink", ["10.0.0.9"], attempt)
        seen = totals["since"]
        source, one, two = (round(seen[k]) for k in ("source", "one", "two"))
        # `source` waits for a core for three times as long as it works.
        recording.metrics(
            at + 3,
            "source",
            numRecordsOut=source,
            numRecordsIn=0,
            accumulateBusyTimeMs=source * SOURCE_MS * 4,
        )
        recording.metrics(
            at + 4,
            "map",
            numRecordsIn=[one, two],
            accumulateBusyTimeMs=[one * MAP_MS, two * MAP_MS],
        )
        recording.metrics(
            at + 5, "sink", numRecordsIn=one + two, accumulateBusyTimeMs=0.01 * (one + two)
        )
        for place, used in totals["cpu"].items():
            cpu = {"id": "Status.JVM.CPU.Time", "value": str(round(1e9 * used))}
            recording.answer(at + 6, f"/taskmanagers/{place}/metrics", [cpu])
        s, a, b = rates(poll)
        seconds = POLL_MS / 1000
        for key, rate in (("source", s), ("one", a), ("two", b)):
            seen[key] += rate * seconds
        totals["cpu"]["10.0.0.1"] += seconds * (ALPHA + (s * SOURCE_MS + a * MAP_MS) / 1000)
        totals["cpu"]["10.0.0.2"] += seconds * (ALPHA + b * MAP_MS / 1000)
    path = recording.write(name)
    recording.lines = []
    return path


@pytest.fixture(scope="module")
def segments(recording_in, tmp_path_factory):
    recording = recording_in(tmp_path_factory.mktemp("log"))
    recording.job(
        {"source": 1, "map": 2, "sink": 1},
        [("source", "map", "REBALANCE"), ("map", "sink", "REBALANCE")],
    )
    totals = {
        "since": dict.fromkeys(("source", "one", "two"), 0.0),
        "cpu": {"10.0.0.1": 30.0, "10.0.0.2": 20.0},
    }
    # The cuts are not at full minutes.
    return [
        write(recording, f"{i}.jsonl", first, end, totals)
        for i, (first, end) in enumerate([(0, 37), (37, 80), (80, POLLS)])
    ]


@pytest.fixture(scope="module")
def measured(engine, cluster, segments):
    return measure(segments, cluster, spark=engine)


def test_a_log_of_several_rates_tells_the_costs(measured):
    for name, true_ms in (("source", SOURCE_MS), ("map", MAP_MS)):
        found = operator(measured, name).on("pi")
        assert found.cpu_by == "regression"
        assert found.cpu_ms_per_record == pytest.approx(true_ms, rel=0.03)
        low, high = found.cpu_interval_ms_per_record
        assert 0.9 * true_ms < low <= found.cpu_ms_per_record * 1.01
        assert 0.99 * found.cpu_ms_per_record <= high < 1.1 * true_ms
        assert found.cpu_by_reason == ""
        assert not any("background" in note for note in operator(measured, name).notes)


def test_the_background_stands_apart(measured):
    [background] = measured.costs.background
    assert background.node_class == "pi"
    assert background.cores == pytest.approx(ALPHA, rel=0.05)
    low, high = background.interval_cores
    assert low <= high


def test_a_task_manager_without_cpu_times_has_no_cost(measured):
    sink = operator(measured, "sink").on("server")
    assert sink.cpu_ms_per_record is None
    assert sink.cpu_by is None
    assert "process CPU time" in operator(measured, "sink").not_in_log


def test_a_ledger_gives_the_same_to_the_last_digit(cluster, segments, measured, tmp_path):
    for count in (1, 2, 3):
        add_to_ledger(tmp_path / "ledger", segments[:count])
    found = json.loads(dump(costs_from_ledger(tmp_path / "ledger", cluster)))
    here = json.loads(dump(measured.costs))

    def cpu(document):
        return document["background"], [
            {k: v for k, v in c.items() if k.startswith("cpu")}
            for op in document["operators"]
            for c in op["classes"]
        ]

    assert cpu(found) == cpu(here)


def test_a_few_minutes_are_divided_by_busy_time(cluster, segments, tmp_path):
    add_to_ledger(tmp_path / "ledger", segments[:1])
    costs = costs_from_ledger(tmp_path / "ledger", cluster, last_s=240)
    [found] = [op.on("pi") for op in costs.operators if op.operator == "id-map"]
    assert found.cpu_by == "busy time"
    assert found.cpu_interval_ms_per_record is None
    assert "the regression needs 10" in found.cpu_by_reason
    assert costs.background == ()


def test_the_command_says_how_each_was_found(cluster, segments, tmp_path, capsys):
    from edgeplace.cli.main import main

    add_to_ledger(tmp_path / "ledger", segments)
    (tmp_path / "cluster.json").write_text(dump(cluster))
    argv = ["costs", str(tmp_path / "ledger"), "--cluster", str(tmp_path / "cluster.json")]
    assert main(argv) == 0
    out = capsys.readouterr().out
    [line] = [x for x in out.splitlines() if x.startswith("map") and "regression" in x]
    assert "µs to " in line
    assert "background of a TaskManager on pi: 0.04" in out
    assert main([*argv, "--last", "3m"]) == 0
    assert "CPU of source, map on pi by busy time: " in capsys.readouterr().out
