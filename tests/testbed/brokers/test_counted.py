"""What is said of readings that are lost, doubled or nobody's."""

from pathlib import Path

import pytest

counted = pytest.importorskip(
    "testbed.brokers.counted", reason="the testbed is not in the wheel, and not beside these tests"
)
RIGHT = ["pi-1-0 2 1 1 0", "pi-1-0 1 2 2 1"]


@pytest.mark.parametrize(
    ("lines", "problems"),
    [
        (RIGHT, []),
        (RIGHT[:1], ["pi-1-0: count, sum and last number are (2, 1, 1) instead of (3, 3, 2)"]),
        # A number instead of another: the count is right.
        (
            ["pi-1-0 2 2 2 0", "pi-1-0 1 2 2 0"],
            ["pi-1-0: count, sum and last number are (3, 4, 2) instead of (3, 3, 2)"],
        ),
        (
            [*RIGHT, *RIGHT],
            ["pi-1-0: count, sum and last number are (6, 6, 2) instead of (3, 3, 2)"],
        ),
        ([*RIGHT, "pi-7-0 1 0 0 0"], ["pi-7-0: nobody has sent this"]),
        ([], ["pi-1-0: count, sum and last number are (0, 0, -1) instead of (3, 3, 2)"]),
    ],
)
def test_lost_doubled_and_unknown_readings_are_named(
    tmp_path: Path, lines: list[str], problems: list[str]
) -> None:
    for i, line in enumerate(lines):
        (tmp_path / f"part-{i}").write_text(line + "\n")
    # Not committed: the name of the file begins with a dot.
    (tmp_path / ".part-9.inprogress").write_text("pi-1-0 100 1 1 1\n")

    found = counted.committed(tmp_path)

    assert counted.wrong_readings(found, ["pi-1-0"], records=3) == problems
    assert sum(each.again for each in found.values()) == sum(int(x.split()[4]) for x in lines)
