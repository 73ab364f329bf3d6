"""Names come from users and may hold anything."""

import json

import pytest

from edgeplace.adapters.flink import schedulercfg
from edgeplace.cli.console import Console, visible
from edgeplace.model import Cluster, Plan, read, write
from edgeplace.solver import solve
from edgeplace.views.picture import show_job, show_sites

ODD = (
    "Map; then filter",
    "ends in;",
    "part (1/2)",
    "a \"double\" and a 'single' quote",
    "🌊 Füllstand 水位",
    "👩‍🔬 joined",
    "[red]alarm[/red]",
    "[/]",
    "two\nlines",
    "bell\x07 and \x1b[31mred",
    "{braces}",
    "# no comment",
    "back\\slash",
    " blanks around ",
    "a=b",
    "- dash: colon",
    "line\u2028separator",
)


@pytest.fixture(params=ODD)
def odd(request, filter_model, tmp_path):
    """A job whose source has an odd name, as model and as file."""
    model, _ = filter_model
    first, *rest = model.operators
    model = model.revised(operators=(first.model_copy(update={"name": request.param}), *rest))
    write(model, tmp_path / "odd.json")
    return model, tmp_path / "odd.json"


def test_a_name_stays_on_its_row_of_the_table(edgeplace, odd, cluster):
    model, file = odd
    ran = edgeplace("solve", file, cluster, "--full")
    rows = ran.out.partition("\n\n")[0].split("\n")
    assert len(rows) == 4
    assert rows[1].startswith(visible(model.operators[0].name))
    assert rows[1].rstrip().endswith("4  pi-0 (1), pi-1 (2), pi-2 (3), pi-3 (4)")
    assert "\x1b" not in ran.out


def test_a_name_stays_in_its_box_of_the_picture(odd, filter_model, capsys):
    model, _ = odd
    _, cluster = filter_model
    result = solve(model, cluster)
    show_job(Console(), model)
    lines = capsys.readouterr().out.split("\n")
    assert len(lines) == 2
    assert visible(model.operators[0].name) in lines[0]
    show_sites(Console(), [model], cluster, result.plan, result.evaluation)
    assert "\x1b" not in capsys.readouterr().out


def test_json_has_names_as_they_are_written(edgeplace, filter_model, cluster, tmp_path):
    file = tmp_path / "job.json"
    write(filter_model[0].revised(name="Füllstand"), file)
    for command in ("solve", "balance"):
        assert "Füllstand" in edgeplace(command, file, cluster, "--json").out


def test_names_survive_json_and_plan_files(edgeplace, odd, cluster, tmp_path):
    _, file = odd
    for plan in (tmp_path / "plan.json", tmp_path / "plan.yaml"):
        ran = edgeplace("solve", file, cluster, "-o", plan, "--json")
        assert json.loads(ran.out)["plan"] == read(plan, Plan).model_dump(mode="json")


def test_the_schedulercfg_reads_back_whatever_the_name(edgeplace, odd, cluster, tmp_path):
    model, file = odd
    out = tmp_path / "schedulercfg"
    ran = edgeplace("solve", file, cluster, "--schedulercfg", out, "--json")
    found = schedulercfg.read(out, job=model, cluster=read(cluster, Cluster))
    assert {k: list(v) for k, v in found.items()} == json.loads(ran.out)["plan"]["jobs"]["filter"]


def test_the_schedulercfg_serves_as_current_whatever_the_name(edgeplace, odd, cluster, tmp_path):
    _, file = odd
    out = tmp_path / "schedulercfg"
    edgeplace("solve", file, cluster, "--schedulercfg", out)
    ran = edgeplace("solve", file, cluster, "--current", out, "--json")
    assert ran.err == ""
    assert json.loads(ran.out)["compared"]["current"]["moves"] == 0


def test_the_rate_of_any_source_can_be_set(edgeplace, odd, cluster):
    model, file = odd
    setting = f"rate:{model.operators[0].name}=40"
    ran = edgeplace("solve", file, cluster, "--set", setting, "--json")
    found = json.loads(ran.out)["evaluation"]["links"]
    assert sum(link["used"] for link in found) == pytest.approx(40 * 0.7 * 100)


def test_job_and_task_manager_names_may_be_odd_too(edgeplace, filter_model, tmp_path):
    model, cluster = filter_model
    model = model.revised(name="job [bold]\nof many: lines")
    odd = "pi [red] 🌊"
    cluster = cluster.model_copy(
        update={
            "task_managers": tuple(
                t.model_copy(update={"id": odd}) if t.id == "pi-1" else t
                for t in cluster.task_managers
            )
        }
    )
    write(model, tmp_path / "job.yaml")
    write(cluster, tmp_path / "cluster.yaml")
    ran = edgeplace(
        "solve",
        tmp_path / "job.yaml",
        tmp_path / "cluster.yaml",
        "--full",
        "-o",
        tmp_path / "plan.json",
    )
    assert f"pi-0 (1), {odd} (2)" in ran.out
    assert read(tmp_path / "plan.json", Plan).of(model.name)["filter"][1] == odd
