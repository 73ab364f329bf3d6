"""A region is lost, and what hangs on it has no way to the cloud."""

import pytest

from edgeplace.model import Case, Status
from edgeplace.solver import solve
from tests.support.depots import depots_cluster, parcels


@pytest.mark.slow
def test_the_cure_is_links_and_no_slot_that_nobody_needs():
    lost = Case((parcels(10),), depots_cluster(10)).without_site("region-north")
    found = solve(lost.jobs, lost.cluster)
    assert found.status is Status.INFEASIBLE
    assert found.conflict.confirmed
    assert found.conflict.nearest
    assert found.conflict.minimal
    assert {v.kind for v in found.conflict.shortfalls} == {"route"}
    assert {c.kind for c in found.conflict.changes} == {"route"}
    assert found.conflict.cure.count("a link that joins depot-0") == 2
