"""The speed of this machine's cores is clocked while it is asked for."""

import os
import time
from pathlib import Path

import pytest

from testbed import errors
from testbed.core_speed import CoreSpeed, clocked_cores

ALL_CORES = len(os.sched_getaffinity(0))


def clocked(folder: Path) -> dict[Path, list[str]]:
    return {file: file.read_text().splitlines() for file in sorted(folder.glob("*.clocked"))}


def wait_for_lines(folder: Path) -> None:
    deadline = time.monotonic() + 60
    while any(len(lines) < 3 for lines in clocked(folder).values()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_each_core_is_clocked_until_the_end(tmp_path):
    begin_s = time.time()
    with clocked_cores(tmp_path) as speed:
        wait_for_lines(tmp_path)
        end_s = time.time()
        assert len(clocked(tmp_path)) == ALL_CORES
        assert speed.between(begin_s, end_s) > 0
    ended = clocked(tmp_path)
    time.sleep(0.3)
    assert clocked(tmp_path) == ended


def test_the_speed_is_that_of_the_time_and_the_mean_of_the_cores(tmp_path):
    files = [tmp_path / "core-0.clocked", tmp_path / "core-1.clocked"]
    for number, file in enumerate(files):
        file.write_text(f"10.0 {8 + number}\n11.0 {12 + number}\n12.0 99\n")
    with files[0].open() as first, files[1].open() as second:
        speed = CoreSpeed([first, second])

        assert speed.between(10.0, 12.0) == pytest.approx(10.5)
        with pytest.raises(
            errors.TestbedError, match=r"core-0.*no speed was clocked between 20\.0 and 21\.0"
        ):
            speed.between(20.0, 21.0)

        # What is clocked later counts, and so does what was read before.
        for file in files:
            with file.open("a") as clock:
                clock.write("20.0 40\n")
        assert speed.between(20.0, 21.0) == pytest.approx(40)
        assert speed.between(10.0, 10.5) == pytest.approx(8.5)


def test_a_line_counts_once_it_is_whole(tmp_path):
    file = tmp_path / "core-0.clocked"
    file.write_text("10.0 8\n11.0 1")
    with file.open() as written:
        speed = CoreSpeed([written])
        assert speed.between(10.0, 12.0) == pytest.approx(8)

        # Python without buffers (PYTHONUNBUFFERED) writes the end of a line by itself.
        for part, mean in [("2", 8), ("\n", 10), ("12.5", 10), (" 16", 10), ("\n", 12)]:
            with file.open("a") as clock:
                clock.write(part)
            assert speed.between(10.0, 13.0) == pytest.approx(mean)
