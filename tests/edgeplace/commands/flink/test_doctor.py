"""`edgeplace flink doctor`, as a user sees it."""

import json
import re
import socket

import pytest

from edgeplace.adapters.flink.doctor.examine import Finding, Seen, Severity
from edgeplace.cli.exit_status import ExitStatus

URL = "http://127.0.0.1:8081"
PROBLEM = Finding(Severity.PROBLEM, "agent", "the agent is not there", "install it")
WARNING = Finding(Severity.WARNING, "slots and cores", "pi-1 has 8 slots on 4 cores", "lower them")
FINE = Finding(Severity.OK, "release", "Flink 2.3.0 is tested with the agent")


@pytest.fixture
def doctor(edgeplace, monkeypatch):
    """Run the command on findings that are made up."""

    def run(findings: tuple[Finding, ...], *more: object, seen=None, run=edgeplace):
        at = Seen(release="2.3.0", now_s=0.0, **(seen or {}))
        monkeypatch.setattr("edgeplace.commands.flink.doctor.look", lambda *args: at)
        monkeypatch.setattr(
            "edgeplace.commands.flink.doctor.examine", lambda seen, **more: findings
        )
        return run("flink", "doctor", "--jobmanager", URL, *more)

    return run


def plain(text: str) -> str:
    """Take the colours away."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_a_problem_exits_9(doctor):
    ran = doctor((PROBLEM, WARNING, FINE))
    assert ran.status is ExitStatus.HINDERED == 9
    assert ran.err == ""
    assert ran.out.splitlines() == [
        f"Flink 2.3.0 at {URL}: 0 TaskManagers, 0 jobs",
        "problem  agent: the agent is not there",
        "         cure: install it",
        "warning  slots and cores: pi-1 has 8 slots on 4 cores",
        "         cure: lower them",
        "ok       release: Flink 2.3.0 is tested with the agent",
        "1 problem, 1 warning: plans are not obeyed in full until problems are cured",
    ]


@pytest.mark.parametrize(
    ("found", "seen", "status", "last"),
    [
        ((FINE,), {}, ExitStatus.OK, "nothing hinders placement"),
        ((WARNING, WARNING), {}, ExitStatus.OK, "0 problems, 2 warnings: read them first"),
        (
            (PROBLEM,),
            {"agent_loaded": False},
            ExitStatus.HINDERED,
            "1 problem, 0 warnings: no plan is obeyed until the agent is there",
        ),
    ],
)
def test_the_last_line_says_what_it_comes_to(doctor, found, seen, status, last):
    ran = doctor(found, seen=seen)
    assert ran.status is status
    assert ran.out.splitlines()[-1] == last


def test_long_findings_wrap_at_the_width_of_a_terminal(doctor, on_terminal):
    path = "/opt/flink/conf/edgeplace/" + "a" * 40
    long = Finding(Severity.WARNING, "plans", f"{path}\x1b[2J {'many words ' * 8}", "name\nit")
    shown = plain(doctor((long,), run=on_terminal).out).splitlines()
    assert max(map(len, shown)) <= 100
    assert shown[1].startswith(f"warning  plans: {path}\\x1b[2J many words")
    assert shown[2].startswith("           many words")
    assert shown[3] == "         cure: name\\nit"


def test_json_has_every_finding(doctor):
    ran = doctor((PROBLEM, FINE), "--json")
    assert ran.status is ExitStatus.HINDERED
    assert json.loads(ran.out) == {
        "jobmanager": URL,
        "flink": "2.3.0",
        "hindered": True,
        "findings": [
            {
                "severity": "problem",
                "check": "agent",
                "what": "the agent is not there",
                "cure": "install it",
            },
            {
                "severity": "ok",
                "check": "release",
                "what": "Flink 2.3.0 is tested with the agent",
                "cure": "",
            },
        ],
    }


def test_no_jobmanager_exits_8(edgeplace):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ran = edgeplace("flink", "doctor", "--jobmanager", f"http://127.0.0.1:{port}")
    assert ran.status is ExitStatus.UNREACHABLE == 8
    assert ran.out == ""
    assert f"edgeplace flink doctor: http://127.0.0.1:{port}/" in ran.err
    assert "\n  cure: " in ran.err


def test_a_cluster_file_that_is_missing_exits_2_before_flink_is_asked(edgeplace, tmp_path):
    ran = edgeplace("flink", "doctor", "--jobmanager", URL, "--cluster", tmp_path / "none.yaml")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert ran.err.startswith(f"edgeplace flink doctor: {tmp_path / 'none.yaml'}: no such file")
