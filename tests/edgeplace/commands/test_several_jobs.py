"""Several jobs on one cluster: `JOB JOB CLUSTER`, and what jobs that run already hold."""

import json

import pytest

from edgeplace.adapters.flink import schedulercfg
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.instances import path
from edgeplace.model import Costs, OperatorCost, Plan, SourceDemand, read, write
from edgeplace.solver import evaluate, job_uses, solve
from tests.support.depots import depots_cluster, forklifts, parcels
from tests.support.page_reader import Page

DEPOTS = 8
VIDEO, LIFTS, CLUSTER = parcels(DEPOTS), forklifts(DEPOTS), depots_cluster(DEPOTS)


@pytest.fixture
def files(tmp_path):
    """Return the files of two jobs and of their cluster."""
    found = tuple(tmp_path / f"{name}.yaml" for name in ("video", "lifts", "cluster"))
    for document, file in zip((VIDEO, LIFTS, CLUSTER), found, strict=True):
        write(document, file)
    return found


@pytest.fixture
def plan(edgeplace, files, tmp_path):
    """Return the file of a plan for both jobs."""
    assert edgeplace("solve", *files, "-o", tmp_path / "plan.json").status is ExitStatus.OK
    return tmp_path / "plan.json"


@pytest.mark.slow
def test_forty_depots_and_two_jobs_from_a_table_to_plan_and_report(
    edgeplace, tmp_path, monkeypatch
):
    """The way of docs/tutorial.md: a table and at most 60 lines of files, and three commands."""
    written = ("parcels.yaml", "forklifts.yaml", "rules.yaml")
    for name in (*written, "sites.csv"):
        (tmp_path / name).write_text(path(f"depots/{name}").read_text())
    project = "jobs: [parcels.yaml, forklifts.yaml]\ncluster: sites.csv\nrules: rules.yaml\n"
    (tmp_path / "edgeplace.yaml").write_text(project)
    (tmp_path / "plans").mkdir()
    lines = [(tmp_path / name).read_text().splitlines() for name in (*written, "edgeplace.yaml")]
    assert sum(map(len, lines)) <= 60
    monkeypatch.chdir(tmp_path)
    ran = edgeplace("validate")
    assert ran.status is ExitStatus.OK, ran.err
    assert "46 sites, 128 nodes, 652 slots, 45 links" in ran.out
    ran = edgeplace(
        "solve", "-o", "plan.json", "--report", "report.html", "--schedulercfg", "plans"
    )
    assert ran.status is ExitStatus.OK, ran.err
    assert read(tmp_path / "plan.json", Plan).jobs.keys() == {"parcels", "forklifts"}
    assert {f.stem for f in (tmp_path / "plans").iterdir()} == {"parcels", "forklifts"}
    page = Page((tmp_path / "report.html").read_text())
    assert (2, "The map") in page.headings
    assert len([a for a in page.all("circle") if a["class"] == "place"]) >= 40
    ran = edgeplace("explain", "plan.json")
    assert ran.status is ExitStatus.OK, ran.err
    assert "forklifts: per-minute" in ran.out


def test_two_jobs_share_the_cluster_and_the_output_names_both(edgeplace, files, tmp_path):
    ran = edgeplace("solve", *files, "-o", tmp_path / "plan.json")
    assert ran.status is ExitStatus.OK, ran.err
    assert "parcels    camera" in ran.out
    assert "forklifts  canbus" in ran.out
    plan = read(tmp_path / "plan.json", Plan)
    best = solve([VIDEO, LIFTS], CLUSTER)
    assert evaluate([VIDEO, LIFTS], CLUSTER, plan).wan_cost == pytest.approx(best.levels[0].value)


def test_json_has_the_plan_of_each_job(edgeplace, files):
    found = json.loads(edgeplace("solve", *files, "--json").out)
    assert found["plan"]["jobs"].keys() == {"parcels", "forklifts"}


@pytest.mark.slow
def test_a_plan_of_two_jobs_is_explained_with_both(edgeplace, files, plan):
    ran = edgeplace("explain", *files, plan, "--json")
    assert ran.status is ExitStatus.OK, ran.err
    found = json.loads(ran.out)
    assert {r["job"] for r in found["operators"]} == {"parcels", "forklifts"}
    ran = edgeplace("explain", *files, plan, "--subtask", "forklifts: parse (1/8)")
    assert ran.status is ExitStatus.OK, ran.err


def test_a_plan_of_two_jobs_is_not_explained_with_one(edgeplace, files, plan):
    video, _, cluster = files
    ran = edgeplace("explain", video, cluster, plan)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "the plan places 'parcels' and 'forklifts'" in ran.err
    assert "cure: give the files of all these jobs (JOB JOB CLUSTER), or --taken" in ran.err
    ran = edgeplace("explain", video, cluster, plan, "--taken", plan)
    assert ran.status is ExitStatus.OK, ran.err
    assert "note: 'forklifts' holds " in ran.out


def test_each_job_gets_its_schedulercfg_in_a_folder(edgeplace, files, plan, tmp_path):
    ran = edgeplace("solve", *files, "--schedulercfg", tmp_path / "plans")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "there are 2 jobs, and this is no folder" in ran.err
    (tmp_path / "plans").mkdir()
    assert edgeplace("solve", *files, "--schedulercfg", tmp_path / "plans").status is ExitStatus.OK
    for job in (VIDEO, LIFTS):
        path = tmp_path / "plans" / f"{job.name}.schedulercfg"
        assert schedulercfg.read(path, job=job, cluster=CLUSTER) == read(plan, Plan).of(job.name)


def test_a_schedulercfg_of_two_jobs_is_where_the_job_with_its_tasks_runs(
    edgeplace, files, plan, tmp_path
):
    text = schedulercfg.render(read(plan, Plan).of("forklifts"), LIFTS, CLUSTER)
    (tmp_path / "now").write_text(text)
    ran = edgeplace("solve", *files, "--current", tmp_path / "now", "--json")
    assert ran.status is ExitStatus.OK, ran.err
    found = json.loads(ran.out)
    assert (
        found["plan"]["jobs"]["forklifts"]
        == read(plan, Plan).model_dump(mode="json")["jobs"]["forklifts"]
    )


def costs_of(job, rate):
    source = job.sources()[0]
    demand = SourceDemand(rates_per_s=(rate,) * source.parallelism, origin="stated")
    cost = source.cost.model_copy(update={"demand": demand})
    return Costs(job=job.name, operators=(OperatorCost.model_validate(cost.model_dump()),))


def test_costs_go_to_the_job_that_they_name(edgeplace, files, tmp_path):
    paths = []
    for job, rate in ((LIFTS, 1200.0), (VIDEO, 2.5)):
        paths += ["--costs", tmp_path / f"{job.name}.costs.json"]
        write(costs_of(job, rate), paths[-1])
    found = json.loads(edgeplace("solve", *files, *paths, "--json").out)
    plain = json.loads(edgeplace("solve", *files, "--json").out)
    assert found["evaluation"]["wan_bytes_per_s"] < plain["evaluation"]["wan_bytes_per_s"]
    write(costs_of(LIFTS, 1.0).model_copy(update={"job": "trucks"}), paths[-1])
    ran = edgeplace("solve", *files, *paths)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "these are the costs of job 'trucks', and the jobs are 'parcels', 'forklifts'" in ran.err


def test_two_jobs_of_one_name_are_refused(edgeplace, files, tmp_path):
    video, _, cluster = files
    write(VIDEO, tmp_path / "again.yaml")
    ran = edgeplace("solve", video, tmp_path / "again.yaml", cluster)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "another of the jobs is named 'parcels' too" in ran.err


def test_a_rate_is_set_in_the_job_that_has_the_source(edgeplace, files):
    found = json.loads(edgeplace("solve", *files, "--set", "rate:canbus=x0.5", "--json").out)
    before = found["without_settings"]["evaluation"]["wan_bytes_per_s"]
    # The sources of 8 depots send 600 records/s each, and 5 % of them go on with 60 bytes.
    assert before - found["evaluation"]["wan_bytes_per_s"] == pytest.approx(8 * 300 * 3 * 2)
    ran = edgeplace("solve", *files, "--set", "rate:sensor=x2")
    assert "none of the jobs 'parcels', 'forklifts' has an operator 'sensor'" in ran.err


@pytest.mark.slow
def test_bench_compares_the_published_methods_on_two_jobs(edgeplace, files):
    ran = edgeplace("bench", *files, "--backends", "milp,flink-spread", "--json")
    assert ran.status is ExitStatus.OK, ran.err
    runs = {r["backend"]: r for r in json.loads(ran.out)["runs"]}
    assert runs["milp"]["status"] == "optimal"
    assert runs["milp"]["subtasks"] == sum(
        op.parallelism for job in (VIDEO, LIFTS) for op in job.operators
    )


# What other jobs hold.


def joined(*plans):
    return Plan(jobs={name: places for plan in plans for name, places in plan.jobs.items()})


def test_what_another_job_holds_is_not_there(edgeplace, files, tmp_path):
    """Both jobs like the same machine: made one by one, they fit only if the second knows."""
    video, lifts, cluster = files
    narrow = CLUSTER.model_copy(
        update={
            "task_managers": tuple(
                t.model_copy(update={"slots": 8}) if t.node.startswith("vm") else t
                for t in CLUSTER.task_managers
            )
        }
    )
    write(narrow, cluster)
    first, alone, second = (tmp_path / f"{name}.json" for name in ("first", "alone", "second"))
    edgeplace("solve", video, cluster, "-o", first)
    edgeplace("solve", lifts, cluster, "-o", alone)
    clash = evaluate([VIDEO, LIFTS], narrow, joined(read(first, Plan), read(alone, Plan)))
    assert "slots" in {v.kind for v in clash.violations}
    # One file of rules may be about both.
    rules = tmp_path / "rules.yaml"
    rules.write_text("jobs:\n- {job: parcels, priority: 1}\n- {job: forklifts, priority: 2}\n")
    taken = ("--taken", first, "--rules", rules)
    ran = edgeplace("solve", lifts, cluster, *taken, "-o", second)
    assert ran.status is ExitStatus.OK, ran.err
    assert "note: 'parcels' holds " in ran.out
    assert evaluate([VIDEO, LIFTS], narrow, joined(read(first, Plan), read(second, Plan))).feasible


def test_slots_cores_memory_and_links_are_what_is_left(edgeplace, files, tmp_path):
    video, lifts, cluster = files
    edgeplace("solve", video, cluster, "-o", tmp_path / "first.json")
    first = read(tmp_path / "first.json", Plan)
    use = job_uses(VIDEO, CLUSTER, first)["parcels"]
    assert first.uses == {"parcels": use}
    assert first.headroom == pytest.approx(evaluate(VIDEO, CLUSTER, first).headroom)
    assert use.amounts["memory_bytes"]
    found = json.loads(
        edgeplace("solve", lifts, cluster, "--taken", tmp_path / "first.json", "--json").out
    )["evaluation"]
    before = evaluate([VIDEO], CLUSTER, first)
    for kind, key, own in (
        ("nodes", "where", use.cores),
        ("task_managers", "where", use.slots),
    ):
        for limit in found[kind]:
            whole = next(v for v in getattr(before, kind) if v.where == limit[key])
            assert limit["capacity"] == pytest.approx(whole.capacity - own.get(limit[key], 0))
    for limit in found["links"]:
        whole = next(v for v in before.links if v.where == limit["where"])
        a, b = limit["where"].split(" -> ")
        assert limit["capacity"] == pytest.approx(
            whole.capacity - use.bytes_per_s.get(a, {}).get(b, 0)
        )


def test_the_plan_of_the_job_itself_holds_nothing(edgeplace, files, plan):
    video, _, cluster = files
    ran = edgeplace("solve", video, cluster, "--taken", plan)
    assert ran.status is ExitStatus.OK
    assert "note: 'forklifts' holds " in ran.out
    assert "'parcels' holds" not in ran.out


def test_of_a_plan_that_does_not_say_what_it_takes_slots_are_counted(edgeplace, files, plan):
    video, _, cluster = files
    written = json.loads(plan.read_text())
    del written["uses"]
    plan.write_text(json.dumps(written))
    ran = edgeplace("solve", video, cluster, "--taken", plan)
    assert "the plan of 'forklifts' does not say which cores, memory and links" in ran.out


def test_a_plan_for_another_cluster_holds_nothing_here(edgeplace, files, plan, tmp_path):
    video, _, _ = files
    write(depots_cluster(4), tmp_path / "small.yaml")
    ran = edgeplace("solve", video, tmp_path / "small.yaml", "--taken", plan)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "job 'forklifts' runs where the cluster has nothing: TaskManager 'depot-04" in ran.err


def test_taken_takes_no_schedulercfg_and_no_plan_for_what_is_not_there(
    edgeplace, files, plan, tmp_path
):
    video, lifts, cluster = files
    text = schedulercfg.render(read(plan, Plan).of("forklifts"), LIFTS, CLUSTER)
    (tmp_path / "now").write_text(text)
    ran = edgeplace("solve", video, cluster, "--taken", tmp_path / "now")
    assert "a schedulercfg does not say which job it is of" in ran.err
    edgeplace("solve", lifts, cluster, "--set", "rate=x0.5", "-o", tmp_path / "if.json")
    ran = edgeplace("solve", video, cluster, "--taken", tmp_path / "if.json")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "is a plan for what is not there: solve --set rate=x0.5" in ran.err


def test_where_more_is_taken_than_there_is_nothing_is_left(edgeplace, files, plan, tmp_path):
    video, _, cluster = files
    written = json.loads(plan.read_text())
    uses = written["uses"]["forklifts"]
    uses["slots"] |= {"vm-0": 99}
    uses["cores"] |= {"vm-0": 99.0}
    uses["bytes_per_s"]["depot-00"]["region-north"] = 1e9
    plan.write_text(json.dumps(written))
    found = json.loads(edgeplace("solve", video, cluster, "--taken", plan, "--json").out)
    assert found["status"] == "infeasible"
    assert any("depot-00 -> region-north" in v["where"] for v in found["conflict"]["shortfalls"])


def test_a_job_of_low_priority_waits_where_not_all_fit(edgeplace, tmp_path):
    """Depots' machines have one slot each: a camera or a forklift, and not both."""
    wide = depots_cluster(2)
    small = wide.model_copy(
        update={
            "task_managers": tuple(
                t.model_copy(update={"slots": 1}) if t.id.startswith("depot") else t
                for t in wide.task_managers
            )
        }
    )
    lifts, video, cluster = (tmp_path / f"{name}.yaml" for name in ("lifts", "video", "cluster"))
    for file, document in ((lifts, forklifts(2)), (video, parcels(2)), (cluster, small)):
        write(document, file)
    rules, plan, folder = tmp_path / "rules.yaml", tmp_path / "plan.json", tmp_path / "plans"
    folder.mkdir()
    rules.write_text("jobs:\n- {job: parcels, priority: 1}\n")
    asked = (lifts, video, cluster, "--rules", rules)
    ran = edgeplace("solve", *asked, "-o", plan, "--schedulercfg", folder, "--json")
    assert ran.status is ExitStatus.OK, ran.err
    assert "the job is not placed" in ran.err
    assert read(plan, Plan).jobs.keys() == {"parcels"}
    assert [f.stem for f in folder.iterdir()] == ["parcels"]
    answer = json.loads(ran.out)
    said = "job 'forklifts' (priority 0) is not placed: it does not fit beside 'parcels'; cure: "
    assert answer["notes"][0].startswith(said)
    (waiting,) = answer["waiting"]
    assert (waiting["job"], waiting["status"]) == ("forklifts", "infeasible")
    assert waiting["conflict"]["changes"]
    ran = edgeplace("explain", *asked[:3], plan, *asked[3:])
    assert ran.status is ExitStatus.OK, ran.err
    assert "left out here: forklifts" in ran.out
