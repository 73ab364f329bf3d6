"""The commands of the README and of docs/, and what carries out those that do not run here."""

import re
from pathlib import Path

import pytest

from tests.support.markdown import Command, commands

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
if not DOCS.exists():
    pytest.skip(f"{DOCS} is not there", allow_module_level=True)
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

OF_CONTROL = "tests/edgeplace/commands/control/test_run.py::"
APPROVED = f"{OF_CONTROL}test_recommend_explain_approve_and_back"
REJECTED = f"{OF_CONTROL}test_a_plan_that_is_rejected_is_not_made_and_a_freeze_holds"
WATCHED = f"{OF_CONTROL}test_without_costs_it_watches_and_says_what_is_missing"
ELSEWHERE = {
    # Page, beginning of the command -> the test (or the file of CI) that carries it out, and what
    # stands in it, or in what it uses of its file.
    ("README.md", "edgeplace (?!flink)"): (
        "tests/test_readme.py::test_a_command_runs",
        "OURS",
    ),
    ("explain.md", "edgeplace "): ("tests/test_readme.py::test_a_command_runs", "OURS"),
    ("tutorial.md", "edgeplace costs metrics.jsonl.gz"): (
        "tests/test_tutorial.py::test_measured_instead_of_guessed",
        "section(3)",
    ),
    ("tutorial.md", "edgeplace solve metrics.jsonl.gz"): (
        "tests/test_tutorial.py::test_measured_instead_of_guessed",
        "section(3)",
    ),
    ("tutorial.md", "edgeplace "): ("tests/test_tutorial.py::test_a_first_plan", "section(2)"),
    ("spreadsheet.md", "edgeplace "): (
        "tests/test_spreadsheet.py::test_three_commands_lead_from_a_table_to_what_flink_reads",
        "commands(PAGE)",
    ),
    ("fleet.md", "edgeplace "): (
        "tests/test_docs.py::test_the_table_of_the_page_is_placed",
        'commands(DOCS / "fleet.md")',
    ),
    ("policies.md", "edgeplace control simulate"): (
        "tests/test_docs.py::test_the_load_of_control_is_simulated",
        '"simulate"',
    ),
    ("control.md", "edgeplace control simulate"): (
        "tests/test_docs.py::test_the_load_of_control_is_simulated",
        '"simulate"',
    ),
    ("control.md", "edgeplace control (run|replay)"): (WATCHED, '"control", "{}"'),
    ("control.md", "edgeplace control (status|explain|approve|back)"): (
        APPROVED,
        '"control", "{}"',
    ),
    ("control.md", "edgeplace control (reject|freeze)"): (REJECTED, '"control", "{}"'),
    ("keys.md", "edgeplace flink shares"): (
        "tests/edgeplace/commands/flink/test_shares.py::test_weights_are_written_and_seen_in_force",
        "run(",
    ),
    ("flink.md", "edgeplace solve job.json"): (
        "tests/live/test_collect.py::test_from_a_running_job_to_a_plan",
        '"solve"',
    ),
    ("several-jobs.md", "edgeplace flink apply"): (
        "tests/edgeplace/commands/flink/test_apply_several.py::test_all_jobs_of_the_plan_are_moved",
        "apply(",
    ),
    ("mqtt.md", "python -m testbed mqtt"): (
        "tests/live/test_mqtt.py::test_what_sensors_say_while_a_site_is_away_is_counted_once",
        "MqttBrokers(",
    ),
    ("kafka.md", "python -m testbed kafka"): (
        "tests/live/test_kafka.py"
        "::test_a_killed_source_goes_on_at_its_offset_and_another_job_reads_all_again",
        "KafkaBrokers(",
    ),
    ("testbed.md", ".venv/bin/python -m testbed curve"): (
        "tests/testbed/experiments/test_load_curve.py::test_the_command_writes_what_sources_read",
        'run(monkeypatch, "--trace"',
    ),
    ("", "make demo"): (
        "tests/edgeplace/commands/test_costs_and_demo.py::test_the_demo_goes_the_whole_way",
        'edgeplace("demo"',
    ),
    ("", "git clone "): (
        "tests/test_docs_elsewhere.py::test_the_repository_is_cloned_as_the_pages_say",
        "subprocess.run(words",
    ),
    ("", "make test"): (".ci/run", "make test"),
    ("install.md", "pip install"): (".ci/install_by_name.py", "pip install edgeplace"),
    ("install.md", "pipx install"): (".ci/install_by_name.py", "`pipx install`"),
    ("install.md", "(?:uvx|uv tool) "): (".ci/install_by_name.py", "`uvx` and `uv tool install`"),
    ("install.md", "docker "): (".ci/image.py", "Carry out the Dockerfile without Docker"),
}
BY_HAND = {
    "bin/jobmanager.sh ": "a Flink that is installed (the live tests end and start JobManagers)",
    "kubectl ": "a Kubernetes cluster (kubectl reads it here; tests/deploy renders the folder)",
    "kinit ": "a Kerberos server",
    "make headline": "root and about 3.5 hours (tests/live/test_headline.py has two of its cells)",
    "sudo .venv/bin/python -m testbed ": "root and minutes (tests/testbed has their parts)",
    "(sudo )?edgeplace control rehearse ": "root and minutes (test_rehearse.py has its --check)",
}

ALL = [each for page in PAGES for each in commands(page)]
OURS = [each for each in ALL if not any(re.match(start, " ".join(each.words)) for start in BY_HAND)]
"""Those that are not carried out by hand."""


def place_elsewhere(command: Command) -> tuple[str, str] | None:
    """Return the file that carries a command out, and what stands there."""
    text = " ".join(command.words)
    for (page, start), (file, words) in ELSEWHERE.items():
        found = re.match(start, text) if page in ("", command.page.name) else None
        if found:
            return file, words.format(*(found.groups() or ("",)))
    return None
