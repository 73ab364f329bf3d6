"""Installing the agent's jar into Flink homes of every shape."""

import errno
import os
from pathlib import Path

import pytest
import yaml

from edgeplace.adapters.flink.install.install import install, uninstall
from edgeplace.model import InvalidInputError, MissingExtraError

KEY = "env.java.opts.jobmanager"
STOCK = """\
# Java 17 needs these.
env:
  java:
    opts:
      all: --add-opens=java.base/java.lang=ALL-UNNAMED
jobmanager:
  rpc:
    address: localhost
"""


@pytest.fixture
def jar(tmp_path) -> Path:
    path = tmp_path / "built.jar"
    path.write_bytes(b"PK the agent")
    return path


@pytest.fixture
def make_home(tmp_path):
    """Return a function that makes a Flink home with these configuration files."""

    def make(release: str = "2.3.0", **conf: str) -> Path:
        home = tmp_path / "flink"
        for folder in ("bin", "conf", "lib", "opt"):
            (home / folder).mkdir(parents=True)
        (home / "lib" / f"flink-dist-{release}.jar").touch()
        for name, text in (conf or {"config": STOCK}).items():
            file = {"config": "config.yaml", "legacy": "flink-conf.yaml"}[name]
            (home / "conf" / file).write_text(text)
        return home

    return make


def test_the_jar_is_copied_for_flink_to_read(make_home, jar):
    home = make_home()
    done = install(home, jar=jar)
    assert (done.action, done.flink, done.warnings) == ("copied", "2.3.0", ())
    assert done.jar == home / "opt" / "edgeplace-flink-agent.jar"
    assert done.jar.read_bytes() == jar.read_bytes()
    assert done.jar.stat().st_mode & 0o777 == 0o644
    assert done.line.text == f"{KEY}: -javaagent:{done.jar}"
    assert not done.line.in_place
    assert os.listdir(home / "opt") == [done.jar.name]


def test_configuration_is_never_touched(make_home, jar):
    home = make_home()
    install(home, jar=jar)
    assert (home / "conf" / "config.yaml").read_text() == STOCK
    assert os.listdir(home / "conf") == ["config.yaml"]


def test_installing_again_does_nothing(make_home, jar):
    home = make_home()
    first = install(home, jar=jar).jar.stat()
    again = install(home, jar=jar)
    assert again.action == "unchanged"
    assert again.jar.stat().st_ino == first.st_ino


def test_another_jar_is_replaced(make_home, jar):
    home = make_home()
    install(home, jar=jar)
    jar.write_bytes(b"PK a newer agent")
    done = install(home, jar=jar)
    assert done.action == "replaced"
    assert done.jar.read_bytes() == b"PK a newer agent"


def test_options_of_the_agent_follow_the_jar(make_home, jar, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = install(make_home(), jar=jar, plans="plans", lost="fallback")
    assert done.line.text.endswith(f"agent.jar=plans={tmp_path}/plans,lost=fallback")


def test_a_line_in_place_is_recognised(make_home, jar):
    home = make_home()
    line = install(home, jar=jar).line.text
    (home / "conf" / "config.yaml").write_text(f"{STOCK}{line}\n")
    assert install(home, jar=jar).line.in_place
    assert not install(home, jar=jar, lost="fallback").line.in_place


@pytest.mark.parametrize(
    "conf",
    [
        f"{STOCK}{KEY}: -Xmx1g -Da=b\n",
        "env:\n  java:\n    opts:\n      jobmanager: -Xmx1g -Da=b\n",
        "env.java.opts:\n  jobmanager: '-Xmx1g -Da=b'\n",
    ],
    ids=["flat", "nested", "mixed"],
)
def test_options_that_are_there_are_kept(make_home, jar, conf):
    done = install(make_home(config=conf), jar=jar)
    assert done.line.replaces == "-Xmx1g -Da=b"
    assert yaml.safe_load(done.line.text) == {KEY: f"-Xmx1g -Da=b -javaagent:{done.jar}"}


def test_options_that_yaml_would_misread_are_quoted(make_home, jar):
    done = install(make_home(config=f'{KEY}: "-Da=\\"b # c: d\\""\n'), jar=jar)
    assert yaml.safe_load(done.line.text) == {KEY: f'-Da="b # c: d" -javaagent:{done.jar}'}


def test_an_agent_with_other_options_is_replaced_in_the_line(make_home, jar):
    old = "-javaagent:/old/edgeplace-flink-agent.jar=lost=fallback"
    done = install(make_home(config=f"{KEY}: -Xmx1g {old} -Da=b\n"), jar=jar)
    assert done.line.text == f"{KEY}: -Xmx1g -javaagent:{done.jar} -Da=b"
    assert not done.line.in_place


def test_another_agent_is_kept(make_home, jar):
    done = install(make_home(config=f"{KEY}: -javaagent:/opt/jmx.jar=9999\n"), jar=jar)
    assert done.line.text == f"{KEY}: -javaagent:/opt/jmx.jar=9999 -javaagent:{done.jar}"


@pytest.mark.parametrize(
    ("release", "conf", "file"),
    [
        ("1.18.1", ("legacy",), "flink-conf.yaml"),
        ("1.20.3", ("legacy",), "flink-conf.yaml"),
        ("1.20.3", ("legacy", "config"), "flink-conf.yaml"),
        ("1.20.3", ("config",), "config.yaml"),
        ("2.0.1", ("legacy", "config"), "config.yaml"),
    ],
)
def test_the_file_that_the_release_reads_is_named(make_home, jar, release, conf, file):
    home = make_home(release, **dict.fromkeys(conf, "a: b\n"))
    assert install(home, jar=jar).line.file == home / "conf" / file


def test_the_older_file_is_read_as_flink_reads_it(make_home, jar):
    conf = f'# {KEY}: -no\n{KEY}: -first\n{KEY}: "-Xmx1g -Da=b"  # why\nrest.port: 8081\n'
    done = install(make_home("1.18.1", legacy=conf), jar=jar)
    assert done.line.replaces == "-Xmx1g -Da=b"
    assert done.line.text == f"{KEY}: -Xmx1g -Da=b -javaagent:{done.jar}"


@pytest.mark.parametrize("conf", ["", "# nothing but comments\n", "env:\n"])
def test_an_empty_configuration_is_no_error(make_home, jar, conf):
    done = install(make_home(config=conf), jar=jar)
    assert (done.line.replaces, done.warnings) == (None, ())


def test_a_configuration_that_is_missing_is_named(make_home, jar):
    done = install(make_home("1.18.1", config=STOCK), jar=jar)
    assert "flink-conf.yaml is not there" in done.warnings[0]


@pytest.mark.parametrize(
    ("conf", "what"),
    [
        (f"env:\n  java:\n    opts:\n      jobmanager: a\n{KEY}: b\n", "is given twice"),
        ("a: [b\n", "not valid YAML"),
        ("- a\n", "expected keys and values"),
    ],
)
def test_a_configuration_that_cannot_be_understood_is_refused(make_home, jar, conf, what):
    home = make_home(config=conf)
    with pytest.raises(InvalidInputError, match=what):
        install(home, jar=jar)
    assert os.listdir(home / "opt") == []


@pytest.mark.parametrize("key", ["env.java.opts.all", "env.java.opts"])
def test_an_agent_for_every_process_is_warned_of(make_home, jar, key):
    conf = f"{key}: -javaagent:/opt/flink/opt/edgeplace-flink-agent.jar\n"
    (warning,) = install(make_home(config=conf), jar=jar).warnings
    assert f"has the agent in {key}: TaskManagers and clients load it too" in warning


@pytest.mark.parametrize("release", ["1.17.2", "1.9.0"])
def test_an_older_flink_is_refused(make_home, jar, release):
    home = make_home(release)
    with pytest.raises(InvalidInputError, match=r"the agent knows 1\.18 to 2\.3"):
        install(home, jar=jar)
    assert os.listdir(home / "opt") == []


@pytest.mark.parametrize("release", ["1.18.1-csa1.10", "1.20-SNAPSHOT", "2.3.0"])
def test_tested_releases_bring_no_warning(make_home, jar, release):
    home = make_home(release, config="a: b\n", legacy="a: b\n")
    assert install(home, jar=jar).warnings == ()


@pytest.mark.parametrize("release", ["2.4.0", "3.0.0"])
def test_a_newer_flink_is_warned_of(make_home, jar, release):
    (warning,) = install(make_home(release), jar=jar).warnings
    assert f"Flink {release} is not among the releases" in warning


@pytest.mark.parametrize("missing", ["bin", "conf", "opt/../lib"])
def test_a_folder_that_is_no_flink_home_is_refused(make_home, jar, missing):
    home = make_home()
    (home / missing).rename(home / "elsewhere")
    name = Path(missing).name
    with pytest.raises(InvalidInputError, match=f"is not a Flink home: it has no {name}/"):
        install(home, jar=jar)


def test_a_home_without_or_with_two_dist_jars_is_refused(make_home, jar):
    home = make_home()
    (home / "lib" / "flink-dist-1.20.3.jar").touch()
    with pytest.raises(InvalidInputError, match="has 2 Flinks"):
        install(home, jar=jar)
    for each in (home / "lib").iterdir():
        each.unlink()
    with pytest.raises(InvalidInputError, match=r"has no lib/flink-dist\*\.jar"):
        install(home, jar=jar)


def test_a_home_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="no such folder"):
        install(tmp_path / "none")


@pytest.mark.parametrize("name", ["my flink", "flink,2", "flink=2", "flink$HOME", "flink#2"])
def test_paths_that_flink_or_the_agent_would_split_are_refused(make_home, jar, name):
    home = make_home()
    odd = home.rename(home.parent / name)
    with pytest.raises(InvalidInputError, match=r"the Flink home, .* in its path"):
        install(odd, jar=jar)
    plain = odd.rename(home)
    with pytest.raises(InvalidInputError, match=r"the folder of plans, .* in its path"):
        install(plain, jar=jar, plans=f"/var/{name}")
    assert os.listdir(plain / "opt") == []


def test_a_home_that_is_mounted_read_only(make_home, jar, monkeypatch):
    def read_only(*args: object, **named: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("tempfile.mkstemp", read_only)
    with pytest.raises(InvalidInputError, match="Read-only file system") as e:
        install(make_home(), jar=jar)
    assert e.value.cure == "mount it for writing"


def test_a_full_disk_leaves_the_former_jar(make_home, jar, monkeypatch):
    home = make_home()
    install(home, jar=jar)
    former = jar.read_bytes()
    jar.write_bytes(b"PK a newer agent")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidInputError, match=r"No space left.*the former jar is untouched") as e:
        install(home, jar=jar)
    assert e.value.cure == "free 16 bytes there"
    assert (home / "opt" / "edgeplace-flink-agent.jar").read_bytes() == former
    assert len(os.listdir(home / "opt")) == 1


def test_no_permission_is_said(make_home, jar, monkeypatch):
    home = make_home()

    def forbidden(*args: object, **more: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    # Root may write anywhere, so the refusal is made up.
    monkeypatch.setattr("tempfile.mkstemp", forbidden)
    with pytest.raises(InvalidInputError, match=r"cannot be written: Permission denied\n") as e:
        install(home, jar=jar)
    assert e.value.cure == f"run as owner of {home / 'opt'}"


def test_a_package_without_the_jar_says_so(make_home, monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path)
    with pytest.raises(MissingExtraError, match="this edgeplace holds no edgeplace-flink-agent"):
        install(make_home())


def test_undo_removes_the_jar_and_says_when_there_is_none(make_home, jar):
    home = make_home()
    install(home, jar=jar)
    assert uninstall(home).action == "removed"
    assert os.listdir(home / "opt") == []
    assert uninstall(home).action == "absent"


@pytest.mark.parametrize("key", [KEY, "env.java.opts.all"])
def test_undo_keeps_a_jar_that_the_configuration_names(make_home, jar, key):
    home = make_home()
    done = install(home, jar=jar, lost="fallback")
    option = done.line.text.partition(": ")[2]
    (home / "conf" / "config.yaml").write_text(f"{key}: -Xmx1g {option}\n")
    with pytest.raises(InvalidInputError, match="nothing was removed") as e:
        uninstall(home)
    assert "restart the JobManager, then run this again" in e.value.cure
    assert done.jar.exists()
