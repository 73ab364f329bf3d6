"""Use an installed edgeplace: `python -I wheel_smoke.py [EXTRA...]`, in an environment of its own.

The environment has these extras and no others. What needs another one says so; nothing else may.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Set
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from pkgutil import walk_packages

ROOT = Path(__file__).parents[1]
CASE = tuple(str(ROOT / ".ci" / "smoke" / name) for name in ("job.yaml", "cluster.yaml"))
MOST_MB = {frozenset[str](): 40, frozenset(("solve", "spark")): 950}
"""Extras -> how large all that is installed may be."""
DECIDES = (("solve", *CASE), ("explain", *CASE, "plan.json"), ("balance", *CASE), ("bench", *CASE))


def main() -> None:
    """Import every module, run the commands, and look for the agent."""
    extras = frozenset(sys.argv[1:])
    import edgeplace

    assert Path(edgeplace.__file__).is_relative_to(sys.prefix), edgeplace.__file__
    n_modules = _import_all(edgeplace.__path__, extras)
    assert run("--version") == f"edgeplace {version('edgeplace')}\n"
    assert (files("edgeplace.adapters.flink") / "agent/edgeplace-flink-agent.jar").is_file()
    with tempfile.TemporaryDirectory() as folder:
        _begin(Path(folder))
        _use_flink(Path(folder))
        if "solve" in extras:
            for backend in ("milp", "cp-sat", "pulp:CBC"):
                _solve(Path(folder), backend)
        else:
            for words in DECIDES:
                assert "cure: pip install 'edgeplace[solve]'" in run(*words, status=6)
        if extras:
            _measure(Path(folder))
        else:
            assert "cure: pip install 'edgeplace[" in run("costs", "a.jsonl", status=6)
        if "spark" not in extras:
            told = run("costs", "a.jsonl", "--master", "local[2]", status=6)
            assert "cure: pip install 'edgeplace[spark]'" in told
    size = _megabytes()
    print(f"edgeplace{sorted(extras)}: {n_modules} modules, {size:.0f} MB, and the commands work")
    most = MOST_MB.get(extras)
    if most and size > most:
        sys.exit(f"edgeplace{sorted(extras)} is larger than {most} MB")


def _import_all(path: list[str], extras: Set[str]) -> int:
    """Import every module but those that need another extra."""
    of_extras = _modules_of_extras()
    names = [
        module.name
        # A package that needs another extra cannot be walked through.
        for module in walk_packages(path, "edgeplace.", onerror=lambda _: None)
        if not module.name.endswith("__main__")
    ]
    from edgeplace.model import MissingExtraError

    for name in names:
        try:
            import_module(name)
        except MissingExtraError as e:
            assert not any(f"[{extra}]" in e.cure for extra in extras), (name, str(e))
        except ModuleNotFoundError as e:
            missing = of_extras.get((e.name or "").partition(".")[0])
            assert missing is not None and missing not in extras, (name, str(e))
    return len(names)


def _modules_of_extras() -> dict[str, str]:
    """Return module -> the extra that brings it, for modules that have their package's name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = {"py4j": "spark"}
    for extra in ("spark", "solve"):
        for requirement in project["optional-dependencies"][extra]:
            name = "".join(c for c in requirement.partition(">")[0] if c.isalnum())
            found[name] = extra
    return found


def _begin(folder: Path) -> None:
    """Write a project file, and check it."""
    for path in CASE:
        (folder / Path(path).name).write_text(Path(path).read_text())
    run("init", "--defaults", cwd=folder)
    assert "valid" in run("validate", cwd=folder)


def _use_flink(folder: Path) -> None:
    """Run the commands of `edgeplace flink` against a Flink of memory, and on a folder."""
    sys.path.append(str(ROOT))
    from tests.support.fake_flink import FakeFlink
    from tests.support.flink_case import GOAL, write_plan

    (folder / "flink" / "bin").mkdir(parents=True)
    (folder / "plans").mkdir()
    plan = write_plan(folder / "goal.json")
    with FakeFlink(folder / "plans") as flink:
        at = ("--jobmanager", flink.url)
        run("flink", "discover", *at, "-o", "seen.yaml", cwd=folder)
        run("flink", "collect", *at, "--duration", "1s", "--interval", "1", "-o", "log", cwd=folder)
        run("flink", "doctor", *at)
        run("flink", "apply", str(plan), *at)
        assert flink.jobs[0].placement == GOAL
        run("flink", "drain", "pi-3", *at, "--for", "30m")
        run("flink", "uncordon", "pi-3", *at)


def _solve(folder: Path, backend: str) -> None:
    out, cfg = folder / "plan.json", folder / "schedulercfg"
    words = (*CASE, "--backend", backend, "-o", str(out), "--schedulercfg", str(cfg), "--json")
    answer = json.loads(run("solve", *words))
    assert answer["status"] == "optimal", answer
    assert abs(answer["levels"][0]["value"] - 168_000) < 1, answer["levels"]
    assert json.loads(out.read_text())["jobs"]["filter"]["filter"] == [f"pi-{i}" for i in range(4)]
    assert cfg.read_text()


def _measure(folder: Path) -> None:
    demo = Path(str(files("edgeplace.instances") / "demo"))
    out = folder / "costs.json"
    log, cluster = str(demo / "metrics.jsonl.gz"), str(demo / "cluster.yaml")
    run("costs", log, "--cluster", cluster, "-o", str(out))
    assert json.loads(out.read_text())["operators"]


def _megabytes() -> float:
    """Return the size of what is installed, without Python's caches of modules."""
    found = (p for p in Path(sys.prefix, "lib").rglob("*") if p.is_file() and not p.is_symlink())
    return sum(p.stat().st_size for p in found if p.suffix != ".pyc") / 1e6


def run(*words: str, status: int = 0, cwd: Path = Path("/")) -> str:
    """Run the installed command and return what it says."""
    command = [str(Path(sys.executable).with_name("edgeplace")), *words]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=cwd)
    assert ran.returncode == status, (command, ran.returncode, ran.stdout, ran.stderr)
    return ran.stdout + ran.stderr


if __name__ == "__main__":
    main()
