"""`edgeplace explain`: its figures are the evaluator's, its words name what they speak of."""

import json
import re
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeplace.adapters.flink import schedulercfg
from edgeplace.cli.console import Console
from edgeplace.cli.main import main
from edgeplace.cli.quantities import size
from edgeplace.instances.families import generate
from edgeplace.model import Cluster, JobGraph, Plan, Rules, read, write
from edgeplace.solver import evaluate, policies, prices
from tests.support.strategies import OBJECTIVES, instances
from tests.support.wishes import SPREAD, wishing

PIS = tuple(f"pi-{i}" for i in range(4))


@pytest.fixture
def on_pis(tmp_path):
    """Filters beside their sources: what `solve` answers."""
    places = {"source": PIS, "filter": PIS, "sink": ("server",)}
    write(Plan(jobs={"filter": places}), tmp_path / "pis.json")
    return tmp_path / "pis.json"


@pytest.fixture
def on_server(tmp_path):
    places = {"source": PIS, "filter": ("server",) * 4, "sink": ("server",)}
    write(Plan(jobs={"filter": places}), tmp_path / "server.json")
    return tmp_path / "server.json"


@pytest.fixture
def judged(filter_model):
    """Return what the evaluator says of filters at some places."""

    def run(*filters):
        job, cluster = filter_model
        places = {"source": PIS, "filter": filters, "sink": ("server",)}
        return evaluate(job, cluster, Plan(jobs={"filter": places}))

    return run


def test_the_overview_says_what_binds_and_why(edgeplace, job, cluster, on_pis, judged):
    ran = edgeplace("explain", job, cluster, on_pis)
    assert ran.status == 0
    assert ran.err == ""
    there, elsewhere = judged(*PIS), judged(*["server"] * 4)
    assert ran.out.startswith("WAN 168 kB/s, worst path ")
    assert size(there.wan_cost, "/s") == "168 kB/s"
    binds, _, reasons = ran.out.partition("why each operator is where it is")
    fullest = binds.partition("(at most 80 % of links, 80 % of cores)\n")[2].splitlines()[1]
    assert fullest.startswith("link bandwidth  pi-0 -> cloud")
    assert fullest.split()[-6:] == ["42", "kB/s", "50", "kB/s", "84", "%"]
    assert there.binding.where == "pi-0 -> cloud"
    assert "held there: source source is born at pi-0; " in reasons
    assert f"worse: {size(elsewhere.wan_cost, '/s')}, now 168 kB/s, and break link" in reasons
    assert "--subtask" in reasons


def test_the_overview_says_which_costs_are_weak(edgeplace, filter_model, cluster, on_pis, tmp_path):
    job = filter_model[0].model_dump(mode="json")
    job["operators"][1]["cost"]["classes"][0]["weak"] = "busy 0.40% of the time"
    write(JobGraph.model_validate(job), tmp_path / "weak.json")
    said = "the CPU cost of 'filter' on 'pi' is weak (busy 0.40% of the time)"
    assert f"note: {said}" in edgeplace("explain", tmp_path / "weak.json", cluster, on_pis).out
    found = json.loads(edgeplace("explain", tmp_path / "weak.json", cluster, on_pis, "--json").out)
    assert found["notes"][0].startswith(said)
    assert f"note: {said}" in edgeplace("solve", tmp_path / "weak.json", cluster).out


def test_the_overview_as_json_has_the_evaluators_figures(edgeplace, job, cluster, on_pis, judged):
    found = json.loads(edgeplace("explain", job, cluster, on_pis, "--json").out)
    there = judged(*PIS)
    assert found["terms"] == {
        "wan": there.wan_cost,
        "latency": there.latency_ms,
        "server_cores": there.server_cores,
        "moves": 0,
    }
    assert found["holds"] is True
    assert found["prices"] is None
    limits = [v.model_dump(mode="json") for v in (*there.links, *there.nodes, *there.task_managers)]
    assert len(found["binding"]) == 4 + 5 + 5
    for tight in found["binding"]:
        assert tight["limit"] in limits
    by_name = {o["operator"]: o for o in found["operators"]}
    other = by_name["filter"]["alternatives"][0]
    assert (other["before"], other["after"]) == (
        there.wan_cost,
        judged(*["server"] * 4).wan_cost,
    )
    assert "plan" not in other


def test_a_plan_that_breaks_a_limit_is_said_to(edgeplace, job, cluster, on_server):
    ran = edgeplace("explain", job, cluster, on_server)
    assert ran.status == 0
    assert "does not hold: link bandwidth pi-0 -> cloud 60 kB/s of 50 kB/s" in ran.out


def test_a_subtasks_other_places_with_terms_and_limits(edgeplace, job, cluster, on_pis, judged):
    ran = edgeplace("explain", job, cluster, on_pis, "--subtask", "filter (2/4)")
    lines = ran.out.splitlines()
    assert lines[0] == "filter (2/4) runs on pi-1 at pi-1"
    assert lines[1].startswith("its operator: on servers WAN traffic would be worse: 240 kB/s")
    now, first = lines[3].split(), lines[4].split()
    assert now[:5] == ["now", "pi-1", "pi-1", "168", "kB/s"]
    other = judged("pi-0", "server", "pi-2", "pi-3")
    assert first[:3] == ["1", "cloud", "server"]
    assert size(other.wan_cost, "/s") in lines[4]
    assert f"(+{size(other.wan_cost - judged(*PIS).wan_cost, '/s')})" in lines[4]
    assert "breaks link bandwidth pi-1 -> cloud 60 kB/s of 50 kB/s" in lines[4]
    # The other Pis are alike: one row for the three.
    assert lines[5].split()[:8] == ["2", "pi-0,", "pi-2,", "pi-3", "pi-0", "and", "2", "like"]
    assert lines[6].startswith("each row moves this subtask alone; without --subtask,")
    assert len(lines) == 7


def test_of_its_operator_only_places_are_told_that_the_subtask_does_not_have(
    edgeplace, job, cluster, tmp_path
):
    """One filter is on the server: `on servers` is no other place for it, but for the rest."""
    places = {"source": PIS, "filter": ("server", *PIS[1:]), "sink": ("server",)}
    write(Plan(jobs={"filter": places}), tmp_path / "one.json")
    said = {}
    for i in (1, 2):
        asked = ("--subtask", f"filter ({i}/4)")
        said[i] = edgeplace("explain", job, cluster, tmp_path / "one.json", *asked).out
    assert said[1].splitlines()[1].startswith("its operator: beside its input WAN traffic would")
    assert "on servers" not in said[1]
    assert said[2].splitlines()[1].startswith("its operator: on servers WAN traffic would be worse")
    assert "beside its input" not in said[2]
    held = Rules.model_validate(
        {"rules": [{"kind": "pin", "operators": ["filter"], "subtasks": [0], "to": "cloud"}]}
    )
    write(held, tmp_path / "rules.yaml")
    asked = ("--rules", tmp_path / "rules.yaml", "--subtask", "filter (1/4)")
    none = edgeplace("explain", job, cluster, tmp_path / "one.json", *asked).out
    assert none.startswith("filter (1/4) runs on server at cloud")
    assert "its operator" not in none


def test_a_subtasks_other_places_as_json(edgeplace, job, cluster, on_pis, judged):
    ran = edgeplace("explain", job, cluster, on_pis, "--subtask", "filter (2/4)", "--json")
    found = json.loads(ran.out)
    assert (found["task_manager"], found["left_out"]) == ("pi-1", 0)
    for option in found["options"]:
        then = judged("pi-0", option["tried"], "pi-2", "pi-3")
        assert option["terms"]["wan"] == then.wan_cost
        assert option["terms"]["latency"] == then.latency_ms
        assert option["breaks"] == [v.model_dump(mode="json") for v in then.violations]


def test_prices_are_told_as_solved_again(edgeplace, job, filter_model, tmp_path, on_server):
    _, cluster = filter_model
    tight = cluster.model_copy(
        update={
            "task_managers": tuple(
                t.model_copy(update={"slots": 1}) if t.id in PIS else t
                for t in cluster.task_managers
            ),
            "links": tuple(
                a.model_copy(update={"bandwidth_bytes_per_s": 1e7}) for a in cluster.links
            ),
        }
    )
    write(tight, tmp_path / "tight.yaml")
    ran = edgeplace("explain", job, tmp_path / "tight.yaml", on_server, "--prices")
    part = ran.out.partition("what a little more would be worth\n")[2].splitlines()
    assert part[0] == "the best plan as things are: 240 kB/s (proved)"
    row = next(line for line in part if line.startswith("1 more slot on one of pi-0 (pi-0), "))
    assert "18 kB/s" in row
    assert "222 kB/s" in row
    assert row.rstrip().endswith("solved again, proved")
    found = edgeplace("explain", job, tmp_path / "tight.yaml", on_server, "--prices", "--json")
    prices = json.loads(found.out)["prices"]
    by_cbc = ("--prices", "--json", "--backend", "pulp:CBC", "--time-limit", 120)
    other = edgeplace("explain", job, tmp_path / "tight.yaml", on_server, *by_cbc)
    values = [p["value"] for p in json.loads(other.out)["prices"]["prices"]]
    assert values == pytest.approx([p["value"] for p in prices["prices"]], rel=1e-6)
    for kind, value in (("slots", 222_000), ("node cpu", 240_000)):
        priced = {p["where"]: p["value"] for p in prices["prices"] if p["kind"] == kind}
        assert priced == {t: pytest.approx(value) for t in PIS}
    assert "tried, each by itself: limits that keep a single operator" in ran.out
    assert "not tried" not in ran.out


def test_without_time_prices_are_named_as_left_out(edgeplace, job, filter_model, tmp_path, on_pis):
    _, cluster = filter_model
    write(cluster, tmp_path / "same.yaml")
    ran = edgeplace("explain", job, tmp_path / "same.yaml", on_pis, "--prices", "--time-limit", "0")
    assert "(not proved, at least 0 B/s)" in ran.out
    assert "there was no time for link bandwidth pi-0 -> cloud" in ran.out


def test_against_another_plan(edgeplace, job, cluster, on_pis, on_server):
    ran = edgeplace("explain", job, cluster, on_pis, "--against", on_server)
    assert ran.status == 0
    lines = [line.split() for line in ran.out.splitlines()]
    assert ["WAN", "240", "kB/s", "168", "kB/s", "(-72", "kB/s)"] in lines
    assert ["holds", "no", "yes"] in lines
    assert "cured: link bandwidth pi-0 -> cloud 60 kB/s of 50 kB/s" in ran.out
    assert ["filter", "cloud", "->", "pi-2", "3", "server", "->", "pi-2"] in lines
    back = edgeplace("explain", job, cluster, on_server, "--against", on_pis)
    assert "newly broken: link bandwidth pi-0 -> cloud 60 kB/s of 50 kB/s" in back.out


def test_against_itself_nothing_moves(edgeplace, job, cluster, on_pis):
    ran = edgeplace("explain", job, cluster, on_pis, "--against", on_pis)
    assert "no subtask changes its TaskManager" in ran.out
    found = json.loads(
        edgeplace("explain", job, cluster, on_pis, "--against", on_pis, "--json").out
    )
    assert (found["shifts"], found["breaks"], found["cures"]) == ([], [], [])


def test_the_plan_may_be_a_schedulercfg(edgeplace, job, cluster, on_pis, filter_model, tmp_path):
    model, network = filter_model
    file = tmp_path / "schedulercfg"
    file.write_text(schedulercfg.render(read(on_pis, Plan).of("filter"), model, network))
    assert edgeplace("explain", job, cluster, file).out == (
        edgeplace("explain", job, cluster, on_pis).out
    )


@pytest.mark.parametrize(
    ("more", "what", "cure"),
    [
        (("--subtask", "filter (9/4)"), "no subtask 'filter (9/4)'", "'filter (1/4)'"),
        (("--against", "none.json"), "none.json: no such file", "check the path"),
        (("--objective", "speed"), "'speed' is not understood", "use one of wan, latency"),
    ],
)
def test_a_wrong_option_is_one_message_with_its_cure(
    edgeplace, job, cluster, on_pis, more, what, cure
):
    ran = edgeplace("explain", job, cluster, on_pis, *more)
    assert ran.status == 2
    said, _, advice = ran.err.partition("\n  cure: ")
    assert said.startswith("edgeplace explain: ")
    assert what in said
    assert cure in advice


def test_a_plan_of_another_job_is_refused(edgeplace, job, cluster, tmp_path):
    write(Plan(jobs={"other": {"x": ("server",)}}), tmp_path / "other.json")
    ran = edgeplace("explain", job, cluster, tmp_path / "other.json")
    assert ran.status == 2
    said, _, advice = ran.err.partition("\n  cure: ")
    assert "the plan is for 'other', and this job is 'filter'" in said
    assert "no TaskManager for source (1/4)" in said
    assert "the plan of this job" in advice


def test_a_plan_of_another_cluster_names_the_unknown_task_manager(edgeplace, job, cluster, on_pis):
    plan = json.loads(on_pis.read_text())
    plan["jobs"]["filter"]["filter"][1] = "pj-1"
    on_pis.write_text(json.dumps(plan))
    ran = edgeplace("explain", job, cluster, on_pis)
    assert ran.status == 2
    said, _, advice = ran.err.partition("\n  cure: ")
    assert "filter (2/4) on TaskManager 'pj-1', which the cluster does not have" in said
    assert advice.startswith("the cluster has 'pi-1' and others: correct the name")


def test_a_plan_without_an_operator_names_it(edgeplace, job, cluster, on_pis):
    plan = json.loads(on_pis.read_text())
    del plan["jobs"]["filter"]["sink"]
    on_pis.write_text(json.dumps(plan))
    ran = edgeplace("explain", job, cluster, on_pis)
    assert ran.status == 2
    assert "the plan has no TaskManager for sink (1/1)" in ran.err


def test_rules_are_named_as_what_holds(edgeplace, job, cluster, on_pis, tmp_path):
    rules = {"rules": [{"kind": "pin", "operators": ["sink"], "to": "cloud"}]}
    write(Rules.model_validate(rules), tmp_path / "rules.yaml")
    ran = edgeplace("explain", job, cluster, on_pis, "--rules", tmp_path / "rules.yaml")
    sink = next(line for line in ran.out.splitlines() if line.startswith("sink")).rstrip()
    assert sink.endswith("cloud (server) 1  held there: pin sink to cloud")


@pytest.mark.slow
def test_three_thousand_subtasks_stay_readable(edgeplace, tmp_path):
    case = generate("scale-3000-1")
    all_server = next(
        p for p in policies(case.jobs, case.cluster, case.rules) if p.name == "all-server"
    )
    files = [tmp_path / name for name in ("job.json", "cluster.json", "plan.json", "rules.json")]
    documents = (case.jobs[0], case.cluster, all_server.plan, case.rules)
    for document, file in zip(documents, files, strict=True):
        write(document, file)
    rules = ("--rules", files[3])
    whole = edgeplace("explain", *files[:3], *rules).out
    lines = case.jobs[0].operator("filter").parallelism
    one = edgeplace("explain", *files[:3], *rules, "--subtask", f"filter (1/{lines})").out
    for out in (whole, one):
        assert len(out.splitlines()) < 40
        assert max(map(len, out.splitlines())) < 400
    assert "more such" in whole
    assert "more TaskManagers, behind these or not tried" in one


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance=instances(), data=st.data(), objective=OBJECTIVES)
def test_any_plan_of_the_case_is_explained(instance, data, objective):
    """Whatever it breaks: routes that are missing, full machines, rules."""
    job, cluster, rules, current = instance
    ids = [t.id for t in cluster.task_managers]
    plans = [
        {
            o.id: tuple(data.draw(st.sampled_from(ids)) for _ in range(o.parallelism))
            for o in job.operators
        }
        for _ in range(2)
    ]
    op = data.draw(st.sampled_from(job.operators))
    with TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("j.json", "c.json", "p.json", "r.json", "o.json")]
        documents = (job, cluster, Plan(jobs={job.name: plans[0]}), rules)
        for document, file in zip(documents, files, strict=False):
            write(document, file)
        write(Plan(jobs={job.name: plans[1]}), files[4])
        command = ["explain", *files[:3], "--rules", files[3], "--objective", ",".join(objective)]
        if current:
            write(Plan(jobs={job.name: current}), Path(folder) / "now.json")
            command += ["--current", Path(folder) / "now.json"]
        for more in (
            (),
            ("--json",),
            ("--subtask", f"{op.name} (1/{op.parallelism})"),
            ("--against", files[4]),
            ("--prices", "--time-limit", 2),
        ):
            out, err = StringIO(), StringIO()
            status = main([str(a) for a in [*command, *more]], Console(out, err))
            if "--prices" in more and status == 2:
                assert "no plan to start from" in err.getvalue()
            else:
                assert status == 0, err.getvalue()
                assert out.getvalue()


def test_names_stay_on_their_row(edgeplace, filter_model, cluster, on_pis, tmp_path):
    model, _ = filter_model
    first, *rest = model.operators
    named = model.revised(operators=(first.model_copy(update={"name": "a\nb [red]"}), *rest))
    write(named, tmp_path / "named.json")
    ran = edgeplace("explain", tmp_path / "named.json", cluster, on_pis)
    assert "\na\\nb [red]  " in ran.out


def test_what_has_no_room_at_all_is_still_json(edgeplace, job, cluster, tmp_path):
    """JSON has no infinity: a rule that is broken, and a slot where there is none."""
    base = read(cluster, Cluster)
    without = tuple(
        t.model_copy(update={"slots": 0}) if t.id == "pi-0" else t for t in base.task_managers
    )
    write(base.model_copy(update={"task_managers": without}), tmp_path / "none.yaml")
    places = {"source": ("pi-0", *PIS[:3]), "filter": PIS, "sink": ("server",)}
    write(Plan(jobs={"filter": places}), tmp_path / "plan.json")
    asked = ("explain", job, tmp_path / "none.yaml", tmp_path / "plan.json")

    def refuse(constant):
        raise AssertionError(constant)

    found = json.loads(edgeplace(*asked, "--json").out, parse_constant=refuse)
    share = {(v["limit"]["kind"], v["limit"]["where"]): v["utilisation"] for v in found["binding"]}
    assert share["slots", "pi-0"] is None
    assert "no room" in edgeplace(*asked).out


@pytest.mark.parametrize(
    "asked",
    [
        ("--prices", "--subtask", "sink"),
        ("--prices", "--against", "PLAN"),
        ("--subtask", "sink", "--against", "PLAN"),
    ],
)
def test_of_two_questions_none_is_left_out_in_silence(edgeplace, job, cluster, on_pis, asked):
    plan = [str(on_pis) if part == "PLAN" else part for part in asked]
    ran = edgeplace("explain", job, cluster, on_pis, *plan)
    assert ran.status == 2
    assert "not allowed with argument" in ran.err


def test_no_name_is_no_subtask(edgeplace, job, cluster, on_pis):
    ran = edgeplace("explain", job, cluster, on_pis, "--subtask", "")
    assert ran.status == 2
    assert "has no operator ''" in ran.err


@pytest.mark.parametrize("limit", ["-1", "nan"])
def test_a_time_limit_for_prices_is_named_as_given(edgeplace, job, cluster, on_pis, limit):
    ran = edgeplace("explain", job, cluster, on_pis, "--prices", "--time-limit", limit)
    assert ran.status == 2
    assert f"--time-limit {limit!r} is not a time\n  cure: write seconds" in ran.err


def test_where_bytes_have_prices_it_says_what_wan_stands_for(
    edgeplace, job, filter_model, tmp_path, on_pis
):
    _, cluster = filter_model
    links = tuple(a.model_copy(update={"price_per_byte": 0.5}) for a in cluster.links)
    write(cluster.model_copy(update={"links": links}), tmp_path / "priced.json")
    ran = edgeplace("explain", job, tmp_path / "priced.json", on_pis)
    assert ran.out.startswith("weighted WAN cost 84,000/s, ")
    said = "weighted WAN cost: bytes per second on each link, times its price_per_byte"
    assert said in ran.out
    # Of the link limits only, which are bytes.
    assert "B/s" not in ran.out.partition("\n")[0]
    assert "weighted WAN cost would be worse" in ran.out.partition("why each operator")[2]
    of_links = r"link bandwidth \S+ -> \S+ \S+ kB/s of \S+ kB/s"
    assert "B/s" not in re.sub(of_links, "", ran.out.partition("why each operator")[2])
    front = edgeplace("solve", job, tmp_path / "priced.json", "--pareto", tmp_path / "front.svg")
    assert said in front.out
    assert "B/s" not in front.out + (tmp_path / "front.svg").read_text()


def test_where_prices_are_money_a_plan_has_a_bill(edgeplace, job, filter_model, tmp_path, on_pis):
    _, cluster = filter_model
    # 4 EUR a GB; 168 kB/s are 442 GB in the 30.4 days of a month.
    links = tuple(a.model_copy(update={"price_per_byte": 4e-9}) for a in cluster.links)
    write(cluster.model_copy(update={"links": links, "currency": "EUR"}), tmp_path / "priced.json")
    ran = edgeplace("explain", job, tmp_path / "priced.json", on_pis)
    assert ran.out.startswith("WAN cost 1,767 EUR/month, ")
    report = tmp_path / "report.html"
    solved = edgeplace("solve", job, tmp_path / "priced.json", "--report", report)
    title = next(line for line in solved.out.splitlines() if line.startswith("placement"))
    assert title.split()[:3] == ["placement", "WAN", "EUR/month"]
    assert "EUR/month" in solved.out
    assert "1,767" in solved.out
    assert "1,767 EUR/month" in report.read_text()
    assert "WAN cost: bytes in 30.4 days times price_per_byte" in solved.out


def test_prices_leave_time_for_a_wish_that_costs_nothing(edgeplace, tmp_path, monkeypatch):
    job, cluster, rules = wishing(SPREAD)
    plan = Plan(jobs={"job": {"camera": ("pi",), "track": ("e", "e", "e", "pi")}})
    for name, document in {"job": job, "cluster": cluster, "rules": rules, "plan": plan}.items():
        write(document, tmp_path / f"{name}.json")
    monkeypatch.chdir(tmp_path)
    asked = Mock(side_effect=prices)
    monkeypatch.setattr("edgeplace.solver.prices", asked)
    ran = edgeplace(
        *("explain", "job.json", "cluster.json", "plan.json", "--rules", "rules.json"),
        *("--objective", "wan", "--prices", "--time-limit", 8),
    )
    assert asked.call_args.args[6] <= 4
    assert "met, and no term of the objective changes" in ran.out
