"""Where a model says too little even with subtasks told apart, the search ends and says so."""

from unittest.mock import patch

import pytest

from edgeplace import SearchParameters, solve
from edgeplace.model import Status, StoppedBy
from edgeplace.solver.search import level
from tests.support.groups import heavy_job, two_sites


@pytest.mark.parametrize("name", ["wan", "server_cores"])
def test_a_level_of_which_models_say_too_little_ends_as_rounding(name):
    minimise = level.minimise
    stated = []

    def too_little(state, form, backend, of, *beyond):
        if of.name != name:
            return minimise(state, form, backend, of, *beyond)
        stated.append(form)
        return level.Restate.SUBTASKS_APART

    job, cluster = heavy_job(0.6, 3), two_sites()
    with patch("edgeplace.solver.search.level.minimise", too_little):
        result = solve(
            job,
            cluster,
            objective=("wan", "server_cores"),
            search=SearchParameters(by_site=False),
        )
    assert result.status is Status.FEASIBLE
    assert result.stopped_by is StoppedBy.ROUNDING
    assert result.evaluation.feasible
    # Groups, then each TaskManager and subtask; later levels have one model.
    assert len(stated) == (2 if name == "wan" else 1)
