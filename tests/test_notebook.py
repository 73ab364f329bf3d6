"""The notebook of the docs runs, and shows answers as parts of the report."""

from pathlib import Path

import pytest

from edgeplace import solve
from edgeplace.model import RateUnit, Rules
from edgeplace.report.notebook import as_frame, conflict_html, evaluation_html, result_html
from tests.support.seeds import filter_cluster, filter_job

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebooks" / "plan.ipynb"


@pytest.mark.slow
def test_the_notebook_runs_and_shows_the_answer(tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": tmp_path}}
    ).execute()
    shown = [
        output["data"]["text/html"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "text/html" in output.get("data", {})
    ]
    assert "Optimal: proved" in shown[0]
    assert "<table" in shown[0]
    assert "bandwidth" in shown[1]
    assert "Its fullest limits" in shown[0]
    assert "Confirmed cure" in shown[-1]


def test_an_answer_is_shown_with_its_figures_and_proof():
    result = solve(filter_job(1000.0), filter_cluster())
    html = result_html(result)
    assert "Optimal: proved" in html
    assert evaluation_html(result.evaluation) in html
    assert "The terms in order of importance" in html


def test_names_are_escaped():
    found = solve(filter_job(1000.0), filter_cluster()).evaluation
    odd = tuple(v.model_copy(update={"where": f"<b>{v.where}"}) for v in found.links)
    assert "<b>" not in evaluation_html(found.model_copy(update={"links": odd}))


def test_without_a_plan_the_conflict_is_shown():
    result = solve(filter_job(1000.0), filter_cluster(), Rules(max_latency_ms=0.001))
    assert result.plan is None
    assert "These cannot all hold" in conflict_html(result.conflict)
    assert result.conflict.cure.split()[0] in result_html(result)


def test_traffic_is_written_as_the_cluster_is():
    bits = filter_cluster().model_copy(update={"rates_in": RateUnit.BITS})
    job = filter_job(1000.0).with_source_rate("source", 200_000)
    found = solve(job, bits, objective=("throughput",)).evaluation
    conflict = solve(job, bits).conflict
    assert found.violations
    assert conflict
    for html in (evaluation_html(found), conflict_html(conflict)):
        assert "bit/s" in html
        assert "B/s" not in html


def test_limits_become_a_table():
    found = solve(filter_job(1000.0), filter_cluster()).evaluation
    frame = as_frame(found.links)
    assert list(frame.columns) == ["kind", "where", "used", "capacity", "unit", "utilisation"]
    assert len(frame) == len(found.links)
    assert frame.used.tolist() == [v.used for v in found.links]
    assert as_frame(()).empty
