"""The doctor's checks of jobs and their plans, both ways: found, and not found."""

from dataclasses import replace

import pytest

from edgeplace.adapters.flink.doctor.examine import examine
from edgeplace.adapters.flink.plans.agent_files import Away
from edgeplace.adapters.flink.plans.cordons import Cordon
from edgeplace.adapters.flink.plans.folder import UntilPlan
from edgeplace.adapters.flink.rest.live import Checkpoints
from tests.support.doctor_case import (
    DONE,
    JOB,
    NOW_S,
    PI,
    PLANS,
    SERVER,
    agent,
    findings,
    graph,
    job,
    seen,
    status,
    the_finding,
    with_job,
)


def test_a_job_that_cannot_be_read():
    at = with_job(graph=None, unread="job is a batch job", checkpoints=None)
    assert the_finding(at, "jobs") == "note: 'job' (abababab) is not examined: job is a batch job"


def test_a_job_that_does_not_run_in_full():
    assert "warning: 'job' (abababab) is RESTARTING" in findings(with_job(state="RESTARTING"))
    assert "warning: 3 of 4 subtasks of 'job' (abababab) are not running" in findings(
        with_job(not_running=3)
    )


def test_a_plan_that_is_rejected():
    reasons = [f"reason {i}" for i in range(6)]
    found = the_finding(with_job(status=status("rejected", reasons=reasons)), "plans")
    assert found == (
        "problem: the plan of 'job' (abababab) is rejected, its former placement stays: "
        "reason 0; reason 1; reason 2; reason 3 and 2 more"
    )


@pytest.mark.parametrize(
    ("state", "more", "found"),
    [
        ("pending", {"reasons": ["no checkpoints"]}, "warning: the plan of 'job' (abababab) is"),
        ("waiting", {"waiting_for": ["pi-2"]}, "problem: 'job' (abababab) waits for pi-2"),
        (
            "away",
            {"away": [Away(task="map (1/4)", planned="pi-1", runs_at="pi-2")]},
            "warning: 1 subtasks of 'job' (abababab) run elsewhere: map (1/4) of pi-1 at pi-2",
        ),
        ("moving", {}, "note: 'job' (abababab) is being redeployed"),
        (
            "moving",
            {"reasons": ["the job is RESTARTING"]},
            "note: 'job' (abababab) is being redeployed: the job is RESTARTING",
        ),
    ],
)
def test_a_plan_that_is_not_in_force(state, more, found):
    assert the_finding(with_job(status=status(state, **more)), "plans").startswith(found)


def test_a_plan_in_force():
    found = examine(seen(), version="0.2.0")
    assert "4 of 4 subtasks of 'job' (abababab) run where its plan says" in [f.what for f in found]


def test_a_job_that_the_agent_does_not_know():
    assert "the agent does not know job 'job'" in findings(with_job(status=None), "plans")[0]
    # Who cannot say anything says nothing of this.
    dead = seen(plans=replace(seen().plans, agent=agent(now_ms=0)), jobs=(job(status=None),))
    assert not findings(dead, "plans")


def test_an_agent_that_says_other_than_flink():
    ops = graph("map", "sink").operators
    there = {op.id: ("pi-1", "pi-1") for op in ops}
    assert findings(with_job(places=there, planned=there), "plans") == []
    planned = there | {ops[1].id: ("pi-1", "server")}
    assert the_finding(with_job(places=there, planned=planned), "plans").endswith(
        "Flink shows 1 subtasks elsewhere: sink (2/2) at pi-1, not at server"
    )


def test_a_drain_tells_its_end_and_how_to_end_it_earlier():
    file = "job.until-1001800.schedulercfg"
    drain = UntilPlan("job", int(NOW_S) + 1800, PLANS / file)
    plans = replace(
        seen().plans,
        locations={"job.schedulercfg": frozenset({"pi-1", "server-1"})}
        | {file: frozenset({"server-1"})},
        until=(drain,),
    )
    followed = status("placed", plan_file=f"/elsewhere/{file}", subtasks=4, exact=4)
    at = replace(with_job(status=followed), plans=plans)
    found = the_finding(at, "drains")
    assert found.startswith("note: 'job' (abababab) is kept off its usual place until 1970-01-12 ")
    assert found.endswith(f"by {file}; it returns early by `edgeplace flink drain pi-1 --undo`")
    refused = status("rejected", plan_file=f"/elsewhere/{file}", reasons=["no slot"])
    assert findings(replace(with_job(status=refused), plans=plans), "drains") == []
    assert findings(seen(plans=plans), "drains") == []


def test_cordons_and_what_the_agent_makes_of_them():
    closed = Cordon(PLANS / "pi-1.cordon", frozenset({"pi-1", "10.0.1.11"}), int(NOW_S) + 1800)
    unseen = Cordon(PLANS / "new.cordon", frozenset({"pi-2"}), None)
    told = agent(
        cordons=[
            {"file": "pi-1.cordon", "until_s": int(NOW_S) + 1800},
            {"file": "bad.cordon", "problem": "line 1: it is blank"},
        ]
    )
    at = seen(plans=replace(seen().plans, agent=told, cordons=(closed, unseen)))
    warned, again, noted = findings(at, "cordons")
    assert warned == "warning: the agent does not keep bad.cordon: line 1: it is blank"
    assert again == "warning: the agent does not keep new.cordon: the agent has not seen it"
    assert noted.startswith("note: 10.0.1.11, pi-1 takes nothing new until 1970-01-12 ")
    assert noted.endswith("(pi-1.cordon)")
    assert findings(seen(), "cordons") == []


def test_a_job_without_a_plan_that_is_kept_waiting():
    waiting = status("unplanned", reasons=["the job waits for slots"])
    found = findings(with_job(status=waiting), "jobs without")
    assert found[0] == "problem: 'job' (abababab) has no plan, and the job waits for slots"


@pytest.mark.parametrize("state", [None, "unplanned"])
def test_a_job_without_a_plan_that_holds_planned_slots(state):
    known = None if state is None else status(state)
    tms = (replace(PI, held={JOB: 3}), SERVER)
    found = the_finding(replace(with_job(status=known), task_managers=tms), "jobs without")
    assert found.startswith("warning: 'job' (abababab) has no plan")
    assert found.endswith("it holds slots that plans name: 3 of pi-1")


def test_a_job_without_a_plan_elsewhere():
    found = the_finding(with_job(status=status("unplanned")), "jobs without")
    assert found.startswith("note: ")
    no_plans = replace(seen().plans, locations={})
    at = replace(with_job(status=status("unplanned")), plans=no_plans)
    assert findings(at, "jobs without") == []


def test_a_planned_task_manager_that_is_not_registered():
    plans = replace(seen().plans, locations={"a.schedulercfg": frozenset({"pi-1", "pi-9"})})
    assert the_finding(seen(plans=plans), "plans") == (
        "warning: a.schedulercfg names pi-9: no such TaskManager is registered"
    )


def test_a_planned_host_that_means_two_task_managers():
    twin = replace(PI, id="pi-1b")
    plans = replace(seen().plans, locations={"a.schedulercfg": frozenset({"10.0.1.11"})})
    found = the_finding(seen(plans=plans, task_managers=(PI, twin)), "plans")
    assert found.startswith("problem: a.schedulercfg names 10.0.1.11, which means 2 TaskManagers")
    plans = replace(plans, locations={"a.schedulercfg": frozenset({"pi-1"})})
    assert findings(seen(plans=plans, task_managers=(PI, twin)), "plans") == []


def test_names_that_differ_in_the_planners_counter_only():
    found = the_finding(with_job(graph=graph("Calc[3]", "Calc[12]", "sink")), "names")
    assert found.endswith("operators that plans cannot tell apart by name: Calc[3], Calc[12]")
    assert findings(with_job(graph=graph("Calc[3]", "Sum[3]", "Calc[a]")), "names") == []


def test_a_name_that_is_the_id_of_another():
    found = the_finding(with_job(graph=graph("b", "sink", ids=("a", "b"))), "names")
    assert found.endswith("the name of operator a is the JobVertexID of another: b")
    assert findings(with_job(graph=graph("a", "b", ids=("a", "b"))), "names") == []


def test_a_job_without_checkpoints():
    found = the_finding(with_job(checkpoints=Checkpoints(None, 0, 0, None, None)), "checkpoints")
    assert found.startswith("warning: 'job' (abababab) takes no checkpoints")


@pytest.mark.parametrize(
    ("last", "failed_ms", "found"),
    [
        (None, 9_000, "problem: the last checkpoint of 'job' (abababab) failed: disk full. A job"),
        (DONE, 9_000, "problem: the last checkpoint of 'job' (abababab) failed: disk full. A job"),
        (None, None, "note: 'job' (abababab) has completed no checkpoint yet"),
    ],
)
def test_checkpoints_that_fail_or_are_not_there_yet(last, failed_ms, found):
    done = Checkpoints(3000, 1, 1, last, failed_ms, "disk full\nat java...")
    assert the_finding(with_job(checkpoints=done), "checkpoints").startswith(found)


def test_a_checkpoint_that_failed_before_a_good_one():
    at = with_job(checkpoints=Checkpoints(3000, 1, 1, DONE, 4_000, "disk full"))
    assert findings(at, "checkpoints") == []


def test_jobs_of_one_name_are_told_with_their_ids():
    twin = "cd" * 16
    at = seen(jobs=(job(), job(id=twin, status=status("placed", job_id=twin))))
    assert the_finding(at, "jobs of one name") == (
        f"warning: 2 jobs are called 'job': {JOB}, {twin}. A plan in the folder of plans with "
        "this name is for each of them"
    )
    assert not findings(seen(), "jobs of one name")
