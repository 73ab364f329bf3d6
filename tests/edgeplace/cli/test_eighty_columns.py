"""Every command that prints a table, on a terminal of 80 columns: it fits, and no word is broken.

What may stand there is what was given to be printed, word by word.
"""

import re
import shlex
import sys
from pathlib import Path

import pytest

import edgeplace
from edgeplace.adapters.flink.split.keys_report import KeysReport
from edgeplace.cli.console import Console, visible
from edgeplace.commands.control import history
from edgeplace.commands.flink import shares
from edgeplace.model import Period, Rules, write
from tests.support.depots import depots_cluster, forklifts, parcels
from tests.support.fleets import one_shop
from tests.support.flink_case import write_plan
from tests.support.markdown import blocks

COLUMNS = 80
SOURCES = Path(edgeplace.__file__).parent
SPLITTING = Path(__file__).parents[3] / "docs" / "splitting.md"
FOLDERS = ("views", "commands", "bench")
COMMANDS = {
    # What is run, after what was run to make its files -> the files that print its tables.
    "solve parcels.yaml forklifts.yaml paid.yaml": "views/plan_summary.py views/tables.py",
    "solve parcels.yaml paid.yaml --full": (
        "views/tables.py views/bill.py views/worst_path.py views/confidence.py"
    ),
    "solve parcels.yaml paid.yaml --rules day.yaml --full": "views/tables.py",
    "solve parcels.yaml depots.yaml --set rate=x3": "",
    "solve parcels.yaml paid.yaml --set rate=x1..x2": "commands/variations.py",
    "solve parcels.yaml depots.yaml --each-site-lost": "commands/variations.py",
    "solve parcels.yaml depots.yaml --survive depot-00": "commands/variations.py",
    "solve parcels.yaml paid.yaml --pareto": "commands/pareto.py",
    "solve hot.yaml hot-sites.yaml --split combine": "views/split.py",
    "explain parcels.yaml paid.yaml plan.json": (
        "views/kind_reasons.py views/reasons.py views/explain_tables.py views/confidence.py"
    ),
    "explain parcels.yaml paid.yaml plan.json --subtask 'detect (1/5)'": "views/explain_tables.py",
    "explain parcels.yaml paid.yaml plan.json --against other.json": "views/explain_tables.py",
    "explain parcels.yaml paid.yaml plan.json --prices": "views/explain_tables.py",
    "balance parcels.yaml depots.yaml --current plan.json": "commands/balance.py",
    "fleet shop.yaml shop-sites.yaml --rules shop-rules.yaml --sites shops.csv": (
        "commands/fleet.py"
    ),
    "bench seed-pis-2-1 --backends milp,all-server --out out": "bench/run_tables.py",
    "bench parcels.yaml paid.yaml --backends milp,all-server": "bench/user_case.py views/tables.py",
    "validate parcels.yaml paid.yaml": "commands/validate.py",
    "demo": "views/tables.py views/cpu_costs.py views/reasons.py",
    "control simulate --load load.csv --policies static,edgeplace": "commands/control/simulate.py",
    "control status control.yaml": "commands/control/status.py",
    "flink discover --ping": "commands/flink/discover.py",
    "flink apply moves.json --dry-run": "commands/flink/change_report.py",
    "flink drain pi-1 --dry-run": "commands/flink/change_report.py",
}


def by_hand(console: Console) -> None:
    """Print the tables that a loop and routers would be needed for."""
    figures = {
        "fits": False,
        "headroom": 0.987,
        "broken": "link bandwidth depot-00 -> region-north",
        "wan_bytes_per_s": 123_456_789.0,
        "latency_ms": 1234.5,
        "server_cores": 23.45,
    }
    history._show_figures(console, {"stay": figures, "best": figures | {"fits": True}})
    split = {"combine": "job: combine-of-a-long-name", "workers": 2, "routers": 2}
    split |= {"routers_following": 2, "weights": {"a": (1.25, 0.75), "b": (0.5, 1.5)}}
    split |= {"records_per_s": 4e6, "level_records_per_s": 2e6, "imbalance": 0.03}
    split |= {"fan_out": 1.5, "frequent_keys": 8, "frequent_share": 0.6}
    split |= {"load_records_per_s": (1e6, 3e6), "hot": ()}
    report = KeysReport.model_validate(
        {"edgeplace_keys": 1, "job_id": "a" * 32, "job_name": "wordcount", "epoch": 0}
        | {"shares_file": "plans/wordcount.shares", "shares_sha256": None, "used_sha256": None}
        | {"refused": (), "splits": (split,), "updated_ms": 0}
    )
    shares._show(console, False, report, "wordcount")


BY_HAND = "commands/control/history.py commands/flink/shares.py"


@pytest.fixture
def case(tmp_path, monkeypatch, flink):
    """Write the files of all commands into the current folder, and start a Flink of memory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EDGEPLACE_JOBMANAGER", flink.url)
    shop = one_shop(3, 0.4, free=True)
    day = Rules(demand=(Period(name="a-day-at-work", share=0.5), Period(name="night", share=0.5)))
    documents = {
        "parcels": parcels(2),
        "forklifts": forklifts(2),
        "depots": depots_cluster(2),
        "paid": depots_cluster(2).model_copy(update={"currency": "EUR"}),
        "day": day,
        "shop": shop.jobs[0],
        "shop-sites": shop.cluster,
        "shop-rules": shop.rules,
    }
    for name, document in documents.items():
        write(document, tmp_path / f"{name}.yaml")
    for name, first in (("hot", "name: hot"), ("hot-sites", "sites:")):
        (text,) = (b.text for b in blocks(SPLITTING) if b.text.startswith(first))
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "shops.csv").write_text("id,site,rates\nberlin,shop,1\nparis,shop,2\n")
    times = "".join(f"{900 * i},{500 + i % 96}\n" for i in range(96))
    (tmp_path / "load.csv").write_text(f"time,rate\n{times}")
    write_plan(tmp_path / "moves.json")
    (tmp_path / "control.yaml").write_text(
        f"jobmanager: {flink.url}\njob: wordcount\ncluster: depots.yaml\n"
    )
    return tmp_path


@pytest.fixture
def printed(monkeypatch):
    """Note the words that are given to be printed, and the files of which the tables are."""
    words, files = set(), set()
    table, text, problem = Console.table, Console.text, Console.problem

    def spied_table(self, columns, rows, styles=(), keys=()):
        caller = Path(sys._getframe(1).f_code.co_filename)
        files.add(caller.relative_to(SOURCES).as_posix())
        titles = [c.lstrip(">") for c in columns]
        for cell in (*titles, *(f"{title}:" for title in titles), *(c for r in rows for c in r)):
            words.update(visible(cell).split())
        table(self, columns, rows, styles, keys)

    def spied_text(self, said="", style=""):
        words.update(visible(said, keep="\n").split())
        text(self, said, style)

    def spied_problem(self, said):
        words.update(visible(said, keep="\n").split())
        problem(self, said)

    monkeypatch.setattr(Console, "table", spied_table)
    monkeypatch.setattr(Console, "text", spied_text)
    monkeypatch.setattr(Console, "problem", spied_problem)
    return words, files


def assert_fits(out, words):
    lines = re.sub(r"\x1b\[[0-9;]*m", "", out).splitlines()
    assert [line for line in lines if len(line) > COLUMNS and " " in line.strip()] == []
    broken = {word for line in lines for word in line.split()} - words
    assert {word for word in broken if word.strip("\u2500")} == set()


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_tables_fit_and_no_word_is_broken(edgeplace, on_terminal, printed, case, command):
    words, files = printed
    if "plan.json" in command:
        edgeplace("solve", "parcels.yaml", "paid.yaml", "-o", "plan.json")
        wanted = ("--objective", "latency", "-o", "other.json")
        edgeplace("solve", "parcels.yaml", "paid.yaml", *wanted)
    if command == "demo":
        # Its pictures are no tables; on a pipe they have all room.
        words.update(edgeplace(command).out.split())
    files.clear()
    ran = on_terminal(*shlex.split(command), columns=COLUMNS)
    assert ran.err.count("error") == 0, ran.err
    assert_fits(ran.out, words)
    assert files >= set(COMMANDS[command].split()), ran.err


def test_tables_of_a_loop_and_of_routers_fit(on_terminal, printed, terminal):
    words, files = printed
    by_hand(Console(terminal, terminal))
    assert_fits(terminal.getvalue(), words)
    assert files == set(BY_HAND.split())


def test_no_table_is_left_out():
    found = {
        file.relative_to(SOURCES).as_posix()
        for folder in FOLDERS
        for file in (SOURCES / folder).rglob("*.py")
        if "console.table(" in file.read_text()
    }
    assert found == set(" ".join([*COMMANDS.values(), BY_HAND]).split())
