"""Archives of the classes that Flink's JVMs load: a third less processor time until a job runs.

Every cluster of that home uses them from then on.

Source: class-data sharing of the JVM, JEP 350.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

from testbed.errors import TestbedError
from testbed.flink.agent_cluster import AgentCluster
from testbed.flink.flink_jvm import JOB_MANAGER_ROLE, TASK_MANAGER_ROLE, class_archive
from testbed.flink.home import one_at_a_time
from testbed.flink.local_cluster import JOB_MANAGER, JobManagerSpec, TaskManagerSpec

_ROLES = (JOB_MANAGER_ROLE, TASK_MANAGER_ROLE)
_TASK_MANAGER = TaskManagerSpec("archived", "127.0.0.1", slots=4, process_memory="780m")
_WRITE_SECONDS = 240.0
_TWO_HOURS = f"records={144 * 50_000}"


def archive_classes(home: Path) -> None:
    """Run a job once, and keep the classes of its JVMs in the Flink home, unless that is done.

    Raises
    ------
    TestbedError
        If the cluster does not start, does not run the job, or leaves no archive.
    """
    with one_at_a_time(home.with_name(f"{home.name}.classes.lock")):
        if all(class_archive(home, role).is_file() for role in _ROLES):
            return
        with tempfile.TemporaryDirectory(dir=home, prefix="classes-") as folder:
            drafts = {role.name: Path(folder) / class_archive(home, role).name for role in _ROLES}
            _run_a_job(home, drafts)
            for draft in drafts.values():
                if not draft.is_file():
                    raise TestbedError(f"the JVM wrote no {draft.name}")
                draft.rename(home / draft.name)


def _run_a_job(home: Path, drafts: dict[str, Path]) -> None:
    """Let each JVM write the classes it has loaded when it ends."""
    written = {name: f"-XX:ArchiveClassesAtExit={draft}" for name, draft in drafts.items()}
    options = {name: {f"env.java.opts.{name}": option} for name, option in written.items()}
    task_manager = replace(_TASK_MANAGER, options=options[TASK_MANAGER_ROLE.name])
    job_manager = JobManagerSpec(options=options[JOB_MANAGER_ROLE.name])
    with AgentCluster(home, None, task_managers=[task_manager], job_manager=job_manager) as flink:
        scratch = flink.cluster.scratch
        job = flink.submit("CountingJob", _TWO_HOURS, f"finish={scratch}/finish", f"out={scratch}")
        flink.wait_for_running(job)
        flink.wait_for_checkpoint(job)
        for name in (task_manager.name, JOB_MANAGER):
            flink.cluster.stop(name, _WRITE_SECONDS)
