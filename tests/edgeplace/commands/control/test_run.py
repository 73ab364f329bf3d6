"""`edgeplace control run` and the commands beside it, against a Flink of memory."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
from urllib.request import urlopen

import pytest

from edgeplace.adapters.flink.plans import PlansFolder
from edgeplace.adapters.flink.schedulercfg import settings_of
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.commands.control.running.lease import Lease
from edgeplace.control.loop.journal_file import NAME, Journal, led, remembered
from edgeplace.model import Costs, Plan, write
from edgeplace.model.cost import ClassCost, OperatorCost, StreamCost
from tests.support.fake_job import now_ms

CLUSTER = """\
sites: [{id: field}, {id: hall, tier: cloud}]
nodes:
  - {id: pi-1, site: field, node_class: pi, cores: 4, slots: 2}
  - {id: pi-2, site: field, node_class: pi, cores: 4, slots: 2}
  - {id: pi-3, site: field, node_class: pi, cores: 4, slots: 2}
  - {id: server, site: hall, node_class: server, cores: 16, slots: 4}
links: [{source: field, target: hall, delay_ms: 5, bandwidth_bytes_per_s: 1000000, both_ways: true}]
checkpoint_storage: hall
"""
SOURCE, COUNT, SINK = (f"{i:032d}" for i in (1, 2, 3))


@pytest.fixture
def control(tmp_path, flink):
    """A control file for the Flink of memory, which answers as a job that runs for long."""
    flink.metrics |= {"backPressuredTimeMsPerSecond": "0"}
    flink.jobs[0].deployed_ms = now_ms() - 3_600_000
    (tmp_path / "cluster.yaml").write_text(CLUSTER)

    def write_control(**more):
        path = tmp_path / "control.yaml"
        keys = {
            "jobmanager": flink.url,
            "job": "wordcount",
            "cluster": "cluster.yaml",
            "poll_s": 1,
            "settle_s": 1,
            "apply_s": 3,
            **more,
        }
        path.write_text("".join(f"{k}: {json.dumps(v)}\n" for k, v in keys.items()))
        return path

    return write_control


@pytest.fixture
def costs(tmp_path):
    """Costs by which the sink belongs beside the count, which is at the Pis."""
    classes = tuple(ClassCost(node_class=c, true_rate_per_s=1e6) for c in ("pi", "server"))
    write(
        Costs(
            job="wordcount",
            operators=tuple(
                OperatorCost(operator=op, classes=classes, selectivity=share)
                for op, share in ((SOURCE, None), (COUNT, 1.0), (SINK, 0.0))
            ),
            streams=tuple(
                StreamCost(source=a, target=b, selectivity=1.0, bytes_per_record=10.0)
                for a, b in ((SOURCE, COUNT), (COUNT, SINK))
            ),
        ),
        tmp_path / "costs.json",
    )
    return "costs.json"


@pytest.fixture
def rules(tmp_path):
    """A rule that what runs breaks: the sink is at the server."""
    (tmp_path / "rules.yaml").write_text(
        f'rules: [{{kind: pin, operators: ["{SINK}"], to: pi-3}}]\n'
    )
    return "rules.yaml"


def lines(control):
    return [json.loads(t) for t in (control.parent / "control" / NAME).read_text().splitlines()]


def said(control):
    return [line["says"] for line in lines(control)]


class Running:
    """A loop that runs beside the test, until its block ends."""

    def __init__(self, control):
        self._control = control
        self._journal = control.parent / "control" / NAME

    def __enter__(self):
        command = [sys.executable, "-m", "edgeplace", "control", "run", str(self._control)]
        self._loop = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return self

    def wait_for(self, text, seconds=240):
        """Wait until the journal says it; solvers are slow on a machine full of other tests."""
        deadline = time.monotonic() + seconds
        while not (self._journal.exists() and any(text in s for s in said(self._control))):
            assert time.monotonic() < deadline, f"{text!r} was not said: {said(self._control)}"
            assert self._loop.poll() is None, self._loop.communicate()[0]
            time.sleep(0.1)

    def hang_up(self):
        self._loop.send_signal(signal.SIGHUP)

    def __exit__(self, *error):
        self._loop.send_signal(signal.SIGTERM)
        told, _ = self._loop.communicate(timeout=240)
        assert self._loop.returncode == ExitStatus.OK, told


@pytest.mark.slow
def test_without_costs_it_watches_and_says_what_is_missing(edgeplace, control):
    path = control()
    ran = edgeplace("control", "run", path, "--duration", "4s")
    assert ran.status is ExitStatus.OK, ran.err
    assert "leads with epoch 1, mode recommend" in ran.out
    assert any("no `costs` are given: nothing is decided" in s for s in said(path))
    assert said(path)[-1] == "ends: its time is over"
    rates = [line["event"] for line in lines(path) if line["event"]["kind"] == "polled"]
    assert len(rates) >= 2
    assert list((path.parent / "control" / "metrics").iterdir())
    again = edgeplace("control", "replay", path.parent / "control" / NAME)
    assert again.status is ExitStatus.OK
    assert again.out == f"{len(lines(path))} lines, the same to the byte\n"


@pytest.mark.slow
def test_costs_that_are_not_there_yet_are_said_not_refused(edgeplace, control):
    path = control(costs="later.json")
    edgeplace("control", "run", path, "--duration", "5s")
    assert any("undecided: there are no costs yet" in s for s in said(path))


@pytest.mark.slow
def test_status_says_why_nothing_is_decided_yet(edgeplace, control, costs):
    path = control(costs=costs, settle_s=10_000)
    before = edgeplace("control", "status", path)
    assert before.status is ExitStatus.HINDERED
    assert re.search("last line +none yet", before.out)
    assert re.search("decision +none yet$", before.out, re.MULTILINE)
    ran = edgeplace("control", "run", path, "--duration", "5s")
    assert "waits: the job has just started" in ran.out
    after = edgeplace("control", "status", path)
    assert re.search("decision +none yet: .* [0-9,]+ s of settle_s remain", after.out)


@pytest.mark.slow
def test_recommend_explain_approve_and_back(edgeplace, control, costs, rules, flink):
    path = control(costs=costs, rules=rules, mode="approve")
    paid = CLUSTER.replace("delay_ms: 5,", "delay_ms: 5, price_per_byte: 4 EUR/GB,")
    (path.parent / "cluster.yaml").write_text("currency: EUR\n" + paid)
    before = flink.jobs[0].placement
    with Running(path) as loop:
        loop.wait_for("approve c")
        shown = edgeplace("control", "status", path)
        assert shown.status is ExitStatus.OK, shown.out
        (name,) = set(re.findall(r"proposed +(c[0-9]+): ", shown.out))
        for what, status in (("c999", ExitStatus.NOT_APPLIED), (name, ExitStatus.OK)):
            asked = edgeplace("control", "approve", path, what)
            assert asked.status is status, asked.out + asked.err
        loop.wait_for(f"{name} applied")
        after = flink.jobs[0].placement
        assert after != before
        planned = (flink.agent.plans / "wordcount.schedulercfg").read_text()
        assert {"predicted-wan-bytes-per-s", "predicted-headroom-percent"} < set(
            settings_of(planned)
        )
        explained = edgeplace("control", "explain", path, name)
        assert "what ran" in explained.out and "is approved by" in explained.out
        assert "WAN cost" in explained.out and "EUR a month" in explained.out
        wanted = edgeplace("control", "back", path)
        assert "goes back" in wanted.out, wanted.out
        loop.wait_for("the former placement runs")
    assert flink.jobs[0].placement == before
    # A back that a person wants costs no trust.
    assert not remembered(path.parent / "control")[0].fallen


@pytest.mark.slow
def test_a_plan_that_is_rejected_is_not_made_and_a_freeze_holds(
    edgeplace, control, costs, rules, flink
):
    path = control(costs=costs, rules=rules, mode="approve")
    before = flink.jobs[0].placement
    with Running(path) as loop:
        loop.wait_for("approve c")
        shown = edgeplace("control", "status", path)
        (name,) = set(re.findall(r"proposed +(c[0-9]+): ", shown.out))
        asked = edgeplace("control", "reject", path, name)
        assert asked.status is ExitStatus.OK, asked.out + asked.err
        asked = edgeplace("control", "freeze", path, "--for", "2h")
        assert asked.status is ExitStatus.OK, asked.out + asked.err
        loop.wait_for("no changes for 120 minutes")
    assert flink.jobs[0].placement == before


@pytest.mark.slow
def test_a_person_who_moves_the_job_is_noticed_and_nothing_is_undone(
    edgeplace, control, costs, rules, flink, tmp_path
):
    path = control(costs=costs, rules=rules)
    with Running(path) as loop:
        loop.wait_for("recommends c")
        mine = {**flink.jobs[0].placement, SINK: ("pi-3",)}
        write(Plan(jobs={"wordcount": mine}), tmp_path / "mine.json")
        moved = edgeplace("flink", "apply", tmp_path / "mine.json", "--jobmanager", flink.url)
        assert moved.status is ExitStatus.OK, moved.err
        loop.wait_for("somebody has moved the job: 1 subtasks; what was proposed is void")
    assert flink.jobs[0].placement == mine


@pytest.mark.slow
def test_a_job_whose_site_is_lost_goes_where_it_was_planned(edgeplace, control, costs, flink):
    path = control(costs=costs, mode="approve", survive=["hall"])
    cluster = path.parent / "cluster.yaml"
    cluster.write_text(CLUSTER.replace("checkpoint_storage: hall", "checkpoint_storage: field"))
    job = flink.jobs[0]
    with Running(path) as loop:
        loop.wait_for("if site hall is lost: 1 subtasks would move")
        with flink.lock:
            flink.task_managers.pop()
            job.vertices[2].places, job.vertices[2].state = [None], "SCHEDULED"
            job.waiting_for = ["server"]
            flink.agent.report(job, "waiting", None, None, [])
        loop.wait_for("approve loss")
        shown = edgeplace("control", "status", path)
        assert "hall" in shown.out
        (name,) = set(re.findall(r"(loss[0-9]+): ", shown.out))
        job.vertices[2].state = ""
        asked = edgeplace("control", "approve", path, name)
        assert asked.status is ExitStatus.OK, asked.out + asked.err
        loop.wait_for(f"{name} applied")
    assert job.placement[SINK][0].startswith("pi-")


@pytest.mark.slow
def test_sighup_takes_all_of_a_new_file_or_nothing(edgeplace, control):
    path = control()
    with Running(path) as loop:
        loop.wait_for("records/s")
        control(poll_s="often", mode="approve")
        loop.hang_up()
        loop.wait_for("goes on with the settings it has: ")
        control(job="another", mode="approve")
        loop.hang_up()
        loop.wait_for("job cannot change while the loop runs")
        assert "recommend" in edgeplace("control", "status", path).out
        control(mode="approve")
        loop.hang_up()
        loop.wait_for("control.yaml was read anew, mode approve")
    again = edgeplace("control", "replay", path.parent / "control" / NAME)
    assert again.status is ExitStatus.OK


@pytest.mark.slow
def test_a_loop_of_another_host_that_may_change_the_job_keeps_ours_out(
    edgeplace, control, costs, rules, flink
):
    path = control(costs=costs, rules=rules, mode="approve")
    plans = PlansFolder(flink.agent.plans)
    theirs = Lease(plans, "wordcount", "elsewhere:1")
    assert theirs.take(above=16) == 17
    ran = edgeplace("control", "run", path, "--duration", "2s")
    assert ran.status is ExitStatus.LED_ELSEWHERE
    assert "elsewhere:1 leads here" in ran.err
    theirs.leave()
    with Running(path) as loop:
        loop.wait_for("leads with epoch 18")
        loop.wait_for("approve c")
        (name,) = set(
            re.findall(r"proposed +(c[0-9]+): ", edgeplace("control", "status", path).out)
        )
        assert edgeplace("control", "approve", path, name).status is ExitStatus.OK
        loop.wait_for(f"{name} applied")
    written = [p.read_text() for p in plans.path.glob("*.schedulercfg")]
    assert [text.splitlines()[0] for text in written] == ["# epoch: 18"]


def test_a_second_loop_ends_with_11(edgeplace, control):
    path = control()
    held = Journal(path.parent / "control")
    ran = edgeplace("control", "run", path, "--duration", "2s")
    held.close()
    assert ran.status is ExitStatus.LED_ELSEWHERE == 11
    assert "another loop leads here" in ran.err
    assert "cure: end it" in ran.err


@pytest.mark.parametrize("command", [("approve", "c1"), ("reject", "c1"), ("freeze",), ("back",)])
def test_what_is_asked_of_no_loop_is_refused(edgeplace, control, command):
    path = control()
    ran = edgeplace("control", command[0], path, *command[1:])
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "no loop leads in" in ran.err
    assert f"cure: start it: edgeplace control run {path}" in ran.err


def test_status_of_no_loop_is_9(edgeplace, control):
    path = control()
    ran = edgeplace("control", "status", path)
    assert ran.status is ExitStatus.HINDERED
    assert "no loop runs" in ran.out
    assert not led(path.parent / "control")


@pytest.mark.slow
def test_a_flink_that_is_down_is_waited_for(edgeplace, control, flink):
    path = control()
    flink.down = True
    with Running(path) as loop:
        loop.wait_for("no answer: http://127.0.0.1")
        ran = edgeplace("control", "status", path)
        assert ran.status is ExitStatus.UNREACHABLE, ran.out
        flink.down = False
        loop.wait_for("records/s")


@pytest.mark.slow
def test_the_page_and_the_metrics_are_served_while_it_runs(edgeplace, control):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        path = control(listen=f"127.0.0.1:{port}")
        refused = edgeplace("control", "run", path, "--duration", "2s")
        assert refused.status is ExitStatus.INVALID_INPUT
        assert f"listen: 127.0.0.1:{port} cannot be had" in refused.err
    with Running(path) as loop:
        loop.wait_for("records/s")
        with urlopen(f"http://127.0.0.1:{port}/metrics") as text:
            assert b"edgeplace_control_rate_records_per_second " in text.read()
        with urlopen(f"http://127.0.0.1:{port}/") as page:
            assert b"The loop of wordcount" in page.read()


@pytest.mark.slow
def test_half_an_answer_of_flinks_is_none(edgeplace, control, flink):
    path = control()
    flink.metrics["numRecordsOut"] = "NaN"
    flink.metrics["Source__lines.numRecordsOut"] = "NaN"
    edgeplace("control", "run", path, "--duration", "3s")
    assert any("has not told all counters of source" in s for s in said(path))


@pytest.mark.slow
def test_a_job_of_another_name_is_not_watched(edgeplace, control):
    path = control(job="other")
    edgeplace("control", "run", path, "--duration", "2s")
    assert any("job 'other' does not run; Flink runs 'wordcount'" in s for s in said(path))


def test_a_journal_of_another_version_is_refused(edgeplace, control):
    path = control()
    folder = path.parent / "control"
    folder.mkdir()
    (folder / NAME).write_text('{"edgeplace_journal":2,"n":1}\n')
    ran = edgeplace("control", "run", path, "--duration", "2s")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "version 2 of the journal is not known" in ran.err


@pytest.mark.slow
def test_a_journal_that_was_changed_does_not_replay(edgeplace, control):
    path = control()
    edgeplace("control", "run", path, "--duration", "2s")
    journal = path.parent / "control" / NAME
    journal.write_text(journal.read_text().replace("mode recommend", "mode apply"))
    ran = edgeplace("control", "replay", journal)
    assert ran.status is ExitStatus.WRONG_ANSWER
    assert "come out otherwise" in ran.err


@pytest.mark.slow
def test_replay_shows_what_other_settings_would_have_said(edgeplace, control, tmp_path):
    path = control()
    edgeplace("control", "run", path, "--duration", "2s")
    other = tmp_path / "other.yaml"
    other.write_text(path.read_text() + "mode: approve\n")
    ran = edgeplace("control", "replay", path.parent / "control" / NAME, "--with", other)
    assert ran.status is ExitStatus.OK
    assert "leads with epoch 1, mode approve" in ran.out


@pytest.mark.parametrize("missing", ["cluster", "rules", "credentials", "ca_file"])
def test_a_file_that_is_not_there_is_named_at_once(edgeplace, control, missing):
    path = control(**{missing: "nowhere.yaml"})
    ran = edgeplace("control", "run", path, "--duration", "2s")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "nowhere.yaml" in ran.err and "cure: " in ran.err


def test_a_demand_with_periods_is_refused_at_once(edgeplace, control, tmp_path):
    (tmp_path / "day.yaml").write_text("demand: [{name: day, share: 1, factor: 2}]\n")
    ran = edgeplace("control", "run", control(rules="day.yaml"), "--duration", "2s")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "the loop forecasts the day itself" in ran.err and "cure: " in ran.err


def test_a_fallen_loop_ends_with_12_if_that_is_wanted(edgeplace, control, monkeypatch):
    from edgeplace.commands.control.running.driver import Driver

    monkeypatch.setattr(Driver, "_needs_a_person", lambda self: True)
    ran = edgeplace("control", "run", control(), "--strict")
    assert ran.status is ExitStatus.NEEDS_A_PERSON == 12


def test_what_is_no_journal_is_not_replayed(edgeplace, tmp_path):
    missing, binary = tmp_path / "missing.jsonl", tmp_path / "binary.jsonl"
    binary.write_bytes(b"\xff\xfe\n")
    for path, why in (
        (missing, "cannot be read: No such file or directory"),
        (binary, "it is not text in UTF-8"),
    ):
        ran = edgeplace("control", "replay", path)
        assert ran.status == 2
        assert f"{path}: {why}\n  cure: give a journal" in ran.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("job.autoscaler.enabled", "true", "the autoscaler of the Kubernetes operator is on"),
        ("scheduler-mode", "reactive", "Flink itself changes the parallelism"),
        ("jobmanager.scheduler", "Adaptive", "the adaptive scheduler runs the job"),
    ],
)
def test_beside_another_autoscaler_nothing_is_changed_and_it_is_said(
    edgeplace, control, flink, costs, rules, key, value, says
):
    flink.configuration[key] = value
    path = control(costs=costs, rules=rules, mode="approve")
    with Running(path) as loop:
        loop.wait_for("hindered by")
        shown = edgeplace("control", "status", path)
        assert shown.status is ExitStatus.HINDERED and says in shown.out
    (first, *_) = [s for s in said(path) if "hindered by" in s]
    assert "alone: " in first and says in first
