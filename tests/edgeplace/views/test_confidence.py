"""What `solve --confidence` and `solve --full` say of the costs that a plan rests on."""

import json
import re
from pathlib import Path

import pytest

from edgeplace.model import write

COSTS_PAGE = Path(__file__).parents[3] / "docs" / "costs.md"


@pytest.fixture
def varied(filter_model, tmp_path) -> Path:
    """A job whose rates vary by a quarter from sample to sample."""
    plain, operators = filter_model[0], []
    for op in plain.operators:
        classes = tuple(c.model_copy(update={"relative_spread": 0.25}) for c in op.cost.classes)
        cost = op.cost.model_copy(update={"classes": classes})
        operators.append(op.model_copy(update={"cost": cost}))
    path = tmp_path / "varied.json"
    write(plain.model_copy(update={"operators": tuple(operators)}), path)
    return path


def test_confidence_plans_with_larger_costs_and_says_what_they_are(
    edgeplace, varied, cluster, tmp_path
):
    report = tmp_path / "r.html"
    asked = ("solve", varied, cluster, "--json")
    plain = json.loads(edgeplace(*asked).out)
    sure = json.loads(edgeplace(*asked, "--confidence", "90%", "--report", report).out)
    assert sure["evaluation"]["server_cores"] >= plain["evaluation"]["server_cores"]
    [said] = [n for n in sure["notes"] if "not exceeded with a probability of 90%" in n]
    assert "6 of 6 have an interval or a spread" in said
    assert "the headroom is" in said
    # The costs as measured have the intervals, those planned with have none.
    assert "holds at 90 %" in report.read_text()


@pytest.mark.parametrize("confidence", [(), ("--confidence", "0.9")])
def test_full_shows_the_intervals_of_the_costs_as_measured(
    edgeplace, varied, cluster, confidence, tmp_path
):
    plan = tmp_path / "plan.json"
    said = edgeplace("solve", varied, cluster, "--full", *confidence, "-o", plan).out
    [shown] = said.split("how sure it is")[1:]
    explained = edgeplace("explain", varied, cluster, plan).out.split("how sure it is")[1]
    rows = [line for line in explained.splitlines() if " to " in line and "measured" in line]
    assert rows
    assert all(row.split() in [line.split() for line in shown.splitlines()] for row in rows)
    assert "holds at 90 %" in shown
    assert "how sure it is" not in edgeplace("solve", varied, cluster, *confidence).out


@pytest.mark.skipif(not COSTS_PAGE.exists(), reason="the documentation is not beside these tests")
def test_the_note_says_how_often_that_held_as_the_documentation_does(edgeplace, varied, cluster):
    found = json.loads(edgeplace("solve", varied, cluster, "--confidence", "0.9", "--json").out)
    [said] = [n for n in found["notes"] if "with a probability of 90%" in n]
    told = re.search(
        r"Of (\d+) placements on a real Flink, (\d+) sustained .*?, and (\d+) of", said
    )
    page = " ".join(COSTS_PAGE.read_text().split())
    held = re.search(
        r"at least 95 % of the predicted one in (\d+) of (\d+), and in (\d+) with", page
    )
    assert told and held
    assert told.groups() == held.group(2, 3, 1)
