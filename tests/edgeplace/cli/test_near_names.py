"""Names that are not there: the cure has the nearest one, whatever they are names of."""

import pytest

from edgeplace.cli.exit_status import ExitStatus
from edgeplace.model import write
from tests.support.depots import depots_cluster, forklifts, parcels

DEMAND = "demand: [{name: night, share: 1}, {name: peak, share: 1}]\n"


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """The files of two jobs, their cluster, rules, and a plan of both."""
    folder = tmp_path_factory.mktemp("case")
    for name, document in {"a": parcels(4), "b": forklifts(4), "c": depots_cluster(4)}.items():
        write(document, folder / f"{name}.yaml")
    (folder / "demand.yaml").write_text(DEMAND)
    return folder


@pytest.fixture(autouse=True)
def here(case, monkeypatch):
    monkeypatch.chdir(case)


FILES = ("a.yaml", "b.yaml", "c.yaml")


@pytest.mark.parametrize(
    ("options", "meant"),
    [
        (("--objective", "wna"), "wan"),
        (("--objective", "latency,wna:5%"), "wan"),
        (("--objective", "WAN"), "wan"),
        (("--optimise", "mony"), "money"),
        (("--backend", "mlip"), "milp"),
        (("--set", "site:depto-01=lost"), "depot-01"),
        (("--set", "site:depto-0*=lost"), "depot-03"),
        (("--set", "node:depot-01-p0=lost"), "depot-01-pi0"),
        (("--set", "link:depot-00-regionnorth=lost"), "depot-00-region-north"),
        (("--set", "link:depot-00->regionnorth=0.5"), "depot-00->region-north"),
        (("--set", "price:depot-00-regionnorth=2"), "depot-00-region-north"),
        (("--set", "slots:depto-01=8"), "depot-01"),
        (("--set", "cores:pi44=8"), "pi4"),
        (("--set", "class:pi44=vm"), "pi4"),
        (("--set", "class:pi4=vmm"), "vm"),
        (("--set", "node+=pi44@depot-01"), "pi4"),
        (("--set", "node+=pi4@depto-01"), "depot-01"),
        (("--set", "site+=new@depto-01"), "depot-01"),
        (("--set", "rate:camra=x2"), "camera"),
        (("--set", "rate:camra=5"), "camera"),
        (("--rules", "demand.yaml", "--set", "demand=peek"), "peak"),
        (("--rules", "demand.yaml", "--set", "period:nigth=x2"), "night"),
        (("--survive", "depto-01"), "depot-01"),
        (("--split", "windw"), "window"),
        (("--parallelism", "windw=1..3"), "window"),
    ],
)
def test_solve(edgeplace, options, meant):
    ran = edgeplace("solve", *FILES, *options)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert f"did you mean {meant!r}?" in ran.err


@pytest.mark.parametrize(
    ("entry", "meant"),
    [
        ("rules: [{kind: pin, operators: [windw], to: cloud}]", "window"),
        ("rules: [{kind: pin, operators: [window], to: clowd}]", "cloud"),
        ("rules: [{kind: pin, job: parcles, operators: [window], to: cloud}]", "parcels"),
        ("rules: [{kind: own_data, operators: [window], open_sites: [depto-01]}]", "depot-01"),
        ("wishes: [{kind: spread, operators: [windw], weight: 1}]", "window"),
        ("jobs: [{job: parcles, max_latency_ms: 9000}]", "parcels"),
        (
            "demand: [{name: d, share: 1, sources: [{operators: [camra], factor: 2}]}]",
            "camera",
        ),
        ("survive: [depto-01]", "depot-01"),
    ],
)
@pytest.mark.parametrize("command", ["solve", "validate"])
def test_rules(edgeplace, case, command, entry, meant):
    (case / "rules.yaml").write_text(f"{entry}\n")
    rules = ("--rules", "rules.yaml") if command == "solve" else ("rules.yaml",)
    ran = edgeplace(command, *FILES, *rules)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert f"did you mean {meant!r}?" in ran.err


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("windw", "did you mean 'parcels: window (1/"),
        ("windw (2/4)", "did you mean 'parcels: window (2/4)'?"),
        ("windw (9/4)", "did you mean 'parcels: window (1/4)'?"),
        ("parcels: windw (2/4)", "did you mean 'parcels: window (2/4)'?"),
        ("parcles: window (2/4)", "did you mean 'parcels: window (2/4)'?"),
        ("sink (1/1)", "say which: 'parcels: sink (1/1)' or 'forklifts: sink (1/1)'"),
        ("moon", "their operators are 'camera', "),
    ],
)
def test_a_subtask(edgeplace, case, name, cure):
    if not (case / "plan.json").exists():
        edgeplace("solve", *FILES, "-o", "plan.json")
    ran = edgeplace("explain", *FILES, "plan.json", "--subtask", name)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert cure in ran.err
