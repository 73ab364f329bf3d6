"""The report's sentence on how far the sources can grow."""

import pytest

from edgeplace.report.answer import headroom
from edgeplace.solver import evaluate
from tests.support.credit_loop import APART, cluster, job


@pytest.mark.parametrize(
    ("per_s", "said", "queues"),
    [
        (500.0, "All sources can grow to", False),
        # Window and server let 1,000 records/s through, and together less.
        (950.0, "All sources can grow to", True),
        (2000.0, "Sources will be held back", False),
    ],
)
def test_what_a_plan_sustains_is_said(per_s: float, said: str, queues: bool) -> None:
    text = str(headroom(evaluate(job(1e-6, 10.0, per_s), cluster(10), APART)))
    assert said in text
    assert ("wait for busy processors" in text) is queues
