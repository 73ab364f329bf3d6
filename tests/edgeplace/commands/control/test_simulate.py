"""`edgeplace control simulate`: what it prints, draws and refuses."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from edgeplace.cli.exit_status import ExitStatus
from edgeplace.commands.control import simulate
from edgeplace.control.policies import POLICIES


@pytest.fixture
def load(tmp_path):
    """Two days, an entry a quarter of an hour: low at night, high in the afternoon."""
    at = np.arange(0, 2 * 86_400 + 1, 900)
    rates = 500 + 400 * np.sin(2 * np.pi * (at / 86_400 - 0.4))
    path = tmp_path / "load.csv"
    path.write_text("time,rate\n" + "".join(f"{t},{r:.3f}\n" for t, r in zip(at, rates)))  # noqa: B905
    return path


def test_the_help_names_every_policy():
    assert tuple(POLICIES) == simulate._NAMES


@pytest.mark.slow
def test_a_table_has_a_row_for_each_policy(edgeplace, load):
    ran = edgeplace("control", "simulate", "--load", load, "--policies", "static,ds2,edgeplace")
    assert ran.status is ExitStatus.OK
    head, *rows, legend, forecast = ran.out.splitlines()
    assert forecast.startswith("forecast of load.csv: its bound of 90% held ")
    assert "of time" in head and "changes/day" in head
    assert [row.split("  ")[1].strip() for row in rows] == ["static peak", "DS2", "edgeplace"]
    assert legend.startswith("late: a record waits more than 2 s")


def test_figures_for_machines(edgeplace, load):
    ran = edgeplace("control", "simulate", "--load", load, "--policies", "static", "--json")
    (row,) = json.loads(ran.out)["runs"]
    (scores,) = json.loads(ran.out)["forecasts"]
    assert 0 <= scores["coverage"] <= 1 and scores["mase"] > 0
    assert (row["policy"], row["late_share"], row["unit_share"]) == ("static peak", 0, 1)
    assert row["seconds"] == 2 * 86_400 + 1


def test_failures_make_every_policy_late(edgeplace, load):
    more = ("--policies", "static", "--failures-every", 3600, "--json")
    ran = edgeplace("control", "simulate", "--load", load, *more)
    assert json.loads(ran.out)["runs"][0]["late_s"] > 48 * 20


@pytest.mark.slow
def test_the_picture_has_a_strip_for_each_policy(edgeplace, load, tmp_path):
    picture = tmp_path / "out.svg"
    ran = edgeplace("control", "simulate", "--load", load, "--days", 1, "--svg", picture)
    assert f"picture written to {picture}" in ran.out
    root = ElementTree.fromstring(picture.read_text())  # noqa: S314 - our own file
    titles = [e.text for e in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 7
    assert titles[-1].startswith("load.csv: edgeplace, late 0 %")


@pytest.mark.slow
def test_proved_plans_of_a_job_may_be_chosen(edgeplace, load, job, cluster):
    more = ("--policies", "static,edgeplace", "--days", 1, "--json")
    ran = edgeplace("control", "simulate", job, cluster, "--load", load, *more)
    assert ran.status is ExitStatus.OK, ran.err
    static, own = json.loads(ran.out)["runs"]
    assert static["options"] == own["options"] >= 1
    assert own["wan_bytes"] <= static["wan_bytes"]


@pytest.mark.parametrize(
    "more, said",
    [
        (("--policies", "guess"), "there is no policy 'guess'"),
        (("--days", 9), "days, 9 are asked for"),
        (("--day", 1000), "a day has 48 bins"),
        (("--units", 0), "give at least one unit"),
        (("--pause", -1), "give times of 0 or more"),
        (("--failures-every", 5), "a failure takes 25 s"),
        (("job.json",), "1 files stand for JOB CLUSTER"),
        (("--svg", "load.csv"), "load.csv"),
    ],
)
def test_what_makes_no_simulation_is_refused(edgeplace, load, monkeypatch, more, said):
    monkeypatch.chdir(load.parent)
    before = load.read_bytes()
    ran = edgeplace("control", "simulate", "--load", "load.csv", *more)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert said in ran.err
    assert "cure: " in ran.err
    assert load.read_bytes() == before


@pytest.mark.slow
def test_the_loop_itself_may_be_run_on_a_load(edgeplace, job, cluster, tmp_path):
    load = tmp_path / "two.csv"
    load.write_text("0,500\n3600,500\n3700,2600\n7200,2600\n")
    control = tmp_path / "control.yaml"
    control.write_text("jobmanager: http://x\njob: any\ncluster: any\nmode: apply\n")
    more = ("--load", load, "--loop", control)
    ran = edgeplace("control", "simulate", job, cluster, *more)
    assert ran.status is ExitStatus.OK, ran.err
    assert " changes in 0.08 days; late " in ran.out
    figures = json.loads(edgeplace("control", "simulate", job, cluster, *more, "--json").out)
    assert figures["seconds"] == 7201 and figures["wan_bytes"] > 0


@pytest.mark.parametrize("survive", ["", "survive: [cloud]\n"])
def test_sites_may_be_lost_in_it(edgeplace, job, cluster, tmp_path, survive):
    load = tmp_path / "flat.csv"
    load.write_text("0,500\n2400,500\n")
    control = tmp_path / "control.yaml"
    control.write_text(f"jobmanager: http://x\njob: any\ncluster: any\nmode: apply\n{survive}")
    more = ("--load", load, "--loop", control, "--lose", "cloud@20m+5m")
    ran = edgeplace("control", "simulate", job, cluster, *more)
    assert ran.status is ExitStatus.OK, ran.err
    assert "00:20  site cloud is lost" in ran.out
    assert "00:25  site cloud is back" in ran.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cloud", "'cloud' is no loss of a site; write hall@2h+10m"),
        ("cloud@2h", "is no loss of a site"),
        ("cloud@soon+1h", "'soon' is not a time"),
        ("moon@1h+1h", "the cluster has no site 'moon'"),
    ],
)
def test_a_loss_that_is_none_is_refused(edgeplace, load, job, cluster, tmp_path, text, said):
    control = tmp_path / "control.yaml"
    control.write_text("jobmanager: http://x\njob: any\ncluster: any\n")
    more = ("--load", load, "--loop", control, "--lose", text)
    ran = edgeplace("control", "simulate", job, cluster, *more)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert said in " ".join(ran.err.split())


def test_the_loop_needs_a_job(edgeplace, load, tmp_path):
    ran = edgeplace("control", "simulate", "--load", load, "--loop", tmp_path / "control.yaml")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "give JOB CLUSTER and one --load" in ran.err


@pytest.mark.parametrize("days", ["0", "-1", "nan", "soon"])
def test_days_are_a_number_above_0(edgeplace, load, capsys, days):
    ran = edgeplace("control", "simulate", "--load", load, "--days", days)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert f"{days!r} is no number of days: give one above 0" in ran.err + capsys.readouterr().err
