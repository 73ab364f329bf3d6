"""Every family gives valid instances, the same to the byte, of the shape it promises."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeplace.instances.families import generate
from edgeplace.instances.families.catalogue import FAMILIES
from edgeplace.instances.families.infeasible import SHORT_OF
from edgeplace.instances.index import best_known, digest, index
from edgeplace.instances.instance import Instance
from edgeplace.model import InvalidInputError, dump, read, write
from edgeplace.solver import solve
from edgeplace.solver.problem import build

ENTRIES = index().instances


def test_every_family_is_shipped():
    assert {e.name.rsplit("-", 2)[0] for e in ENTRIES} == set(FAMILIES)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_a_shipped_instance_is_generated_byte_for_byte(entry):
    instance = generate(entry.name)
    assert instance.name == entry.name
    assert digest(instance) == entry.sha256
    assert best_known(instance) == entry.best


@pytest.mark.slow
def test_another_process_gives_the_same_bytes():
    # Hashes of strings differ from process to process; nothing may hang on their order.
    name = "multi-query-3-5"
    code = (
        "from edgeplace.instances.families.catalogue import generate\n"
        "from edgeplace.instances.index import digest\n"
        f"print(digest(generate({name!r})))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == digest(generate(name))


def test_a_changed_instance_has_no_best_known_value():
    entry = ENTRIES[0]
    instance = generate(entry.name)
    cluster = instance.cluster.model_copy(update={"cpu_target": 0.7})
    assert best_known(instance.model_copy(update={"cluster": cluster})) is None


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(sorted(FAMILIES)), st.integers(1, 6), st.integers(0, 10_000))
def test_an_instance_is_complete_input_for_a_solver(family, size, seed):
    instance = generate(f"{family}-{size if family != 'scale' else 40 * size}-{seed}")
    problem = build(list(instance.jobs), instance.cluster, instance.rules)
    assert problem.n == instance.subtasks
    assert not [note for note in problem.notes if "not known" in note]


def test_seeds_differ():
    texts = {dump(generate(f"tree-4-{seed}")) for seed in range(5)}
    assert len(texts) == 5


def test_it_reads_back_from_a_file(tmp_path):
    instance = generate("nexmark-4-3")
    write(instance, tmp_path / "q5.json")
    assert read(tmp_path / "q5.json", Instance) == instance


@pytest.mark.parametrize("seed", range(len(SHORT_OF)), ids=SHORT_OF)
def test_one_more_would_do(seed):
    instance = generate(f"infeasible-2-{seed}")
    assert solve(instance.jobs, instance.cluster, instance.rules).status == "infeasible"
    cluster = instance.cluster
    if SHORT_OF[seed] == "node":
        last = cluster.nodes[-1]
        manager = cluster.task_managers[-1]
        more = {
            "nodes": (*cluster.nodes, last.model_copy(update={"id": "one-more"})),
            "task_managers": (
                *cluster.task_managers,
                manager.model_copy(update={"id": "one-more", "node": "one-more"}),
            ),
        }
    else:
        # Of the whole cluster one slot; of each site one, as every site is short of one.
        firsts = {"server-0"} if SHORT_OF[seed] == "slot" else {"site-0-pi-1", "site-1-pi-1"}
        more = {
            "task_managers": tuple(
                t.model_copy(update={"slots": t.slots + (t.id in firsts)})
                for t in cluster.task_managers
            )
        }
    wider = cluster.model_copy(update=more)
    assert solve(instance.jobs, wider, instance.rules, objective=("wan",)).status == "optimal"


def test_the_latency_limit_costs_bytes():
    instance = generate("latency-bound-4-1")
    limited = solve(instance.jobs, instance.cluster, instance.rules, objective=("wan",))
    free = instance.rules.model_copy(update={"max_latency_ms": None})
    unlimited = solve(instance.jobs, instance.cluster, free, objective=("wan",))
    assert unlimited.evaluation.wan_cost < limited.evaluation.wan_cost


@pytest.mark.slow
@pytest.mark.parametrize("size", [100, 1000, 100_000])
def test_scale_has_about_as_many_subtasks_as_asked_for(size):
    assert generate(f"scale-{size}-1").subtasks == pytest.approx(size, rel=0.05)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tree", "there is no instance 'tree'"),
        ("forest-3-1", "FAMILY-SIZE-SEED"),
        ("tree-0-1", "has the size 0"),
        ("scale-31-1", "starts at 32"),
    ],
)
def test_a_bad_name_is_refused(name, said):
    with pytest.raises(InvalidInputError, match=said):
        generate(name)
