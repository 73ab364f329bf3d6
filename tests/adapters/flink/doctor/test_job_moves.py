"""The doctor's checks of what lets moves fail, both ways: found, and not found."""

from dataclasses import replace

import pytest

from edgeplace.adapters.flink.doctor.examine import Severity, examine
from edgeplace.adapters.flink.rest.topology import host_of_endpoint
from tests.support.doctor_case import PI, SERVER, findings, job, seen, the_finding

OPTION = "jobmanager.retrieve-taskmanager-hostname"
NAMELESS = job(hosts={"pi-1": "10.0.1.11", "server-1": "server-1.example"})


def test_an_address_without_a_name_is_named():
    at = seen(jobs=(NAMELESS,))
    found = the_finding(at, "host names")
    assert found.startswith("warning: the JobManager finds no name for the addresses of pi-1:")
    (cure,) = [f.cure for f in examine(at, version="0.2.0") if f.check == "host names"]
    assert cure.startswith(f"{OPTION}: false on the JobManager")


@pytest.mark.parametrize(
    ("jobs", "configuration"),
    [
        ((NAMELESS,), {OPTION: "false"}),
        ((job(hosts={"pi-1": "pi-1.example", "server-1": "localhost"}),), {}),
    ],
)
def test_names_that_are_known_or_not_asked_for(jobs, configuration):
    assert findings(seen(jobs=jobs, configuration=configuration), "host names") == []


def test_without_a_job_names_are_not_seen():
    assert the_finding(seen(jobs=()), "host names").startswith("note: whether the JobManager finds")
    assert findings(seen(jobs=(), configuration={OPTION: "false"}), "host names") == []


@pytest.mark.parametrize(
    ("answer", "host"),
    [
        ({"endpoint": "10.0.1.11:36051"}, "10.0.1.11"),
        ({"host": "pi-1.example:36051"}, "pi-1.example"),
        ({"endpoint": "[2001:db8::1]:36051"}, "2001:db8::1"),
        ({"endpoint": "(unassigned)"}, ""),
        ({}, ""),
    ],
)
def test_the_host_of_an_endpoint(answer, host):
    assert host_of_endpoint(answer) == host


@pytest.mark.parametrize(
    ("off_heap_bytes", "said"),
    [(48 * 2**20, ["pi-1 (48 MiB);"]), (128 * 2**20, []), (None, [])],
)
def test_direct_memory_below_flinks_default(off_heap_bytes, said):
    at = seen(task_managers=(replace(PI, off_heap_bytes=off_heap_bytes), SERVER))
    found = findings(at, "direct memory")
    assert len(found) == len(said)
    assert all(s in f for f, s in zip(found, said, strict=True))
    assert all(f.cure for f in examine(at, version="0.2.0") if f.severity is Severity.WARNING)


@pytest.mark.parametrize(
    ("release", "configuration"),
    [
        ("1.18.1", {"state.backend.local-recovery": "true"}),
        ("1.20.3", {"state.backend.local-recovery": "true"}),
        (
            "2.3.0",
            {
                "execution.state-recovery.from-local": "true",
                "execution.checkpointing.local-backup.enabled": "true",
            },
        ),
    ],
)
def test_local_recovery(release, configuration):
    assert findings(seen(release=release, configuration=configuration), "local recovery") == []
    off = seen(release=release, configuration=dict.fromkeys(configuration, "false"))
    assert the_finding(off, "local recovery").startswith("note: it is off: every move reads all")


@pytest.mark.parametrize(
    ("release", "lines"),
    [
        ("1.19.3", ["state.backend.local-recovery: true"]),
        (
            "2.3.0",
            [
                "execution.state-recovery.from-local: true",
                "execution.checkpointing.local-backup.enabled: true",
            ],
        ),
    ],
)
def test_the_lines_that_turn_local_recovery_on(release, lines):
    at = seen(release=release)
    (cure,) = [f.cure for f in examine(at, version="0.2.0") if f.check == "local recovery"]
    assert " and ".join(lines) in cure


def test_half_of_local_recovery_is_none():
    at = seen(configuration={"execution.state-recovery.from-local": "true"})
    assert the_finding(at, "local recovery").startswith("note: it is off")
