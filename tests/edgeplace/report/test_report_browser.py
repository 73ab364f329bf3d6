"""The pages in a real browser: they render, fit, fetch nothing, and run nothing."""

import json
import re
from functools import cache
from html import unescape
from itertools import combinations

import numpy as np
import pytest

from edgeplace.case.files import case_of
from edgeplace.instances import path
from edgeplace.instances.instance import Instance
from edgeplace.model import Case, write
from edgeplace.report.control_page import control_page
from edgeplace.report.front_page import front_page
from edgeplace.report.markup import Markup
from edgeplace.report.page import page as page_of
from edgeplace.report.plan_tables import Origin
from edgeplace.report.site_map import map_section
from edgeplace.solver import Front, Point, policies
from edgeplace.views.pictures.pareto_picture import as_svg
from edgeplace.views.terms import Terms
from tests.support.browser import AXE, axe_text, frame, load
from tests.support.loops import ran
from tests.support.report_case import large_page
from tests.support.seeds import filter_cluster, filter_job
from tests.support.wishes import SPREAD, wishing

WIDTHS = (1280, 400)
HOSTILE = "<script>document.title='taken'</script>"
POLICY = re.compile(r"<meta http-equiv=.Content-Security-Policy[^>]*>")
# Runs in a copy of the page from which the policy was taken: with it, no script does.
MEASURE = """
<script>
addEventListener("load", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
  const size = e => [e.getBoundingClientRect().width, e.getBoundingClientRect().height];
  const root = document.documentElement, picture = document.querySelector(".sites");
  const wide = [...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth);
  parent.postMessage({
    title: document.title,
    scripts: document.scripts.length,
    sections: [...document.querySelectorAll("section")].map(s => [s.id, ...size(s)]),
    sideways: root.scrollWidth - root.clientWidth,
    text: picture && 12 * size(picture)[0] / picture.viewBox.baseVal.width,
    boxes: [...document.querySelectorAll(".site")].map(size),
    names: [...document.querySelectorAll(".map text")].map(e => e.getBoundingClientRect())
      .filter(r => r.width),
    marks: [...document.querySelectorAll(".map .place")].map(e => e.getBoundingClientRect())
      .filter(r => r.width),
    map: [...document.querySelectorAll(".map")].map(e => e.getBoundingClientRect())
      .filter(r => r.width),
    unmarked: wide.filter(e => !getComputedStyle(e).backgroundImage.includes("gradient")).length,
    deaf: wide.filter(e => (e.focus(), document.activeElement !== e)).length,
    fetched: performance.getEntriesByType("resource").map(e => e.name),
  }, "*");
});
</script>
"""


@pytest.fixture(scope="session")
def browser():
    """Load a page without a network and return its DOM and what the browser wrote beside."""
    return lambda file: load(file.as_uri(), file.parent, "--host-resolver-rules=MAP * ~NOTFOUND")


@pytest.fixture
def page(request, edgeplace, tmp_path):
    """The text of one kind of page."""
    if request.param == "large":
        return large_page()[0]
    if request.param == "depots":
        return forty_depots(edgeplace, tmp_path)
    if request.param == "front":
        return front_of_placements()
    if request.param == "sweep":
        return sweep_with_a_step_too_far(edgeplace, tmp_path)
    if request.param == "wishes":
        return page_with_wishes(edgeplace, tmp_path)
    if request.param == "control":
        return hostile_control_page()
    if request.param == "bench":
        edgeplace("bench", "seed-pis-2-1", "--backends", "milp", "--out", tmp_path)
        return (tmp_path / "report.html").read_text()
    model = filter_job(pi_rate_per_s=50_000.0)
    first, *others = model.operators
    first = first.model_copy(update={"name": HOSTILE})
    write(model.revised(name=HOSTILE, operators=(first, *others)), tmp_path / "job.json")
    write(on_a_map(filter_cluster()), tmp_path / "cluster.yaml")
    out = tmp_path / "page.html"
    edgeplace("solve", tmp_path / "job.json", tmp_path / "cluster.yaml", "--report", out)
    return out.read_text()


def sweep_with_a_step_too_far(edgeplace, folder):
    """The page of a sweep, of which the last steps have no plan."""
    model = filter_job(pi_rate_per_s=50_000.0)
    write(model.revised(name=HOSTILE), folder / "job.json")
    write(filter_cluster(), folder / "cluster.yaml")
    ran = edgeplace(
        *("solve", folder / "job.json", folder / "cluster.yaml", "--set", "rate=x1..x3"),
        *("--report", folder / "page.html"),
    )
    assert "none" in ran.out
    return (folder / "page.html").read_text()


def page_with_wishes(edgeplace, folder):
    """The page of a plan that meets one wish and breaks another."""
    met = {"kind": "pin", "operators": ["camera"], "to": "edge", "weight": 7}
    for name, document in zip(("job", "cluster", "rules"), wishing(SPREAD, met), strict=True):
        write(document, folder / f"{name}.json")
    files = (folder / "job.json", folder / "cluster.json", "--rules", folder / "rules.json")
    edgeplace("solve", *files, "--objective", "latency", "--report", folder / "page.html")
    return (folder / "page.html").read_text()


def on_a_map(cluster):
    """Return a cluster whose sites have coordinates, some of them nearly the same."""
    sites = [
        s.model_copy(update={"lat": 45.0 + i * i, "lon": 179.5 + i * 0.2 - 360 * (i > 2)})
        for i, s in enumerate(cluster.sites)
    ]
    return cluster.model_copy(update={"sites": tuple(sites)})


def front_of_placements():
    """A front of three plans, without a search, beside every baseline."""
    case = Case(jobs=(filter_job(pi_rate_per_s=50_000.0),), cluster=filter_cluster())
    others = policies(case.jobs, case.cluster)
    points = tuple(
        Point(
            p.plan,
            p.evaluation.model_copy(update={"latency_ms": 100.0 * i, "server_cores": 2.0 * i}),
            HOSTILE,
            True,
        )
        for i, p in enumerate(others[:3])
    )
    origin = Origin.now(HOSTILE, ())
    picture = as_svg(points, Terms.of(case.cluster), others, 0)
    return front_page(case, Front(points, 1, None), others, picture, origin)


@cache
def hostile_control_page():
    """A loop's page with two days behind it, and names that would be scripts."""
    second = np.arange(2 * 86_400)
    loop = ran(1200 + 400 * np.sin(second / 13_750), mode="recommend", settle_s=60, decide_s=3600)
    names = {op: tuple(f"{tm}{HOSTILE}" for tm in row) for op, row in loop.memory.places.items()}
    memory = loop.memory.now(places=names, decision=HOSTILE)
    return control_page(memory, memory.now_s)


PAGES = pytest.mark.parametrize(
    "page", ["plan", "large", "bench", "control", "front", "sweep"], indirect=True
)


@PAGES
def test_a_page_loads_without_a_word_from_the_console(browser, page, tmp_path):
    (tmp_path / "loaded.html").write_text(page)
    dom, said = browser(tmp_path / "loaded.html")
    assert "<h1>" in dom
    assert [line for line in said.splitlines() if "CONSOLE" in line] == []


@pytest.mark.parametrize("width", WIDTHS)
@PAGES
def test_a_page_is_laid_out(browser, page, width, tmp_path):
    found = measured(browser, page, width, tmp_path)
    (title,) = re.findall(r"<title>(.*?)</title>", page, re.DOTALL)[:1]
    assert found["title"] == unescape(title)
    assert found["scripts"] == 1 + page.count("<script"), "ours, and the one that measures"
    assert found["fetched"] == []
    ids = re.findall(r'<section id="([a-z-]+)"', page)
    assert [s[0] for s in found["sections"]] == ids
    for name, across, down in found["sections"]:
        assert across > 0.8 * min(width, 1200), name
        assert down > 60, name
    assert found["sideways"] <= 0, "the page itself does not scroll to the side"
    assert found["unmarked"] == 0, "what is cut at the edge has a shadow there"
    assert found["deaf"] == 0, "what scrolls to the side does so by keyboard too"
    if "The job on the sites" in page:
        assert found["text"] >= 10, "px of the smallest text in the picture"
        assert found["boxes"]
        assert all(across > 200 and down > 60 for across, down in found["boxes"])
    if "The map" in page:
        map_is_legible(found, width)


FIND = """
<script>
addEventListener("load", () => {
  const all = selector => [...document.querySelectorAll(`.finder ${selector}`)];
  const input = all("input")[0], steps = [];
  const step = () => steps.push({
    rows: all("tbody tr").filter(r => !r.hidden).map(r => [...r.cells].map(c => c.textContent)),
    said: all("output")[0].textContent,
    sorted: all("th[aria-sort]").map(h => [h.textContent, h.getAttribute("aria-sort")]),
  });
  step();
  for (const text of ["DECODE  region-north", "/12)", "nobody", ""]) {
    input.value = text;
    input.dispatchEvent(new Event("input"));
    step();
  }
  for (const column of [3, 3, 0]) {
    all("button")[column].click();
    step();
  }
  parent.postMessage({title: document.title, steps}, "*");
});
</script>
"""


def forty_depots(edgeplace, folder):
    out = folder / "page.html"
    edgeplace(
        *("solve", path("depots/parcels.yaml"), path("depots/forklifts.yaml")),
        *(path("depots/cluster.yaml"), "--rules", path("depots/rules.yaml"), "--report", out),
        *("-o", folder / "plan.json"),
    )
    return out.read_text()


def test_the_plan_is_filtered_and_sorted(browser, edgeplace, tmp_path):
    page = forty_depots(edgeplace, tmp_path)
    plan = json.loads((tmp_path / "plan.json").read_text())["jobs"]
    wanted = [
        (f"{op} ({i}/{len(tms)})", job, tm.replace("north-8", "north-10"))
        for job, ops in plan.items()
        for op, tms in ops.items()
        for i, tm in enumerate(tms, start=1)
    ]
    # By numbers, not by letters: north-10 after north-9.
    page = page.replace("north-8", "north-10")
    steps = measured(browser, page, 1280, tmp_path, FIND)["steps"]
    first, decode, twelve, nobody, again, by_machine, back, by_subtask = steps
    assert {(s, j, t) for s, j, _, t in first["rows"]} == set(wanted)
    assert first == again and first["sorted"] == [["subtask", "ascending"]]
    assert [row[0] for row in decode["rows"]] == [
        s for s, j, t in wanted if s.startswith("decode") and t.startswith("region-north")
    ]
    assert decode["said"] == f"{len(decode['rows'])} of {len(wanted)} subtasks"
    assert not twelve["rows"] and not nobody["rows"]
    assert nobody["said"] == f"0 of {len(wanted)} subtasks"
    machines = [row[3] for row in by_machine["rows"]]
    parts = [[int(p) if p.isdigit() else p for p in m.split("-")] for m in machines]
    assert parts == sorted(parts)
    assert machines != sorted(machines)
    assert by_machine["sorted"] == [["TaskManager", "ascending"]]
    assert [row[3] for row in back["rows"]] == machines[::-1]
    assert by_subtask["rows"] == first["rows"]


def test_where_a_subtask_moves_from_is_in_the_table_and_sorts_before_what_stays(
    browser, edgeplace, tmp_path
):
    depots = [path("depots/parcels.yaml"), path("depots/cluster.yaml")]
    now, out = tmp_path / "now.json", tmp_path / "page.html"
    edgeplace("solve", *depots, "-o", now)
    places = json.loads(now.read_text())
    sink = places["jobs"]["parcels"]["sink"]
    (there,) = sink
    other = "cloud-vm-2" if there != "cloud-vm-2" else "cloud-vm-3"
    sink[0] = other
    now.write_text(json.dumps(places))
    rules = tmp_path / "rules.yaml"
    rules.write_text(f"rules: [{{kind: pin, operators: [sink], to: {there}}}]")
    edgeplace("solve", *depots, "--current", now, "--rules", rules, "--report", out)
    script = FIND.replace("[3, 3, 0]", "[3, 3]")
    *_, up, down = measured(browser, out.read_text(), 1280, tmp_path, script)["steps"]
    assert up["sorted"] == [["moves from", "ascending"]]
    assert down["sorted"] == [["moves from", "descending"]]
    for step in (up, down):
        first, *rest = step["rows"]
        assert first[0] == "sink (1/1)" and first[2:] == [there, other]
        assert {row[3] for row in rest} == {""}


def test_the_filter_runs_under_the_policy_of_the_page_and_nothing_else_does(
    browser, edgeplace, tmp_path
):
    page = forty_depots(edgeplace, tmp_path)
    taken = "<script>document.title = 'taken'</script>"
    (tmp_path / "loaded.html").write_text(page.replace("</body>", f"{taken}</body>"))
    dom, said = browser(tmp_path / "loaded.html")
    assert 'class="finder"' in dom
    assert "<title>taken" not in dom
    assert "Content Security Policy" in said


def map_is_legible(found, width):
    """Look at the boxes of the names and the marks, as the browser drew them."""
    (picture,) = found["map"]
    assert picture["right"] <= width, "a map is not wider than the page"
    assert len(found["names"]) > 3
    beside = [(a, m) for a in found["names"] for m in found["marks"]]
    for a, b in [*combinations(found["names"], 2), *beside]:
        apart = a["right"] <= b["left"] + 2 or b["right"] <= a["left"] + 2
        assert apart or a["bottom"] <= b["top"] + 4 or b["bottom"] <= a["top"] + 4, (a, b)
    assert all(10 <= n["height"] <= 24 for n in found["names"]), "names are legible"


@pytest.mark.parametrize("width", WIDTHS)
def test_the_map_of_forty_depots_is_legible(browser, width, tmp_path):
    files = [str(path(f"depots/{name}")) for name in ("parcels.yaml", "forklifts.yaml")]
    case = case_of(files, str(path("depots/sites.csv")))
    server = next(p for p in policies(case.jobs, case.cluster) if p.name == "all-server")
    instance = Instance(name="depots", jobs=case.jobs, cluster=case.cluster)
    text = page_of("Depots", Markup(), map_section(instance, server.plan, server.evaluation))
    found = measured(browser, text, width, tmp_path)
    map_is_legible(found, width)
    assert len(found["names"]) > 25


@pytest.fixture(scope="session")
def axe():
    return axe_text()


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "page", ["plan", "depots", "wishes", "control", "front", "sweep"], indirect=True
)
def test_an_accessibility_checker_finds_nothing(browser, axe, page, width, dark, tmp_path):
    if dark:
        page, found = re.subn(r"\(prefers-color-scheme: dark\)", "all", page)
        assert found
    checks = f"<script>{axe}</script>{AXE}"
    assert measured(browser, page, width, tmp_path, checks) == []


@pytest.mark.slow
def test_the_accessibility_checker_would_tell(browser, axe, tmp_path):
    page = (
        "<!DOCTYPE html><html><head>%s<title>t</title></head><body><img src='data:,'></body></html>"
    )
    policy = '<meta http-equiv="Content-Security-Policy" content="">'
    found = measured(browser, page % policy, 400, tmp_path, f"<script>{axe}</script>{AXE}")
    assert {"image-alt", "html-has-lang"} <= {name for name, _ in found}


def test_the_browser_would_tell_of_an_error(browser, tmp_path):
    """Without this, a silent console proves nothing."""
    (tmp_path / "bad.html").write_text("<!DOCTYPE html><script>throw new Error('heard')</script>")
    assert "heard" in browser(tmp_path / "bad.html")[1]


def measured(browser, page, width, folder, script=MEASURE):
    copy, taken = POLICY.subn("", page)
    assert taken == 1
    (folder / "measured.html").write_text(copy.replace("</body>", f"{script}</body>"))
    (folder / "frame.html").write_text(frame("measured.html", width))
    dom, _ = browser(folder / "frame.html")
    (said,) = re.findall(r"<pre>(.*?)</pre>", dom, re.DOTALL)
    assert said, "the page has loaded"
    return json.loads(unescape(said))
