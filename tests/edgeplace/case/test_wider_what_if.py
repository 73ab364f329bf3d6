"""`solve --set` for machines, links, prices and sites; sweeps; the loss of each site."""

import dataclasses
import json
import re
import shlex

import pytest
import yaml

from edgeplace.case import what_if
from edgeplace.case.foreign_data import closed, foreign_data
from edgeplace.case.sweep import steps
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.model import (
    Case,
    Change,
    Cluster,
    InvalidInputError,
    LimitKind,
    OwnData,
    Pin,
    Plan,
    Rules,
    Status,
    StoppedBy,
    parse,
    read,
    write,
)
from edgeplace.solver import evaluate, solve, solve_case
from tests.support.depots import depot, depots_cluster, forklifts, parcels
from tests.support.page_reader import Page
from tests.support.seeds import filter_cluster, filter_job


@pytest.fixture(scope="module")
def now():
    euros = {**depots_cluster(5).model_dump(), "currency": "EUR"}
    return Case((forklifts(5),), parse(euros, Cluster, "the depots in euros"))


def slots(case):
    return {t.id: t.slots for t in case.cluster.task_managers}


def cores(case):
    return {n.id: n.cores for n in case.cluster.nodes}


def prices(case):
    return {(a.source, a.target): a.price_per_byte for a in case.cluster.directed_links()}


@pytest.mark.parametrize(
    ("setting", "changed", "to"),
    [
        ("slots:vm-1=30", {"vm-1"}, 30),
        ("slots:vm=+2", {"vm-0", "vm-1", "vm-2", "vm-3"}, 26),
        ("slots:cloud=x0.5", {"vm-0", "vm-1", "vm-2", "vm-3"}, 12),
        ("slots:depot-00=-1", {"depot-00-pi0", "depot-00-pi1"}, 3),
        ("slots:vm-[01]=1", {"vm-0", "vm-1"}, 1),
    ],
)
def test_slots_of_a_place(now, setting, changed, to):
    then = slots(what_if.apply(now, [setting]))
    assert then == {**slots(now), **dict.fromkeys(changed, to)}


def test_cores_of_a_place(now):
    then = cores(what_if.apply(now, ["cores:mini-*=x2", "cores:pi5=+1"]))
    pi5 = [n.id for n in now.cluster.nodes if n.node_class == "pi5"]
    assert pi5
    assert {n: c - cores(now)[n] for n, c in then.items() if c != cores(now)[n]} == {
        **{n.id: 16 for n in now.cluster.nodes if n.node_class == "mini"},
        **dict.fromkeys(pi5, 1),
    }


def test_prices_of_links(now):
    before = prices(now)
    both = prices(what_if.apply(now, ["price:depot-00-region-north=2 EUR/GB"]))
    assert {w for w in both if both[w] != before[w]} == {
        ("depot-00", "region-north"),
        ("region-north", "depot-00"),
    }
    assert both["depot-00", "region-north"] == pytest.approx(2e-9)
    one = prices(what_if.apply(now, ["price:depot-*->region-*=x3"]))
    assert {w for w in one if one[w] != before[w]} == {w for w in before if "depot" in w[0]}
    assert one["depot-01", "region-south"] == pytest.approx(12e-9)


def test_a_lost_node_loses_what_is_born_at_it(now):
    cluster = now.cluster
    node = next(n.id for n in cluster.nodes if n.site == "depot-02")
    then = what_if.apply(now, [f"node:{node}=lost"])
    assert slots(then)[node] == 0
    assert {t for t in slots(now) if slots(then)[t] != slots(now)[t]} == {node}
    assert then.notes[0] == f"node {node!r} is lost"


def test_a_lost_link_takes_along_what_only_it_joined(now):
    then = what_if.apply(now, ["link:depot-03-region-west=lost"])
    assert then.lost == ("depot-03",)
    assert all("depot-03" not in way for way in prices(then))
    assert "records/s are lost with it" in then.notes[-1]


def test_several_nodes_and_a_site_like_another(now):
    more = what_if.apply(now, ["node+=3*pi5@depot-01"])
    assert len(more.cluster.nodes) == len(now.cluster.nodes) + 3
    then = what_if.apply(now, ["site+=region-new@region-mid"])
    (new,) = (n for n in then.cluster.nodes if n.site == "region-new")
    (old,) = (n for n in then.cluster.nodes if n.site == "region-mid")
    assert (new.node_class, new.cores) == (old.node_class, old.cores)
    assert prices(then)["region-new", "cloud"] == prices(then)["region-mid", "cloud"]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("slots:nowhere=3", "no site, node, TaskManager or class of nodes is named 'nowhere'"),
        ("slots:vm=2.5", "'vm-0' cannot have 2.5 slots"),
        ("cores:vm=0", "'vm-0' cannot have 0 cores"),
        ("price:depot-00-region-north=2 USD/GB", "'2 USD/GB' is no price in EUR"),
        ("price:depot-99-region-north=x2", "no link is named so"),
        ("node:pi-99=lost", "no node 'pi-99'"),
        ("site+=cloud@region-mid", "there is a site 'cloud'"),
        ("site+=new@paris", "there is no site 'paris'"),
        ("site+=@cloud", "is not understood"),
        ("link:paris-cloud=lost", "no link is named so"),
    ],
)
def test_what_is_not_there_or_cannot_be(now, setting, said):
    with pytest.raises(InvalidInputError) as refused:
        what_if.apply(now, [setting])
    assert said in refused.value.what
    assert refused.value.cure


@pytest.fixture
def files(tmp_path, now):
    write(now.jobs[0], tmp_path / "job.yaml")
    write(now.cluster, tmp_path / "cluster.yaml")
    return tmp_path / "job.yaml", tmp_path / "cluster.yaml"


def test_a_sweep_has_a_row_for_each_value(edgeplace, files, tmp_path):
    ran = edgeplace("solve", *files, "--set", "rate=x1..x3", "--json")
    rows = json.loads(ran.out)
    assert [row["rate"] for row in rows] == ["x1", "x2", "x3"]
    single = json.loads(edgeplace("solve", *files, "--set", "rate=x3", "--json").out)
    assert rows[2]["result"]["evaluation"]["wan_cost"] == pytest.approx(
        single["evaluation"]["wan_cost"]
    )
    out = tmp_path / "sweep.html"
    shown = edgeplace("solve", *files, "--set", "rate=x1..x3", "--report", out).out.splitlines()
    assert shown[0].split()[:2] == ["rate", "WAN"]
    assert [line.split()[0] for line in shown[1:4]] == ["x1", "x2", "x3"]
    assert f"report written to {out}" in shown
    page = Page(out.read_text())
    plans = page.table("The best plan for each rate")
    assert [[*row] for row in plans] == [re.split(r"  +", line) for line in shown[1:4]]
    assert len([a for a in page.all("circle") if a["class"] == "ours"]) == 4 * len(plans)


@pytest.mark.slow
@pytest.mark.parametrize("bounded", [False, True])
def test_of_a_sweep_the_first_value_without_a_plan_says_why(edgeplace, files, tmp_path, bounded):
    """Of higher rates the proof is the same, unless a delay is bounded, which may be less there."""
    rules = tmp_path / "rules.yaml"
    write(Rules(max_latency_ms=1e6 if bounded else None), rules)
    ask = ("solve", *files, "--rules", rules, "--json", "--set")
    rows = json.loads(edgeplace(*ask, "rate=x8..x11").out)
    alone = [json.loads(edgeplace(*ask, f"rate={row['rate']}").out) for row in rows]
    statuses = [row["result"]["status"] for row in rows]
    assert statuses == [one["status"] for one in alone]
    first = statuses.index("infeasible")
    assert first == 1
    assert rows[first]["result"]["conflict"]["cure"] == alone[first]["conflict"]["cure"]
    said = f"{rows[first]['rate']} needs no more, and has none"
    for row in rows[first + 1 :]:
        assert row["result"]["conflict"] is None
        assert row["why_not"] == ("" if bounded else said)
    shown = edgeplace(*ask[:-2], "--set", "rate=x8..x11").out
    assert (f"none: {said}" in shown) != bounded
    assert ("ask for another one alone" in shown) == bounded


@pytest.mark.slow
def test_a_range_that_changes_the_cluster_is_solved_value_by_value(edgeplace, files):
    ran = edgeplace("solve", *files, "--set", "slots:depot-00=0..2", "--json")
    statuses = [row["result"]["status"] for row in json.loads(ran.out)]
    assert statuses == ["infeasible", "optimal", "optimal"]


def test_steps_of_a_range(edgeplace, files):
    ran = edgeplace("solve", *files, "--set", "link:region-north-cloud=0.5..1", "--json")
    values = [row["link:region-north-cloud"] for row in json.loads(ran.out)]
    assert values == ["0.5", "0.625", "0.75", "0.875", "1"]
    assert steps("rate=1x..3x") == ["rate=1x", "rate=2x", "rate=3x"]
    assert steps("demand=50..150%") == [f"demand={n}%" for n in (50, 75, 100, 125, 150)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--set", "rate=x5..x1"), "is no range"),
        (("--set", "rate=50%..2x"), "is no range"),
        (("--set", "rate=x1..x2", "--set", "slots:vm=8..9"), "sweep one at a time"),
        (("--set", "rate=x1..x2", "--each-site-lost"), "ask one at a time"),
        (("--each-site-lost", "-o", "plan.json"), "make several plans"),
        (("--each-site-lost", "--split", "decode"), "make several plans"),
        (("--each-site-lost", "--key-shares", "k.shares"), "make several plans"),
        (("--set", "rate=x1..x2", "--confidence", "0.9"), "make several plans"),
        (("--pareto", "--each-site-lost"), "the front of one case"),
        (("--pareto", "--set", "rate=x1..x2"), "the front of one case"),
        (("--pareto", "--confidence", "0.9"), "the front of one case"),
        (("--pick", "2"), "there is no --pareto"),
        (("--survive", "any", "--each-site-lost"), "one plan"),
        (("--set", "rate=x2", "--key-shares", "k.shares"), "what is not there"),
        (("--set", "cores:cloud=1e30"), "out of all proportion"),
        (("--set", "slots:cloud=1000000"), "give whole slots, at most 100,000"),
        (("--set", "rate:camera=1e300"), "is not understood"),
        (("--pareto", "--pick", "2"), "there is no -o"),
    ],
)
def test_questions_that_do_not_go_together(edgeplace, files, options, said):
    ran = edgeplace("solve", *files, *options)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert said in ran.err


def test_the_loss_of_each_site(edgeplace, files, tmp_path):
    out = tmp_path / "lost.html"
    ran = edgeplace("solve", *files, "--each-site-lost", "--report", out)
    lines = ran.out.splitlines()
    rows = {line.split()[0]: line for line in lines[1:]}
    assert "holds the checkpoint storage" in rows["cloud"]
    assert "20 %" in rows["depot-01"], "one of five depots"
    assert "20 %" in rows["region-south"], "the depot that hangs on it"
    assert rows["depot-01"].rstrip().endswith("proved best")
    assert "after 10 of 11 losses a plan exists" in ran.out
    assert "after each of 11 losses; of sites that are alike, one was tried" in out.read_text()


@pytest.mark.slow
def test_a_plan_that_must_survive_is_written_only_if_every_loss_leaves_one(
    edgeplace, files, tmp_path
):
    out = tmp_path / "survives.json"
    ran = edgeplace("solve", *files, "--survive", "region-s*", "--survive", "depot-01", "-o", out)
    assert ran.status is ExitStatus.OK
    assert "after 2 of 2 losses a plan exists" in ran.out
    assert out.exists()
    out.unlink()
    ran = edgeplace("solve", *files, "--survive", "any", "-o", out)
    assert ran.status is ExitStatus.INFEASIBLE
    assert "the loss of cloud is not survived" in ran.out
    assert not out.exists()
    rules = tmp_path / "rules.yaml"
    rules.write_text("survive: [depot-01, any]")
    ran = edgeplace("solve", *files, "--rules", rules, "-o", out)
    assert ran.status is ExitStatus.INFEASIBLE, "the field means what the option does"
    assert "the loss of cloud is not survived" in ran.out
    assert not out.exists()
    ran = edgeplace("solve", *files, "--survive", "depot-01", "--survive", "regoin-*")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "--survive regoin-*: no site is named so" in ran.err


def test_a_loss_without_costs_for_what_is_left_does_not_hide_the_others(
    edgeplace, files, monkeypatch
):
    answers = []

    def lacking(*args, **options):
        answers.append(len(answers) != 1 and solve_case(*args, **options))
        if not answers[-1]:
            raise InvalidInputError("never seen on 'vm'", "measure it there")
        return answers[-1]

    monkeypatch.setattr("edgeplace.solver.solve_case", lacking)
    ran = edgeplace("solve", *files, "--survive", "depot-01", "--survive", "depot-02")
    assert ran.status is ExitStatus.INFEASIBLE
    assert "after 1 of 2 losses a plan exists" in ran.out
    assert "is not survived: never seen on 'vm'; cure: measure it there" in " ".join(
        ran.out.split()
    )
    ran = edgeplace("solve", *files, "--survive", "depot-01")
    assert "after 1 of 1 loss a plan exists" in ran.out


@pytest.mark.parametrize(
    ("stopped_by", "at", "status"),
    [
        (StoppedBy.TIME_LIMIT, 2, ExitStatus.NO_PLAN),
        (StoppedBy.INTERRUPT, 2, ExitStatus.INTERRUPTED),
        (StoppedBy.INTERRUPT, 1, ExitStatus.INTERRUPTED),
    ],
)
def test_what_was_not_judged_to_the_end_is_not_known(
    edgeplace, files, tmp_path, monkeypatch, stopped_by, at, status
):
    answers = []

    def stopped(*args, **options):
        answers.append(solve_case(*args, **options))
        if len(answers) < at:
            return answers[-1]
        left = {} if at == 1 else {"plan": None, "evaluation": None, "status": Status.UNKNOWN}
        return answers[-1].model_copy(update={**left, "stopped_by": stopped_by})

    monkeypatch.setattr("edgeplace.solver.solve_case", stopped)
    out = tmp_path / "plan.json"
    ran = edgeplace("solve", *files, "--survive", "depot-01", "-o", out, "--json")

    assert (ran.status, len(answers), out.exists()) == (status, at, False)
    found = json.loads(ran.out)
    why = f"not every loss was judged to the end: stopped by {stopped_by.value}"
    assert f"no plan is written: {why}" in found["notes"]
    assert (found["plan"], len(found["survival"])) == (None, at - 1)
    assert f"plan not written to {out}: {why}" in ran.err


def test_an_edge_site_that_serves_anothers_data_is_named_unless_a_rule_speaks_of_it(now):
    (first,) = now.jobs
    ops = [o.model_copy(update={"name": f"{o.name}: (a, b)"}) for o in first.operators]
    first = first.revised(operators=ops)
    now = dataclasses.replace(now, jobs=(first,))
    plan = solve(now.jobs, now.cluster).plan
    assert foreign_data(now, plan) is None
    op = next(o.id for o in ops if o.id not in {s.id for s in first.sources()})
    places = {**plan.jobs[first.name], op: ("depot-01-pi0", *plan.jobs[first.name][op][1:])}
    plan = plan.model_copy(update={"jobs": {first.name: places}})
    said = foreign_data(now, plan)
    assert "1 subtask at edge sites" in said
    rule = proposed(said)
    births = {depot(d) for d in range(5)} | {"cloud"}
    assert set(rule.open_sites) == {s.id for s in now.cluster.sites} - births
    assert evaluate(now.jobs, now.cluster, plan, Rules(rules=(rule,))).violations
    shut = closed(now)
    (broken,) = evaluate(now.jobs, now.cluster, plan, shut.rules).violations
    assert "default of edgeplace.yaml" in broken.where
    assert "default of edgeplace.yaml" in shut.notes[-1]

    second = first.revised(name="another: job")
    both = dataclasses.replace(now, jobs=(first, second))
    placed = plan.model_copy(update={"jobs": {first.name: places, second.name: places}})
    for names in ([o.id for o in ops], [o.name for o in ops]):
        ruled = OwnData(operators=names, open_sites=("*",))
        opened = dataclasses.replace(now, rules=Rules(rules=(ruled,)))
        assert foreign_data(opened, plan) is None
        assert closed(opened) == opened
        pinned = dataclasses.replace(now, rules=Rules(rules=(Pin(operators=names, to="cloud"),)))
        assert closed(pinned) == pinned, "a rule of the user puts them there"
        chosen = Rules(rules=(Pin(operators=names, to="depot-*"),))
        assert closed(dataclasses.replace(now, rules=chosen)).rules != chosen
        of_first = Rules(rules=(ruled.model_copy(update={"job": first.name}),))
        said = foreign_data(dataclasses.replace(both, rules=of_first), placed)
        assert proposed(said).job == second.name


def test_no_lost_site_is_proposed_as_an_open_one(now):
    then = now.without_site("region-north")
    assert set(then.lost) == {"region-north", depot(0)}
    plan = solve(then.jobs, then.cluster).plan
    name = then.jobs[0].name
    at = {**plan.jobs[name], "parse": ("depot-02-pi0", *plan.jobs[name]["parse"][1:])}
    said = foreign_data(then, plan.model_copy(update={"jobs": {name: at}}))
    regions = {s.id for s in now.cluster.sites if s.id.startswith("region-")}
    assert set(proposed(said).open_sites) == regions - {"region-north"}
    assert said.endswith("sites that are lost are not among those it opens")


def proposed(said):
    """Return the rule that a note proposes."""
    text = re.search(r"{kind.*}", said).group()
    return parse({"rules": [yaml.safe_load(text)]}, Rules, "the note").rules[0]


def test_what_is_lost_is_lost_of_the_rates_supposed(edgeplace, files):
    ran = edgeplace("solve", *files, "--set", "rate=x0.5", "--each-site-lost")
    rows = {line.split()[0]: line for line in ran.out.splitlines()[1:]}
    assert "%" not in rows["none"]
    assert "20 %" in rows["depot-01"], "still one of five depots"


def test_steps_of_large_figures_are_exact():
    assert steps("rate:a=1000000..1000003") == [f"rate:a={n}" for n in range(1000000, 1000004)]


@pytest.mark.slow
def test_a_picked_point_of_the_front_is_written(edgeplace, files, tmp_path):
    front = json.loads(edgeplace("solve", *files, "--pareto", "--json").out)["points"]
    last = len(front)
    ran = edgeplace("solve", *files, "--pareto", "--pick", last, "-o", tmp_path / "p.json")
    assert ran.status is ExitStatus.OK, ran.err
    case_files = [
        read(f, kind) for f, kind in zip(files, (type(forklifts(5)), Cluster), strict=True)
    ]
    plan = read(tmp_path / "p.json", Plan)
    found = evaluate(*case_files, plan)
    assert found.wan_cost == pytest.approx(front[-1]["evaluation"]["wan_cost"])
    refused = edgeplace("solve", *files, "--pareto", "--pick", 99, "-o", tmp_path / "q.json")
    assert f"the front has the points 1 to {last}" in refused.err
    assert not (tmp_path / "q.json").exists()


def test_a_range_keeps_the_unit_behind_it():
    prices = [f"price:*-cloud={n} EUR/GB" for n in (1, 2, 3)]
    assert steps("price:*-cloud=1..3 EUR/GB") == prices


def bandwidth(cluster, source, target):
    return {(a.source, a.target): a.bandwidth_bytes_per_s for a in cluster.directed_links()}[
        source, target
    ]


@pytest.mark.parametrize(
    ("value", "there"),
    [
        ("10Mbit/s", 1.25e6),
        ("10 Mbit/s", 1.25e6),
        ("+4Mbit/s", 10e6 + 0.5e6),
        ("+500 kB/s", 10e6 + 0.5e6),
        ("-2 MB/s", 8e6),
        ("0.5", 5e6),
        ("x2", 20e6),
    ],
)
def test_a_link_has_a_bandwidth_or_so_much_more(value, there):
    now = Case(jobs=(filter_job(12_000),), cluster=filter_cluster(bandwidth_bytes_per_s=10e6))
    then = what_if.apply(now, [f"link:pi-0->cloud={value}"])
    assert bandwidth(then.cluster, "pi-0", "cloud") == pytest.approx(there)
    assert bandwidth(then.cluster, "cloud", "pi-0") == 10e6


@pytest.mark.parametrize(
    ("setting", "said", "cure"),
    [
        ("link:pi-0-cloud=+5", "'+5' has no unit", "+5Mbit/s"),
        ("link:pi-0-cloud=5 Mb/s", "no factor and no bandwidth", "10Mbit/s"),
        ("link:pi-0-cloud=-10MB/s", "cannot carry 0 bytes/s", "link:A-B=lost"),
        ("demand=2", "is no period and no multiple", "demand=2x"),
        ("demnd=2x", "is not understood", "is it 'demand'?"),
        ("sites:pi-0=lost", "is not understood", "is it 'site'?"),
        ("site:po-*=lost", "the cluster has no site 'po-*'", "its sites are"),
        ("node:po-*=lost", "the cluster has no node 'po-*'", "its nodes are"),
    ],
)
def test_what_is_nearly_a_setting_is_refused_with_the_right_one(setting, said, cure):
    now = Case(jobs=(filter_job(12_000),), cluster=filter_cluster(bandwidth_bytes_per_s=10e6))
    with pytest.raises(InvalidInputError) as refused:
        what_if.apply(now, [setting])
    assert said in refused.value.what
    assert cure in refused.value.cure


def test_sites_and_nodes_of_a_pattern_are_lost_one_after_the_other():
    job, cluster = parcels(6), depots_cluster(6)
    now = Case(jobs=(job,), cluster=cluster)
    ids = [s.id for s in cluster.sites if s.id.startswith("region-")]
    together = what_if.apply(now, ["site:region-*=lost"])
    one_by_one = now
    for site in ids:
        one_by_one = one_by_one.without_site(site)
    assert together.cluster == one_by_one.cluster
    assert set(together.lost) == {*ids, *(depot(d) for d in range(6))}, "depots hang on them"
    nodes = [n.id for n in cluster.nodes if n.id.startswith("vm-")]
    slots = {t.node: t.slots for t in what_if.apply(now, ["node:vm-*=lost"]).cluster.task_managers}
    assert {n for n, slot in slots.items() if slot == 0} == set(nodes)


@pytest.mark.parametrize(
    "asked",
    [
        ("link:depot-00->region-north=0.001",),
        ("slots:*=0", "slots:vm-0=3"),
        ("cores:*=0.01",),
    ],
)
def test_a_confirmed_cure_can_be_copied(edgeplace, files, asked):
    options = [part for text in asked for part in ("--set", text)]
    ran = edgeplace("solve", *files, *options, "--json")
    assert ran.status is ExitStatus.INFEASIBLE, ran.out
    found = json.loads(ran.out)
    assert found["conflict"]["confirmed"]
    copied = [part for text in found["cure_settings"] for part in ("--set", text)]
    assert copied
    again = edgeplace("solve", *files, *options, *copied)
    assert again.status is ExitStatus.OK, again.out
    said = edgeplace("solve", *files, *options).out
    line = " ".join(shlex.quote(part) for part in copied)
    assert f"the plan and its figures with the cure: solve again with {line}\n" in said


def test_a_cure_that_would_change_more_than_it_says_is_not_offered():
    """A class has the name of a TaskManager: slots of both would be set."""
    cluster = filter_cluster(bandwidth_bytes_per_s=10e6)
    change = Change(kind=LimitKind.SLOTS, where="pi-0", amount=2, subject=("pi-0",))
    assert what_if.as_settings([change], cluster) == ("slots:pi-0=+2",)
    nodes = tuple(n.model_copy(update={"node_class": "pi-0"}) for n in cluster.nodes)
    assert what_if.as_settings([change], cluster.model_copy(update={"nodes": nodes})) == ()
    odd = Change(kind=LimitKind.SLOTS, where="pi[0]", amount=2, subject=("pi[0]",))
    assert what_if.as_settings([odd], cluster) == ()
    rule = Change(kind=LimitKind.RULE, where="pin", subject=("pin",))
    assert what_if.as_settings([change, rule], cluster) == ()
