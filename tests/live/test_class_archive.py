"""The JVMs of a live test start from archives of their classes."""

from pathlib import Path

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)


def test_jvms_have_mapped_the_archives_of_their_home(
    flink: live_flink.AgentCluster, home: Path
) -> None:
    archives = {str(file) for file in home.glob("*.jsa")}
    if not archives:
        pytest.skip("no archives of classes: a warning of this run says why")
    mapped = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(flink.cluster.scratch) in (process / "cmdline").read_text():
                lines = (process / "maps").read_text().splitlines()
                mapped += {line.split()[-1] for line in lines if line} & archives
        except (FileNotFoundError, ProcessLookupError):
            continue
    of_a_job_manager, of_task_managers = sorted(archives)
    expected = [of_a_job_manager, *(of_task_managers for _ in flink.task_managers)]
    changed = f"has the JVM changed? Then remove {of_a_job_manager} and {of_task_managers}"
    assert sorted(mapped) == expected, changed
