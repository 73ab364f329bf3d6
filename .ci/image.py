"""Carry out the Dockerfile without Docker: `python image.py`, as root.

Each stage begins with a copy of this machine's root (an overlay of which nothing is kept) in place
of its base image. Every command of the file runs there as it is written.
"""

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CASE = ROOT / ".ci" / "smoke"
INSIDE = "--inside"
SYSTEM = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}


def main() -> None:
    """Enter mounts of our own, which end with the process; or say why not."""
    if INSIDE in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            _run("mount", "-t", "tmpfs", "tmpfs", folder)
            try:
                _carry_out(Path(folder))
            finally:
                _run("umount", "--recursive", "--lazy", folder)
    elif os.geteuid():
        print("skipped: the Dockerfile, which takes root to carry out")
    else:
        print(_run("unshare", "--mount", sys.executable, __file__, INSIDE), end="")


def _carry_out(folder: Path) -> None:
    stages: dict[str, _Stage] = {}
    for instruction, text in _instructions():
        if instruction == "FROM":
            name = text.partition(" AS ")[2] or "final"
            stage = stages[name] = _Stage(folder / name)
        elif instruction == "COPY":
            *options, source, target = text.split()
            if options:
                origin = stages[options[0].removeprefix("--from=")].root / source.lstrip("/")
                shutil.copytree(origin, stage.root / target.lstrip("/"), symlinks=True)
            else:
                _copy_context(stage.root / target.lstrip("/"))
        else:
            stage.do(instruction, text)
    last = stages["final"]
    assert "usage: edgeplace" in last.start()
    for file in CASE.iterdir():
        shutil.copy(file, last.root / last.folder.lstrip("/"))
    assert "optimal" in last.start("solve", "job.yaml", "cluster.yaml", "--json")
    print("the Dockerfile: its commands ran, and edgeplace solves in it as user", last.user)


def _instructions() -> list[tuple[str, str]]:
    lines = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    return [tuple(line.split(" ", 1)) for line in lines if line and not line.startswith("#")]  # type: ignore[misc]


class _Stage:
    """One stage: a root, and what instructions set for the later ones."""

    def __init__(self, folder: Path) -> None:
        self.root, self.user, self.folder = folder / "root", "0", "/"
        self._environment = dict(SYSTEM)
        self._entry: dict[str, list[str]] = {}
        for name in ("root", "upper", "work"):
            (folder / name).mkdir(parents=True)
        parts = f"lowerdir=/,upperdir={folder / 'upper'},workdir={folder / 'work'}"
        _run("mount", "-t", "overlay", "overlay", "-o", parts, str(self.root))
        for name in ("dev", "proc", "etc/resolv.conf"):
            _run("mount", "--rbind", f"/{name}", str(self.root / name))

    def do(self, instruction: str, text: str) -> None:
        """Carry out an instruction that concerns this stage alone."""
        if instruction == "RUN":
            self._call("/bin/sh", "-c", text)
        elif instruction in ("ARG", "ENV"):
            name, _, value = text.partition("=")
            old = self._environment
            self._environment[name] = re.sub(r"\$(\w+)", lambda hit: old[hit[1]], value)
        elif instruction == "USER":
            self.user = text
        elif instruction == "WORKDIR":
            self.folder = text
            (self.root / text.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif instruction in ("ENTRYPOINT", "CMD"):
            self._entry[instruction] = json.loads(text)
        else:
            sys.exit(f"Dockerfile: {instruction} is not known here")

    def start(self, *words: str) -> str:
        """Start what a container starts, and return what it says."""
        return self._call(*self._entry["ENTRYPOINT"], *(words or self._entry["CMD"]))

    def _call(self, *command: str) -> str:
        user = ("chroot", f"--userspec={self.user}:{self.user}", str(self.root))
        place = ("/usr/bin/env", "-i", f"--chdir={self.folder}")
        settings = [f"{name}={value}" for name, value in self._environment.items()]
        return _run(*user, *place, *settings, *command)


def _copy_context(target: Path) -> None:
    """Copy what Docker would send: the files of the repository without those of .dockerignore."""
    ignored = (ROOT / ".dockerignore").read_text().split()
    listed = _run("git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard")
    for name in listed.splitlines():
        tops = (name, name.split("/")[0])
        if not any(fnmatch.fnmatch(top, pattern) for pattern in ignored for top in tops):
            copied = target / name
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copied, follow_symlinks=False)


def _run(*command: str) -> str:
    ran = subprocess.run(command, text=True, capture_output=True)
    if ran.returncode:
        sys.exit(f"{' '.join(command)}\nended with {ran.returncode}: {ran.stdout}{ran.stderr}")
    return ran.stdout


if __name__ == "__main__":
    main()
