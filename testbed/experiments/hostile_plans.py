"""Plan files that the agent must reject: 47 texts and 15 kinds of files.

Secret parts contain the word `SECRET`, which no status and no log may repeat.
"""

import gzip
import json
import os
import socket
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

SECRET = "S3CRET"  # noqa: S105 - a mark, not a password
_LARGE_BYTES = 14_000_000
_SPARSE_BYTES = 2**40


@dataclass(frozen=True)
class HostileText:
    """A plan file with text, or with bytes instead of text.

    Attributes
    ----------
    says
        Part of one of the agent's reasons for the rejection.
    by_cluster
        Whether the fault shows only beside the TaskManagers; else the file and the job suffice.
    """

    content: bytes
    says: str
    by_cluster: bool = False


@dataclass(frozen=True)
class HostileFile:
    """A file with a plan file's name that is not a plan file.

    Attributes
    ----------
    make
        Called with its path, which is free, and an empty scratch folder. Raises PermissionError if
        this user may not make it.
    says
        As for `HostileText`.
    """

    make: Callable[[Path, Path], None]
    says: str


def hostile_texts(good: Mapping[str, str], host_of_two: str) -> dict[str, HostileText]:
    """Return the texts, by their faults.

    Parameters
    ----------
    good
        A plan that fits: task, e.g. ``count (1/3)`` -> TaskManager. Its first task has three
        subtasks at least.
    host_of_two
        A host with two TaskManagers.
    """
    lines = [f"{task}; {place}" for task, place in good.items()]
    first = next(iter(good))
    name, _, index = first.rpartition(" ")
    n = index.strip("()").partition("/")[2]
    place = good[first]

    def plan(*replaced: str) -> bytes:
        """Return the good plan with other lines instead of the first."""
        return "".join(f"{line}\n" for line in [*replaced, *lines[1:]]).encode()

    def task(said: str, says: str) -> HostileText:
        return HostileText(plan(f"{said}; {place}"), says)

    def located(location: str, says: str) -> HostileText:
        return HostileText(plan(f"{first}; {location}"), says, by_cluster=True)

    whole = plan(lines[0])
    no_task, no_split = "the job has no task of this name or id", "it has no '; '"
    numbered, lacks = "subtasks are numbered 1 to n", "the task lacks its subtask"
    gone = "is not registered"
    return {
        # Not a text.
        "empty": HostileText(b"", "the file is empty"),
        "line ends only": HostileText(b"\n\n\n", "the file is empty"),
        "random bytes": HostileText(
            b"".join(sha256(bytes([i])).digest() for i in range(256)), "not UTF-8"
        ),
        "a byte that is not UTF-8": HostileText(whole + b"\xff", "not UTF-8"),
        "UTF-16": HostileText(whole.decode().encode("utf-16"), "not UTF-8"),
        "Latin-1": HostileText(whole.replace(b"; ", "é; ".encode("latin-1")), "not UTF-8"),
        "a surrogate": HostileText(whole + b"\xed\xa0\x80", "not UTF-8"),
        "an overlong slash": HostileText(whole + b"\xc0\xaf", "not UTF-8"),
        "cut within a character": HostileText(whole + "é".encode()[:1], "not UTF-8"),
        "gzip": HostileText(gzip.compress(whole, mtime=0), "not UTF-8"),
        "a byte order mark": HostileText(b"\xef\xbb\xbf" + whole, "byte order mark"),
        "CRLF": HostileText(whole.replace(b"\n", b"\r\n"), "carriage returns"),
        "CR": HostileText(whole.replace(b"\n", b"\r"), "carriage returns"),
        "zeros": HostileText(bytes(4096), no_split),
        # Another kind of text.
        "blanks": HostileText(b"   \n \t \n", "the line is blank"),
        "a plan in JSON": HostileText(json.dumps({"jobs": {"j": good}}).encode(), no_split),
        "deep JSON": HostileText(b'{"jobs":' * 3000 + b"1" + b"}" * 3000, no_split),
        "YAML aliases": HostileText(b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", no_split),
        "passwords": HostileText(f"root:${SECRET}:1::\nme:{SECRET}:2::\n".encode(), no_split),
        "a secret with a separator": HostileText(f"keytab; {SECRET}\n".encode(), lacks),
        "a secret like a line": HostileText(f"{SECRET} (1/1); {SECRET}\n".encode(), no_task),
        "one long line": HostileText(b"x" * 60_000, no_split),
        "a comment": HostileText(b"# my plan\n" + whole, "it is no setting"),
        # Faults in lines.
        "a blank line": HostileText(plan(lines[0], ""), "the line is blank"),
        "a blank at the end": HostileText(plan(lines[0] + " "), "count as part of names"),
        "no location": HostileText(plan(f"{first}; "), "no location stands behind"),
        "no blank behind the semicolon": HostileText(plan(f"{first};{place}"), no_split),
        "two separators": HostileText(plan(f"{lines[0]}; {place}"), "more than one '; '"),
        "no index": task(name, lacks),
        "subtask 0": task(f"{name} (0/{n})", numbered),
        "a subtask too many": task(f"{name} ({int(n) + 1}/{n})", numbered),
        "a leading zero": task(f"{name} (01/{n})", numbered),
        "a negative subtask": task(f"{name} (-1/{n})", lacks),
        "a subtask beyond all numbers": task(f"{name} (99999999999/99999999999)", lacks),
        "digits of another script": task(f"{name} (\u0661/{n})", lacks),
        # Plans that do not fit the job.
        "a task of another job": task(f"{SECRET} (1/3)", no_task),
        "a name with escape codes": task(f"\x1b[31m{SECRET}\x1b[0m (1/3)", no_task),
        "a name for a logger": task(f"${{jndi:ldap://127.0.0.1/{SECRET}}} (1/3)", no_task),
        "a name of 60 kB": task(f"{SECRET * 10_000} (1/3)", no_task),
        "another parallelism": task(f"{name} (1/7)", "has 7 in the lines above"),
        "a line missing": HostileText(plan(), "has no line"),
        "a line twice": HostileText(plan(lines[0], lines[0]), "has a line already"),
        "four thousand wrong lines": HostileText(b"y (1/4); tm-a\n" * 4000, "and more: the first"),
        "14 MB of wrong lines": HostileText(
            b"y (1/4); tm-a\n" * (_LARGE_BYTES // 14), "a plan of this job has"
        ),
        # Plans that do not fit the cluster.
        "a location of 60 kB": located("\x1b[31m" + "pi-99" * 12_000, gone),
        "a host with a port": located("127.0.0.11:6122", gone),
        "a host of two TaskManagers": located(host_of_two, "means 2 TaskManagers"),
    }


def hostile_files() -> dict[str, HostileFile]:
    """Return objects that are not regular files, by kind. The agent must open none of them."""
    link, directory = "the plan file is a symbolic link", "the plan file is a directory"
    other = "the plan file is a FIFO, a socket or a device"
    return {
        "a directory": HostileFile(lambda at, _: at.mkdir(), directory),
        "a directory with files": HostileFile(_full_directory, directory),
        "a FIFO": HostileFile(lambda at, _: os.mkfifo(at), other),
        "a socket": HostileFile(_socket, other),
        "a device": HostileFile(_device, other),
        "a link that leads nowhere": HostileFile(_link("gone"), link),
        "a link to itself": HostileFile(lambda at, _: at.symlink_to(at.name), link),
        "a link in a circle": HostileFile(_circle, link),
        "a link to an endless device": HostileFile(_link("/dev/zero"), link),
        "a link to a FIFO": HostileFile(_link("fifo", os.mkfifo), link),
        "a link to a directory": HostileFile(_link("folder", os.mkdir), link),
        "a link to a secret": HostileFile(_link("secret", _write_secret), link),
        "a link to a plan": HostileFile(_link("plan", _write_secret), link),
        "a secret by another name": HostileFile(_hard_link, "it has no '; '"),
        "a file of a terabyte": HostileFile(_sparse, "a plan of this job has"),
    }


def remove_hostile_file(at: Path) -> None:
    """Remove the object that a `HostileFile` has made."""
    if at.is_dir() and not at.is_symlink():
        for each in at.iterdir():
            each.unlink()
        at.rmdir()
    else:
        at.unlink()


def is_quiet(reasons: Sequence[str]) -> bool:
    """Return whether reasons repeat no secret, and are few, short and without control
    characters.
    """
    return (
        not any(SECRET in reason for reason in reasons)
        and len(reasons) <= 21
        and all(len(reason) <= 400 and min(reason) >= " " for reason in reasons)
    )


def _link(target: str, make: Callable[[Path], None] | None = None) -> Callable[[Path, Path], None]:
    def made(at: Path, scratch: Path) -> None:
        if make is not None:
            make(scratch / target)
        at.symlink_to(scratch / target)

    return made


def _write_secret(path: Path) -> None:
    path.write_text(f"root:{SECRET}:20228:0:99999:7:::\n")


def _full_directory(at: Path, scratch: Path) -> None:
    at.mkdir()
    _write_secret(at / "job.schedulercfg")


def _socket(at: Path, scratch: Path) -> None:
    # A path to a socket may have only 107 bytes.
    here = os.open(at.parent, os.O_PATH)
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(f"/proc/self/fd/{here}/{at.name}")
    finally:
        os.close(here)


def _device(at: Path, scratch: Path) -> None:
    zero = Path("/dev/zero").stat().st_rdev
    os.mknod(at, stat.S_IFCHR | 0o600, zero)


def _circle(at: Path, scratch: Path) -> None:
    at.symlink_to(scratch / "there")
    (scratch / "there").symlink_to(at)


def _hard_link(at: Path, scratch: Path) -> None:
    # The file is in the file system of the folder, with a name that no plan has.
    secret = at.with_name(".secret")
    _write_secret(secret)
    os.link(secret, at)
    secret.unlink()


def _sparse(at: Path, scratch: Path) -> None:
    with at.open("wb") as file:
        file.truncate(_SPARSE_BYTES)
