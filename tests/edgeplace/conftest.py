"""Runs commands in this process, on small instances and a Flink of memory."""

from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main
from edgeplace.model import Cluster, JobGraph, write
from tests.support.fake_flink import FakeFlink
from tests.support.flink_case import write_plan
from tests.support.seeds import filter_cluster, filter_job

OVERRIDES = ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")


@dataclass
class Ran:
    """What a command left behind."""

    status: ExitStatus
    out: str
    err: str


class Terminal(StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """Take away what tells rich to treat every file as a terminal."""
    for name in OVERRIDES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    """Take away what stands for options."""
    for name in ("ENV", "FLINK_PASSWORD", "FLINK_TOKEN", "FLINK_USER", "JOBMANAGER"):
        monkeypatch.delenv(f"EDGEPLACE_{name}", raising=False)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    """A Flink of memory has its answers at once, and may be asked often."""
    monkeypatch.setattr("edgeplace.adapters.flink.apply.apply._ASK_S", 0.02)
    monkeypatch.setattr("edgeplace.adapters.flink.apply.apply._LOOK_S", 0.02)


@pytest.fixture
def edgeplace(capsys):
    """Run a command line and return its exit status and output."""

    def run(*argv: object) -> Ran:
        out, err = StringIO(), StringIO()
        status = main([str(a) for a in argv], Console(out, err))
        # argparse writes to the process's own files.
        usage = capsys.readouterr()
        return Ran(status, out.getvalue() + usage.out, err.getvalue() + usage.err)

    return run


@pytest.fixture
def terminal(monkeypatch):
    """A terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm-256color")
    return Terminal()


@pytest.fixture
def on_terminal(monkeypatch):
    """Run a command line as on a terminal of a width."""

    def run(*argv: object, columns: int = 100) -> Ran:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "xterm-256color")
        out, err = Terminal(), Terminal()
        return Ran(main([str(a) for a in argv], Console(out, err)), out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def job(tmp_path) -> Path:
    """Four sources at four Pis, a filter that keeps 70 %, a sink."""
    write(filter_job(pi_rate_per_s=50_000.0), tmp_path / "job.json")
    return tmp_path / "job.json"


@pytest.fixture
def cluster(tmp_path) -> Path:
    """Links that carry the filter's output, but not its input."""
    write(filter_cluster(), tmp_path / "cluster.yaml")
    return tmp_path / "cluster.yaml"


@pytest.fixture
def narrow(tmp_path) -> Path:
    """Links that carry 800 of the 42,000 bytes/s that the filter leaves."""
    write(filter_cluster(bandwidth_bytes_per_s=1000.0), tmp_path / "narrow.yaml")
    return tmp_path / "narrow.yaml"


@pytest.fixture
def wide(tmp_path) -> Path:
    """Links that carry whatever a plan sends."""
    write(filter_cluster(bandwidth_bytes_per_s=1e7), tmp_path / "wide.yaml")
    return tmp_path / "wide.yaml"


@pytest.fixture
def filter_model() -> tuple[JobGraph, Cluster]:
    return filter_job(pi_rate_per_s=50_000.0), filter_cluster()


@pytest.fixture
def plans(tmp_path) -> Path:
    (tmp_path / "plans").mkdir()
    return tmp_path / "plans"


@pytest.fixture
def flink(plans):
    with FakeFlink(plans) as running:
        yield running


@pytest.fixture
def plan(tmp_path) -> Path:
    return write_plan(tmp_path / "plan.json")


@pytest.fixture
def apply(edgeplace, flink, plan):
    """Apply the plan to the running Flink."""

    def run(*more, of=plan):
        return edgeplace("flink", "apply", of, "--jobmanager", flink.url, "--timeout", 3, *more)

    return run
