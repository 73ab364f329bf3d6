"""A policy of the field, watching a job on the testbed by what its sources tell."""

import json
import threading

import numpy as np
import pytest

from edgeplace import Plan
from edgeplace.control.options import Option, Options

REASON = "the testbed is not in the wheel, and not beside these tests"
scaling = pytest.importorskip("testbed.rehearsal.scaling", reason=REASON)
offering = pytest.importorskip("testbed.rehearsal.offered", reason=REASON)
errors = pytest.importorskip("testbed.errors", reason=REASON)
T0 = 1_000.0


def plan(*places):
    return Plan(jobs={"job": {"filter": places}})


OPTIONS = Options(
    (
        Option("small", 300.0, 1.0, plan=plan("pi", "pi")),
        Option("large", 900.0, 2.0, plan=plan("pi", "hall")),
    )
)


class Asked:
    """A policy that notes what it sees and answers what it is told to."""

    name = "asked"
    every_s = 10

    def __init__(self, answers):
        self.answers = list(answers)
        self.seen = []

    def decide(self, view):
        self.seen.append(view)
        return self.answers.pop(0)


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still but for those who wait, in all modules."""
    now = [T0]
    for module in (scaling, offering):
        monkeypatch.setattr(module.time, "time", lambda: now[0])
    return now


class Stop(threading.Event):
    """Lets time pass for whoever waits, and tells to stop at an end."""

    def __init__(self, clock, end_s):
        super().__init__()
        self.clock, self.end_s = clock, end_s

    def wait(self, timeout=None):
        self.clock[0] += timeout
        return self.clock[0] > self.end_s


def watched(tmp_path, clock, answers, apply, seconds):
    """Watch two sources that are offered 100 records/s each, and emit 80."""
    offered = offering.OfferedLog(tmp_path / "offered")
    offered.set(100.0)
    for source in (0, 1):
        lines = [json.dumps({"ts_ms": (T0 + s) * 1000, "records": 80 * s}) for s in range(500)]
        # Later lines are not there yet for a clock; a source tells one each second.
        (tmp_path / f"source-{source}.jsonl").write_text("\n".join(lines[: seconds + 1]) + "\n")
    policy = Asked(answers)
    watcher = scaling.Scaling(policy, OPTIONS, offered, tmp_path, apply)
    assert watcher.begin(200.0) == {"filter": ("pi", "pi")}
    watcher.watch(Stop(clock, T0 + seconds))
    return watcher, policy.seen


def test_a_policy_sees_each_second_as_if_all_before_was_like_the_first(tmp_path, clock):
    _, seen = watched(tmp_path, clock, [None] * 3, lambda plan: None, 30)
    assert [view.second - seen[0].second for view in seen] == [0, 10, 20]
    last = seen[-1]
    assert last.offered == pytest.approx(np.full(last.second, 200.0))
    assert last.served[-30:] == pytest.approx(np.full(30, 160.0))
    assert last.served[0] == 200.0 and len(last.served) == last.second
    assert last.backlog == pytest.approx(30 * 40)
    assert last.option == 0 and not last.stopped


def test_a_change_is_carried_out_once_and_noted(tmp_path, clock):
    carried = []
    watcher, seen = watched(tmp_path, clock, [1, 1, None], carried.append, 30)
    assert carried == [OPTIONS[0].plan, OPTIONS[1].plan]
    assert [view.option for view in seen] == [0, 1, 1]
    (made,) = watcher.made
    assert made.places == {"filter": ("pi", "hall")} and made.begun_s == T0 + 10


def test_a_plan_that_is_not_followed_is_no_change_and_the_policy_is_asked_again(
    tmp_path, clock, capsys
):
    def apply(plan):
        if plan is OPTIONS[1].plan:
            raise errors.TestbedError("hall-1 is not registered")

    watcher, seen = watched(tmp_path, clock, [1, None], apply, 20)
    assert watcher.made == [] and [view.option for view in seen] == [0, 0]
    assert "asked: not changed: hall-1 is not registered" in capsys.readouterr().out


def test_a_job_that_emits_nothing_stands(tmp_path, clock):
    offered = offering.OfferedLog(tmp_path / "offered")
    offered.set(100.0)
    lines = [json.dumps({"ts_ms": (T0 + s) * 1000, "records": 80 * s}) + "\n" for s in range(5)]
    (tmp_path / "source-0.jsonl").write_text("".join(lines))
    policy = Asked([None])
    scaling.Scaling(policy, OPTIONS, offered, tmp_path, lambda plan: None).watch(
        Stop(clock, T0 + 10)
    )
    assert policy.seen[0].stopped
