"""Install edgeplace by its name and use it, as its users do: `python install_by_name.py UV DIST`.

DIST has one wheel and one sdist. An index on the loopback serves them; what they need comes from
the registry that uv uses, in the versions of uv.lock. Each environment begins empty.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CI = Path(__file__).parent
ENVIRONMENTS = {"": (), "[solve]": ("solve",), "[spark]": ("spark",), "[all]": ("solve", "spark")}
"""What is asked for -> the extras that it has to bring."""
NO_WHEELS = ("pyspark",)
"""Published as sources only, in Python and jars."""
FILES_NEVER_CHANGE = """\
[[index]]
url = "https://pypi.org/simple"
default = true
cache-control = { files = "max-age=31536000, immutable" }
"""
"""Settings of uv. A mirror of the registry may leave out the header that says so; uv would then
load and build PySpark (1.4 GB unpacked) anew for each environment, and keep every copy."""


def main() -> None:
    """Install from the wheel with each extra, from the sdist, and resolve for a Raspberry Pi."""
    uv, dist = str(Path(sys.argv[1]).absolute()), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder, _index(dist, Path(folder)) as url:
        settings = Path(folder) / "uv.toml"
        settings.write_text(FILES_NEVER_CHANGE)
        os.environ["UV_CONFIG_FILE"] = str(settings)
        locked = Path(folder) / "locked.txt"
        export = ("--all-extras", "--no-dev", "--no-emit-project", "--no-hashes", "-o", str(locked))
        _run(uv, "export", "--quiet", "--frozen", *export)
        asked = ("--quiet", "--index", url, "--constraints", str(locked), "--refresh-package")
        install = (uv, "pip", "install", *asked, "edgeplace")
        for name, extras in ENVIRONMENTS.items():
            python = _environment(uv, Path(folder) / f"wheel{name}")
            _run(*install, "--only-binary", "edgeplace", "-p", python, f"edgeplace{name}")
            _run(python, "-I", str(CI / "wheel_smoke.py"), *extras)
        python = _environment(uv, Path(folder) / "sdist")
        _run(*install, "--no-binary", "edgeplace", "-p", python, "edgeplace")
        _compare(Path(folder) / "wheel", Path(folder) / "sdist")
        names = [
            line.partition("==")[0] for line in locked.read_text().splitlines() if "==" in line
        ]
        _install_by_pip(Path(folder), url, locked)
        _install_by_pipx(uv, Path(folder), url, locked)
        _use_as_tool(uv, Path(folder), *asked, "edgeplace")
        _resolve_for_arm(uv, names, *asked, "edgeplace")


@contextmanager
def _index(dist: Path, folder: Path) -> Iterator[str]:
    """Serve the files of a folder as an index of PEP 503; yield its URL."""
    page = folder / "simple" / "edgeplace"
    page.mkdir(parents=True)
    links = []
    for file in (*dist.glob("*.whl"), *dist.glob("*.tar.gz")):
        (page / file.name).write_bytes(file.read_bytes())
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        links.append(f'<a href="{file.name}#sha256={digest}">{file.name}</a>')
    assert len(links) == 2, f"{dist} has to hold one wheel and one sdist"
    (page / "index.html").write_text(f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple"
    finally:
        server.shutdown()


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing of a request."""


def _environment(uv: str, folder: Path) -> str:
    _run(uv, "venv", "--quiet", str(folder))
    return str(folder / "bin" / "python")


def _install_by_pip(folder: Path, url: str, locked: Path) -> None:
    """Carry out `pip install edgeplace` of docs/install.md, with the index added."""
    _run(sys.executable, "-m", "venv", str(folder / "pip"))
    in_pip = folder / "pip" / "bin"
    quietly = ("--quiet", "--disable-pip-version-check", "--constraint", str(locked))
    _run(str(in_pip / "pip"), "install", *quietly, "--extra-index-url", url, "edgeplace")
    _run(str(in_pip / "edgeplace"), "--version")


def _install_by_pipx(uv: str, folder: Path, url: str, locked: Path) -> None:
    """Carry out `pipx install` of docs/install.md, without extras, and find the man pages."""
    home = folder / "pipx"
    places = {"PIPX_HOME": home, "PIPX_BIN_DIR": home / "bin", "PIPX_MAN_DIR": home / "man"}
    asked = f"--extra-index-url={url} --constraint={locked}"
    subprocess.run(
        (uv, "tool", "run", "pipx", "install", "--quiet", f"--pip-args={asked}", "edgeplace"),
        env=os.environ | {name: str(place) for name, place in places.items()},
        check=True,
    )
    _run(str(home / "bin" / "edgeplace"), "--version")
    assert (home / "man" / "man1" / "edgeplace.1").is_file()


def _use_as_tool(uv: str, folder: Path, *asked: str) -> None:
    """Carry out `uvx` and `uv tool install` of docs/install.md, from an empty folder to a plan."""
    case = folder / "case"
    case.mkdir()
    tools = {"UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    uvx = (uv, "tool", "run", *asked, "--from", "edgeplace[solve]", "edgeplace", "--quiet")
    for words in (("init", "--paid", "yes"), ("solve", "-o", "plan.json")):
        subprocess.run([*uvx, *words], cwd=case, env=os.environ | tools, check=True)
    assert (case / "plan.json").is_file()
    command = (uv, "tool", "install", *asked, "edgeplace[all]")
    subprocess.run(command, env=os.environ | tools, check=True)
    _run(str(folder / "bin" / "edgeplace"), "--version")


def _compare(one: Path, other: Path) -> None:
    """Refuse a difference between what two environments have of edgeplace."""
    contents = []
    for environment in (one, other):
        (package,) = environment.glob("lib/*/site-packages/edgeplace")
        files = (p for p in package.rglob("*") if p.is_file() and p.suffix != ".pyc")
        contents.append({str(p.relative_to(package)): p.read_bytes() for p in files})
    strays = sorted(
        n for n in contents[0] | contents[1] if contents[0].get(n) != contents[1].get(n)
    )
    assert not strays, f"the sdist gives another edgeplace than the wheel: {strays}"
    print(f"the sdist gives the same {len(contents[0])} files as the wheel", flush=True)


def _resolve_for_arm(uv: str, names: Iterable[str], *asked: str) -> None:
    """Check that a 64-bit Raspberry Pi OS (Debian 12) needs no compiler."""
    pi = ["--python-platform", "aarch64-manylinux_2_28"]
    for name in names:
        if name not in NO_WHEELS:
            pi += ["--only-binary", name]
    command = [uv, "pip", "compile", *asked, *pi, "-"]
    subprocess.run(
        command, input="edgeplace[all]", text=True, check=True, stdout=subprocess.DEVNULL
    )
    print("arm64: a wheel of everything for Debian 12 on a Raspberry Pi", flush=True)


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
