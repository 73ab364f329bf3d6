"""Pages of the docs' site in a real browser: an accessibility checker finds nothing."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.browser import AXE, axe_text, frame, load

ROOT = Path(__file__).parents[1]
PAGES = ("index.html", "costs/index.html", "formulation/index.html")
"""The first page; one with tables, code of a shell and text; one with formulas and Python."""
SCHEMES = {"light": 1, "dark": 0}
"""What the browser prefers -> Chromium's number for it."""

if not (ROOT / "mkdocs.yml").exists():
    pytest.skip("the docs are not beside these tests", allow_module_level=True)
pytestmark = pytest.mark.slow


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing of a request."""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[tuple[Path, str]]:
    """Build the site, and serve it on loopback; yield its folder and its address."""
    pytest.importorskip("mkdocs", reason="MkDocs is not installed")
    axe = axe_text()
    folder = tmp_path_factory.mktemp("site") / "site"
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    for name in PAGES:
        page = folder / name
        page.write_text(page.read_text().replace("</body>", f"<script>{axe}</script>{AXE}</body>"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def found_in(site, page, width, scheme, folder) -> list[list[str]]:
    """Return what the checker finds: rule and element."""
    served, address = site
    (served / "frame.html").write_text(frame(f"{address}/{page}", width))
    preferred = f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}"
    dom, _ = load(f"{address}/frame.html", folder, preferred)
    (said,) = re.findall(r"<pre>(.*?)</pre>", dom, re.DOTALL)
    assert said, "the page has loaded"
    return json.loads(unescape(said))


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
@pytest.mark.parametrize("page", PAGES)
def test_an_accessibility_checker_finds_nothing(site, page, width, scheme, tmp_path):
    assert found_in(site, page, width, scheme, tmp_path) == []


def test_without_our_part_of_the_theme_the_checker_would_tell(site, tmp_path):
    served, _ = site
    page = served / PAGES[1]
    bare, taken = re.subn(r"<(?:link|script)[^>]*/site/site\.[^>]*>", "", page.read_text())
    assert taken == 2
    (page.parent / "bare.html").write_text(bare)
    found = found_in(site, "costs/bare.html", 400, "dark", tmp_path)
    assert any(rule == "color-contrast" for rule, _ in found)
    assert {"link-in-text-block", "landmark-unique"} <= {rule for rule, _ in found}
