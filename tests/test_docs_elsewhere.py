"""Commands of the README and of docs/ that another test carries out, or only a person.

What `ELSEWHERE` names has to exist and to have the command. What is not carried out here is at
least read by the program that it is for, so that a wrong option is found. What no test carries out
is in `BY_HAND`, with the reason: the list is short, and a test prints it.
"""

import ast
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from edgeplace.cli.registry import parser
from tests.support.docs_commands import ALL, BY_HAND, ELSEWHERE, OURS, ROOT, place_elsewhere
from tests.support.markdown import values_of

testbed = pytest.importorskip("testbed.__main__", reason="the testbed is not beside these tests")


@cache
def source_of(place: str) -> str:
    """Return the text of a file, or of the one test of it that is named."""
    file, _, name = place.partition("::")
    text = (ROOT / file).read_text()
    if not name:
        return text
    tests = {
        node.name: ast.get_source_segment(text, node) or ""
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    }
    assert name in tests, f"{file} has no test {name}"
    # What a test is called with stands above it.
    above = text[: text.index(f"def {name}(")].rstrip().rpartition("\n\n")[2]
    return above + tests[name]


def test_what_is_carried_out_elsewhere_is():
    used = set()
    for command in OURS:
        if place := place_elsewhere(command):
            file, words = place
            used.add(file)
            assert words in source_of(file), f"{command}: {file} has no {words!r}"
    assert used == {file for file, _ in ELSEWHERE.values()}


def test_a_test_that_is_gone_is_noticed():
    with pytest.raises(AssertionError, match=r"has no test test_gone"):
        source_of("tests/test_readme.py::test_gone")


def of_testbed(words: Sequence[str]) -> Sequence[str]:
    """Return the words after `python -m testbed`, none if it is another command."""
    return words[words.index("testbed") + 1 :] if "testbed" in words else ()


@pytest.mark.parametrize("command", [c for c in ALL if of_testbed(c.words)], ids=str)
def test_a_command_of_the_testbed_is_understood(command):
    testbed.parse(of_testbed(command.words))


@pytest.mark.parametrize("wrong", ["mqtt --awya 30", "kafka --away 0", "run --rate 5", "mqtts"])
def test_a_wrong_command_of_the_testbed_is_found(wrong, capsys):
    with pytest.raises(SystemExit):
        testbed.parse(wrong.split())
    assert "usage: python -m testbed" in capsys.readouterr().err


def of_edgeplace(words: Sequence[str]) -> Sequence[str]:
    """Return the words after `sudo edgeplace`, `kubectl exec ... -- edgeplace` and the like."""
    behind = {"sudo": 0, "kubectl": words.index("--") if "--" in words else -1}.get(words[0], -1)
    if words[0] == "docker" and words[1] == "run":
        behind = len(words) - 1 - words[::-1].index("edgeplace") - 1
    return words[behind + 2 :] if behind >= 0 and words[behind + 1] == "edgeplace" else ()


@pytest.mark.parametrize("command", [c for c in ALL if of_edgeplace(c.words)], ids=str)
def test_edgeplace_behind_another_program_is_understood(command):
    parser().parse_args(of_edgeplace(command.words))


@pytest.mark.parametrize("command", [c for c in ALL if c.words[0] == "make"], ids=str)
def test_what_is_made_is_a_target(command):
    asked = [word for word in command.words[1:] if "=" not in word]
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert asked and set(asked) <= set(targets)


@pytest.mark.parametrize("command", [c for c in ALL if c.words[0] == "docker"], ids=str)
def test_what_docker_builds_with_is_in_the_dockerfile(command):
    for setting in values_of("--build-arg", command.words):
        assert f"\nARG {setting.partition('=')[0]}=" in (ROOT / "Dockerfile").read_text()


def by_kubectl(words: Sequence[str], folder: Path) -> str:
    """Return what kubectl says of a command if no API server answers."""
    if not shutil.which("kubectl"):
        pytest.skip("no kubectl: apt-get install kubernetes-client")
    jar = "edgeplace-flink-agent.jar"
    shutil.copytree(ROOT / "deploy", folder / "deploy")
    shutil.copy(ROOT / "adapters" / "flink" / "agent" / jar, folder / "deploy" / "kubernetes")
    closed = ("--kubeconfig=/dev/null", "--server=http://127.0.0.1:9")
    ran = subprocess.run(
        [words[0], *closed, *words[1:]], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode
    return ran.stderr


NO_SERVER = "refused"


@pytest.mark.parametrize("command", [c for c in ALL if c.words[0] == "kubectl"], ids=str)
def test_kubectl_understands_it_and_asks_a_server(command, tmp_path):
    said = by_kubectl(command.words, tmp_path)
    assert NO_SERVER in said, f"{command}: {said}"


@pytest.mark.parametrize(
    "wrong", ["label node a --lable", "taint node a b=true:Never", "gett pods"]
)
def test_what_kubectl_does_not_understand_is_found(wrong, tmp_path):
    assert NO_SERVER not in by_kubectl(["kubectl", *wrong.split()], tmp_path)


@pytest.mark.slow
def test_the_repository_is_cloned_as_the_pages_say(tmp_path):
    """By the one line that they have; in place of GitHub answers the repository of this file."""
    if not (ROOT / ".git").exists():
        pytest.skip(f"{ROOT} is no repository of git")
    (words,) = {c.words for c in ALL if c.words[0] == "git"}
    url = words[2]
    here = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{ROOT}.insteadOf",
        "GIT_CONFIG_VALUE_0": url,
    }
    subprocess.run(words, cwd=tmp_path, env=os.environ | here, check=True)
    assert (tmp_path / Path(url).name / "README.md").exists()


def test_the_rest_is_short_and_has_its_reason(capsys):
    left = {
        " ".join(each.words): reason
        for each in ALL
        for start, reason in BY_HAND.items()
        if re.match(start, " ".join(each.words))
    }
    with capsys.disabled():
        print(f"\n{len(left)} commands of the docs are carried out by hand, as they need")
        for words, reason in left.items():
            print(f"  {reason}: {words}")
    assert len(left) <= 20
    assert all(any(re.match(start, words) for words in left) for start in BY_HAND)
