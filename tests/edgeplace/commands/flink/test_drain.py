"""`flink drain` against a Flink of memory: a node is emptied for a time, and fills again."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from edgeplace.adapters.flink.errors import PlanNotWrittenError
from edgeplace.adapters.flink.plans.folder import PlansFolder
from edgeplace.cli.exit_status import ExitStatus
from tests.support.fake_flink import FakeFlink
from tests.support.fake_job import FakeJob, FakeVertex, wordcount
from tests.support.flink_case import MAP, SINK, SRC, START


@pytest.fixture
def other() -> FakeJob:
    return FakeJob("c" * 32, "other", [FakeVertex(f"{9:032x}", "x", ["pi-1"])])


@pytest.fixture
def flink(plans, other):
    with FakeFlink(plans, [wordcount(), other]) as running:
        yield running


@pytest.fixture
def drain(edgeplace, flink):
    def run(node, *more):
        return edgeplace("flink", "drain", node, "--jobmanager", flink.url, "--timeout", 3, *more)

    return run


def placements(flink):
    return [job.placement for job in flink.jobs]


def used(flink) -> set[str]:
    return {tm for p in placements(flink) for tms in p.values() for tm in tms}


def plan_files(plans):
    return sorted(p.name for p in plans.iterdir() if p.name.endswith(".schedulercfg"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pi-1", "10.0.0.1"])
def test_a_node_is_emptied_for_a_time_and_its_jobs_return(drain, flink, plans, name):
    before = placements(flink)
    ran = drain(name, "--for", "30m")
    assert ran.status is ExitStatus.OK, ran.err
    assert "pi-1" not in used(flink)
    # What shared a slot stays together.
    assert flink.jobs[0].placement[SRC][0] == flink.jobs[0].placement[MAP][0]
    assert flink.jobs[0].placement[SRC][1] == "pi-2"
    assert "no costs given of 'wordcount', 'other': only slots are respected" in ran.out
    assert "is empty: Flink shows no subtask of any job there" in ran.out
    names = plan_files(plans)
    assert {n.split(".")[0] for n in names} == {"wordcount", "other"}
    assert len(names) == 4
    (until,) = (n for n in names if n.startswith("wordcount.until-"))
    expires_s = int(until.removeprefix("wordcount.until-").removesuffix(".schedulercfg"))
    assert 0 <= time.time() + 1800 - expires_s < 60

    again = drain(name, "--undo")
    assert again.status is ExitStatus.OK, again.err
    assert placements(flink) == before
    assert plan_files(plans) == ["other.schedulercfg", "wordcount.schedulercfg"]
    assert "is in use again" in again.out
    assert "nothing to undo" in drain(name, "--undo").out


def test_dry_run_changes_nothing(drain, flink, plans):
    before = placements(flink)
    ran = drain("pi-1", "--dry-run")
    assert ran.status is ExitStatus.OK
    assert "2 of 5 subtasks are to move" in ran.out
    assert "would return at" in ran.out
    assert placements(flink) == before
    assert plan_files(plans) == []


def test_json(drain):
    document = json.loads(drain("pi-1", "--json").out)
    assert document["end"] == "applied"
    assert document["task_managers"] == ["pi-1"]
    assert [job["name"] for job in document["jobs"]] == ["wordcount", "other"]
    assert all(job["end"] == "applied" for job in document["jobs"])


def test_a_job_that_may_come_there_is_waited_for(drain, flink, plans):
    job = flink.jobs[0]
    job.state, job.vertex_state = "RESTARTING", "SCHEDULED"
    for vertex in job.vertices:
        vertex.places = [None] * len(vertex.places)
    ran = drain("pi-3")
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "where it will run is not known" in ran.err
    assert "is empty" not in ran.out
    assert plan_files(plans) == []


def test_a_time_that_may_be_over_before_the_move_is(drain, plans):
    ran = drain("pi-1", "--for", "2s")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "--for 2 s may be over before a move is seen healthy (--timeout 3 s)" in ran.err
    assert plan_files(plans) == []


@pytest.mark.parametrize(
    ("staged_before", "status"), [(8, ExitStatus.NOT_APPLIED), (4, ExitStatus.UNREACHABLE)]
)
def test_a_disk_that_is_full_for_the_second_job(
    drain, flink, plans, monkeypatch, staged_before, status
):
    """Either the first job returns, or nobody says that it did."""
    stage, staged = PlansFolder.stage, []

    def full(folder, text):
        staged.append(text)
        if "x (1/1)" in text or len(staged) > staged_before:
            raise PlanNotWrittenError("no space", "free some")
        return stage(folder, text)

    monkeypatch.setattr(PlansFolder, "stage", full)
    before = placements(flink)
    ran = drain("pi-1")
    assert ran.status is status
    assert "no space" in ran.err
    assert (placements(flink) == before) is (status is ExitStatus.NOT_APPLIED)


def test_a_node_where_nothing_runs_is_empty_already(drain, flink, plans):
    ran = drain("pi-3")
    assert ran.status is ExitStatus.OK
    assert "pi-3 is empty" in ran.out
    assert plan_files(plans) == []


def test_an_unknown_node(drain):
    ran = drain("pi-9")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "registered: pi-1, pi-2, pi-3, server" in ran.err


def test_the_reason_why_a_node_cannot_be_emptied(drain, flink, plans):
    flink.task_managers = [t for t in flink.task_managers if t.id in ("pi-1", "pi-2", "server")]
    flink.task_managers[1].slots = flink.task_managers[2].slots = 1
    before = placements(flink)
    ran = drain("pi-1")
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "no room elsewhere for 1 of the slots of 'other' there: 0 are free" in ran.err
    assert placements(flink) == before
    assert plan_files(plans) == []


def test_a_second_drain_of_a_job_that_is_away_is_refused(drain, flink):
    drain("pi-1")
    where = flink.jobs[0].placement
    ran = drain("pi-2")
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "job 'wordcount' is drained from a node until" in ran.err
    assert "end it with `edgeplace flink drain pi-1 --undo`" in ran.err
    assert flink.jobs[0].placement == where


def test_the_way_to_end_a_drain_names_the_node_with_the_cordon(drain, flink, plans):
    """The plan until a time may leave others too, as a solver likes it: no cordon is there."""
    flink.jobs[0].vertices[2].places = ["pi-0"]
    flink.task_managers.append(replace(flink.task_managers[2], id="pi-0", host="10.0.0.7"))
    drain("pi-1")
    (until,) = plans.glob("wordcount.until-*")
    until.write_text(until.read_text().replace("; pi-0", "; server"))
    ran = drain("pi-2")
    assert "end it with `edgeplace flink drain pi-1 --undo`" in ran.err


def test_a_drain_whose_node_no_file_names_is_ended_by_its_file(drain, plans):
    drain("pi-1")
    (until,) = plans.glob("wordcount.until-*")
    (plans / "wordcount.schedulercfg").write_text(until.read_text())
    assert f"wait until then, or remove {until}" in drain("pi-2").err


@pytest.mark.slow
def test_a_drain_can_be_prolonged(drain, flink, plans):
    drain("pi-1", "--for", "10m")
    moved = [job.moves for job in flink.jobs]
    ran = drain("pi-1", "--for", "2h")
    assert ran.status is ExitStatus.OK, ran.err
    untils = [n for n in plan_files(plans) if ".until-" in n]
    assert len(untils) == 2
    assert all(int(n.split("-")[-1].split(".")[0]) > time.time() + 7000 for n in untils)
    assert [job.moves for job in flink.jobs] == moved


def test_a_second_drain_says_what_it_did_not_do(drain, cluster, costs):
    drain("pi-1", "--for", "10m")
    dry = drain("pi-1", "--dry-run")
    assert "no subtask runs on pi-1: nothing is to move\n" in dry.out
    assert "dry run: nothing was changed; it would take nothing new until 20" in dry.out
    ran = drain("first", "--cluster", cluster, "--costs", costs)
    assert ran.status is ExitStatus.OK
    assert "no subtask runs on first: nothing is to move; the solver was not asked\n" in ran.out
    assert "nothing new is put on first until" in ran.out


@pytest.mark.slow
def test_subtasks_that_have_finished_leave_too(drain, flink):
    """A fail-over would deploy them there again."""
    flink.jobs[0].vertices[0].state = "FINISHED"
    before = placements(flink)
    ran = drain("pi-1")
    assert ran.status is ExitStatus.OK, ran.err
    assert "pi-1" not in used(flink)
    assert drain("pi-1", "--undo").status is ExitStatus.OK
    assert placements(flink) == before


@pytest.mark.slow
def test_if_one_job_cannot_leave_those_that_left_return(drain, flink, plans, other):
    def fails(job):
        if job is other:
            job.fails_with = "java.io.IOException: no device" if job.moves == 1 else None

    flink.agent.on_move = fails
    before = placements(flink)
    ran = drain("pi-1")
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "the job failed at its new places: java.io.IOException" in ran.err
    assert placements(flink) == before
    assert not [n for n in plan_files(plans) if ".until-" in n]


def test_too_many_moves_in_all(drain, flink):
    ran = drain("pi-1", "--max-moves", 2)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "3 subtasks would move, --max-moves allows 2" in ran.err


def test_undo_while_the_node_is_still_down_keeps_the_jobs_away(drain, flink):
    drain("pi-1")
    flink.task_managers = flink.task_managers[1:]
    where = placements(flink)
    unknown = drain("10.0.0.4", "--undo")
    assert unknown.status is ExitStatus.INVALID_INPUT
    assert "gone, and in plans: 10.0.0.1, pi-1; give --cluster FILE" in unknown.err
    for name in ("pi-1", "10.0.0.1"):
        ran = drain(name, "--undo")
        assert ran.status is ExitStatus.NOT_APPLIED
        assert "'pi-1' is not registered with Flink" in ran.err
    assert placements(flink) == where


@pytest.fixture
def cluster(tmp_path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(
        "sites: [{id: lyon}, {id: nice}, {id: cloud, tier: cloud}]\n"
        "nodes:\n"
        "  - {id: first, site: lyon, cores: 4, slots: 2, host: 10.0.0.1}\n"
        "  - {id: second, site: nice, cores: 4, slots: 2, host: 10.0.0.2}\n"
        "  - {id: third, site: lyon, cores: 4, slots: 2, host: 10.0.0.3}\n"
        "  - {id: big, site: cloud, cores: 4, slots: 4, host: 10.0.0.9}\n"
        "links:\n"
        "  - {source: lyon, target: cloud, both_ways: true}\n"
        "  - {source: nice, target: cloud, both_ways: true}\n"
    )
    return path


@pytest.fixture
def costs(tmp_path) -> Path:
    path = tmp_path / "costs.yaml"
    path.write_text(
        "job: wordcount\n"
        "operators:\n"
        f"  - {{operator: '{SRC}', demand: {{rates_per_s: [100]}}}}\n"
        f"  - {{operator: '{MAP}', selectivity: 0.5}}\n"
        f"  - {{operator: '{SINK}'}}\n"
        "streams:\n"
        f"  - {{source: '{SRC}', target: '{MAP}', bytes_per_record: 100}}\n"
        f"  - {{source: '{MAP}', target: '{SINK}', bytes_per_record: 100}}\n"
    )
    return path


def test_a_job_without_a_plan_that_runs_on_what_is_not_registered(drain, other, plans):
    """A TaskManager has died, and Flink has not noticed: a plan of now would be empty."""
    other.vertices[0].places = ["pi-1", "pi-9"]
    ran = drain("pi-1")
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "'other' has no plan to return to" in ran.err
    assert "subtasks of it on pi-9, which is not registered" in ran.err
    assert plan_files(plans) == []


def test_the_pause_has_the_time_that_links_take(drain, cluster):
    """As `flink apply` says it: state is read back over links that the cluster file knows."""
    slow = cluster.read_text().replace(
        "source: lyon, target: cloud,", "source: lyon, target: cloud, bandwidth_bytes_per_s: 500,"
    )
    cluster.write_text(slow + "checkpoint_storage: cloud\n")
    assert "to read state back" not in drain("pi-1", "--dry-run").out
    ran = drain("pi-1", "--dry-run", "--cluster", cluster)
    assert "s to read state back" in " ".join(ran.out.split())


@pytest.mark.slow
def test_the_solver_decides_about_the_job_with_costs(drain, flink, cluster, costs, tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "rules:\n"
        "- {kind: pin, operators: ['Source: lines'], job: wordcount, subtasks: [0], to: lyon}\n"
        "- {kind: pin, operators: [elsewhere], job: other, to: pi-9}\n"
        "jobs:\n- {job: other, priority: 5}\n"
    )
    ran = drain("first", "--cluster", cluster, "--costs", costs, "--rules", rules)
    assert ran.status is ExitStatus.OK, ran.err
    assert flink.jobs[0].placement[SRC] == ("pi-3", "pi-2")
    assert "pi-1" not in used(flink)
    assert "no costs given of 'other': only slots are respected" in ran.out


def test_rules_of_a_job_that_does_not_run_are_refused(drain, cluster, costs, tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text("jobs: [{job: wordcont, priority: 5}]")
    ran = drain("first", "--cluster", cluster, "--costs", costs, "--rules", rules)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "job 'wordcont', and there is no such job" in ran.err


def test_the_solver_says_why_there_is_no_place(drain, flink, cluster, costs, tmp_path, plans):
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{kind: pin, operators: ['Source: lines'], subtasks: [0], to: first}]")
    ran = drain("first", "--cluster", cluster, "--costs", costs, "--rules", rules)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "no placement without it keeps all limits" in ran.err
    assert "pin Source: lines" in ran.err
    assert "cure: what is drained takes nothing: let the rules allow other places" in ran.err
    assert flink.jobs[0].placement == START
    assert plan_files(plans) == []


@pytest.mark.parametrize("kind", ["pin", "never_move"])
def test_operators_that_rules_name_by_id_are_told_by_name(drain, cluster, costs, tmp_path, kind):
    """Operators of SQL go by JobVertexIDs, which nobody knows by heart."""
    rules = tmp_path / "rules.yaml"
    to = ", to: first" if kind == "pin" else ""
    rules.write_text(f"rules: [{{kind: {kind}, operators: ['{SRC}']{to}}}]")
    ran = drain("first", "--cluster", cluster, "--costs", costs, "--rules", rules)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert f"{kind} Source: lines" in ran.err
    assert SRC not in ran.err


def test_sources_stay_where_their_data_is_born_unless_rules_say_more(drain, cluster, costs):
    ran = drain("first", "--cluster", cluster, "--costs", costs)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "source Source: lines (1/2) stays on its node" in ran.err
    assert "say so by born_at in its job file (--job-file) or by a pin rule (--rules)" in ran.err


@pytest.fixture
def job_file(edgeplace, flink, tmp_path):
    """Write the user's job file: its sources are born at some places."""

    def write(*places, name="wordcount") -> Path:
        path = tmp_path / "job.json"
        edgeplace(
            *("flink", "discover", "--jobmanager", flink.url, "--job", "wordcount"),
            *("-o", tmp_path / "discovered.yaml", "--job-out", path),
        )
        document = json.loads(path.read_text()) | {"name": name}
        document["operators"][0]["born_at"] = places
        path.write_text(json.dumps(document))
        return path

    return write


@pytest.mark.slow
def test_the_users_job_file_says_where_data_is_born(drain, flink, cluster, costs, job_file):
    """At the site, not on the node alone: the other node there reads it, too."""
    born = job_file("lyon", "nice")
    ran = drain("first", "--cluster", cluster, "--costs", costs, "--job-file", born)
    assert ran.status is ExitStatus.OK, ran.err
    assert flink.jobs[0].placement[SRC] == ("pi-3", "pi-2")


def test_a_job_file_whose_sources_are_born_on_the_node_alone(drain, cluster, costs, job_file):
    born = job_file("first", "second")
    ran = drain("first", "--cluster", cluster, "--costs", costs, "--job-file", born)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "source Source: lines is born at first" in ran.err
    assert "if it can be read elsewhere too, say so by born_at in its job file" in ran.err


def test_a_job_file_of_another_job(drain, cluster, costs, job_file):
    given = ("--cluster", cluster, "--costs", costs)
    ran = drain("first", *given, "--job-file", job_file("lyon", "nice", name="fraud"))
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "the job files are of job 'fraud': no jobs of this name run there" in ran.err
    alone = drain("first", "--job-file", "x.json")
    assert "--job-file is the solver's, which needs --costs" in alone.err


def test_slots_of_other_jobs_are_not_the_solvers(drain, flink, cluster, costs, other, tmp_path):
    other.vertices[0].places = ["pi-3", "pi-3"]
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{kind: match, operators: ['Source: lines'], labels: {disk: big}}]")
    cluster.write_text(cluster.read_text().replace("cores: 4", "cores: 4, labels: {disk: big}"))
    ran = drain("first", "--cluster", cluster, "--costs", costs, "--rules", rules)
    assert ran.status is ExitStatus.OK, ran.err
    assert "pi-1" not in used(flink)
    assert "pi-3" not in {tm for tms in flink.jobs[0].placement.values() for tm in tms}


def test_costs_of_another_job(drain, cluster, costs):
    costs.write_text(costs.read_text().replace("wordcount", "fraud"))
    ran = drain("first", "--cluster", cluster, "--costs", costs)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "the costs are of job 'fraud': no jobs of this name run there" in ran.err


def test_costs_need_a_cluster(drain, tmp_path):
    assert drain("pi-1", "--costs", tmp_path / "x").status is ExitStatus.INVALID_INPUT


@pytest.mark.parametrize("text", ["", "1", "h", "0h", "-1h", "1w", "1.5h"])
def test_a_time_that_is_none(drain, text):
    ran = drain("pi-1", f"--for={text}")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "write 90s, 30m, 1h or 2d" in ran.err


@pytest.mark.slow
def test_the_solver_decides_about_all_jobs_with_costs(drain, flink, cluster, costs, tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "rules:\n"
        "  - {kind: pin, job: wordcount, operators: ['Source: lines'], subtasks: [0], to: lyon}\n"
        "  - {kind: pin, job: other, operators: [x], to: nice}\n"
    )
    of_other = tmp_path / "other.yaml"
    demand = "demand: {rates_per_s: [10]}"
    of_other.write_text(f"job: other\noperators: [{{operator: '{9:032x}', {demand}}}]\n")
    ran = drain(
        "first", "--cluster", cluster, "--costs", costs, "--costs", of_other, "--rules", rules
    )
    assert ran.status is ExitStatus.OK, ran.err
    assert flink.jobs[1].placement[f"{9:032x}"] == ("pi-2",)
    assert "no costs given" not in ran.out
