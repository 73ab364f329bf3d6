import hashlib
import json
import os
import time

import pytest

from edgeplace.adapters.flink.errors import AgentMissingError, PlanNotWrittenError
from edgeplace.adapters.flink.plans.folder import PlansFolder, key, key_of, sha256
from edgeplace.adapters.flink.plans.location import agent_option, find_plans_folder
from edgeplace.model import InvalidInputError

ID = "a" * 32


@pytest.mark.parametrize(
    ("name", "encoded"),
    [
        ("wordcount", "wordcount"),
        ("A-z_0.9", "A-z_0.9"),
        (".hidden.job", "%2Ehidden.job"),
        ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd"),
        ("a b/c%d~é", "a%20b%2Fc%25d%7E%C3%A9"),
        ("", ""),
        ("x" * 150, "x" * 150),
        ("x" * 151, "x" * 100 + "~" + hashlib.sha256(b"x" * 151).hexdigest()[:16]),
        # Cut as it comes out, even within the three characters of one byte.
        (
            "é" * 30,
            ("%C3%A9" * 30)[:100] + "~" + hashlib.sha256("é".encode() * 30).hexdigest()[:16],
        ),
    ],
)
def test_names_as_names_of_files(name, encoded):
    assert key(name) == encoded


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({ID: "etl"}, "etl"),
        ({ID: "etl", "b" * 32: "etl"}, ID),
        ({ID: "b" * 32}, ID),
        ({ID: "etl.until-1999999999"}, ID),
    ],
)
def test_the_id_stands_where_the_name_could_mean_something_else(names, expected):
    assert key_of(ID, names) == expected


@pytest.fixture
def folder(tmp_path):
    return PlansFolder(tmp_path)


def test_a_plan_is_written_for_all_to_read(folder):
    path = folder.write("etl", "a (1/1); b\n")
    assert path.name == "etl.schedulercfg"
    assert folder.read(path) == "a (1/1); b\n"
    assert path.stat().st_mode & 0o777 == 0o644
    assert folder.write("etl", "x", 99).name == "etl.until-99.schedulercfg"
    assert [u.expires_s for u in folder.until_plans()] == [99]
    assert folder.read(folder.plan_path("gone")) is None


def test_bytes_that_are_no_text_come_back_as_they_were(folder):
    path = folder.plan_path("etl")
    path.write_bytes(b"\xff\xfe")
    text = folder.read(path)
    assert sha256(text) == hashlib.sha256(b"\xff\xfe").hexdigest()
    folder.put(folder.stage(text), path)
    assert path.read_bytes() == b"\xff\xfe"


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_what_stood_there_stands_there_if_writing_fails(folder, monkeypatch, call):
    path = folder.write("etl", "former")

    def full(*args):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        with pytest.raises(PlanNotWrittenError, match="No space left on device"):
            folder.write("etl", "new")
    assert [p.name for p in folder.path.iterdir()] == ["etl.schedulercfg"]
    assert folder.read(path) == "former"


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InvalidInputError) as missing:
        PlansFolder(tmp_path / "gone")
    assert "--plans DIR" in missing.value.cure


def test_one_at_a_time(folder):
    second = PlansFolder(folder.path).locked()
    with folder.locked(), pytest.raises(PlanNotWrittenError, match="another edgeplace command"):
        second.__enter__()
    with folder.locked():
        pass


def test_a_lock_that_another_user_made_is_used(folder, monkeypatch):
    with folder.locked():
        pass
    opened = os.open

    def as_another(path, flags, *more, **named):
        if str(path).endswith(".lock") and flags & os.O_RDWR:
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", as_another)
    with folder.locked(), pytest.raises(PlanNotWrittenError, match="another edgeplace command"):
        PlansFolder(folder.path).locked().__enter__()


def agent(**changes):
    return {
        "edgeplace_agent": 1,
        "version": "0.2.0",
        "flink": "2.3.0",
        "pid": 1,
        "lost": "strict",
        "fallback_after_s": 30,
        "plans": "/p",
        "started_ms": 1,
        "now_ms": int(time.time() * 1000),
        "resource_manager": True,
        "task_managers": [{"id": "pi-1", "host": "h", "slots": 4}],
        **changes,
    }


def test_what_the_agent_says_of_itself(folder):
    assert folder.agent() is None
    (folder.path / "agent.json").write_text(json.dumps(agent(later_field=1)))
    found = folder.agent()
    assert found.task_managers[0].id == "pi-1"
    assert found.alive(time.time())
    assert found.alive(time.time() + 29)
    assert not found.alive(time.time() + 31)
    # By a clock that is ahead it would live on for ever.
    assert not found.alive(time.time() - 31)
    assert "ahead of this machine's clock" in found.silent_for(time.time() - 31)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (json.dumps(agent(edgeplace_agent=2)), "writes version 2, this release reads version 1"),
        (json.dumps(agent(pid="x")), "pid: "),
        ("{", "Invalid JSON"),
        ("[]", "not written by the agent"),
    ],
    ids=["another version", "a word for a number", "cut", "no object"],
)
def test_files_that_no_agent_of_ours_has_written(folder, text, said):
    (folder.path / "agent.json").write_text(text)
    with pytest.raises(InvalidInputError) as wrong:
        folder.agent()
    assert said in wrong.value.what


def test_what_became_of_a_plan(folder):
    assert folder.status(ID) is None
    status = {"edgeplace_status": 1, "job_id": ID, "job_name": "etl", "state": "rejected"}
    (folder.path / f"{ID}.status.json").write_text(json.dumps({**status, "reasons": ["no"]}))
    assert folder.status(ID).reasons == ("no",)
    (folder.path / f"{ID}.status.json").write_text(json.dumps({**status, "edgeplace_status": 3}))
    with pytest.raises(InvalidInputError, match="version 3"):
        folder.status(ID)


class Environment:
    """Stands for a Flink that tells its JVM's options."""

    url = "http://flink"

    def __init__(self, *options):
        self._options = ["-Xmx1g", *options]

    def environment(self):
        return {"jvm": {"options": self._options}}


AGENT = "-javaagent:/opt/edgeplace-flink-agent.jar"


def test_the_folder_is_where_the_agents_option_says(tmp_path):
    live = Environment(f"{AGENT}=plans={tmp_path},lost=fallback")
    assert find_plans_folder(live).path == tmp_path
    assert agent_option(live.environment()).settings["lost"] == "fallback"


def test_or_beside_the_configuration(tmp_path):
    (tmp_path / "co nf" / "edgeplace").mkdir(parents=True)
    log4j = (tmp_path / "co nf" / "log4j.properties").as_uri()
    live = Environment(AGENT, f"-Dlog4j.configurationFile={log4j}")
    assert find_plans_folder(live).path == tmp_path / "co nf" / "edgeplace"


def test_or_where_the_user_says(tmp_path):
    assert find_plans_folder(Environment(), tmp_path).path == tmp_path


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ([], AgentMissingError, "runs without edgeplace's agent"),
        (["-javaagent:/opt/jmx_exporter.jar=8080"], AgentMissingError, "runs without"),
        ([AGENT], InvalidInputError, "cannot be told from here"),
        ([f"{AGENT}=plans=relative"], InvalidInputError, "cannot be told from here"),
        ([f"{AGENT}=plans=/no/such/folder"], InvalidInputError, "no such folder of plans on this"),
    ],
)
def test_or_it_is_said_why_not(options, kind, said):
    with pytest.raises(kind) as missing:
        find_plans_folder(Environment(*options))
    assert said in missing.value.what
