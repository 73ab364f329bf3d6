"""Each check of the doctor, both ways: the finding appears, and it does not."""

from dataclasses import replace
from pathlib import Path

import pytest

from edgeplace.adapters.flink.agent_files import AgentInfo, AgentTaskManager, Away, JobStatus
from edgeplace.adapters.flink.doctor import Seen, Severity, examine
from edgeplace.adapters.flink.doctor_seen import SeenJob, SeenPlans, SeenTaskManager
from edgeplace.adapters.flink.live import Checkpoint, Checkpoints
from edgeplace.adapters.flink.plans_folder import UntilPlan
from edgeplace.model import Cluster, InvalidInputError, JobGraph, Operator

NOW_S = 1_000_000.0
JOB = "ab" * 16
PLANS = Path("/opt/flink/conf/edgeplace")
DONE = Checkpoint(7, triggered_ms=5_000, duration_ms=151, state_bytes=1)


def graph(*names: str, ids: tuple[str, ...] = ()) -> JobGraph:
    ids = ids or tuple(f"{i:032x}" for i in range(len(names)))
    return JobGraph(
        name="job",
        operators=[
            Operator(id=i, name=name, parallelism=2) for i, name in zip(ids, names, strict=True)
        ],
    )


def agent(**changes: object) -> AgentInfo:
    known = {
        "edgeplace_agent": 1,
        "version": "0.2.0",
        "flink": "2.3.0",
        "pid": 4711,
        "lost": "strict",
        "fallback_after_s": 30,
        "plans": str(PLANS),
        "started_ms": 0,
        "now_ms": int(NOW_S * 1000) - 4_000,
        "resource_manager": True,
        "task_managers": (AgentTaskManager(id="pi-1", host="10.0.1.11", slots=4),),
    }
    return AgentInfo.model_validate({**known, **changes})


def status(state: str, **more: object) -> JobStatus:
    known = {"edgeplace_status": 1, "job_id": JOB, "job_name": "job", "state": state}
    return JobStatus.model_validate({**known, **more})


def job(**changes: object) -> SeenJob:
    healthy = SeenJob(
        id=JOB,
        name="job",
        scheduler="Default",
        graph=graph("map", "sink"),
        checkpoints=Checkpoints(3000, 5, 0, DONE, None),
        status=status("placed", subtasks=4, exact=4),
    )
    return replace(healthy, **changes)


PI = SeenTaskManager("pi-1", "10.0.1.11", slots=4, cores=4)
SERVER = SeenTaskManager("server-1", "10.0.0.5", slots=8, cores=16)


def registered(*task_managers: SeenTaskManager) -> dict[str, object]:
    return {
        "taskmanagers": [
            {"id": tm.id, "path": f"pekko.tcp://flink@{tm.host}:41063/user/rpc/taskmanager_0"}
            for tm in task_managers
        ]
    }


def seen(**changes: object) -> Seen:
    """Return a cluster in order."""
    healthy = Seen(
        release="2.3.0",
        now_s=NOW_S,
        plans=SeenPlans(PLANS, agent(), {"job.schedulercfg": frozenset({"pi-1", "10.0.0.5"})}),
        task_managers=(PI, SERVER),
        registered=registered(PI, SERVER),
        jobs=(job(),),
    )
    return replace(healthy, **changes)


def with_agent(**changes: object) -> Seen:
    return seen(plans=replace(seen().plans, agent=agent(**changes)))


def with_job(**changes: object) -> Seen:
    return seen(jobs=(job(**changes),))


def findings(at: Seen, check: str = "", cluster: Cluster | None = None) -> list[str]:
    """Return what is not in order, `severity: what`."""
    return [
        f"{f.severity}: {f.what}"
        for f in examine(at, version="0.2.0", cluster=cluster)
        if f.severity is not Severity.OK and f.check.startswith(check)
    ]


def the_finding(at: Seen, check: str, cluster: Cluster | None = None) -> str:
    (found,) = findings(at, check, cluster)
    return found


def test_a_cluster_in_order_has_neither_problems_nor_warnings():
    found = examine(seen(), version="0.2.0")
    assert {f.severity for f in found} == {Severity.NOTE, Severity.OK}
    assert [f.check for f in found if f.severity is Severity.NOTE] == [
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


# The agent


def test_a_jobmanager_without_the_agent():
    at = seen(agent_loaded=False, plans=None)
    assert the_finding(at, "agent").startswith("problem: the JobManager runs without the agent")


def test_a_folder_of_plans_on_another_machine():
    why = InvalidInputError("/p: there is no such folder of plans on this machine", "mount it")
    found = the_finding(seen(plans=None, no_plans=why), "agent")
    assert found.startswith("warning: what the agent says")
    assert found.endswith("/p: there is no such folder of plans on this machine")


def test_a_flink_that_does_not_tell_its_options_is_judged_by_the_agents_files():
    at = seen(has_environment=False, agent_loaded=False)
    assert the_finding(at, "agent").startswith("note: Flink does not tell its JVM's options")
    assert "problem: no agent writes to" in " ".join(
        findings(replace(at, plans=SeenPlans(PLANS)), "agent")
    )


def test_an_agent_that_does_not_write():
    at = seen(plans=SeenPlans(PLANS))
    assert the_finding(at, "agent") == (
        f"problem: no agent writes to {PLANS}: there is no agent.json in it"
    )


def test_a_job_that_the_agent_does_not_know():
    assert "the agent does not know 'job'" in findings(with_job(status=None), "plans")[0]
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


def test_an_agent_that_is_dead():
    at = with_agent(now_ms=int(NOW_S * 1000) - 31_000)
    assert "problem: the agent (process 4711) of" in the_finding(at, "agent")
    assert findings(with_agent(now_ms=int(NOW_S * 1000) - 29_000), "agent") == []


def test_files_that_no_agent_of_this_version_wrote():
    plans = SeenPlans(PLANS, unreadable=(InvalidInputError("agent.json: version 2", "install"),))
    assert findings(seen(plans=plans), "agent") == ["problem: agent.json: version 2"]


def test_an_agent_of_another_version():
    assert the_finding(with_agent(version="0.1.0"), "agent") == (
        "warning: the agent is version 0.1.0, this command is 0.2.0"
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"flink": "1.20.3"},
        {"task_managers": (AgentTaskManager(id="other", host="h", slots=1),)},
    ],
)
def test_a_folder_of_another_jobmanager(changes):
    assert the_finding(with_agent(**changes), "agent").startswith("problem: the agent ")


def test_an_agent_without_a_resource_manager():
    found = the_finding(with_agent(resource_manager=False, task_managers=()), "ResourceManager")
    assert "problem: the agent's JVM has no active ResourceManager" in found


@pytest.mark.parametrize("key", ["env.java.opts.all", "env.java.opts"])
def test_an_agent_that_every_process_loads(key):
    option = "-Xmx1g -javaagent:/opt/flink/opt/edgeplace-flink-agent.jar=lost=strict"
    at = seen(configuration={key: option})
    assert the_finding(at, "agent's line") == (
        f"warning: it is under {key}: TaskManagers and clients load the agent too"
    )
    at = seen(configuration={key: "-Xmx1g", "env.java.opts.jobmanager": option})
    assert findings(at, "agent's line") == []


# Flink


@pytest.mark.parametrize(
    ("release", "severity"), [("1.17.2", "problem"), ("2.4.0", "warning"), ("2.4-SNAPSHOT", "warn")]
)
def test_a_release_that_was_not_tested(release, severity):
    at = replace(with_agent(flink=release), release=release)
    assert the_finding(at, "release").startswith(severity)


@pytest.mark.parametrize("release", ["1.18.1", "1.20.3", "2.3-SNAPSHOT"])
def test_a_release_that_was_tested(release):
    assert findings(replace(with_agent(flink=release), release=release), "release") == []


@pytest.mark.parametrize(
    "changes",
    [
        {"configuration": {"jobmanager.scheduler": "Adaptive"}},
        {"configuration": {"scheduler-mode": "reactive"}},
        {"jobs": (job(scheduler="Adaptive"),)},
    ],
)
def test_a_scheduler_that_cannot_be_steered(changes):
    found = the_finding(seen(**changes), "scheduler")
    assert found.startswith("problem: ")
    assert "no plan can be obeyed" in found


def test_a_scheduler_that_can_be_steered():
    at = seen(configuration={"jobmanager.scheduler": "default"}, jobs=(job(scheduler=None),))
    assert findings(at, "scheduler") == []


@pytest.mark.parametrize("key", ["high-availability", "high-availability.type"])
def test_several_jobmanagers_cannot_be_seen(key):
    found = the_finding(seen(configuration={key: "zookeeper"}), "high availability")
    assert found.startswith("note: high-availability is zookeeper")
    assert findings(seen(configuration={key: "NONE"}), "high availability") == []


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


# Jobs


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


# TaskManagers and the cluster file


@pytest.mark.parametrize(("jobs", "severity"), [((job(),), "problem"), ((), "warning")])
def test_no_task_manager_hinders_the_jobs_that_run(jobs, severity):
    at = seen(task_managers=(), registered=registered(), jobs=jobs)
    assert the_finding(at, "TaskManagers") == f"{severity}: no TaskManager is registered"


def test_generated_ids_on_hosts_of_their_own():
    at = seen(task_managers=(PI, replace(SERVER, id="10.0.0.5:41063-393f59")))
    assert the_finding(at, "TaskManagers") == (
        "warning: Flink makes up an id at each start for 1 of 2 TaskManagers "
        "(10.0.0.5:41063-393f59): plans have to name their hosts"
    )


def test_generated_ids_on_a_shared_host():
    first, twin = (replace(SERVER, id=f"10.0.0.5:{n}-aaaaaa") for n in (41063, 41064))
    at = seen(task_managers=(PI, first, twin))
    found = the_finding(at, "TaskManagers")
    assert found.startswith("warning: 2 TaskManagers share host 10.0.0.5")
    named = (PI, SERVER, replace(twin, id="server-2"))
    assert findings(seen(task_managers=named), "TaskManagers") == []


def test_more_slots_than_cores_by_what_flink_sees():
    at = seen(task_managers=(replace(PI, slots=3), replace(PI, id="pi-1b", slots=2)))
    assert the_finding(at, "slots").startswith("warning: 10.0.1.11 has 5 slots on 4 cores")
    assert findings(seen(task_managers=(replace(PI, cores=None),)), "slots") == []


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.model_validate(
        {
            "sites": [{"id": "field"}, {"id": "hall", "tier": "cloud"}],
            "nodes": [
                {"id": "pi-1", "site": "field", "cores": 4, "slots": 4, "host": "10.0.1.11"},
                {"id": "server", "site": "hall", "cores": 8, "slots": 8, "host": "10.0.0.5"},
            ],
            "links": [
                {"source": "field", "target": "hall", "both_ways": True, "delay_ms": 25}
                | {"bandwidth_bytes_per_s": 1e6}
            ],
        }
    )


def test_a_cluster_file_that_fits(cluster):
    found = examine(seen(), version="0.2.0", cluster=cluster)
    assert {f.severity for f in found} == {Severity.NOTE, Severity.OK}


def test_more_slots_than_cores_by_the_cluster_file(cluster):
    at = seen(task_managers=(PI, replace(SERVER, slots=10)))
    assert the_finding(at, "slots", cluster).startswith("warning: server has 10 slots on 8 cores")


def test_a_cluster_file_that_lacks_a_task_manager(cluster):
    stranger = SeenTaskManager("pi-7", "10.0.1.17", slots=1)
    at = seen(task_managers=(PI, SERVER, stranger), registered=registered(PI, SERVER, stranger))
    found = the_finding(at, "cluster file", cluster)
    assert found.startswith("problem: TaskManagers do not fit the cluster file: pi-7 is registered")
    assert "\n" not in found


def test_a_cluster_file_with_a_task_manager_that_is_gone(cluster):
    at = seen(task_managers=(PI,), registered=registered(PI))
    assert the_finding(at, "cluster file", cluster) == (
        "warning: it has TaskManagers that are not registered: server"
    )


def test_a_cluster_file_with_other_slots(cluster):
    at = seen(task_managers=(replace(PI, slots=2), SERVER))
    assert the_finding(at, "cluster file", cluster) == (
        "warning: pi-1 has 4 slots in it and 2 in Flink"
    )


def test_a_cluster_file_with_other_buffers(cluster):
    other = Cluster.model_validate({**dict(cluster), "buffers_per_channel": 1})
    assert the_finding(seen(), "cluster file", other).startswith(
        "warning: buffers_per_channel is 1 in it and 2 in Flink"
    )
    small = seen(task_managers=(replace(PI, segment_bytes=8192), SERVER))
    assert the_finding(small, "cluster file", cluster).startswith(
        "warning: buffer_bytes is 32768 in it and 8192 in Flink"
    )
