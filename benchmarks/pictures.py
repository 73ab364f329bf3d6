"""Draw the README's picture of the demo's plan: the drawing of `edgeplace solve --report`.

python benchmarks/pictures.py [FOLDER]     # docs/images by default
"""

import re
import sys
import tempfile
from pathlib import Path

from edgeplace.cli.console import Console
from edgeplace.cli.main import main

DEMO = Path(__file__).parents[1] / "instances" / "demo"
LOG, CLUSTER, RULES = (str(DEMO / f) for f in ("metrics.jsonl.gz", "cluster.yaml", "rules.yaml"))


def report(folder: Path) -> str:
    """Return the demo's report, solved from its recorded log."""
    costs, page = str(folder / "costs.json"), str(folder / "report.html")
    commands = (
        ["costs", LOG, "--cluster", CLUSTER, "-o", costs],
        ["solve", LOG, CLUSTER, "--costs", costs, "--rules", RULES, "--report", page],
    )
    for command in commands:
        if status := main(command, Console(sys.stderr, sys.stderr)):
            sys.exit(int(status))
    return Path(page).read_text()


def standalone(page: str) -> str:
    """Return the page's drawing of the sites as an SVG file with the page's colours."""
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    start = page.index('<svg class="sites"')
    depth, end = 0, start
    for tag in re.finditer(r"<svg\b|</svg>", page[start:]):
        depth += 1 if tag[0] == "<svg" else -1
        if depth == 0:
            end = start + tag.end()
            break
    if style is None or end == start:
        raise ValueError("the report has no drawing of the sites any more")
    rules = "\n".join(
        block
        for block in re.findall(
            r"^(?:@media \(pref[^{]*dark\) \{.*?^\}|:root.*?\}|\.sites.*?\})$",
            style[1],
            re.DOTALL | re.MULTILINE,
        )
    )
    opening = '<svg xmlns="http://www.w3.org/2000/svg" class="sites"'
    font = 'text { font-family: system-ui, "Segoe UI", "Liberation Sans", sans-serif; }'
    drawing = page[start:end].replace('<svg class="sites"', opening, 1)
    head, rest = drawing.split(">", 1)
    size = re.search(r'viewBox="0 0 (\d+) (\d+)"', head)
    assert size is not None
    head = re.sub(r' style="[^"]*"', f' width="{size[1]}" height="{size[2]}"', head)
    return f"{head}>\n<style>\n{rules}\n{font}\n</style>\n{rest}\n"


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else DEMO.parents[1] / "docs" / "images")
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        picture = standalone(report(Path(scratch)))
    (target / "demo-plan.svg").write_text(picture)
    print(target / "demo-plan.svg")
