"""What the options of `edgeplace solve` do."""

import json

import pytest

from edgeplace.adapters.flink import schedulercfg
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.model import (
    Cluster,
    Costs,
    Exlocate,
    NeverMove,
    Pin,
    Plan,
    Rules,
    SourceDemand,
    read,
    write,
)
from edgeplace.solver import evaluate
from tests.support import credit_loop
from tests.support.saturated import RAN, saturated
from tests.support.seeds import filter_cluster

KEYS = {
    "status",
    "stopped_by",
    "plan",
    "evaluation",
    "levels",
    "incumbents",
    "runtime_s",
    "backend",
    "conflict",
    "chosen",
    "notes",
    "bound",
    "gap",
    "headroom",
    "sustained",
    "compared",
    "advice",
    "job_changes",
    "cure_settings",
    "waiting",
    "without_settings",
}
ON_PIS = ["pi-0", "pi-1", "pi-2", "pi-3"]


@pytest.fixture
def answer(edgeplace):
    """Run a command with `--json` and return what it printed."""

    def run(*argv):
        ran = edgeplace(*argv, "--json")
        assert ran.err == ""
        return json.loads(ran.out)

    return run


@pytest.fixture
def all_server(filter_model, tmp_path):
    """A current placement: sources at their Pis, all else on the server."""
    places = {"source": ON_PIS, "filter": ["server"] * 4, "sink": ["server"]}
    write(Plan(jobs={"filter": places}), tmp_path / "current.json")
    return tmp_path / "current.json"


def test_json_has_the_same_keys_whatever_the_answer(answer, job, cluster, narrow):
    proved, infeasible = answer("solve", job, cluster), answer("solve", job, narrow)
    unknown = answer("solve", job, narrow, "--time-limit", 0)
    assert set(proved) == set(infeasible) == set(unknown) == KEYS
    assert proved["status"] == "optimal"
    assert proved["plan"]["jobs"]["filter"]["filter"] == ON_PIS
    assert infeasible["plan"] is None
    assert infeasible["conflict"]["confirmed"] is True
    assert unknown["conflict"] is None


def test_json_gives_value_bound_and_gap_of_each_level(answer, job, cluster):
    found = answer("solve", job, cluster)
    assert [v["name"] for v in found["levels"]] == ["wan", "latency", "server_cores", "moves"]
    wan = found["levels"][0]
    assert (wan["value"], wan["bound"]) == pytest.approx((168_000, 168_000))
    assert found["bound"] == wan["bound"]
    assert found["gap"] == wan["gap"] <= 1e-6


def test_json_compares_with_all_server(answer, job, cluster):
    found = answer("solve", job, cluster)
    assert set(found["compared"]) == {"all-server"}
    assert found["headroom"] == pytest.approx(50_000 / 42_000)
    assert found["compared"]["all-server"]["headroom"] == pytest.approx(50_000 / 60_000)


def test_json_is_all_there_is_on_standard_output(edgeplace, job, cluster, tmp_path):
    more = ("-o", tmp_path / "plan.json", "--schedulercfg", tmp_path / "cfg", "--json")
    assert json.loads(edgeplace("solve", job, cluster, *more).out)
    assert (tmp_path / "plan.json").exists()
    assert (tmp_path / "cfg").exists()


def test_the_table_compares_current_and_all_server(edgeplace, job, cluster, all_server):
    ran = edgeplace("solve", job, cluster, "--current", all_server)
    table = ran.out.partition("compared, at the stated demand\n")[2].splitlines()
    assert [row.split()[0] for row in table[1:4]] == ["edgeplace", "current", "all-server"]
    assert table[1].rstrip().endswith("yes")
    assert table[2].rstrip().endswith("no")


@pytest.mark.parametrize("backend", ["milp", "cp-sat"])
def test_each_backend_is_named_and_proves_the_least_wan_bytes(answer, job, wide, backend):
    # HiGHS 1.14.0 "proved" 240,000 here: https://github.com/ERGO-Code/HiGHS/issues/3073
    found = answer("solve", job, wide, "--backend", backend)
    assert found["backend"] == backend
    assert found["evaluation"]["wan_bytes_per_s"] == pytest.approx(168_000)


def test_objective_terms_come_in_the_order_given(answer, job, wide):
    found = answer("solve", job, wide, "--objective", "server_cores,wan:5%")
    assert [(v["name"], v["tolerance"]) for v in found["levels"]] == [
        ("server_cores", 0.0),
        ("wan", 0.05),
    ]
    assert found["evaluation"]["server_cores"] == pytest.approx(0.0)


def test_throughput_first_says_which_share_is_sustained(edgeplace, job, cluster):
    ran = edgeplace(
        "solve", job, cluster, "--objective", "throughput,wan", "--set", "rate:source=20000"
    )
    assert ran.status == 0
    assert "this plan sustains 14.3 % of the demand" in ran.out
    # Smaller is better: it is not called throughput without a word.
    assert "optimal, proved" in ran.out and ": throughput (1 / headroom), wan\n" in ran.out


def test_a_plan_that_sustains_less_than_its_limits_allow_says_so(edgeplace, answer, tmp_path):
    # The window lets 1,000 records/s through, and so does the server: 950 fit both, one by one.
    write(credit_loop.job(1e-6, 10.0, 950.0), tmp_path / "loop.json")
    write(credit_loop.cluster(10), tmp_path / "loop.yaml")
    pinned = Rules(rules=(Pin(operators=("sink",), to="cloud"),))
    write(pinned, tmp_path / "rules.json")
    files = [tmp_path / "loop.json", tmp_path / "loop.yaml", "--rules", tmp_path / "rules.json"]
    found = answer("solve", *files)["evaluation"]
    ran = edgeplace("solve", *files)
    assert found["headroom"] > 1 > found["sustained"]
    assert f"this plan sustains {100 * found['sustained']:.3g} % of the demand" in ran.out
    assert "each limit holds: buffers between the sites wait for busy processors" in ran.out


def test_queues_that_hold_back_next_to_nothing_are_not_told(edgeplace, answer, tmp_path):
    window = credit_loop.cluster(10)
    most = 1000 * evaluate(credit_loop.job(1e-6, 10.0, 1000.0), window, credit_loop.APART).sustained
    write(credit_loop.job(1e-6, 10.0, most / 0.995), tmp_path / "loop.json")
    write(window, tmp_path / "loop.yaml")
    write(Rules(rules=(Pin(operators=("sink",), to="cloud"),)), tmp_path / "rules.json")
    files = [tmp_path / "loop.json", tmp_path / "loop.yaml", "--rules", tmp_path / "rules.json"]
    assert answer("solve", *files)["evaluation"]["sustained"] == pytest.approx(0.995, rel=1e-4)
    assert "this plan sustains" not in edgeplace("solve", *files).out


def test_a_gap_that_is_good_enough_exits_0(answer, edgeplace, job, cluster):
    assert edgeplace("solve", job, cluster, "--gap", "0.5").status == 0
    assert answer("solve", job, cluster, "--gap", "0.5")["gap"] <= 0.5


def test_a_time_limit_keeps_the_best_plan_and_its_bound(answer, job, wide):
    found = answer("solve", job, wide, "--time-limit", 0)
    assert (found["status"], found["stopped_by"]) == ("feasible", "time limit")
    assert found["plan"]
    assert found["levels"][0]["bound"] <= 168_000
    assert found["gap"] == 1.0


def test_set_changes_the_demand_of_a_source(answer, job, cluster):
    found = answer("solve", job, cluster, "--set", "rate:source=1200")
    assert found["evaluation"]["wan_bytes_per_s"] == pytest.approx(1200 * 0.7 * 100)


def test_set_to_zero_uses_nothing(answer, job, cluster):
    found = answer("solve", job, cluster, "--set", "rate:source=0")
    assert found["evaluation"]["wan_bytes_per_s"] == 0
    assert found["headroom"] is None


def test_set_takes_an_operator_whose_name_has_an_equals_sign(
    answer, filter_model, cluster, tmp_path
):
    model, _ = filter_model
    first, *rest = model.operators
    named = model.revised(operators=(first.model_copy(update={"name": "Source: topic=a=1"}), *rest))
    write(named, tmp_path / "named.json")
    found = answer(
        "solve", tmp_path / "named.json", cluster, "--set", "rate:Source: topic=a=1=1200"
    )
    assert found["evaluation"]["wan_bytes_per_s"] == pytest.approx(84_000)


def test_costs_replace_those_of_the_job(answer, job, cluster, filter_model, tmp_path):
    old = filter_model[0].operators[0].cost
    demand = SourceDemand(rates_per_s=(10.0, 20.0, 30.0, 40.0))
    costs = Costs(
        job="filter",
        operators=(old.model_copy(update={"demand": demand}),),
        placement={"source": tuple(ON_PIS), "filter": ("server",) * 4, "sink": ("server",)},
    )
    write(costs, tmp_path / "costs.json")
    found = answer("solve", job, cluster, "--costs", tmp_path / "costs.json")
    assert found["evaluation"]["wan_bytes_per_s"] == pytest.approx(100 * 0.7 * 100)
    assert found["compared"]["current"]["wan_bytes_per_s"] == pytest.approx(100 * 100)


def test_rules_hold(answer, job, cluster, tmp_path):
    rules = Rules(
        rules=(
            Pin(operators=("filter",), subtasks=(0,), to="cloud"),
            Exlocate(operators=("sink", "filter"), level="node"),
        )
    )
    write(rules, tmp_path / "rules.yaml")
    found = answer("solve", job, cluster, "--rules", tmp_path / "rules.yaml")
    assert found["status"] == "infeasible"
    write(Rules(rules=rules.rules[1:]), tmp_path / "rules.yaml")
    places = answer("solve", job, cluster, "--rules", tmp_path / "rules.yaml")["plan"]["jobs"]
    assert len({*places["filter"]["filter"], *places["filter"]["sink"]}) == 5


def test_current_may_be_a_plan(answer, job, wide, all_server):
    found = answer("solve", job, wide, "--current", all_server)
    assert set(found["compared"]) == {"current", "all-server"}
    assert found["compared"]["current"]["wan_bytes_per_s"] == pytest.approx(240_000)
    assert found["evaluation"]["moves"] == 4


def test_current_may_be_a_schedulercfg(answer, job, wide, filter_model, tmp_path, all_server):
    model, cluster = filter_model
    plan = read(all_server, Plan)
    file = tmp_path / "schedulercfg"
    file.write_text(schedulercfg.render(plan.of("filter"), model, cluster))
    found = answer("solve", job, wide, "--current", file)
    assert found["compared"] == answer("solve", job, wide, "--current", all_server)["compared"]


def test_subtasks_that_never_move_stay(answer, job, wide, all_server, tmp_path):
    write(Rules(rules=(NeverMove(operators=("filter",)),)), tmp_path / "rules.yaml")
    found = answer("solve", job, wide, "--current", all_server, "--rules", tmp_path / "rules.yaml")
    assert found["plan"]["jobs"]["filter"]["filter"] == ["server"] * 4


@pytest.mark.parametrize("suffix", [".json", ".yaml", ""])
def test_the_plan_file_reads_back(edgeplace, answer, job, cluster, tmp_path, suffix):
    file = tmp_path / f"plan{suffix}"
    ran = edgeplace("solve", job, cluster, "-o", file)
    assert f"plan written to {file}\nnext: edgeplace explain " in ran.out
    assert read(file, Plan).of("filter")["filter"] == tuple(ON_PIS)
    assert answer("solve", job, cluster, "--current", file)["evaluation"]["moves"] == 0


def test_the_schedulercfg_file_reads_back(edgeplace, job, cluster, filter_model, tmp_path):
    model, _ = filter_model
    file, plan = tmp_path / "schedulercfg", tmp_path / "plan.json"
    ran = edgeplace("solve", job, cluster, "--schedulercfg", file, "-o", plan)
    assert f"schedulercfg written to {file}\n" in ran.out
    found = schedulercfg.read(file, job=model, cluster=read(cluster, Cluster))
    assert found == read(plan, Plan).of("filter")


def test_without_a_plan_no_file_is_written(edgeplace, job, narrow, tmp_path):
    files = [tmp_path / "plan.json", tmp_path / "schedulercfg"]
    ran = edgeplace("solve", job, narrow, "-o", files[0], "--schedulercfg", files[1])
    assert ran.status == 3
    assert not any(f.exists() for f in files)
    assert "written" not in ran.out


@pytest.mark.slow
def test_a_solver_of_pulp_gives_the_same_answer(answer, job, cluster, narrow):
    for case in (cluster, narrow):
        own, other = answer("solve", job, case), answer("solve", job, case, "--backend", "pulp:cbc")
        assert other["backend"] == "pulp:cbc"
        assert other["status"] == own["status"]
        assert other["plan"] == own["plan"]


def test_what_runs_may_miss_a_limit_by_less_than_costs_were_measured(edgeplace, tmp_path):
    job, cluster, ran = (tmp_path / n for n in ("job.json", "cluster.json", "ran.json"))
    write(saturated(0.007, 0.012), job)
    write(filter_cluster(), cluster)
    write(RAN, ran)
    answer = edgeplace("solve", job, cluster, "--current", ran)
    assert answer.status is ExitStatus.INFEASIBLE
    row, said = [line for line in answer.out.splitlines() if line.startswith("current ")]
    assert row.rstrip().endswith("within measurement")
    assert said.startswith("current holds within measurement only: subtask busy filter (1/4)")
    note = " ".join(answer.out.partition("note: the current placement exceeds")[2].split())
    assert note.startswith("subtask busy filter (1/4) on pi-0 by 0.70%, and the costs behind it")
    assert "--set rate=x0.993" in note
    less = edgeplace("solve", job, cluster, "--current", ran, "--set", "rate=x0.992")
    assert less.status is ExitStatus.OK


def test_a_cluster_without_servers_is_noted(edgeplace, job, tmp_path, filter_model):
    _, cluster = filter_model
    sites = tuple(s.model_copy(update={"tier": "edge"}) for s in cluster.sites)
    write(cluster.model_copy(update={"sites": sites}), tmp_path / "edges.yaml")
    ran = edgeplace("solve", job, tmp_path / "edges.yaml")
    assert "note: no site has `tier: cloud`: no core counts as a server core" in ran.out


@pytest.mark.parametrize("command", ["solve", "explain", "pareto"])
def test_links_without_a_way_back_are_noted(edgeplace, job, tmp_path, filter_model, command):
    _, cluster = filter_model
    first, *rest = cluster.links
    links = (first.model_copy(update={"both_ways": False}), *rest)
    write(cluster.model_copy(update={"links": links}), tmp_path / "one-way.yaml")
    more = ["--pareto"] if command == "pareto" else ["-o", tmp_path / "plan.json"]
    ran = edgeplace("solve", job, tmp_path / "one-way.yaml", *more)
    if command == "explain":
        ran = edgeplace("explain", job, tmp_path / "one-way.yaml", tmp_path / "plan.json")
    assert ran.status == 0
    assert "note: nothing leads back over pi-0 -> cloud: Flink's acknowledgements" in ran.out
    assert "`both_ways: true` gives a link one" in ran.out


@pytest.mark.parametrize("gap", ["5%", "0.05", "0", "1", "100%"])
def test_a_gap_is_a_share_or_per_cent(edgeplace, job, cluster, gap):
    assert edgeplace("solve", job, cluster, "--gap", gap).status == 0


def test_a_chosen_parallelism_is_in_plan_schedulercfg_and_explanation(
    edgeplace, job, cluster, tmp_path
):
    plan, cfg = tmp_path / "plan.json", tmp_path / "cfg"
    ran = edgeplace(
        "solve", job, cluster, "--parallelism", "sink=2,3", "-o", plan, "--schedulercfg", cfg
    )
    assert ran.status == ExitStatus.OK
    assert "parallelism: sink x" in ran.out
    assert "2 combinations searched" in ran.out
    places = read(plan, Plan).of("filter")["sink"]
    assert len(places) in (2, 3)
    assert f"sink (1/{len(places)}); " in cfg.read_text()
    for file in (plan, cfg):
        told = edgeplace("explain", job, cluster, file, "--parallelism")
        assert told.status == ExitStatus.OK
        assert "the best plan" in told.out


@pytest.mark.slow
def test_a_front_is_over_all_parallelisms_asked_for(edgeplace, job, cluster):
    asked = ("solve", job, cluster, "--pareto", "--parallelism", "sink=2,3")
    shown = edgeplace(*asked)
    assert shown.status == ExitStatus.OK
    assert "parallelism of 1: sink x" in shown.out
    points = json.loads(edgeplace(*asked, "--json").out)["points"]
    for p in points:
        (own,) = p["parallelism"].values()
        (places,) = p["plan"]["jobs"].values()
        assert own["sink"] == len(places["sink"]) in (2, 3)
