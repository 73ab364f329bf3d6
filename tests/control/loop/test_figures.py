"""The loop's figures for Prometheus: their format, their values, and who uses them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from edgeplace.control.loop import figures
from edgeplace.control.loop.memory import Memory
from tests.support.loops import QUIET, ran

MONITORING = Path(__file__).parents[3] / "docs" / "monitoring"
NAME = re.compile(rf"{figures.PREFIX}[a-z_]+")
SAMPLE = re.compile(r'[a-z_]+(\{[a-z_]+="([^"\\\n]|\\.)*"(,[a-z_]+="([^"\\\n]|\\.)*")*\})? \S+')


@pytest.fixture(scope="module")
def loop():
    return ran(np.full(2 * 3600, QUIET))


def values(text):
    return {
        name: float(value)
        for name, value in (
            line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")
        )
    }


def test_every_line_is_as_prometheus_reads_it(loop):
    text = figures.text(loop.memory, loop.flink.now_s)
    assert text.endswith("\n")
    for line in text.splitlines():
        assert line.startswith(("# HELP ", "# TYPE ")) or SAMPLE.fullmatch(line), line


def test_the_figures_are_those_of_the_loop(loop):
    found = values(figures.text(loop.memory, loop.memory.now_s + 5))
    prefix = figures.PREFIX
    assert found[f'{prefix}mode{{mode="apply"}}'] == 1
    assert found[f'{prefix}mode{{mode="recommend"}}'] == 0
    assert found[f"{prefix}rate_records_per_second"] == pytest.approx(QUIET)
    assert found[f"{prefix}observation_age_seconds"] == pytest.approx(5)
    assert found[f'{prefix}changes_total{{kind="worth it",result="applied"}}'] == 1
    assert found[f"{prefix}change_seconds_total"] >= 5
    assert found[f'{prefix}decisions_total{{verdict="worth it",gate=""}}'] == 1
    assert found[f'{prefix}decisions_total{{verdict="stays",gate=""}}'] >= 2
    assert 0 < found[f"{prefix}load_ratio"] < 1


def test_a_loop_that_has_seen_nothing_has_no_figures_of_the_job():
    found = values(figures.text(Memory(), 0.0))
    assert f"{figures.PREFIX}load_ratio" not in found
    assert found[f"{figures.PREFIX}leader"] == 1


def test_a_hindered_decision_counts_for_its_gate():
    loop = ran(np.full(2 * 3600, QUIET), changes={"voluntary_per_day": 0})
    found = values(figures.text(loop.memory, loop.flink.now_s))
    assert found[f'{figures.PREFIX}decisions_total{{verdict="worth it",gate="rate"}}'] >= 1


def test_labels_of_any_text_are_escaped():
    memory = Memory(decisions_made={'a"b\\c\nd': {"": 1}})
    (line,) = [t for t in figures.text(memory, 0.0).splitlines() if "decisions_total{" in t]
    assert line.endswith(r'{verdict="a\"b\\c\nd",gate=""} 1.0')


def test_alerts_and_dashboard_ask_for_what_is_exported():
    exported = {m.name for m in figures.metrics(Memory(), 0.0)}
    (group,) = yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"]
    board = json.loads((MONITORING / "grafana.json").read_text())
    asked = [rule["expr"] for rule in group["rules"]]
    asked += [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(asked) >= 15
    for query in asked:
        names = NAME.findall(query)
        assert names and set(names) <= exported, query
    shown = {name for query in asked for name in NAME.findall(query)}
    assert exported - shown <= {f"{figures.PREFIX}epoch"}, "each figure is shown somewhere"


def test_the_log_has_decisions_and_acts_not_polls(loop):
    says = [told.says for told in loop.memory.log]
    assert any(s.startswith("stays: saves") for s in says)
    assert any("makes 4 moves" in s for s in says)
    assert any("did well for 3" in s for s in says)
    assert not any(s.startswith("keeps up") for s in says)
    assert len(says) <= 50
