"""Cordon files: the agent and the commands read the same, and take no file that is none."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgeplace.adapters.flink.plans.cordons import cordons, cordons_of
from edgeplace.adapters.flink.plans.folder import PlansFolder

pytestmark = pytest.mark.slow

Probe = Callable[..., Any]
FAR_S = 99_999_999_999


@pytest.fixture
def closes(probe: Probe, tmp_path: Path) -> Callable[[str], bool]:
    """Whether a TaskManager is closed, by the agent and by the commands."""

    def asked(name: str) -> bool:
        said: bool = probe("cordons", str(tmp_path).encode(), name.encode())["closed"]
        own = cordons_of({name}, cordons(PlansFolder(tmp_path), time.time()))
        assert bool(own) is said
        return said

    return asked


@pytest.fixture
def files(probe: Probe, tmp_path: Path) -> Callable[[], Any]:
    return lambda: probe("cordons", str(tmp_path).encode(), b"x")["files"]


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("pi-1\n", True),
        ("pi-1", True),
        ("10.0.0.1\npi-1\n\n", True),
        (f"# until: {FAR_S}\npi-1\n", True),
        ("# until: 1\npi-1\n", False),
        ("pi-11\n", False),
        ("PI-1\n", False),
        ("é\n", False),
        ("", False),
        ("\n", False),
        ("# until: 1\n", False),
        (f"# until: {FAR_S}\n", False),
        ("# until: soon\npi-1\n", False),
        ("# until: -1\npi-1\n", False),
        ("# note: 1\npi-1\n", False),
        (f"pi-1\n# until: {FAR_S}\n", False),
        ("pi-1\n\npi-2\n", False),
        (" pi-1\n", False),
        ("pi-1\r\n", False),
        ("pi-1\x00", False),
        ("\ufeffpi-1\n", False),
    ],
)
def test_what_a_cordon_closes(
    closes: Callable[[str], bool], tmp_path: Path, text: str, closed: bool
) -> None:
    (tmp_path / "x.cordon").write_text(text)
    assert closes("pi-1") is closed


def test_no_bytes_that_are_no_text(
    closes: Callable[[str], bool], files: Callable[[], Any], tmp_path: Path
) -> None:
    (tmp_path / "x.cordon").write_bytes(b"pi-1\n\xff")
    assert not closes("pi-1")
    assert files()[0]["problem"] == "the file is not UTF-8: save it as UTF-8"


@pytest.mark.parametrize("kind", ["link", "folder", "large", "text"])
def test_the_former_stays_where_a_file_is_of_no_use(
    probe: Probe, files: Callable[[], Any], tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "x.cordon"
    path.write_text(f"# until: {FAR_S}\npi-1\n")
    assert files() == [{"file": "x.cordon", "until_s": FAR_S, "problem": None}]
    path.unlink()
    if kind == "link":
        (tmp_path / "other").write_text("pi-2\n")
        path.symlink_to("other")
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_text("pi-2\n" * 20_000 if kind == "large" else "pi-2 \n")
    said = probe("cordons", str(tmp_path).encode(), b"pi-1")
    assert said["closed"]
    (file,) = said["files"]
    assert (file["file"], file["until_s"]) == ("x.cordon", FAR_S)
    assert {
        "link": "the cordon file is a symbolic link",
        "folder": "the cordon file is a directory",
        "large": "the cordon file has 100000 bytes or more, and a cordon has 65536 at most",
        "text": "line 1: write a resource id or a host, and nothing else",
    }[kind] in file["problem"]
    assert not probe("cordons", str(tmp_path).encode(), b"pi-2")["closed"]


def test_a_cordon_that_is_removed_is_lifted(
    closes: Callable[[str], bool], files: Callable[[], Any], tmp_path: Path
) -> None:
    (tmp_path / "x.cordon").write_text("pi-1\n")
    (tmp_path / ".y.cordon").write_text("pi-2\n")
    assert closes("pi-1")
    assert not closes("pi-2")
    (tmp_path / "x.cordon").unlink()
    assert not closes("pi-1")
    assert files() == []
