"""The doctor's checks of the agent and of Flink, both ways: found, and not found."""

from dataclasses import replace

import pytest

from edgeplace.adapters.flink.doctor.snapshot import SeenPlans
from edgeplace.adapters.flink.plans.agent_files import AgentTaskManager
from edgeplace.model import InvalidInputError
from tests.support.doctor_case import NOW_S, PLANS, findings, job, seen, the_finding, with_agent


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


def test_an_agent_that_is_dead():
    at = with_agent(now_ms=int(NOW_S * 1000) - 31_000)
    assert "problem: the agent (process 4711) of" in the_finding(at, "agent")
    assert findings(with_agent(now_ms=int(NOW_S * 1000) - 29_000), "agent") == []


def test_files_that_no_agent_of_this_version_wrote():
    plans = SeenPlans(PLANS, InvalidInputError("agent.json: version 2", "install"))
    assert findings(seen(plans=plans), "agent") == ["problem: agent.json: version 2"]
    status = InvalidInputError("a.status.json: version 2", "install")
    plans = replace(with_agent().plans, unreadable=(status,))
    assert findings(seen(plans=plans), "agent") == ["problem: a.status.json: version 2"]


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
