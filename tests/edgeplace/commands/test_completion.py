"""`edgeplace completion`: the scripts complete, each in its shell."""

import shutil
import subprocess

import pytest

ASK = """
source "$1"
COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2)) COMPREPLY=()
_shtab_edgeplace
printf '%s\\n' "${COMPREPLY[@]}"
"""
CHECKS = {"bash": ("bash", "-n"), "zsh": ("zsh", "-n"), "fish": ("fish", "--no-execute")}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    from io import StringIO

    from edgeplace.cli.console import Console
    from edgeplace.cli.main import main

    folder = tmp_path_factory.mktemp("completion")
    for shell in CHECKS:
        out = StringIO()
        assert main(["completion", shell], Console(out, StringIO())) == 0
        (folder / shell).write_text(out.getvalue())
    return folder


@pytest.mark.parametrize("shell", CHECKS)
def test_a_script_is_one_of_its_shell(scripts, shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    command = [*CHECKS[shell], str(scripts / shell)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (("fl",), {"fleet", "flink"}),
        (("flink", "dr"), {"drain"}),
        (("flink", "apply", "--max"), {"--max-moves"}),
        (("solve", "--optimise", "m"), {"money"}),
        (("solve", "my-jo"), {"my-job.yaml"}),
        (("flink", "apply", "--plans", "my-"), {"my-plans"}),
    ],
)
def test_bash_completes(scripts, tmp_path, words, completed):
    (tmp_path / "my-job.yaml").touch()
    (tmp_path / "my-plans").mkdir()
    command = ["bash", "-c", ASK, "-", str(scripts / "bash"), "edgeplace", *words]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert set(ran.stdout.split()) == completed, ran.stderr


def test_another_shell_is_refused(edgeplace):
    assert "invalid choice: 'csh'" in edgeplace("completion", "csh").err
