"""Batches that measure the loop's own log: what they are given, and what comes of them."""

import gzip
import itertools
import sys
import time
from types import SimpleNamespace

import pytest

from edgeplace import instances
from edgeplace.adapters.flink.collect import LogFolder
from edgeplace.commands.control.running import measuring
from edgeplace.commands.control.running.measuring import Measuring
from edgeplace.commands.control.running.solving import Solving
from edgeplace.control.loop.events import LogMeasured, Solve
from edgeplace.control.loop.memory import Memory
from edgeplace.control.loop.step import step
from edgeplace.model import Cluster, Costs, EdgeplaceError, read, write
from edgeplace.spark_stats import measure
from tests.support.loops import BEGAN_S, polled, settings
from tests.support.seeds import filter_cluster, filter_job

DEMO = instances.path("demo")
FAKE = """\
#!{python}
import pathlib, sys
given = sys.argv[1:]
pathlib.Path({told!r}).write_text(" ".join(given))
if {code}:
    print("edgeplace costs: no Java is found")
    raise SystemExit({code})
out = given[given.index("-o") + 1]
pathlib.Path(out).write_text('{{"job": "filter", "operators": [], "to_ms": {to_ms}}}')
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "loop").mkdir()
    return tmp_path / "loop"


@pytest.fixture
def log(folder):
    with_lines = LogFolder(folder / "metrics", 10**6)
    yield with_lines
    with_lines.close()


def command(tmp_path, monkeypatch, code=0):
    """Put something in place of Python that runs `edgeplace costs`; return what it is told."""
    told, fake = tmp_path / "told", tmp_path / "python"
    a_minute_ago_ms = int(time.time() * 1000) - 60_000
    fake.write_text(
        FAKE.format(python=sys.executable, told=str(told), code=code, to_ms=a_minute_ago_ms)
    )
    fake.chmod(0o755)
    monkeypatch.setattr(measuring.sys, "executable", str(fake))
    return told


def ended(batches):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = batches.ended(BEGAN_S)
        if found is not None:
            return found
        time.sleep(0.02)
    raise AssertionError("the batch does not end")


def with_one_closed(log):
    log.append(b"{}\n")
    close_segment(log)
    log.append(b"{}\n")


def close_segment(log):
    """As after an hour; a large one is closed already."""
    if log._part:
        log._part.close()
    log._part = None


def test_closed_segments_are_measured_once(folder, log, tmp_path, monkeypatch):
    told = command(tmp_path, monkeypatch)
    with_one_closed(log)
    batches = Measuring(folder, tmp_path / "cluster.yaml", 0.001)
    time.sleep(0.01)
    batches.begin(log)
    found = ended(batches)
    assert (found.problem, found.segments) == ("", 1)
    assert 59 < found.costs_age_s < 600
    given = told.read_text().split()
    assert given[:4] == [
        "-m",
        "edgeplace",
        "costs",
        str(folder / "metrics/metrics-000001.jsonl.gz"),
    ]
    assert given[4:6] == ["--ledger", str(folder / "ledger")]
    age_s = time.time() - (read(batches.costs, Costs).to_ms or 0) / 1000
    assert -0.1 < age_s - found.costs_age_s < 60  # the age is rounded to a tenth
    told.unlink()
    time.sleep(0.01)
    batches.begin(log)
    assert batches.ended(BEGAN_S) is None and not told.exists(), "nothing new is closed"


@pytest.mark.slow
def test_the_real_command_measures_segment_after_segment(folder, log):
    with gzip.open(DEMO / "metrics.jsonl.gz") as demo:
        lines = list(itertools.islice(demo, 400))
    half = len(lines) // 2
    batches = Measuring(folder, DEMO / "cluster.yaml", 0.001)
    busy_s = []
    for part in (lines[:half], lines[half:]):
        log.append(b"".join(part))
        close_segment(log)
        time.sleep(0.01)
        batches.begin(log)
        found = ended(batches)
        assert (found.problem, found.segments) == ("", 1)
        costs = read(batches.costs, Costs)
        busy_s.append(sum(each.busy_s for op in costs.operators for each in op.classes))
    whole = measure([folder / "metrics"], read(DEMO / "cluster.yaml", Cluster)).costs
    once = sum(each.busy_s for op in whole.operators for each in op.classes)
    assert busy_s[0] < busy_s[1] == pytest.approx(once), "each sample counts once"
    assert any(op.state_bytes for op in costs.operators)
    assert [op.state_bytes for op in costs.operators] == [op.state_bytes for op in whole.operators]


@pytest.mark.parametrize("every_s", [None, 3600.0])
def test_before_its_time_nothing_is_measured(folder, log, tmp_path, monkeypatch, every_s):
    told = command(tmp_path, monkeypatch)
    with_one_closed(log)
    batches = Measuring(folder, tmp_path / "cluster.yaml", every_s)
    batches.begin(log)
    assert batches.ended(BEGAN_S) is None and not told.exists()


def test_without_spark_the_costs_before_stay_and_it_is_said(folder, log, tmp_path, monkeypatch):
    command(tmp_path, monkeypatch, code=6)
    with_one_closed(log)
    batches = Measuring(folder, tmp_path / "cluster.yaml", 0.001)
    batches.costs.write_text("as before")
    time.sleep(0.01)
    batches.begin(log)
    found = ended(batches)
    assert found.problem == "edgeplace costs ended with 6: edgeplace costs: no Java is found"
    assert batches.costs.read_text() == "as before"


def test_a_loop_that_ends_ends_its_batch(folder, log, tmp_path, monkeypatch):
    fake = tmp_path / "python"
    fake.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(600)\n")
    fake.chmod(0o755)
    monkeypatch.setattr(measuring.sys, "executable", str(fake))
    with_one_closed(log)
    batches = Measuring(folder, tmp_path / "cluster.yaml", 0.001)
    time.sleep(0.01)
    batches.begin(log)
    process = batches._batch[0]
    batches.close()
    assert process.poll() is not None


def test_the_journal_says_what_was_measured_and_how_old_it_is():
    memory = step(Memory(settings=settings(costs=None)), polled()).memory
    assert not memory.measured
    said = step(memory, LogMeasured(at_s=BEGAN_S, problem="no Java")).says
    assert said == "not measured: no Java"
    stepped = step(memory, LogMeasured(at_s=BEGAN_S, segments=2, costs_age_s=300.0))
    assert stepped.says.endswith(
        "2 segments more in the ledger, new costs of a day, until 5 minutes ago"
    )
    assert stepped.memory.measured and stepped.memory.costs_age_s == 300.0


@pytest.mark.parametrize(
    ("given_ms", "measured_ms", "takes"),
    [
        (None, 5, "given"),
        (4, 5, "measured"),
        (5, 4, "given"),
        ("none", 5, "measured"),
        (5, "none", "given"),
    ],
)
def test_the_younger_costs_are_used(folder, given_ms, measured_ms, takes):
    files = {
        "given": (folder / "given.json", given_ms),
        "measured": (folder / "m.json", measured_ms),
    }
    for name, (path, to_ms) in files.items():
        if to_ms != "none":
            write(Costs(job=name, operators=(), to_ms=to_ms), path)
    solving = Solving(None, folder / "c.yaml", files["given"][0], files["measured"][0], None)
    assert solving._costs().job == takes


def test_without_any_costs_the_cure_is_said(folder):
    solving = Solving(None, folder / "c.yaml", None, folder / "m.json", None)
    solving.ask(Solve(ticket=1, places={}, rates={}, limit_s=1.0), "job")
    assert "there are no costs yet" in solving.answer(BEGAN_S).problem
    with pytest.raises(EdgeplaceError, match=r"m\.json is not there"):
        solving._costs()


class TwoJobs:
    """A Flink that runs two jobs; only what a question to the solver reads of it."""

    def users_cluster(self, cluster):
        return cluster, {}

    def job_graph(self, job_id):
        return filter_job(1000.0)

    def jobs(self):
        return [SimpleNamespace(name="filter"), SimpleNamespace(name="reports")]


def test_rules_of_another_job_that_runs_do_not_matter(folder):
    """One file of rules may be about all jobs of a cluster."""
    write(filter_cluster(), folder / "c.yaml")
    costs = Costs(job="filter", operators=(), streams=())
    write(costs, folder / "given.json")
    (folder / "rules.yaml").write_text(
        "rules:\n"
        "- {kind: pin, operators: [sink], job: filter, to: server}\n"
        "- {kind: pin, operators: [total], job: reports, to: cloud}\n"
        "jobs:\n- {job: reports, priority: 3}\n- {job: filter, max_latency_ms: 9}\n"
    )
    files = (folder / name for name in ("c.yaml", "given.json", "m.json", "rules.yaml"))
    _, _, rules, _ = Solving(TwoJobs(), *files)._case("id")
    assert [rule.operators for rule in rules.rules] == [("sink",)]
    assert [own.job for own in rules.jobs] == ["filter"]
