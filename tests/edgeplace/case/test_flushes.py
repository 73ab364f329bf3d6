"""`--flushes` of `edgeplace costs`."""

import pytest

from edgeplace.case.flushes import flushes
from edgeplace.model import InvalidInputError
from edgeplace.model.laws.flush import Gathering


def test_a_time_and_what_else_makes_it_flush():
    said = flushes(
        ["a=b, c=500 ms", "combine=1s,records=20000,keys=10", "x=2,checkpoint=10s"], "-f"
    )

    assert said == {
        "a=b, c": Gathering(interval_s=0.5),
        "combine": Gathering(interval_s=1, records=20_000, keys_per_record=10),
        "x": Gathering(interval_s=2, checkpoint_s=10),
    }


@pytest.mark.parametrize(
    "text",
    ["combine", "=1s", "c=", "c=0s", "c=1s,records=-1", "c=1x", "c=1s,rec=3", "c=nan", "c=1s,"],
)
def test_anything_else_is_refused_with_what_to_write(text):
    with pytest.raises(InvalidInputError, match="is not understood") as e:
        flushes([text], "--flushes")
    assert "OPERATOR=TIME" in e.value.cure


def test_a_second_time_for_an_operator_is_refused():
    with pytest.raises(InvalidInputError, match="--flushes is given twice for 'combine'"):
        flushes(["combine=1s", "other=1s", "combine=2s,records=5"], "--flushes")
