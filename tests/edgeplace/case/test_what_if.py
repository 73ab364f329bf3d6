"""`solve --set`: each what-if beside the answer without it; `solve --pareto`."""

import json

import pytest

from edgeplace.case.what_if import apply
from edgeplace.model import (
    Case,
    Cluster,
    Match,
    NeverMove,
    Period,
    Pin,
    Plan,
    Rules,
    parse,
    read,
    write,
)
from edgeplace.solver import evaluate
from tests.support.depots import depots_cluster, parcels
from tests.support.seeds import filter_cluster, filter_job

PIS = tuple(f"pi-{i}" for i in range(4))


@pytest.fixture
def ask(edgeplace, job, wide):
    """Run `solve --set` with `--json` and return what it printed."""

    def run(*settings, more=(), on=wide):
        options = [part for text in settings for part in ("--set", text)]
        ran = edgeplace("solve", job, on, *options, *more, "--json")
        assert ran.err == ""
        return json.loads(ran.out)

    return run


def wan(found):
    return found["evaluation"]["wan_bytes_per_s"]


def test_all_sources_are_multiplied(ask):
    found = ask("rate=x2")
    assert wan(found) == pytest.approx(2 * 168_000)
    assert wan(found["without_settings"]) == pytest.approx(168_000)


def test_one_source_is_multiplied(ask):
    assert wan(ask("rate:source=x0.5")) == pytest.approx(84_000)


def test_settings_apply_in_turn(ask):
    assert wan(ask("rate:source=1200", "rate=x2")) == pytest.approx(168_000)
    assert wan(ask("rate=x2", "rate:source=1200")) == pytest.approx(84_000)


def test_without_settings_there_is_nothing_beside(ask):
    assert ask()["without_settings"] is None


@pytest.mark.parametrize("name", ["pi-0-cloud", "cloud-pi-0", "pi-0->cloud", "pi-0 -> cloud"])
def test_a_link_is_slower(ask, cluster, name):
    """A link of 62,500 bytes/s carries 50,000 by the target, the filter sends 42,000."""
    found = ask(f"link:{name}=0.9", on=cluster)
    used = {v["where"]: v["capacity"] for v in found["evaluation"]["links"]}
    assert used["pi-0 -> cloud"] == pytest.approx(45_000)
    assert used["cloud -> pi-0"] == pytest.approx(50_000 if ">" in name else 45_000)
    assert used["pi-1 -> cloud"] == pytest.approx(50_000)
    assert ask(f"link:{name}=0.5", on=cluster)["status"] == "infeasible"


def test_a_node_more_takes_what_the_others_cannot(ask, tmp_path):
    """Pis whose only slot the source takes send everything; another Pi takes a filter."""
    base = filter_cluster(bandwidth_bytes_per_s=1e7)
    apart = {t: f"site-{t}" for t in PIS}
    full = base.model_copy(
        update={
            "sites": tuple(s.model_copy(update={"id": apart.get(s.id, s.id)}) for s in base.sites),
            "nodes": tuple(
                n.model_copy(update={"site": apart.get(n.site, n.site)}) for n in base.nodes
            ),
            "links": tuple(a.model_copy(update={"source": apart[a.source]}) for a in base.links),
            "task_managers": tuple(
                t.model_copy(update={"slots": 1}) if t.id in PIS else t for t in base.task_managers
            ),
        }
    )
    write(full, tmp_path / "full.yaml")
    found = ask("node+=pi@site-pi-2", on=tmp_path / "full.yaml")
    assert wan(found["without_settings"]) == pytest.approx(240_000)
    assert wan(found) == pytest.approx(240_000 - 18_000)
    assert found["plan"]["jobs"]["filter"]["filter"].count("site-pi-2-more-1") == 1


def test_a_node_more_goes_where_its_class_is_if_that_is_one_site(ask, edgeplace, job, wide):
    found = ask("node+=server")
    assert {v["where"] for v in found["evaluation"]["nodes"]} >= {"server", "cloud-more-1"}
    ran = edgeplace("solve", job, wide, "--set", "node+=pi")
    assert ran.status == 2
    assert "does not say where: nodes of this class are at ['pi-0', 'pi-1'" in ran.err
    assert "cure: write node+=pi@pi-0" in ran.err


def test_a_lost_site_takes_the_demand_born_there_with_it(ask):
    found = ask("site:pi-3=lost")
    assert found["status"] == "optimal"
    assert wan(found) == pytest.approx(3 * 600 * 0.7 * 100)
    places = found["plan"]["jobs"]["filter"]
    assert "pi-3" not in {tm for tms in places.values() for tm in tms}
    assert places["source"][:3] == list(PIS[:3])
    assert found["notes"][0] == "site 'pi-3' is lost"
    assert (
        "1 of the 4 subtasks of source 'source' is born at 'pi-3': 600 of 2,400 records/s"
        in (found["notes"][1])
    )


def test_a_lost_site_frees_sources_that_a_rule_or_the_placement_held(
    edgeplace, filter_model, wide, tmp_path
):
    model, _ = filter_model
    first, *rest = model.operators
    free = model.revised(operators=(first.model_copy(update={"born_at": ()}), *rest))
    write(free, tmp_path / "free.json")
    pins = Rules(
        rules=tuple(Pin(operators=("source",), subtasks=(i,), to=t) for i, t in enumerate(PIS))
    )
    write(pins, tmp_path / "pins.yaml")
    places = {"source": PIS, "filter": PIS, "sink": ("server",)}
    write(Plan(jobs={"filter": places}), tmp_path / "now.json")
    for held in (("--rules", tmp_path / "pins.yaml"), ("--current", tmp_path / "now.json")):
        lost = ("--set", "site:pi-3=lost", *held, "--json")
        found = json.loads(edgeplace("solve", tmp_path / "free.json", wide, *lost).out)
        assert found["status"] == "optimal", held
        assert wan(found) == pytest.approx(3 * 600 * 0.7 * 100)
        assert found["plan"]["jobs"]["filter"]["source"][:3] == list(PIS[:3])


def test_what_a_rule_holds_at_a_lost_site_has_no_place(edgeplace, job, wide, tmp_path):
    write(Rules(rules=(Pin(operators=("filter",), to="pi-3"),)), tmp_path / "rules.yaml")
    ran = edgeplace(
        "solve", job, wide, "--set", "site:pi-3=lost", "--rules", tmp_path / "rules.yaml"
    )
    assert ran.status == 3
    assert "\n  pin filter to pi-3\n  site 'pi-3' is lost\n" in ran.out
    assert "drop or move the rule “pin filter to pi-3”: filter (1/4), filter (2/4), filter " in (
        ran.out
    )
    assert "may run only at 'pi-3', which is lost" in ran.out
    assert "more slot" not in ran.out
    front = edgeplace(
        "solve",
        job,
        wide,
        "--set",
        "site:pi-3=lost",
        "--rules",
        tmp_path / "rules.yaml",
        "--pareto",
    )
    assert front.status == 3
    assert "may run only at 'pi-3', which is lost" in front.out
    held = Rules(rules=(NeverMove(operators=("filter",)),))
    write(held, tmp_path / "rules.yaml")
    places = {"source": PIS, "filter": PIS, "sink": ("server",)}
    write(Plan(jobs={"filter": places}), tmp_path / "now.json")
    more = ("--rules", tmp_path / "rules.yaml", "--current", tmp_path / "now.json")
    ran = edgeplace("solve", job, wide, "--set", "site:pi-3=lost", *more, "--json")
    assert ran.status == 3
    conflict = json.loads(ran.out)["conflict"]
    title = "never_move filter (subtask filter (4/4))"
    assert conflict["members"] == [title, "site 'pi-3' is lost"]
    assert conflict["irreducible"]
    assert conflict["cure"] == (
        f"drop or move the rule “{title}”: filter (4/4) may run only at 'pi-3', which is lost"
    )


def test_rules_that_only_together_hold_a_subtask_at_a_lost_site_are_both_named(
    edgeplace, job, filter_model, wide, tmp_path
):
    cluster = read(wide, Cluster)
    labelled = tuple(
        n.model_copy(update={"labels": {"a": "y", "b": "y"} if n.id == "pi-3" else label})
        for n, label in zip(
            cluster.nodes, ({"a": "y"}, {"a": "y"}, {"b": "y"}, {}, {"b": "y"}), strict=True
        )
    )
    write(cluster.model_copy(update={"nodes": labelled}), tmp_path / "labelled.yaml")
    rules = tuple(Match(operators=("filter",), labels={x: "y"}) for x in "ab")
    write(Rules(rules=rules), tmp_path / "rules.yaml")
    ran = edgeplace(
        "solve",
        job,
        tmp_path / "labelled.yaml",
        "--set",
        "site:pi-3=lost",
        "--rules",
        tmp_path / "rules.yaml",
        "--json",
    )
    conflict = json.loads(ran.out)["conflict"]
    assert conflict["members"] == [*(r.title() for r in rules), "site 'pi-3' is lost"]
    assert conflict["cure"].startswith("drop or move one of the rules “match filter to labels")


def test_it_is_shown_side_by_side_with_who_moves(edgeplace, job, wide):
    ran = edgeplace("solve", job, wide, "--set", "site:pi-3=lost")
    table = ran.out.partition("compared, with --set\n")[2].splitlines()
    assert table[1].split()[:3] == ["edgeplace", "126", "kB/s"]
    assert table[2].split()[:4] == ["without", "--set", "168", "kB/s"]
    moves = ran.out.partition("what the settings change\n")[2]
    assert ["filter", "pi-3"] in [line.split()[:2] for line in moves.splitlines()]
    still = edgeplace("solve", job, wide, "--set", "rate=x1.01").out
    assert "no subtask changes its TaskManager" in still


def test_where_nothing_holds_the_other_answer_is_still_shown(edgeplace, job, cluster, narrow):
    ran = edgeplace("solve", job, cluster, "--set", "link:pi-0-cloud=0.1")
    assert ran.status == 3
    assert "\nwithout --set  168 kB/s" in ran.out
    ran = edgeplace("solve", job, narrow, "--set", "rate=x0.01")
    assert ran.status == 0
    assert "without the settings: infeasible, no plan to compare with" in ran.out


def test_a_setting_may_give_what_the_job_lacks(edgeplace, filter_model, wide, tmp_path):
    model, _ = filter_model
    first, *rest = model.operators
    silent = first.model_copy(update={"cost": first.cost.model_copy(update={"demand": None})})
    write(model.revised(operators=(silent, *rest)), tmp_path / "silent.json")
    ran = edgeplace("solve", tmp_path / "silent.json", wide, "--set", "rate:source=1200")
    assert ran.status == 0
    assert "note: there is no answer without --set to compare with: " in ran.out
    assert "compared, with --set" in ran.out
    assert "without --set  " not in ran.out
    ran = edgeplace("solve", tmp_path / "silent.json", wide, "--set", "rate=x2")
    assert ran.status == 2
    assert "source 'source' has no demand to multiply" in ran.err
    assert "cure: give one: --set rate:source=N" in ran.err


@pytest.mark.parametrize(
    ("x", "as_people_write"),
    [
        (
            "rate=x2",
            ("rate=2x", "rate=200 %", "demand=x2", "demand=2x", "demand=200%"),
        ),
        ("rate:source=x0.6", ("rate:source=60%", "rate:source=0.6x", "demand=60%")),
        ("link:pi-0-cloud=0.5", ("link:pi-0-cloud=50%", "link:pi-0-cloud=.5x")),
        ("slots:cloud=x2", ("slots:cloud=2x", "slots:cloud=200%")),
        ("cores:cloud=x0.5", ("cores:cloud=50%",)),
        ("price:pi-0-cloud=x3", ("price:pi-0-cloud=3x", "price:pi-0-cloud=300%")),
        ("period:peak=x2", ("period:peak=2x", "period:peak=200%")),
    ],
)
def test_a_multiple_as_people_write_it(x, as_people_write):
    demand = (Period(name="60x", share=1), Period(name="peak", share=1, factor=0.5))
    links = tuple(
        a.model_copy(update={"price_per_byte": 1e-9}) for a in filter_cluster().directed_links()
    )
    cluster = filter_cluster().model_copy(update={"links": links})
    now = Case((filter_job(1000.0),), cluster, Rules(demand=demand))
    then = apply(now, [x])
    assert then != now
    assert [apply(now, [text]) for text in as_people_write] == [then] * len(as_people_write)
    assert apply(now, ["demand=60x"]).rules.demand == demand[:1], "a name goes first"


@pytest.mark.parametrize(
    ("setting", "what", "cure"),
    [
        ("rate=+10%", "'rate=+10%' does not say of which source", "rate=x2"),
        ("link:pi-0-cloud=+10%", "'+10%' is no factor", "above 0"),
        ("slots:cloud=+10%", "'+10%' is no factor", "above 0"),
        ("demand=+10%", "the demand has no period '+10%'", "`demand` with periods"),
        ("rate=2", "'rate=2' does not say of which source", "rate=x2"),
        ("rate=xmany", "'many' is no factor", "above 0"),
        ("rate=x0", "'0' is no factor", "site:ID=lost"),
        ("rate:filter=x2", "operator 'filter' has inputs", "set the rate of a source"),
        ("site:moon=lost", "no site 'moon'", "its sites are"),
        ("site:pi3=lost", "the cluster has no site 'pi3'", "did you mean 'pi-3'?"),
        ("site:pi-3=gone", "'site:pi-3=gone' is not understood", "site:ID=lost"),
        ("link:pi-0-pi-1=0.5", "no link is named so", "pi-0->cloud"),
        ("link:pi-0-cloud=0", "'cloud' cannot carry 0 bytes/s", "link:A-B=lost"),
        ("node+=0*pi", "0 nodes of class 'pi'", "add 1 to 1,000"),
        ("node+=-1*pi", "-1 nodes of class 'pi'", "add 1 to 1,000"),
        ("node+=1000000000*pi", "1000000000 nodes of class 'pi'", "add 1 to 1,000"),
        ("node+=gpu", "no node of class 'gpu'", "its classes are"),
        ("node+=pi@paris", "no site 'paris'", "its sites are"),
        ("node+=", "'node+=' is not understood", "node+=CLASS@SITE"),
    ],
)
def test_a_wrong_setting_is_one_message_with_its_cure(edgeplace, job, wide, setting, what, cure):
    ran = edgeplace("solve", job, wide, "--set", setting)
    assert ran.status == 2
    said, _, advice = ran.err.partition("\n  cure: ")
    assert what in said
    assert cure in advice
    assert ran.out == ""


def test_a_name_that_means_two_links_is_refused(edgeplace, job, filter_model, tmp_path):
    """`a-b-c` may be `a` to `b-c`, or `a-b` to `c`."""
    _, cluster = filter_model
    sites = tuple({"id": s} for s in ("a", "b-c", "a-b", "c"))
    links = tuple(
        {"source": a, "target": b, "bandwidth_bytes_per_s": 1e6, "both_ways": True}
        for a, b in (("a", "b-c"), ("a-b", "c"))
    )
    data = cluster.model_dump()
    odd = {**data, "sites": (*data["sites"], *sites), "links": (*data["links"], *links)}
    write(parse(odd, Cluster, "odd"), tmp_path / "odd.yaml")
    ran = edgeplace("solve", job, tmp_path / "odd.yaml", "--set", "link:a-b-c=0.5")
    assert ran.status == 2
    assert "several links" in ran.err
    one_way = edgeplace("solve", job, tmp_path / "odd.yaml", "--set", "link:a->b-c=0.5")
    assert "several links" not in one_way.err


def test_the_front_as_table_picture_and_file(edgeplace, job, wide, tmp_path):
    file = tmp_path / "front.svg"
    ran = edgeplace("solve", job, wide, "--pareto", file)
    assert ran.status == 0
    rows = [line.split() for line in ran.out.splitlines()]
    assert rows[1][:3] == ["1", "168", "kB/s"]
    assert "WAN across, worst path upwards" in ran.out
    assert ran.out.endswith(f"picture written to {file}\n")
    drawn = file.read_text()
    assert drawn.startswith("<svg ")
    numbered = sum(1 for row in rows if row and row[0].isdigit() and row[-1] in ("yes", "no"))
    assert drawn.count("<circle ") == numbered >= 2


def test_the_fronts_figures_are_the_evaluators(edgeplace, job, wide, filter_model):
    model, _ = filter_model
    found = json.loads(edgeplace("solve", job, wide, "--pareto", "--json").out)
    assert found["unasked"] == 0
    for point in found["points"]:
        judged = evaluate(model, read(wide, Cluster), Plan.model_validate(point["plan"]))
        assert judged.model_dump(mode="json") == point["evaluation"]


def test_a_front_without_a_plan_names_the_conflict(edgeplace, job, narrow, tmp_path):
    ran = edgeplace("solve", job, narrow, "--pareto", tmp_path / "front.svg")
    assert ran.status == 3
    assert "link bandwidth pi-0 -> cloud 42 kB/s of 800 B/s" in ran.out
    assert not (tmp_path / "front.svg").exists()


@pytest.mark.parametrize("option", ["-o", "--schedulercfg"])
def test_a_front_is_no_single_plan(edgeplace, job, wide, tmp_path, option):
    ran = edgeplace("solve", job, wide, "--pareto", option, tmp_path / "one")
    assert ran.status == 2
    assert "--pareto finds several plans" in ran.err
    assert not (tmp_path / "one").exists()


def test_a_site_that_others_go_through_is_lost(edgeplace, job, wide):
    """Its links are gone, and are shown beside for where the job ran with them."""
    ran = edgeplace("solve", job, wide, "--set", "site:cloud=lost", "--full")
    assert ran.status == 3
    assert ran.err == ""
    table = ran.out.partition("for comparison, with --set\n")[2].splitlines()
    assert "pi-0 -> cloud" in table[0]
    assert "42 kB/s" in table[1]


def test_what_has_no_data_any_more_is_told_last_of_what_moves(edgeplace, tmp_path):
    job, cluster = tmp_path / "job.yaml", tmp_path / "cluster.yaml"
    write(parcels(6), job)
    write(depots_cluster(6), cluster)
    ran = edgeplace("solve", job, cluster, "--set", "site:region-north=lost", "--full")
    assert "records/s are lost with it; these subtasks send nothing, and run anywhere" in ran.out
    rows = ran.out.partition("what the settings change\n")[2].splitlines()[1:]
    moved = [line.split()[:2] for line in rows if " -> " in line]
    cameras = [name == "camera" for name, _ in moved]
    # Frames of the lost depots were decoded in their region.
    assert ["decode", "region-north"] in moved
    assert any(cameras)
    assert cameras == sorted(cameras)


def test_all_nodes_of_a_class_are_of_another(edgeplace, tmp_path):
    """Pi 4 are too slow to detect; with the costs of Pi 5 each depot does."""
    job, cluster = tmp_path / "job.yaml", tmp_path / "cluster.yaml"
    write(parcels(4), job)
    write(depots_cluster(4), cluster)
    ran = edgeplace("solve", job, cluster, "--set", "class:pi4=pi5", "--json")
    found = json.loads(ran.out)
    assert all(tm.startswith("depot-") for tm in found["plan"]["jobs"]["parcels"]["detect"])
    before = found["without_settings"]["plan"]["jobs"]["parcels"]["detect"]
    assert not all(tm.startswith("depot-") for tm in before)
    assert "9 nodes of class 'pi4' count as 'pi5'" in found["notes"][0]
    ran = edgeplace("solve", job, cluster, "--set", "class:pi3=pi5")
    assert "--set 'class:pi3=pi5': there is no class 'pi3' of nodes" in ran.err
    ran = edgeplace("solve", job, cluster, "--set", "class:pi4=pi6")
    assert "the classes are ['mini', 'pi4', 'pi5', 'vm']" in ran.err
