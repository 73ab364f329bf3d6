"""The pages in a real browser: they render, fit, fetch nothing, and run nothing."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from edgeplace.model import write
from edgeplace.report.control_page import control_page
from tests.support.loops import ran
from tests.support.report_case import large_page
from tests.support.seeds import filter_cluster, filter_job

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
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
    deaf: wide.filter(e => (e.focus(), document.activeElement !== e)).length,
    fetched: performance.getEntriesByType("resource").map(e => e.name),
  }, "*");
});
</script>
"""
FRAME = """<!DOCTYPE html><title>frame</title><pre></pre>
<iframe src="measured.html" width="%d" height="900"></iframe>
<script>
onmessage = said => document.querySelector("pre").textContent = JSON.stringify(said.data);
</script>
"""


@pytest.fixture(scope="session")
def browser():
    """Load a page without a network and return its DOM and what the browser wrote beside."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found:
        pytest.skip("no chromium on the PATH: apt-get install --no-install-recommends chromium")

    def load(file: Path) -> tuple[str, str]:
        ran = subprocess.run(
            [
                found,
                "--headless=new",
                # Containers forbid its sandbox; the pages are ours.
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                f"--user-data-dir={file.parent / 'profile'}",
                "--host-resolver-rules=MAP * ~NOTFOUND",
                "--enable-logging=stderr",
                "--virtual-time-budget=5000",
                "--dump-dom",
                file.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout, ran.stderr

    return load


@pytest.fixture
def page(request, edgeplace, tmp_path):
    """The text of one kind of page."""
    if request.param == "large":
        return large_page()[0]
    if request.param == "control":
        return hostile_control_page()
    if request.param == "bench":
        edgeplace("bench", "seed-pis-2-1", "--backends", "milp", "--out", tmp_path)
        return (tmp_path / "report.html").read_text()
    model = filter_job(pi_rate_per_s=50_000.0)
    first, *others = model.operators
    first = first.model_copy(update={"name": HOSTILE})
    write(model.revised(name=HOSTILE, operators=(first, *others)), tmp_path / "job.json")
    write(filter_cluster(), tmp_path / "cluster.yaml")
    out = tmp_path / "page.html"
    edgeplace("solve", tmp_path / "job.json", tmp_path / "cluster.yaml", "--report", out)
    return out.read_text()


def hostile_control_page():
    """A loop's page with two days behind it, and names that would be scripts."""
    second = np.arange(2 * 86_400)
    loop = ran(1200 + 400 * np.sin(second / 13_750), mode="recommend", settle_s=60, decide_s=3600)
    names = {op: tuple(f"{tm}{HOSTILE}" for tm in row) for op, row in loop.memory.places.items()}
    memory = loop.memory.now(places=names, decision=HOSTILE)
    return control_page(memory, memory.now_s)


PAGES = pytest.mark.parametrize("page", ["plan", "large", "bench", "control"], indirect=True)


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
    assert found["scripts"] == 1, "only the one that measures"
    assert found["fetched"] == []
    ids = re.findall(r'<section id="([a-z-]+)"', page)
    assert [s[0] for s in found["sections"]] == ids
    for name, across, down in found["sections"]:
        assert across > 0.8 * min(width, 1200), name
        assert down > 60, name
    assert found["sideways"] <= 0, "the page itself does not scroll to the side"
    assert found["deaf"] == 0, "what scrolls to the side does so by keyboard too"
    if "The job on the sites" in page:
        assert found["text"] >= 10, "px of the smallest text in the picture"
        assert found["boxes"]
        assert all(across > 200 and down > 60 for across, down in found["boxes"])


def test_the_browser_would_tell_of_an_error(browser, tmp_path):
    """Without this, a silent console proves nothing."""
    (tmp_path / "bad.html").write_text("<!DOCTYPE html><script>throw new Error('heard')</script>")
    assert "heard" in browser(tmp_path / "bad.html")[1]


def measured(browser, page, width, folder):
    copy, taken = POLICY.subn("", page)
    assert taken == 1
    (folder / "measured.html").write_text(copy.replace("</body>", f"{MEASURE}</body>"))
    (folder / "frame.html").write_text(FRAME % width)
    dom, _ = browser(folder / "frame.html")
    (said,) = re.findall(r"<pre>(.*?)</pre>", dom, re.DOTALL)
    assert said, "the page has loaded"
    return json.loads(unescape(said))
