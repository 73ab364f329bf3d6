"""Which state a move reads back, and where."""

import pytest

from edgeplace.adapters.flink.apply.price import state_read

SIZES = {"map": {0: 10, 1: 20, 2: 60}, "sink": {0: 1, 1: 2}}
BEFORE = {"map": ("a", "b", "c"), "sink": ("a", "b")}


@pytest.mark.parametrize(
    ("after", "keeps_state", "read"),
    [
        (BEFORE, True, {}),
        (BEFORE, False, {"a": 11, "b": 22, "c": 60}),
        ({**BEFORE, "map": ("a", "c", "c")}, True, {"c": 20}),
        ({**BEFORE, "map": ("a", "c", "c")}, False, {"a": 11, "b": 2, "c": 80}),
        # All state of `map` is dealt anew; that of `sink` stays.
        ({**BEFORE, "map": ("a", "b")}, True, {"a": 45, "b": 45}),
    ],
)
def test_a_subtask_that_stays_reads_nothing_if_its_state_is_there(after, keeps_state, read):
    assert state_read(BEFORE, after, SIZES, keeps_state=keeps_state) == read


def test_what_no_checkpoint_tells_is_unknown():
    sizes = {**SIZES, "map": {0: 10, 2: 60}}
    assert state_read(BEFORE, BEFORE, sizes, keeps_state=True) is None
