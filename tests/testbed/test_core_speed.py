"""The speed of this machine's cores is clocked while it is asked for."""

import os
import time
from pathlib import Path

import pytest

from testbed import errors
from testbed.core_speed import CoreSpeed

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
    with CoreSpeed(tmp_path) as speed:
        wait_for_lines(tmp_path)
        end_s = time.time()
        assert len(clocked(tmp_path)) == ALL_CORES
        assert speed.between(begin_s, end_s) > 0
    ended = clocked(tmp_path)
    time.sleep(0.3)
    assert clocked(tmp_path) == ended


def test_the_speed_is_that_of_the_time_and_the_mean_of_the_cores(tmp_path):
    with CoreSpeed(tmp_path) as speed:
        wait_for_lines(tmp_path)
    for number, file in enumerate(clocked(tmp_path)):
        file.write_text(f"10.0 {8 + number}\n11.0 {12 + number}\n12.0 99\n")

    assert speed.between(10.0, 12.0) == pytest.approx(10 + (ALL_CORES - 1) / 2)
    with pytest.raises(
        errors.TestbedError, match=r"core-.*no speed was clocked between 20\.0 and 21\.0"
    ):
        speed.between(20.0, 21.0)
