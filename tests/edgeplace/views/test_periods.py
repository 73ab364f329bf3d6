"""Demand in periods, as `solve`, `explain` and the report show it.

Figures by hand: 660 records/s of 10 bytes by day, 360 at night, over a link with room for 8 kB/s; a
byte costs 4e-9 EUR, and a month has 365.25 / 12 days.
"""

import json
from pathlib import Path

import pytest

from edgeplace.model import Rules, parse, write
from tests.support.page_reader import Page

STREAM = {"target": "sink", "ship_strategy": "FORWARD", "cost": {"bytes_per_record": 10}}


def source(name):
    classes = [{"node_class": "pi", "true_rate_per_s": 1000}]
    cost = {"demand": {"rates_per_s": [600]}, "classes": classes}
    return {"id": name, "name": name, "parallelism": 1, "born_at": ["edge"], "cost": cost}


# Nobody knows what the sink costs on a Pi, and a rule keeps it away from there.
SINK = {"classes": [{"node_class": "server", "true_rate_per_s": 1e6}]}
JOB = {
    "name": "j",
    "operators": [
        source("a"),
        source("b"),
        {"id": "sink", "name": "sink", "parallelism": 1, "cost": SINK},
    ],
    "streams": [{"source": name, **STREAM} for name in "ab"],
}
LINK = {
    "source": "edge",
    "target": "cloud",
    "bandwidth_bytes_per_s": 10_000,
    "price_per_byte": "4 EUR/GB",
    "both_ways": True,
}
CLUSTER = {
    "currency": "EUR",
    "sites": [{"id": "edge"}, {"id": "cloud", "tier": "cloud"}],
    "nodes": [
        {"id": "pi", "site": "edge", "node_class": "pi", "cores": 1, "slots": 4},
        {"id": "vm", "site": "cloud", "node_class": "server", "cores": 4, "slots": 4},
    ],
    "links": [LINK],
}


def rules(**of_day):
    """Return rules: `b` is quiet by day, and `a` at night, when all else is halved."""
    day = {"name": "day", "share": 16, "sources": [{"operators": ["b"], "factor": 0.1}]}
    night = {"name": "night", "share": 8, "sources": [{"operators": ["a"], "factor": 0.1}]}
    pin = {"kind": "pin", "operators": ["sink"], "to": "cloud"}
    demand = [{**day, **of_day}, {**night, "factor": 0.5}]
    return parse({"rules": [pin], "demand": demand}, Rules, "the rules")


DAY = ("day, 66.7 %", "6.6 kB/s", "69.4", "0.00066", "1.21x", "yes")
NIGHT = ("night, 33.3 %", "3.6 kB/s", "37.9", "0.00036", "2.22x", "yes")
WHOLE = ("edgeplace", "5.6 kB/s", "58.9", "0.00056", "1.21x", "yes")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, data in (("job.json", JOB), ("cluster.json", CLUSTER)):
        Path(name).write_text(json.dumps(data))
    write(rules(), "rules.json")
    return ("job.json", "cluster.json", "--rules", "rules.json")


@pytest.fixture
def asked(files, edgeplace):
    """Return the words of `explain` for the plan that `solve` makes."""
    assert edgeplace("solve", *files, "-o", "plan.json").status == 0
    return ("explain", *files[:2], "plan.json", *files[2:])


def row(out, name):
    """Return the cells of a row, without the latency."""
    (line,) = (text for text in out.splitlines() if text.startswith(f"{name}  "))
    wan, unit, money, _, _, cores, headroom, holds = line.removeprefix(name).split()
    return name, f"{wan} {unit}", money, cores, headroom, holds


def test_solve_shows_the_mean_day_and_each_period_by_itself(edgeplace, files):
    ran = edgeplace("solve", *files)
    assert (ran.status, ran.err) == (0, "")
    compared, _, each = ran.out.partition("in each period, as if it were always so\n")
    assert "compared, over the day" in compared
    assert row(compared, "edgeplace") == WHOLE
    assert row(each, DAY[0]) == DAY
    assert row(each, NIGHT[0]) == NIGHT
    assert "link bandwidth edge -> cloud 82.5 %" in ran.out


def test_explain_shows_each_period_and_json_has_its_figures(edgeplace, asked):
    out = edgeplace(*asked).out
    assert row(out, DAY[0]) == DAY
    assert row(out, NIGHT[0]) == NIGHT
    # Nobody measured these costs: a person wrote them.
    assert [line.split()[-1] for line in out.splitlines() if "not known" in line] == ["stated"] * 3
    # Nothing has a choice here, and a heading without rows says nothing.
    assert "why each kind of site" not in out
    day, night = json.loads(edgeplace(*asked, "--json").out)["periods"]
    assert (day["name"], night["name"]) == ("day", "night")
    assert (day["share"], night["share"]) == pytest.approx((2 / 3, 1 / 3))
    month_s = 365.25 / 12 * 86_400
    for period, rate in ((day, 660), (night, 360)):
        found = period["evaluation"]
        assert found["wan_bytes_per_s"] == pytest.approx(10 * rate)
        assert found["cost_per_month"] == pytest.approx(10 * rate * 4e-9 * month_s)
        assert found["server_cores"] == pytest.approx(rate / 1e6)
        assert found["headroom"] == pytest.approx(8000 / (10 * rate))


def test_a_period_that_breaks_a_limit_says_so_in_its_row(edgeplace, asked):
    write(rules(factor=1.5), "rules.json")
    out = edgeplace(*asked).out
    assert row(out, DAY[0])[1::4] == ("9.6 kB/s", "no")
    assert "\nday, 66.7 % does not hold: link bandwidth edge -> cloud 9.6 kB/s of 8 kB/s" in out
    assert row(out, NIGHT[0]) == NIGHT


def test_the_report_has_a_row_for_each_period(edgeplace, files):
    assert edgeplace("solve", *files, "--report", "page.html").status == 0
    page = Page(Path("page.html").read_text())
    assert "Over the day" in [said for _, said in page.headings]
    rows = page.table("Periods of the day, each as if it were always so")
    for found, expected in zip(rows, (DAY, NIGHT), strict=True):
        name, wan, money, _, cores, _, headroom, _, holds = found
        assert (name, wan, money, cores, headroom) == expected[:-1]
        assert holds == "holds"
