"""How long records wait for a buffer to be sent, and what of that adds up along a path."""

import numpy as np
import pytest

from edgeplace.solver.problem.buffering import exchanges_ms, held_ms


@pytest.mark.parametrize(
    ("bytes_per_s", "records_per_s", "held"),
    [
        (1_000.0, 10.0, 100.0),  # the timer
        (3_276_800.0, 30_000.0, 10.0),  # a buffer is full
        (1_920_000.0, 24.0, 1000 / 24),  # 80 kB each: the end of one waits for the next
        (0.0, 0.0, 100.0),
    ],
)
def test_a_buffer_goes_when_it_is_full_or_the_timer_ticks(bytes_per_s, records_per_s, held):
    flow, records = np.array([bytes_per_s]), np.array([records_per_s])
    assert held_ms(np.array([100.0]), flow, records, 32_768) == pytest.approx([held])


@pytest.mark.parametrize(
    ("held", "whole"),
    [
        ((100, 100, 100), 200),
        ((20, 100, 100), 160),  # the second timer is the first that spreads them
        ((100, 20, 100), 160),
        ((20, 40, 10), 55),
        ((0, 0, 0), 0),
    ],
)
def test_of_a_path_the_longest_counts_whole_and_the_others_half(held, whole):
    waits = np.array(held, float)
    of_each, once = exchanges_ms(waits, np.arange(3), np.arange(1, 4), np.ones(3, bool))
    assert of_each.sum() == pytest.approx(whole)
    assert not once.any()


def test_where_paths_differ_in_what_was_before_the_longest_is_chosen_by_the_path():
    """100 and 20 meet before 50: that is the longest of one of them only."""
    held = np.array([100.0, 20.0, 50.0])
    source, target = np.array([0, 1, 2]), np.array([2, 2, 3])
    each, once = exchanges_ms(held, source, target, np.ones(3, bool))
    assert each == pytest.approx(held / 2)
    assert once == pytest.approx(held / 2)


def test_idle_channels_hold_nothing_back():
    held = np.array([100.0, 20.0, 50.0])
    source, target = np.array([0, 1, 2]), np.array([2, 2, 3])
    idle, once = exchanges_ms(held, source, target, np.array([False, True, True]))
    assert idle == pytest.approx([100, 20, 40])
    assert not once.any()
