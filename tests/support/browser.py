"""A headless browser, and the accessibility checker that runs in it."""

import shutil
import subprocess
from pathlib import Path

import pytest

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
# The page has a place for what a page in its frame says. The window of a headless browser has a
# least width; a frame has none.
_FRAME = """<!DOCTYPE html><title>frame</title><pre></pre>
<iframe src="{}" width="{}" height="900"></iframe>
<script>
onmessage = said => document.querySelector("pre").textContent = JSON.stringify(said.data);
</script>
"""
AXE = """
<script>
addEventListener("load", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
  axe.run({resultTypes: ["violations"]}).then(
    found => parent.postMessage(found.violations.map(v => [v.id, v.nodes[0].html]), "*"),
    e => parent.postMessage([["axe", String(e)]], "*"));
});
</script>
"""
"""Runs the checker, whose text stands before it, and tells the frame what it finds."""


def load(address: str, folder: Path, *options: str) -> tuple[str, str]:
    """Load a page and return its DOM and what the browser wrote beside.

    Parameters
    ----------
    folder
        For the browser's profile.
    options
        More options of Chromium.
    """
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if not found:
        pytest.skip("no chromium on the PATH: apt-get install --no-install-recommends chromium")
    ran = subprocess.run(
        [
            found,
            "--headless=new",
            # Containers forbid its sandbox; the pages are ours.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            f"--user-data-dir={folder / 'profile'}",
            "--enable-logging=stderr",
            "--virtual-time-budget=20000",
            "--dump-dom",
            *options,
            address,
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout, ran.stderr


def frame(page: str, width: int) -> str:
    """Return a page that shows another in a frame of that width; see `AXE`."""
    return _FRAME.format(page, width)


def axe_text() -> str:
    """Return the text of axe-core, the accessibility checker."""
    npm = shutil.which("npm")
    found = npm and subprocess.run([npm, "root", "-g"], capture_output=True, text=True, timeout=60)
    file = Path(found.stdout.strip() if found else "", "axe-core", "axe.min.js")
    if not file.is_file():
        pytest.skip("no axe-core: npm install -g axe-core")
    return file.read_text()
