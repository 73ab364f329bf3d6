"""The page that `edgeplace solve --report` and `edgeplace bench --out` write."""

import hashlib
import re
from importlib.resources import files
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest

from edgeplace.bench import run as bench_run
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main
from edgeplace.cli.quantities import size
from edgeplace.instances.families import generate
from edgeplace.instances.index import BestKnown
from edgeplace.instances.instance import Instance
from edgeplace.model import Cluster, JobGraph, Plan, read, write
from edgeplace.report.drawing import drawing
from edgeplace.report.markup import Markup, element
from edgeplace.report.parts import long_table
from edgeplace.report.placement import placement
from edgeplace.report.plan_tables import plan_section
from edgeplace.report.solution import plan_sections
from edgeplace.solver import evaluate, solve
from edgeplace.solver.baselines import BASELINES
from edgeplace.solver.clock import limited
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.problem import build
from tests.support.depots import depots_cluster, forklifts, parcels
from tests.support.page_reader import Page
from tests.support.report_case import large_page
from tests.support.seeds import filter_cluster, filter_job
from tests.support.wishes import SPREAD, wishing

HOSTILE = (
    "<script>document.title='taken'</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></title><b>bold",
    "a & b &lt; c",
    "two\nlines and a bell\x07",
    "水位 🌊 " + "long " * 40,
)


@pytest.fixture
def reported(edgeplace, tmp_path):
    """Run `solve --report` and return the page."""

    def run(*argv, status=ExitStatus.OK):
        out = tmp_path / "report.html"
        ran = edgeplace("solve", *argv, "--report", out)
        assert ran.status is status, ran.err
        assert f"report written to {out}" in ran.out
        return Page(out.read_text())

    return run


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """One page of each kind."""
    home = tmp_path_factory.mktemp("pages")
    write(filter_job(pi_rate_per_s=50_000.0), home / "job.json")
    write(filter_cluster(bandwidth_bytes_per_s=1e7), home / "wide.yaml")
    write(filter_cluster(bandwidth_bytes_per_s=1000.0), home / "narrow.yaml")

    def page(name, *argv):
        main([str(a) for a in argv], Console(StringIO(), StringIO()))
        return Page((home / name).read_text())

    own = (home / "job.json", home / "wide.yaml")
    bench = ("bench", "seed-pis-2-1", "--backends", "milp,local-search", "--out", home / "bench")
    case = ("bench", *own, "--backends", "all-server,threshold", "--out", home / "case")
    clash = ("solve", own[0], home / "narrow.yaml", "--report", home / "clash.html")
    return {
        "plan": page("plan.html", "solve", *own, "--report", home / "plan.html"),
        "conflict": page("clash.html", *clash),
        "large": Page(large_page()[0]),
        "bench": page("bench/report.html", *bench),
        "case": page("case/report.html", *case),
    }


def test_a_plan_is_shown_with_the_evaluator_s_figures(reported, job, cluster, filter_model):
    page = reported(job, cluster)
    model, sites = filter_model
    found = solve(model, sites).evaluation
    assert page.headings[0] == (1, "Placement of filter")
    assert (
        "Optimal: proved that no placement within the limits is better by WAN traffic, then the "
        in page.text
    )
    assert "All sources can grow to 1.19x their rate until the first limit: link" in page.text
    assert page.table("Subtasks of each operator") == [
        ["source", "×1", "×1", "×1", "×1", "-"],
        ["filter", "×1", "×1", "×1", "×1", "-"],
        ["sink", "-", "-", "-", "-", "×1"],
    ]
    links = {row[0]: row[1:] for row in page.table("Traffic on each link")}
    assert {a.where for a in found.links} == set(links)
    for a in found.links:
        assert links[a.where][1] == size(a.used, "/s")
    assert links["pi-0 -> cloud"] == ["60 kB/s (120 %)", "42 kB/s", "50 kB/s", " 84 %"]
    nodes = {row[0]: row[1:] for row in page.table("Nodes, the fullest first")}
    assert nodes["server"] == [
        "cloud",
        "server",
        " 0.0131 % (0.00168 of 12.8)",
        " 6.25 % (1 of 16)",
    ]
    terms = page.table("The terms in order of importance")
    assert terms[0][1:4] == ["168 kB/s", "168 kB/s", "0 %"]
    assert [row[0] for row in page.table("Placements")] == ["edgeplace", "all-server"]
    why = {row[0]: row[1:] for row in page.table("The cost of the nearest other place")}
    assert why["filter"][0] == "4 pi-* (pi) 4"
    assert "on servers WAN traffic would be worse: 240 kB/s, now 168 kB/s" in why["filter"][1]


def test_where_the_job_runs_now_is_before(reported, job, wide, tmp_path):
    graph = read(job, JobGraph)
    places = {op.id: tuple(f"pi-{i}" for i in range(op.parallelism)) for op in graph.operators}
    now = Plan(jobs={graph.name: places})
    write(now, tmp_path / "now.json")
    page = reported(job, wide, "--current", tmp_path / "now.json")
    found = evaluate(graph, read(wide, Cluster), now)
    assert f"current: {size(found.wan_bytes_per_s, '/s')}" in page.text
    assert "subtasks that move" in page.text


def test_a_plan_is_shown_when_the_time_is_over():
    case = generate("riotbench-4-0")
    problem = build(list(case.jobs), case.cluster, case.rules)
    plan = problem.plan(BASELINES["all-server"](problem))
    found = evaluate(list(case.jobs), case.cluster, plan, case.rules)
    with limited(0.0):
        sections = plan_sections(case, plan, found, None)
    assert [s.name for s in sections] == ["sites", "links", "nodes"]


def test_wishes_have_a_section_with_their_prices(reported, tmp_path):
    """Three are near at the east, one beside the camera; two at most need the west, 5 ms away."""
    met = {"kind": "pin", "operators": ["camera"], "to": "edge", "weight": 7}
    for name, document in zip(("job", "cluster", "rules"), wishing(SPREAD, met), strict=True):
        write(document, tmp_path / f"{name}.json")
    files = (tmp_path / "job.json", tmp_path / "cluster.json", "--rules", tmp_path / "rules.json")
    page = reported(*files, "--objective", "latency")
    spread, pinned = page.table("Wishes of the rules")
    assert spread[:3] == ["spread track over sites", "3", "not met by 1 subtask"]
    after, before = map(float, re.findall(r"([\d.]+) ms", spread[3]))
    assert after - before == pytest.approx(5)
    assert pinned == ["pin camera to edge", "7", "met", ""]


def test_no_plan_is_shown_with_its_cure(reported, job, narrow):
    page = reported(job, narrow, status=ExitStatus.INFEASIBLE)
    assert "No placement exists" in page.text
    assert "Confirmed cure: 51.5 kB/s more bandwidth on link pi-0 -> cloud" in page.text
    assert "link bandwidth pi-0 -> cloud 42 kB/s of 800 B/s" in page.text


def test_nothing_found_is_said(reported, job, narrow):
    page = reported(job, narrow, "--time-limit", 0, status=ExitStatus.NO_PLAN)
    assert "No placement was found, and it is not proved that none exists." in page.text


def test_a_page_that_cannot_be_written_is_refused_before_the_search(
    edgeplace, job, cluster, monkeypatch
):
    monkeypatch.setattr("edgeplace.solver.solve_case", lambda *a, **k: pytest.fail("it ran"))
    ran = edgeplace("solve", job, cluster, "--report", "/proc/no/report.html")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "/proc/no/report.html: cannot be written" in ran.err


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_text_whatever_it_holds(reported, filter_model, tmp_path, name):
    model, cluster = filter_model
    first, second, sink = model.operators
    model = model.revised(
        name=name,
        operators=(
            first.model_copy(update={"name": name, "born_at": ("anywhere",)}),
            second.model_copy(update={"name": f"{name} again"}),
            sink,
        ),
    )
    told = cluster.model_dump(mode="json")
    for where in (told["sites"][-1], told["nodes"][-1], told["task_managers"][-1]):
        where["id"] = name
    told["nodes"][-1]["site"] = told["task_managers"][-1]["node"] = name
    told["links"] = [{**a, "target": name} for a in told["links"]]
    cluster = Cluster.model_validate(told)
    write(model, tmp_path / "job.json")
    write(cluster, tmp_path / "cluster.yaml")
    plain = Page(element("p", "nothing"))
    page = reported(tmp_path / "job.json", tmp_path / "cluster.yaml")
    assert plain.all("script") == page.all("img") == page.all("b") == []
    assert len(page.all("script")) == 2, "the data of the plan, and the filter"
    shown = name.replace("\n", "\\n").replace("\x07", "\\x07")
    assert page.headings[0] == (1, f"Placement of {shown}")
    assert shown in {row[0] for row in page.table("Nodes")}
    assert f"{shown} again" in {row[0] for row in page.table("Subtasks")}


def test_text_is_escaped_and_markup_is_not():
    inner = element("b", "<i>", title="\"'")
    assert inner == '<b title="&quot;&#x27;">&lt;i&gt;</b>'
    assert element("p", inner, "&") == f"<p>{inner}&amp;</p>"
    assert isinstance(inner, Markup)


@pytest.mark.slow
def test_every_page_can_be_read_by_keyboard_and_screen_reader(pages):
    for kind, page in pages.items():
        levels = [level for level, _ in page.headings]
        assert levels[0] == 1, kind
        assert levels.count(1) == 1, kind
        assert all(b <= a + 1 for a, b in pairwise(levels)), kind
        assert page.all("html")[0]["lang"] == "en"
        for landmark in ("header", "nav", "main", "footer"):
            assert len(page.all(landmark)) == 1, (kind, landmark)
        assert all(page.captions), kind
        assert len(page.captions) == len(page.tables)
        assert all(a["scope"] in ("row", "col") for a in page.all("th")), kind
        ids = [a["id"] for _, a in page.elements if "id" in a]
        assert len(ids) == len(set(ids)), kind
        meant = [a["href"][1:] for a in page.all("a")]
        meant += [i for _, a in page.elements for i in (a.get("aria-labelledby") or "").split()]
        assert set(meant) <= set(ids), kind
        assert meant[0] == "main", f"{kind}: the first link skips to the first section"
        for attrs in (a for _, a in page.elements if a.get("class") == "scroll"):
            assert attrs["tabindex"] == "0", kind
            assert attrs["aria-label"], kind
    for kind in ("plan", "large", "case"):
        (picture,) = (a for a in pages[kind].all("svg") if a.get("class") == "sites")
        assert picture["role"] == "img"
        assert picture["aria-labelledby"] == "sites-picture sites-said"


@pytest.mark.slow
def test_no_page_fetches_anything(pages):
    for kind, page in pages.items():
        (policy,) = (
            a["content"]
            for a in page.all("meta")
            if a.get("http-equiv") == "Content-Security-Policy"
        )
        assert policy.startswith("default-src 'none';"), kind
        for _, attrs in page.elements:
            assert "src" not in attrs, kind
            assert (attrs.get("href") or "#").startswith(("#", "data:")), kind


def test_colours_can_be_told_apart():
    style = files("edgeplace.report").joinpath("style.css").read_text()
    light, dark = (
        dict(re.findall(r"--(\w+): (#\w{6})", block))
        for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    )
    for theme in (light, dark):
        for ink in ("ink", "soft", "accent", "good", "bad"):
            assert contrast(theme[ink], theme["page"]) >= 4.5, (ink, theme[ink])
        for ink, ground in (("ink", "box"), ("soft", "box"), ("ink", "chip")):
            assert contrast(theme[ink], theme[ground]) >= 4.5, (ink, ground)
        for ink in ("accent", "bad"):
            assert contrast(theme[ink], theme["rail"]) >= 3, "a bar on its rail"


def contrast(a, b):
    """Return the contrast of two colours (WCAG 2.2)."""

    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.slow
def test_ten_thousand_subtasks_stay_small_and_readable():
    text, found = large_page()
    page = Page(text)
    assert len(text.encode()) < 5_000_000
    assert "9,994 subtasks" in page.text
    boxes = [a for a in page.all("rect") if a["class"] == "site"]
    assert 2 <= len(boxes) <= 13
    each = page.table("Subtasks of each operator")
    assert each[0] == ["source", *["×4 each"] * (len(boxes) - 1), "-"]
    summed = page.table("Links as in the picture")
    assert sum(int(row[1].replace(",", "")) for row in summed) == len(found.links)
    assert max(len(t) for t in page.tables) <= 1001
    why = page.table("The cost of the nearest")
    assert [row[0] for row in why] == ["source", "decode", "filter", "combine"]
    assert max(len(cell) for row in why for cell in row) <= 402


def test_a_long_table_is_folded_and_bounded():
    rows = [(f"row {i}", "x") for i in range(1500)]
    page = Page(long_table("Things", ("thing", ">value"), rows))
    assert [len(t) - 1 for t in page.tables] == [20, 980]
    assert "500 more are not shown here; --json has them all." in page.text
    assert len(page.all("details")) == 1


@pytest.mark.parametrize(
    "name",
    [
        "seed-pis-2-1",
        "tree-16-2",
        "multi-query-3-2",
        "nexmark-4-2",
        "latency-bound-4-1",
        "scale-300-1",
    ],
)
@pytest.mark.parametrize("policy", list(BASELINES))
def test_boxes_hold_every_subtask_and_flows_every_byte(name, policy):
    case = generate(name)
    p = build(list(case.jobs), case.cluster, case.rules, case.current)
    verdict = measure_usage(p, BASELINES[policy](p))
    placed = placement(verdict)
    for o, (_, op) in enumerate(p.subtasks.operators):
        assert sum(b.subtasks[o] for b in placed.boxes) == op.parallelism
    assert sum(b.sites for b in placed.boxes) == len({n.site for n in case.cluster.nodes})
    assert len(placed.boxes) <= 14
    site = p.tms.site[verdict.assignment]
    a, b = p.channels.feeding
    inside = p.channels.bytes_per_s[: p.channels.n_feeding][site[a] == site[b]].sum()
    assert sum(f.bytes_per_s for f in placed.flows if f.local) == pytest.approx(inside)
    total = p.channels.bytes_per_s[: p.channels.n_feeding].sum()
    assert sum(f.bytes_per_s for f in placed.flows) == pytest.approx(total)
    for f in placed.flows:
        assert placed.boxes[f.start].subtasks[f.source] > 0
        assert placed.boxes[f.end].subtasks[f.target] > 0
    place = {o: i for i, o in enumerate(placed.order)}
    assert all(place[f.source] < place[f.target] for f in placed.flows)


def test_no_arrow_runs_behind_a_box_that_it_only_passes():
    jobs, cluster = [parcels(8), forklifts(8)], depots_cluster(8)
    p = build(jobs, cluster)
    picture = drawing(placement(measure_usage(p, BASELINES["all-server"](p))))
    boxes = [
        tuple(float(n) for n in found)
        for found in re.findall(
            r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" rx="8"', picture
        )
    ]
    assert len({x for x, *_ in boxes}) == 3, "depots, regions, cloud"
    arrows = re.findall(r'<path d="([^"]+)" stroke-width="[^"]+" class="wan"', picture)
    assert arrows
    for arrow in arrows:
        for x, y in points(arrow):
            assert not any(
                left + 3 < x < left + width - 3 and top < y < top + height
                for left, top, width, height in boxes
            )


def points(path):
    """Yield points along a path of M, C and H."""
    x = y = 0.0
    for kind, numbers in re.findall(r"([MCH])([^MCH]+)", path):
        found = [float(n) for n in numbers.split()]
        if kind == "M":
            x, y = found
        elif kind == "H":
            yield from ((x + (found[0] - x) * i / 20, y) for i in range(21))
            x = found[0]
        else:
            ends = [(x, y), *zip(found[::2], found[1::2], strict=True)]
            for t in (i / 20 for i in range(21)):
                weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
                yield tuple(
                    sum(w * e[axis] for w, e in zip(weights, ends, strict=True)) for axis in (0, 1)
                )
            x, y = ends[-1]


def test_an_arrow_is_not_broken_at_the_end_of_a_line():
    said = element("td", "a -> b", element("b", "c -> d"), title="e -> f")
    assert said == (
        '<td title="e -&gt; f">a <span class="arrow">-&gt;</span> b<b>c -&gt; d</b></td>'
    )


def test_of_a_placement_that_does_not_hold_the_tiles_say_so(reported, job, cluster, narrow):
    tiles = [text for text in reported(job, cluster).text.splitlines() if "headroom" in text]
    assert tiles and all("all-server, which breaks limits: " in text for text in tiles)


@pytest.mark.slow
def test_a_bench_is_shown(pages):
    page = pages["bench"]
    assert page.headings[0] == (1, "Bench of 2 back ends on 1 instances")
    assert "No answer is wrong" in page.text
    assert [row[0] for row in page.table("Averages")] == ["milp", "local-search"]
    assert [row[4] for row in page.table("A row for each run")] == ["milp", "local-search"]
    profile = {row[0]: row[1:] for row in page.table("Share of the instances")}
    assert profile["milp"] == ["100%"] * 6
    assert profile["local-search"] == ["0%"] * 6
    assert dict(page.table("Machine"))["edgeplace"]


@pytest.mark.slow
def test_a_wrong_answer_is_on_the_page(edgeplace, monkeypatch, tmp_path):
    known = BestKnown(wan=1.0, bound=1.0, by="a test", day="2026-11-21")
    monkeypatch.setattr(bench_run, "best_known", lambda instance: known)
    edgeplace("bench", "seed-pis-2-1", "--backends", "milp", "--out", tmp_path)
    page = Page((tmp_path / "report.html").read_text())
    assert "1 of 1 answers are wrong" in page.text
    assert "WRONG: milp on seed-pis-2-1: its bound" in page.text


@pytest.mark.slow
def test_a_case_is_shown_with_the_best_plan_that_holds(pages):
    page = pages["case"]
    assert page.headings[0] == (1, "Placements of filter compared")
    assert "best: all-server, with the least WAN of all valid ones, " in page.text
    assert "What follows is the plan of all-server." in page.text
    rows = {row[0]: row for row in page.table("Placements at")}
    assert rows["all-server"][-1] == "holds"
    assert [row[0] for row in page.table("The run behind each")] == ["all-server", "threshold"]
    assert page.table("Subtasks of each operator")[1] == ["filter", "-", "-", "-", "-", "×4"]


@pytest.mark.slow
def test_a_case_without_a_plan_that_holds_says_so(edgeplace, job, narrow, tmp_path):
    edgeplace("bench", job, narrow, "--backends", "all-server", "--out", tmp_path)
    page = Page((tmp_path / "report.html").read_text())
    assert "no policy found a valid placement: `edgeplace solve" in page.text


def test_the_plan_is_on_the_page_and_what_it_was_made_from(edgeplace, job, wide, tmp_path):
    plan = tmp_path / "plan.json"
    out = tmp_path / "with-plan.html"
    assert edgeplace("solve", job, wide, "-o", plan, "--report", out).status is ExitStatus.OK
    page, found = Page(out.read_text()), read(plan, Plan)
    cluster = read(wide, Cluster)
    names = {op.id: op.name for op in read(job, JobGraph).operators}
    shown = {}
    for site in cluster.sites:
        for tm, operator, of, subtasks in page.table(f"What runs at {site.id}"):
            for i in subtasks.split(", "):
                first, _, last = i.partition("-")
                for k in range(int(first), int(last or first) + 1):
                    shown[operator, k] = (tm, site.id, int(of))
    assert shown == {
        (names[op], i): (tm, cluster.node(tm).site, len(tms))
        for op, tms in found.of("filter").items()
        for i, tm in enumerate(tms, start=1)
    }
    digests = {Path(row[0]): row[1] for row in page.table("The files, and the SHA-256 of each")}
    assert digests == {f: hashlib.sha256(f.read_bytes()).hexdigest() for f in (job, wide)}
    assert f"edgeplace solve {job} {wide} -o {plan}" in page.text
    assert (2, "Who moves") not in page.headings, "where it runs now is not known"


def test_who_moves_is_on_the_page(reported, job, wide, tmp_path):
    names = read(job, JobGraph).operators
    now = {op.id: ("server",) * op.parallelism for op in names[1:]}
    now[names[0].id] = tuple(f"pi-{i}" for i in range(names[0].parallelism))
    write(Plan(jobs={"filter": now}), tmp_path / "now.json")
    page = reported(job, wide, "--current", tmp_path / "now.json")
    rows = page.table("Subtasks that change their TaskManager")
    assert {(row[0], row[1], row[3], row[4]) for row in rows} == {
        ("filter", f"cloud -> pi-{i}", "server", f"pi-{i}") for i in range(4)
    }


def test_no_subtask_of_a_plan_is_cut():
    """Of six hundred, the odd ones are at the server: 1,200 characters."""
    model = filter_job(pi_rate_per_s=1.0)
    first, second, sink = model.operators
    wide = sink.model_copy(update={"parallelism": 600, "max_parallelism": 1024})
    case = Instance(
        name="wide",
        jobs=(model.revised(operators=(first, second, wide)),),
        cluster=filter_cluster(),
    )
    pis = tuple(f"pi-{i}" for i in range(4))
    places = {first.id: pis, second.id: pis, wide.id: ("server", "pi-0") * 300}
    page = Page(plan_section(case, Plan(jobs={model.name: places})).body)
    (row,) = page.table("What runs at cloud")
    assert row[3] == ", ".join(str(i) for i in range(1, 600, 2))


def test_operators_of_the_same_name_have_rows_of_their_own():
    model = filter_job(pi_rate_per_s=1.0)
    named = tuple(op.model_copy(update={"name": "map"}) for op in model.operators)
    case = Instance(name="same", jobs=(model.revised(operators=named),), cluster=filter_cluster())
    places = {op.id: ("server",) * op.parallelism for op in named}
    page = Page(plan_section(case, Plan(jobs={model.name: places})).body)
    rows = page.table("What runs at cloud")
    assert [row[2:] for row in rows] == [["4", "1-4"], ["4", "1-4"], ["1", "1"]]
