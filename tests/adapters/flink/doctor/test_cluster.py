"""The doctor's checks of TaskManagers and the cluster file, both ways: found, and not found."""

from dataclasses import replace

import pytest

from edgeplace.adapters.flink.doctor.examine import Severity, examine
from edgeplace.adapters.flink.doctor.snapshot import SeenTaskManager
from edgeplace.model import Cluster
from tests.support.doctor_case import PI, SERVER, findings, job, registered, seen, the_finding


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
    assert the_finding(at, "slots").startswith("warning: host 10.0.1.11 has 5 slots on 4 cores")
    assert findings(seen(task_managers=(replace(PI, cores=None),)), "slots") == []


def test_machines_with_the_same_fault_are_named_together_as_plans_name_them():
    pis = [replace(PI, id=f"pi-{i}", host=f"10.0.1.{i}", slots=5, cores=4) for i in (1, 2, 3)]
    nameless = replace(SERVER, id="10.0.0.5:41063-393f59", slots=9, cores=8)
    found = findings(seen(task_managers=(*pis, nameless)), "slots")
    assert [f.partition(":")[2].partition(":")[0].strip() for f in found] == [
        "pi-1, pi-2, pi-3 each have 5 slots on 4 cores",
        "host 10.0.0.5 has 9 slots on 8 cores",
    ]


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
