"""`solve` and the evaluator against what docs/formulation.md says, on instances tried out whole.

`EDGEPLACE_CONFORMANCE=10000 pytest tests/conformance` tries so many generated instances;
`benchmarks/conformance.py` does the same with a progress line, and goes on where it ended.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.check import BY_PULP, Solver, check
from tests.conformance.document_oracle import Document
from tests.conformance.document_places import Plans
from tests.conformance.families import FAMILIES
from tests.conformance.generate import TOO_MANY, generate
from tests.conformance.parsed import Parsed

CASES = Path(__file__).parent / "cases"
GENERATED = int(os.environ.get("EDGEPLACE_CONFORMANCE", "200"))
AT_ONCE = 25


@pytest.fixture(scope="module")
def solver() -> Iterator[Solver]:
    with Solver() as it:
        yield it


LONG = {"cp-sat-branches-without-end-with-any-seed"}
KEPT = [
    pytest.param(p, id=p.stem, marks=[pytest.mark.slow] if p.stem in LONG else [])
    for p in sorted(CASES.glob("*.json"))
]


@pytest.mark.parametrize("path", KEPT)
def test_a_case_that_once_differed_does_not(path: Path, solver: Solver) -> None:
    assert not [str(m) for m in check(json.loads(path.read_text()), solver)]


@pytest.mark.parametrize(
    "case",
    [
        "cure-of-a-narrow-link-2",
        "cure-of-links-one-is-enough",
        "cure-of-links-that-one-joins",
        "latency-where-paths-meet",
    ],
)
def test_cases_through_pulp(case: str, solver: Solver) -> None:
    found = check(json.loads((CASES / f"{case}.json").read_text()), solver, (BY_PULP,))
    assert not [str(m) for m in found]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, GENERATED, AT_ONCE))
def test_generated_cases(first: int, solver: Solver) -> None:
    wrong = {}
    for seed in range(first, min(first + AT_ONCE, GENERATED)):
        found = check(generate(seed, most_plans=MOST_PLANS), solver)
        if found:
            wrong[seed] = [str(m) for m in found]
    assert not wrong


MOST_PLANS = 1000


def test_the_generator_lists_no_more_plans_than_memory_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seed 500230 comes by a case of so many plans that their list ends the process."""
    real = Document.plans

    def plans(document: Document) -> Plans:
        assert document.count() <= TOO_MANY
        return real(document)

    monkeypatch.setattr(Document, "plans", plans)
    assert generate(500_230, family="two_jobs")


@pytest.mark.slow
def test_the_generator_makes_cases_of_all_kinds() -> None:
    """Feasible and not, with every rule, strategy and level: else the suite finds nothing."""
    cases = [generate(seed, MOST_PLANS) for seed in range(len(FAMILIES) * 8)]
    assert {c["family"] for c in cases} == set(FAMILIES)
    kinds = {r["kind"] for c in cases for r in c["rules"]["rules"]}
    assert len(kinds) == 9
    wished = {w["kind"] for c in cases for w in c["rules"].get("wishes", ())}
    assert len(wished) == 7
    strategies = {s["ship_strategy"] for c in cases for j in c["jobs"] for s in j["streams"]}
    assert len(strategies) == 8
    assert {v.split(":")[0] for c in cases for v in c["objective"]} == {
        "wan", "latency", "server_cores", "moves", "throughput", "cost", "wishes",
    }  # fmt: skip
    assert any(":" in v for c in cases for v in c["objective"])
    assert any(c["current"] for c in cases)
    costs = [s["cost"] for c in cases for j in c["jobs"] for s in j["streams"]]
    laws = [cost["flush_law"] for cost in costs if "flush_law" in cost]
    assert {law["form"] for law in laws} == {"hot and cold", "zipf"}
    assert {len(law["gathering"].keys() - {"keys_per_record"}) for law in laws} >= {1, 2, 3}
    assert all(Parsed.of(c) for c in cases)
    assert generate(7) == generate(7)
