"""The picture of a sweep: legible names, and marks that say what was found."""

import re
from itertools import pairwise

import pytest

from edgeplace.model import Plan
from edgeplace.solver import evaluate
from edgeplace.views.pictures.sweep_picture import as_svg
from edgeplace.views.terms import Terms
from tests.support.seeds import filter_cluster, filter_job

PIS = tuple(f"pi-{i}" for i in range(4))
PLAN = Plan(jobs={"filter": {"source": PIS, "filter": PIS, "sink": ("server",)}})
FOUND = evaluate(filter_job(50_000.0), filter_cluster(), PLAN)


def drawn(names, found=FOUND, joined=False):
    return as_svg("lost site", [(name, found) for name in names], Terms(), joined)


@pytest.mark.parametrize("n", [1, 5, 17, 40, 200])
@pytest.mark.parametrize("name", ["x{}", "region-{}", "a-site-with-a-name-that-is-very-long-{}"])
def test_names_across_do_not_cover_each_other(n, name):
    svg = drawn([name.format(i) for i in range(n)])
    begin = re.escape(name.format("")[:8])
    text = rf'<text x="([\d.]+)" y="([\d.]+)" [^>]*?(rotate[^>]*)?>({begin}[^<]*)</text>'
    names = [(float(x), turn, 6 * len(said)) for x, _, turn, said in re.findall(text, svg)]
    assert names
    assert n > 40 or len(names) == n
    for (x, turn, wide), (after, _, _) in pairwise(names):
        assert after - x >= (12 if turn else wide)
    for x, turn, wide in names:
        assert turn or wide / 2 < min(x, 640 - x)
    height = float(re.search(r'viewBox="0 0 640 ([\d.]+)"', svg)[1])
    for _, y, turn, said in re.findall(text, svg):
        assert float(y) + (6 * len(said) if turn else 0) < height - 20


def test_a_cross_is_a_plan_that_is_not_there():
    free = FOUND.model_copy(update={"headroom": float("inf")})
    steps = [("0", free), ("1", FOUND), ("2", FOUND), ("3", None), ("4", FOUND)]
    svg = as_svg("rate", steps, Terms(), True)
    assert re.findall(r'class="broken"><title>([^<]*)', svg) == ["3: no plan"] * 4
    assert "headroom unlimited" in svg
    assert svg.count("∞") == 1
    assert len(re.findall(r'class="line"', svg)) == 3 * 2 + 1, (
        "three strips from 0 to 2, one from 1"
    )
    assert 'class="line"' not in drawn(["none", "a", "b"]), "there is nothing between two sites"
