"""The picture of the front shows every number, however close the points."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edgeplace.model import Limit, Plan
from edgeplace.solver import Point, Policy, evaluate
from edgeplace.views.pictures.pareto_picture import as_svg, as_text
from edgeplace.views.pictures.svg import Axis
from edgeplace.views.terms import Terms
from tests.support.seeds import filter_cluster, filter_job

PIS = tuple(f"pi-{i}" for i in range(4))
PLAN = Plan(jobs={"filter": {"source": PIS, "filter": PIS, "sink": ("server",)}})
FAR = [(100.0, 900.0, 2.0), (1000.0, 100.0, 1.0)]
SHARED = [(100.0, 900.0, 2.0), (101.0, 899.0, 1.9), (102.0, 898.0, 1.8), (1000.0, 100.0, 1.0)]
RISING = [(100.0 + 10.0 * i, 900.0 - 70.0 * i, 1.0) for i in range(12)]


def front(figures):
    base = evaluate(filter_job(50_000.0), filter_cluster(), PLAN)
    return [
        Point(
            plan=PLAN,
            evaluation=base.model_copy(
                update={"wan_cost": wan, "latency_ms": late, "server_cores": cores}
            ),
            asked="least WAN",
            proved=True,
        )
        for wan, late, cores in figures
    ]


@pytest.mark.parametrize("figures", [FAR, SHARED, RISING, FAR[:1]])
def test_every_point_has_its_number_on_a_terminal(figures):
    drawn = "\n".join(
        line.partition("|")[2] for line in as_text(front(figures), Terms()).splitlines()
    )
    assert sorted(map(int, re.findall(r"\d+", drawn))) == list(range(1, len(figures) + 1))


def test_points_of_one_cell_are_listed_there():
    first = as_text(front(SHARED), Terms()).splitlines()[0]
    assert first.partition("|")[2] == "1,2,3"


def test_neighbours_in_a_row_do_not_read_as_one_number():
    close = [(0.0, 1.0, 1.0), (1.0, 1.0, 1.0), (2.0, 1.0, 1.0), (60.0, 1.0, 1.0)]
    row = next(
        line
        for line in as_text(front(close), Terms()).splitlines()
        if "1" in line.partition("|")[2]
    )
    assert row.partition("|")[2].split() == ["1,2,3", "4"]


def labels(svg):
    """Return the numbers beside points, with the place of each text."""
    text = r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)" class="bold">([\d, ]+)</text>'
    found = re.findall(text, svg)
    return [(float(x), float(y), anchor, text) for x, y, anchor, text in found]


@pytest.mark.parametrize("figures", [FAR, SHARED, RISING, FAR[:1]])
def test_no_circle_covers_a_number_in_the_file(figures):
    svg = as_svg(front(figures), Terms())
    numbers = [int(n) for *_, text in labels(svg) for n in text.split(", ")]
    assert sorted(numbers) == list(range(1, len(figures) + 1))
    first_number = min(svg.index(f">{text}</text>") for *_, text in labels(svg))
    assert svg.rindex("<circle") < first_number
    for cx, cy in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', svg):
        for x, y, _, _ in labels(svg):
            assert abs(float(cx) - x) > 6 or abs(float(cy) - (y - 4)) > 6


def others(figures):
    """Return placements by name: WAN, worst path, and whether they hold."""
    base = front(FAR)[0].evaluation
    broken = Limit(kind="slots", where="pi-0", used=2.0, capacity=1.0, unit="slots")
    return [
        Policy(
            name,
            PLAN,
            base.model_copy(
                update={
                    "wan_cost": wan,
                    "latency_ms": late,
                    "violations": () if holds else (broken,),
                }
            ),
        )
        for name, wan, late, holds in figures
    ]


def test_other_placements_are_named_beside_the_front():
    told = [
        ("current", 500.0, 500.0, True),
        ("all-server", 900.0, 200.0, False),
        ("threshold", 4000.0, 200.0, True),
        ("flink-spread", 500.0, -1.0, True),
    ]
    svg = as_svg(front(FAR), Terms(), others(told), chosen=0)
    marks = dict(re.findall(r'class="(other|broken)"><title>([\w-]+):', svg))
    assert marks == {"other": "current", "broken": "all-server"}
    texts = re.findall(r">([^<>]+)</text>", svg)
    far = "not drawn (no route, or far beyond): threshold, flink-spread"
    assert {"current", "all-server", far} <= set(texts)
    (ring,) = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="[\d.]+" class="ring"', svg)
    assert ring in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="[\d.]+" class="ours"', svg)


@given(
    st.lists(st.floats(0, 1e12), min_size=1, max_size=5)
    # Values apart by a few digits of the last place, or a few billionths.
    | st.builds(
        lambda v, grown, unit: [v, v * (1 + grown * unit)],
        st.floats(0, 1e12),
        st.integers(0, 9),
        st.sampled_from([2.0**-52, 1e-12, 1e-9]),
    ),
    st.sampled_from([4, 6]),
)
@example([996.8280229914784, 996.8280229914785], 6)
@example([0.0, 5e-324], 6)
def test_an_axis_begins_and_ends_with_a_round_tick(values, most):
    axis = Axis.over(values, most)
    # A millionth of a picture is nothing; float noise of large values is less.
    assert all(-1e-6 <= axis.share(v) <= 1 + 1e-6 for v in values)
    assert axis.share(axis.ticks[0]) == 0
    assert axis.share(axis.ticks[-1]) == 1
    assert 2 <= len(axis.ticks) <= 8
