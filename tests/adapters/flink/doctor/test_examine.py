"""The doctor as a whole: what it says of a cluster, and in which order."""

from dataclasses import replace

import pytest

from edgeplace.adapters.flink.doctor.examine import Seen, Severity, examine
from tests.support.doctor_case import NOW_S, seen, the_finding, with_agent


def test_a_cluster_in_order_has_neither_problems_nor_warnings():
    found = examine(seen(), version="0.2.0")
    assert {f.severity for f in found} == {Severity.NOTE, Severity.OK}
    assert [f.check for f in found if f.severity is Severity.NOTE] == [
        "local recovery",
        "jobs",
        "metrics",
        "credit windows",
    ]


def test_an_empty_cluster_is_examined():
    at = Seen(release="2.3.0", now_s=NOW_S, agent_loaded=False)
    found = examine(at, version="0.2.0")
    assert {f.check: f.severity.value for f in found} == {
        "agent": "problem",
        "TaskManagers": "warning",
        "metrics": "note",
        "credit windows": "note",
        "release": "ok",
        "scheduler": "ok",
        "jobs": "ok",
    }


def test_the_worst_comes_first_and_has_a_cure():
    at = with_agent(resource_manager=False, version="0.1.0")
    at = replace(at, configuration={"high-availability.type": "zookeeper"})
    found = examine(at, version="0.2.0")
    kinds = [f.severity.value for f in found]
    standing = ["note"] * 3
    assert list(dict.fromkeys(kinds)) == ["problem", "warning", "note", "ok"]
    assert kinds == [*sorted(kinds[:-3], key=list(Severity).index), *standing]
    assert all(f.cure for f in found if f.severity in (Severity.PROBLEM, Severity.WARNING))


@pytest.mark.parametrize(
    ("configuration", "value"),
    [
        ({}, "are up to 10 s old"),
        ({"metrics.fetcher.update-interval": "1500"}, "are up to 1.5 s old"),
        ({"metrics.fetcher.update-interval": "0"}, "Flink gives no metrics over REST"),
    ],
)
def test_how_old_metrics_may_be(configuration, value):
    assert value in the_finding(seen(configuration=configuration), "metrics")


@pytest.mark.parametrize(
    ("timeout", "value", "has_cure"),
    [(None, "600 s", True), ("600000", "600 s", True), ("1 min", "60 s", False)],
)
def test_a_task_manager_that_is_cut_off_stops_all_metrics(timeout, value, has_cure):
    configuration = {} if timeout is None else {"web.timeout": timeout}
    [found] = [
        f
        for f in examine(seen(configuration=configuration), version="0.2.0")
        if f.check == "metrics"
    ]
    assert f"none for up to {value} (web.timeout)" in found.what
    assert bool(found.cure) is has_cure
