"""Models on which a release of a solver was wrong: a pin may only move if these still pass."""

import pytest

from edgeplace.solver import solve
from tests.support.seeds import filter_cluster, filter_job


@pytest.mark.parametrize("backend", ["milp", "cp-sat", "pulp:CBC", "pulp:HiGHS"])
def test_wan_alone_is_minimised(backend):
    # HiGHS 1.14.0 answers 240,000 and calls it optimal; without its presolve it finds the truth.
    result = solve(filter_job(50_000.0), filter_cluster(1e6), objective=("wan",), backend=backend)
    assert result.levels[0].value == pytest.approx(4 * 600 * 70)
    assert result.levels[0].bound == pytest.approx(4 * 600 * 70)
