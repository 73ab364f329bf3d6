"""The lease of a job among several hosts."""

import pytest

from edgeplace.adapters.flink.plans import PlansFolder
from edgeplace.commands.control.running import lease
from edgeplace.commands.control.running.lease import Lease
from edgeplace.control.loop.journal_file import NotLeaderError


@pytest.fixture
def plans(tmp_path):
    return PlansFolder(tmp_path)


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now_s = 1000.0

        def time(self):
            return self.now_s

    clock = Clock()
    monkeypatch.setattr(lease, "time", clock)
    return clock


def test_epochs_rise_whoever_takes_it(plans):
    ours, theirs = Lease(plans, "job", "a:1"), Lease(plans, "job", "b:2")
    assert ours.take(above=4) == 5
    ours.leave()
    assert theirs.take(above=0) == 6


def test_one_at_a_time_and_each_job_by_itself(plans):
    Lease(plans, "job", "a:1").take(above=0)
    with pytest.raises(NotLeaderError, match="a:1 leads here"):
        Lease(plans, "job", "b:2").take(above=0)
    assert Lease(plans, "other", "b:2").take(above=0) == 1


def test_a_leader_that_has_died_is_followed_and_fenced_off(plans, clock):
    ours, theirs = Lease(plans, "job", "a:1"), Lease(plans, "job", "b:2")
    ours.take(above=0)
    clock.now_s += lease.EXPIRES_S - 1
    with pytest.raises(NotLeaderError):
        theirs.take(above=0)
    clock.now_s += 2
    assert theirs.take(above=0) == 2
    with pytest.raises(NotLeaderError, match="b:2 has taken over with epoch 2"):
        ours.renew()
    ours.leave()
    theirs.renew()


def test_a_leader_that_renews_stays(plans, clock):
    ours = Lease(plans, "job", "a:1")
    ours.take(above=0)
    for _ in range(20):
        clock.now_s += 50
        ours.renew()
    with pytest.raises(NotLeaderError):
        Lease(plans, "job", "b:2").take(above=0)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"epoch": "x"}', '{"epoch": 1}'])
def test_a_file_that_is_no_lease_keeps_nobody_out(plans, text):
    (plans.path / "job.leader.json").write_text(text)
    assert Lease(plans, "job", "a:1").take(above=2) == 3
