"""The archive for workers whose Python lacks pyarrow, and where it is refused."""

import os
import subprocess
import tarfile
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from edgeplace.model import InvalidInputError
from edgeplace.model.errors import MissingExtraError

pytest.importorskip("pyspark", reason="PySpark is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")

UNPACKED = """
import runpy, gzip, pyarrow, sys
found = runpy.run_path(sys.argv[1])
columns = {"file": ["a"], "modified_ms": [7], "content": [gzip.compress(b"one\\ntwo")[:-9]]}
[lines] = found["line_batches"]([pyarrow.RecordBatch.from_pydict(columns)])
print(pyarrow.__file__, lines.to_pydict()["value"], sys.path[-1])
"""


@pytest.mark.slow
def test_the_python_that_is_there_unpacks_a_damaged_file(tmp_path):
    from edgeplace.spark_stats import unpacking, worker_packages
    from tests.support.spark_cluster import plain_python

    plain = tmp_path / "bin" / plain_python(tmp_path)
    uri = worker_packages.packed(tmp_path)
    name = uri.partition("#")[2]
    with tarfile.open(tmp_path / f"{name}.tar.gz") as archive:
        archive.extractall(tmp_path / name, filter="data")
    path = f"{plain.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [worker_packages.PYTHON, "-c", UNPACKED, str(Path(unpacking.__file__))],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "PYTHONPATH": "/of the worker"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{tmp_path}/{name}/packages/pyarrow/__init__.py ['one', 'tw")
    assert subprocess.run([plain, "-c", "import pyarrow"], capture_output=True).returncode == 1
    assert not (tmp_path / name / "packages/pyarrow/include").exists()


def test_without_pyarrow_it_cannot_be_brought_along(tmp_path, monkeypatch):
    from edgeplace.spark_stats import worker_packages

    for spec in (None, ModuleSpec("pyarrow", None)):
        monkeypatch.setattr(worker_packages, "find_spec", lambda name, spec=spec: spec)
        with pytest.raises(MissingExtraError, match="not installed here"):
            worker_packages.packed(tmp_path)
    package = tmp_path / "pyarrow"
    package.mkdir()
    spec = ModuleSpec("pyarrow", None, origin=str(package / "__init__.py"))
    monkeypatch.setattr(worker_packages, "find_spec", lambda name: spec)
    with pytest.raises(MissingExtraError, match="are elsewhere"):
        worker_packages.packed(tmp_path)


@pytest.mark.parametrize("master", [None, "local[*]"])
def test_this_machine_needs_none(master):
    from edgeplace.spark_stats import open_session

    with pytest.raises(InvalidInputError, match="Spark runs on this one"):
        open_session(master, package_python=True)


@pytest.mark.parametrize("name", ["spark.pyspark.python", "spark.sql.execution.pyspark.python"])
def test_one_python_for_the_workers(name):
    from edgeplace.spark_stats import open_session

    with pytest.raises(InvalidInputError, match="both name the Python"):
        open_session("spark://127.0.0.1:7077", settings={name: "python3"}, package_python=True)
