"""`edgeplace flink discover`, as a user sees it, and that its files are of use."""

import json
from pathlib import Path

import pytest
from fake_flink import FakeFlink
from fake_job import wordcount

from edgeplace.model import Cluster, JobGraph, read
from edgeplace.status import ExitStatus

SITES = """\
sites:
  - {id: lyon, hosts: ["10.0.0.[123]"], node_class: pi}
  - {id: cloud, hosts: [server], node_class: server, tier: cloud}
links:
  - {source: lyon, target: cloud, bandwidth_bytes_per_s: 500000, delay_ms: 25, both_ways: true}
"""


@pytest.fixture
def flink():
    with FakeFlink(None) as running:
        yield running


@pytest.fixture
def discover(edgeplace, flink):
    def run(*more: object):
        return edgeplace("flink", "discover", "--jobmanager", flink.url, *more)

    return run


@pytest.fixture
def sites(tmp_path) -> Path:
    path = tmp_path / "sites.yaml"
    path.write_text(SITES)
    return path


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_machines_and_the_job_are_shown(discover, flink):
    ran = discover()
    assert ran.status is ExitStatus.OK
    assert ran.err == ""
    assert rows(ran.out)[0][:4] == ["Flink", "2.3.0", "at", flink.url]
    assert ["site-1", "pi-1", "default", "4", "pi-1", "10.0.0.1", "2", "1", "GB"] in rows(ran.out)
    assert ["map", "2", "REBALANCE", "Source:", "lines", "pi-1,", "pi-2"] in rows(ran.out)
    assert "note: default: Flink does not know sites" in ran.out


def test_files_are_written_and_understood(discover, edgeplace, sites, tmp_path):
    cluster, job = tmp_path / "cluster.yaml", tmp_path / "job.json"
    ran = discover("--sites", sites, "-o", cluster, "--job-out", job)
    assert ran.status is ExitStatus.OK, ran.err
    assert f"written to {cluster}" in ran.out and f"written to {job}" in ran.out
    assert {s.id for s in read(cluster, Cluster).sites} == {"lyon", "cloud"}

    solved = edgeplace("solve", job, cluster)
    # What is missing is what only a measurement can tell.
    assert solved.status is ExitStatus.INVALID_INPUT
    assert "costs are incomplete" in solved.err and "edgeplace costs" in solved.err


def test_the_same_answer_is_not_written_again(discover, tmp_path):
    files = tmp_path / "cluster.yaml", tmp_path / "job.json"
    discover("-o", files[0], "--job-out", files[1])
    before = [p.stat().st_ino for p in files]
    ran = discover("-o", files[0], "--job-out", files[1])
    assert ran.status is ExitStatus.OK
    assert f"{files[0]} says so already" in ran.out
    assert [p.stat().st_ino for p in files] == before


def test_what_was_filled_in_is_not_overwritten(discover, tmp_path):
    cluster, job = tmp_path / "cluster.yaml", tmp_path / "job.json"
    cluster.write_text("mine")
    ran = discover("-o", cluster, "--job-out", job)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "there already" in ran.err and "cure: " in ran.err
    assert cluster.read_text() == "mine"
    assert not job.exists()


def test_json_has_everything(discover, flink):
    said = json.loads(discover("--json").out)
    assert said["flink"] == "2.3.0"
    assert Cluster.model_validate(said["cluster"]).nodes[0].id == "pi-1"
    assert JobGraph.model_validate(said["job"]).name == "wordcount"
    assert said["placement"][f"{3:032x}"] == ["server"]
    assert said["round_trip_from_here_ms"] is None


def test_ping_says_from_where(discover, flink):
    for tm in flink.task_managers:
        tm.host = "127.0.0.1"
    ran = discover("--ping")
    # Nothing listens there.
    assert "from here" in ran.out and "not between sites" in ran.out


def test_no_job_and_several_jobs(discover, flink, tmp_path):
    flink.jobs.append(wordcount("other", "b" * 32))
    several = discover()
    assert several.status is ExitStatus.OK
    assert "--job says which" in several.out
    assert discover("--job-out", tmp_path / "job.json").status is ExitStatus.INVALID_INPUT
    assert "job other" in discover("--job", "other").out
    unknown = discover("--job", "unknown")
    assert unknown.status is ExitStatus.INVALID_INPUT
    assert "'unknown' does not run" in unknown.err
    flink.jobs.clear()
    assert "Flink runs no job" in discover().out


def test_a_wrong_file_of_sites(discover, tmp_path):
    path = tmp_path / "sites.yaml"
    path.write_text("sites: [{id: lyon}]")
    ran = discover("--sites", path)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "hosts" in ran.err
