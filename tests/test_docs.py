"""What the pages say is there: links lead somewhere, paths exist, commands and examples run."""

import re
from collections import Counter
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main
from edgeplace.cli.registry import parser
from edgeplace.model import Pin, Rules, write
from tests.support.fleets import one_shop
from tests.support.markdown import anchors, blocks, commands, links
from tests.support.seeds import filter_cluster, filter_job

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FOLDERS = ("docs", "testbed", "instances", "benchmarks", "tests")
PAGES = sorted([*ROOT.glob("*.md"), *(p for f in FOLDERS for p in (ROOT / f).rglob("*.md"))])
if not DOCS.exists():
    pytest.skip(f"{DOCS} is not there", allow_module_level=True)


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    dead = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*/?(?: [\w.-]+/)*)`")
TOP_LEVEL = {p.name for p in ROOT.iterdir() if p.is_dir()}


def paths_of(page):
    """Yield the paths that a page names from the root of the repository.

    `a/b/ c/ d/` stands for the folders b, c and d of a.
    """
    for text in PATH.findall(page.read_text()):
        first, *others = text.split()
        if first.split("/")[0] not in TOP_LEVEL or "/" not in first:
            continue
        yield first
        parent = Path(first).parent
        yield from (str(parent / other) for other in others)


@pytest.mark.parametrize("page", [DOCS / "architecture.md", ROOT / "CONTRIBUTING.md"], ids=name)
def test_paths_of_the_house_exist(page):
    named = set(paths_of(page))
    assert len(named) > 5
    assert [p for p in sorted(named) if not (ROOT / p).exists()] == []


def test_no_row_of_the_house_stands_twice():
    rows = [x for x in (DOCS / "architecture.md").read_text().splitlines() if x.startswith("| ")]
    doubled = {x for x, n in Counter(row.split(" | ")[0] for row in rows).items() if n > 1}
    assert doubled == set()


COMMANDS = [c for page in PAGES for c in commands(page) if c.words[0] == "edgeplace"]


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_command_is_understood(command):
    parser().parse_args(command.words[1:])


def run(command):
    """Run a command of a page; fail with what it said if it did not end well."""
    out, err = StringIO(), StringIO()
    status = main(command.words[1:], Console(out, err))
    assert status is ExitStatus.OK, err.getvalue() or out.getvalue()


@pytest.mark.slow
def test_the_load_of_control_is_simulated(tmp_path, monkeypatch):
    """The other commands of the page need a Flink: tests/edgeplace/commands/control has them."""
    monkeypatch.chdir(tmp_path)
    rates = 1000 + 500 * np.sin(np.arange(96) * 2 * np.pi / 48)
    lines = [f"{900 * i},{rate:.0f}" for i, rate in enumerate(rates)]
    (tmp_path / "load.csv").write_text("\n".join(["time,rate", *lines]))
    write(filter_job(5000.0), tmp_path / "job.yaml")
    write(filter_cluster(), tmp_path / "cluster.yaml")
    (tmp_path / "control.yaml").write_text(example(DOCS / "control.md", "yaml", "jobmanager:").text)
    pages = (DOCS / "control.md", DOCS / "policies.md")
    simulations = [c for p in pages for c in commands(p) if c.words[2] == "simulate"]
    assert len(simulations) == 3
    for command in simulations:
        run(command)
    assert (tmp_path / "policies.svg").exists()


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """The files of docs/fleet.md: a job `alerts` that is read at the Pi of a shop."""
    template = one_shop(1, 1e6)
    job = template.jobs[0].model_copy(update={"name": "alerts"})
    rules = Rules(rules=(Pin(operators=("sink",), to="cloud"),))
    write(job, tmp_path / "job.json")
    write(template.cluster, tmp_path / "cluster.yaml")
    write(rules, tmp_path / "rules.yaml")
    monkeypatch.chdir(tmp_path)
    return {"job": job, "cluster": template.cluster, "rules": rules}


def example(page, language, first):
    """Return the one block of a page that begins like that."""
    (block,) = (b for b in blocks(page) if b.language == language and b.text.startswith(first))
    return block


def execute(block, names):
    """Run a Python block; a traceback shows the line of the page."""
    code = compile("\n" * (block.line - 1) + block.text, str(block.page), "exec")
    exec(code, names)  # noqa: S102


def test_the_fleet_of_the_page_is_placed(shop, capsys):
    block = example(DOCS / "fleet.md", "python", "import numpy")
    faster = block.text.replace("5e4, 2e5", "5e5, 2e6")  # the shop of the test sends more
    execute(block._replace(text=faster), {})
    assert "optimal" in capsys.readouterr().out


def test_the_table_of_the_page_is_placed(shop):
    Path("shops.csv").write_text(example(DOCS / "fleet.md", "csv", "id,").text)
    for command in commands(DOCS / "fleet.md"):
        run(command)
    assert "berlin-2" in Path("plans.csv").read_text()


@pytest.mark.slow
def test_the_published_methods_of_the_page_run(shop, capsys):
    block = example(DOCS / "baselines.md", "python", "from edgeplace")
    execute(block._replace(text=block.text.replace("=60", "=1")), shop)
    assert "odp" in capsys.readouterr().out
