"""The table of commands and the modules of commands name each other."""

import argparse
from importlib import import_module
from pathlib import Path

import pytest

import edgeplace.commands
import edgeplace.commands.control
import edgeplace.commands.flink
from edgeplace.cli.registry import COMMANDS, parser
from edgeplace.commands.control import MODULES

PACKAGES = {
    edgeplace.commands: COMMANDS,
    edgeplace.commands.control: {MODULES.get(n, n) for n in edgeplace.commands.control.COMMANDS},
    edgeplace.commands.flink: edgeplace.commands.flink.COMMANDS,
}
"""Package -> names of the modules of its commands."""


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.__name__)
def test_each_module_that_takes_arguments_is_a_command(package):
    folder = Path(package.__file__).parent
    names = {p.stem if p.is_file() else p.name for p in folder.iterdir() if p.stem != "__init__"}
    modules = {n: import_module(f"{package.__name__}.{n}") for n in names - {"__pycache__"}}
    takers = {name for name, module in modules.items() if hasattr(module, "add_arguments")}
    assert takers == set(PACKAGES[package])


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in COMMANDS if name not in ("control", "flink")),
        *(f"control.{MODULES.get(n, n)}" for n in edgeplace.commands.control.COMMANDS),
        *(f"flink.{name}" for name in edgeplace.commands.flink.COMMANDS),
    ],
)
def test_a_command_runs_and_says_what_it_is_for(name):
    module = import_module(f"edgeplace.commands.{name}")
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    assert parser.description
    assert callable(module.run)


def test_another_name_is_refused_with_those_there_are(edgeplace):
    ran = edgeplace("solv")
    assert ran.status == 2
    assert all(f"'{name}'" in ran.err for name in COMMANDS)


@pytest.mark.parametrize(
    "words",
    [
        "explain a b --costs f c plan",
        "explain --costs f a b c plan",
        "explain a --costs f b --rules r c plan",
        "explain a b c plan --costs f",
        "explain --costs f -- a b c plan",
    ],
)
def test_files_may_stand_before_between_and_after_options(words):
    args = parser().parse_args(words.split())
    assert (args.jobs, args.cluster, args.plan) == (["a", "b"], "c", "plan")
    assert args.costs == ["f"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("explain --costs f", "PLAN is missing: give JOB ... CLUSTER PLAN, or PLAN alone"),
        ("explain a b --costs f", "CLUSTER is missing: give JOB ... CLUSTER PLAN"),
        ("solve a", "CLUSTER is missing: give JOB ... CLUSTER, or no file"),
        ("solve --sett demand=2x", "--sett; did you mean '--set'?"),
        ("solve --optimize money", "--optimize; did you mean '--optimise'?"),
        ("explain plan.json --pricess", "--pricess; did you mean '--prices'?"),
        ("flink apply plan.json --timout 5", "--timout; did you mean '--timeout'?"),
        ("solve demand=2x", "no file 'demand=2x'; a supposed case is --set NAME=VALUE"),
        ("explain a b c --cots f", "unrecognized arguments: --cots"),
        ("flink drain", "the following arguments are required: NODE"),
    ],
)
def test_what_is_missing_or_unknown_is_named(capsys, words, named):
    with pytest.raises(SystemExit):
        parser().parse_args(words.split())
    assert named in capsys.readouterr().err
