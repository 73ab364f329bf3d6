"""The map of the sites: marks that can be told apart."""

import re
from itertools import combinations
from math import dist

from hypothesis import example, given, settings
from hypothesis import strategies as st

from edgeplace.instances.instance import Instance
from edgeplace.model import Plan, RateUnit
from edgeplace.report.site_map import map_section
from edgeplace.solver import evaluate
from tests.support.seeds import filter_cluster, filter_job

PIS = tuple(f"pi-{i}" for i in range(4))
PLAN = Plan(jobs={"filter": {"source": PIS, "filter": PIS, "sink": ("server",)}})
JOB, CLUSTER = filter_job(50_000.0), filter_cluster()
FOUND = evaluate(JOB, CLUSTER, PLAN)
HUNDREDTHS = st.tuples(st.integers(0, 30), st.integers(0, 30))


@settings(max_examples=30)
@given(st.tuples(HUNDREDTHS, HUNDREDTHS, HUNDREDTHS, HUNDREDTHS))
@example(((7, 19), (17, 25), (9, 17), (8, 2)))
def test_marks_are_apart_and_stand_for_every_site(places):
    """Hundredths of a degree are pixels here, since the cloud is 552 of them to the east."""
    at = [*((lat / 100, lon / 100) for lat, lon in places), (0.0, 5.52)]
    sites = [
        s.model_copy(update={"lat": lat, "lon": lon})
        for s, (lat, lon) in zip(CLUSTER.sites, at, strict=True)
    ]
    cluster = CLUSTER.model_copy(update={"sites": tuple(sites)})
    (section,) = map_section(Instance(name="map", jobs=(JOB,), cluster=cluster), PLAN, FOUND)
    wide, narrow = section.body.split("</figure>")[:2]
    # On a phone, marks are nearer, and more sites share one.
    for picture in (wide, narrow):
        said = re.findall(r"<circle[^>]*><title>([^:]*): ", picture)
        assert sorted(name for names in said for name in names.split(", ")) == sorted(PIS)
        marks = re.findall(r'<circle[^>]* cx="([\d.]+)" cy="([\d.]+)"', picture)
        at = [(float(x), float(y)) for x, y in marks]
        assert all(dist(a, b) > 10.9 for a, b in combinations(at, 2))
    marks = re.findall(r'<circle[^>]* cx="([\d.]+)" cy="([\d.]+)"', wide)
    marks = [(float(x), float(y)) for x, y in marks]
    assert 1 <= len(marks) <= len(PIS)
    assert all(dist(a, b) > 10.9 for a, b in combinations(marks, 2))
    bits = cluster.model_copy(update={"rates_in": RateUnit.BITS})
    (section,) = map_section(Instance(name="map", jobs=(JOB,), cluster=bits), PLAN, FOUND)
    assert "bit/s" in section.body
    assert "B/s" not in section.body
