"""`edgeplace control rehearse` where it can run, and where it cannot."""

import pytest

from edgeplace.cli.exit_status import ExitStatus
from edgeplace.commands.control import rehearse

SCHEDULE = "events: [{at_s: 20, do: rate, factor: 3}, {at_s: 60, do: cut, site: hall, for_s: 9}]\n"


@pytest.fixture
def schedule(tmp_path):
    path = tmp_path / "schedule.yaml"
    path.write_text(SCHEDULE)
    return path


def test_a_check_says_what_would_happen(edgeplace, schedule, monkeypatch):
    monkeypatch.setattr(rehearse, "_lacking", lambda: iter(()))
    ran = edgeplace("control", "rehearse", schedule, "--check")
    assert ran.status is ExitStatus.OK
    assert "    20 s  rate x3\n" in ran.out
    assert "    60 s  site hall cut off for 9 s\n" in ran.out


def test_what_this_machine_lacks_is_said_with_its_cure(edgeplace, schedule, monkeypatch):
    monkeypatch.setattr(rehearse.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(rehearse.shutil, "which", lambda tool: None)
    monkeypatch.setattr(rehearse, "_testbed", lambda: None)
    ran = edgeplace("control", "rehearse", schedule)
    assert ran.status is ExitStatus.MISSING_EXTRA
    for text in ("no testbed here", "root is needed", "no javac found; install a JDK", "iproute2"):
        assert text in ran.err


def test_a_wrong_schedule_is_said_before_anything_else(edgeplace, schedule):
    schedule.write_text("events: [{at_s: 20, do: burn}]\n")
    ran = edgeplace("control", "rehearse", schedule)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "burn" in ran.err
