"""`--split` and `--key-shares`, on the files and the output of docs/splitting.md."""

import json
from pathlib import Path

import pytest

from edgeplace.cli.exit_status import ExitStatus
from edgeplace.model import Plan, read
from tests.support.markdown import blocks, commands
from tests.support.page_reader import Page

PAGE = Path(__file__).parents[3] / "docs" / "splitting.md"


@pytest.fixture
def files(tmp_path, monkeypatch):
    texts = [b.text for b in blocks(PAGE) if b.language == "yaml"]
    for name, first in (("job.yaml", "name: hot"), ("cluster.yaml", "sites:")):
        (text,) = (t for t in texts if t.startswith(first))
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_of_the_page_prints_the_page_and_writes_plan_and_weights(edgeplace, files):
    (command,) = (c for c in commands(PAGE) if c.words[1] == "solve")
    ran = edgeplace(*command.words[1:])
    assert ran.err == ""
    (shown,) = (b.text for b in blocks(PAGE) if b.text.startswith("weights of the workers"))
    assert shown.strip() in ran.out
    # What is proved is said, and what is not.
    assert "no places and weights give less wan: proved. Not proved is the rest" in ran.out
    assert "optimal, proved" not in ran.out
    assert ran.status is ExitStatus.NOT_PROVED
    assert (files / "hot.shares").read_text().splitlines() == [
        "combine (1/3) <- (1/2); 0.900000",
        "combine (2/3) <- (1/2); 0.000000",
        "combine (3/3) <- (1/2); 0.100000",
        "combine (1/3) <- (2/2); 0.000000",
        "combine (2/3) <- (2/2); 1.000000",
        "combine (3/3) <- (2/2); 0.000000",
    ]
    plan = read(files / "plan.json", Plan)
    assert plan.weights["hot"]["combine"]["b"] == (0.0, 1.0, 0.0)
    # What another job must leave free is what the weights send, not what even ones would.
    sent = sum(v for row in plan.uses["hot"].bytes_per_s.values() for v in row.values())
    assert sent == pytest.approx(12_160, rel=1e-5)


def test_the_report_shows_the_weights(edgeplace, files):
    edgeplace("solve", "job.yaml", "cluster.yaml", "--split", "combine", "--report", "page.html")
    page = Page((files / "page.html").read_text())
    assert page.table("Weights") == [
        ["a", "combine (1/3)", "pi-a", "90 %"],
        ["a", "combine (3/3)", "server", "10 %"],
        ["b", "combine (2/3)", "pi-b", "100 %"],
    ]


def test_explain_judges_a_plan_by_its_weights_and_says_how_good_they_are(edgeplace, files):
    edgeplace("solve", "job.yaml", "cluster.yaml", "--split", "combine", "-o", "plan.json")
    ran = edgeplace("explain", "job.yaml", "cluster.yaml", "plan.json", "--json")
    wan = json.loads(ran.out)["terms"]["wan"]
    assert wan == pytest.approx(12_160, rel=1e-5)
    split = ("explain", "job.yaml", "cluster.yaml", "plan.json", "--split", "combine")
    said = json.loads(edgeplace(*split, "--json").out)
    assert said["proved"] and said["holds"]
    assert said["wan_cost"] == pytest.approx(wan)
    assert said["wan_cost_of_even_weights"] > 10 * wan
    assert "proved the best for its places" in edgeplace(*split).out


def test_what_if_has_weights_of_its_own_beside_those_of_now(edgeplace, files):
    """A combiner on a Pi takes 900 records/s: of a's 2 x 1000 that is 45 %, of b's 2 x 400 all."""
    asked = ("solve", "job.yaml", "cluster.yaml", "--split", "combine", "--set", "rate=x2")
    found = json.loads(edgeplace(*asked, "-o", "plan.json", "--json").out)
    plan = read(files / "plan.json", Plan)
    assert plan.supposing == ("rate=x2",)
    assert found["plan"]["weights"] == plan.model_dump(mode="json")["weights"]
    weights = plan.weights["hot"]["combine"]
    assert sorted(weights["a"]) == pytest.approx([0, 0.45, 0.55], abs=1e-4)
    assert sorted(weights["b"]) == pytest.approx([0, 0, 1], abs=1e-4)
    now = found["without_settings"]["plan"]["weights"]["hot"]["combine"]
    assert sorted(now["a"]) == pytest.approx([0, 0.1, 0.9], abs=1e-4)
    shown = edgeplace(*asked).out
    assert "without --set" in shown
    assert "45 %" in shown
    assert "what the settings change" in shown


def test_weights_for_no_operator_are_refused_with_a_cure(edgeplace, files):
    ran = edgeplace("solve", "job.yaml", "cluster.yaml", "--key-shares", "k.shares")
    assert ran.status == ExitStatus.INVALID_INPUT
    assert "add --split OPERATOR" in ran.err
    ran = edgeplace("solve", "job.yaml", "cluster.yaml", "--split", "merge")
    assert "'merge' cannot be split" in ran.err


@pytest.mark.slow
def test_solve_and_explain_name_changes_to_the_job(edgeplace, files):
    combined = (files / "job.yaml").read_text()
    text = combined.replace("combine", "count")
    partial = "{law: {gathering: {interval_s: 1}, form: zipf, keys: 9}, bytes_per_record: 9}"
    stated = text.replace("bytes_per_record: 24}", f"bytes_per_record: 24, partial: {partial}}}")
    for job, split, said in (
        (combined, "combine", "partial aggregates already"),
        (text, "count", "how many keys "),
        (stated, "count", "SplitAggregate.of(stream, key)"),
    ):
        (files / "job.yaml").write_text(job)
        case = ("job.yaml", "cluster.yaml")
        solved = edgeplace("solve", *case, "--split", split, "-o", "plan.json", "--report", "r")
        # Without --full the screen has only what saves bytes; the page and `explain` have all.
        assert (said in solved.out) is (job == stated)
        assert said in edgeplace("solve", *case, "--split", split, "--full").out
        page = (files / "r").read_text()
        assert said in page
        assert "Weights of the workers" in page
        assert said in edgeplace("explain", *case, "plan.json").out
