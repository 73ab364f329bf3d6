"""Texts that several parts write alike."""

from edgeplace.model.text import first_few


def test_all_are_shown_where_they_are_few() -> None:
    assert first_few([], 2) == ""
    assert first_few(["a", "b"], 2) == "a, b"


def test_the_rest_is_counted() -> None:
    assert first_few(["a", "b", "c"], 2) == "a, b and 1 more"
    assert first_few(["a"] * 1_003, 2, "; ", before_rest="; and ") == "a; a; and 1,001 more"
