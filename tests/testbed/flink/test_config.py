from pathlib import Path

import pytest
import yaml

REASON = "the testbed is not in the wheel, and not beside these tests"
flink_config = pytest.importorskip("testbed.flink.config", reason=REASON)
errors = pytest.importorskip("testbed.errors", reason=REASON)

OPENS = "--add-opens=java.base/java.lang=ALL-UNNAMED"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    conf = tmp_path / "home" / "conf"
    conf.mkdir(parents=True)
    (conf / "log4j-console.properties").write_text("rootLogger.level = INFO\n")
    return conf.parent


def test_flink_reads_the_options_that_were_given() -> None:
    options = {
        "taskmanager.numberOfTaskSlots": "4",
        "env.java.opts.all": '--add-opens=java.base/java.lang=ALL-UNNAMED -Dq="a: b" # no',
        "io.tmp.dirs": "/tmp/naïve folder\\",
        "empty": "",
    }

    text = flink_config.config_yaml(options)

    assert yaml.safe_load(text) == options
    assert text.splitlines() == sorted(text.splitlines())


def test_a_release_with_a_config_yaml_gets_one(home: Path, tmp_path: Path) -> None:
    nested = f"env:\n  java:\n    opts:\n      all: {OPENS}\n"
    (home / "conf" / "config.yaml").write_text(nested)

    flink_config.write_config(tmp_path / "conf", home, {"env.java.opts.all": "-Xint", "a": "1"})

    written = {path.name for path in (tmp_path / "conf").iterdir()}
    assert written == {"config.yaml", "log4j-console.properties"}
    assert yaml.safe_load((tmp_path / "conf" / "config.yaml").read_text()) == {
        "a": "1",
        "env.java.opts.all": f"{OPENS} -Xint",
    }


def test_flink_1_18_gets_its_older_file(home: Path, tmp_path: Path) -> None:
    (home / "conf" / "flink-conf.yaml").write_text(f"# old\nenv.java.opts.all: {OPENS}\n")

    flink_config.write_config(tmp_path / "conf", home, {"web.tmpdir": "/tmp/x y"})

    assert (tmp_path / "conf" / "flink-conf.yaml").read_text() == (
        f"env.java.opts.all: {OPENS}\nweb.tmpdir: /tmp/x y\n"
    )


@pytest.mark.parametrize("value", ["a # b", "key: value", "two\nlines", " indented"])
def test_what_the_older_file_cannot_hold_is_refused(value: str) -> None:
    with pytest.raises(errors.TestbedError, match=r"cannot hold web\.tmpdir"):
        flink_config.legacy_config({"web.tmpdir": value})


def test_a_home_without_module_options_is_refused(home: Path, tmp_path: Path) -> None:
    (home / "conf" / "config.yaml").write_text("env.java.opts.all: -Xint\n")

    with pytest.raises(errors.TestbedError, match=r"no env\.java\.opts\.all"):
        flink_config.write_config(tmp_path / "conf", home, {})
