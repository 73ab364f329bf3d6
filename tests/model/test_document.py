import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from edgeplace.model import (
    AtMost,
    Cluster,
    Colocate,
    Costs,
    Exclusive,
    Exlocate,
    InvalidInputError,
    JobGraph,
    Match,
    NeverMove,
    Operator,
    OperatorCost,
    Pin,
    Plan,
    Rules,
    StayOnSite,
    Stream,
    dump,
    load,
    parse,
    read,
    write,
    write_text,
)

CLUSTER_YAML = """\
sites: [{id: field}, {id: hall, tier: cloud}]
nodes:
  - {id: pi-1, site: field, node_class: pi, cores: 4, slots: 2, host: 10.0.0.2}
  - {id: server, site: hall, cores: 16}
task_managers: [{id: tm, node: server, slots: 8, memory_bytes: 1e9}]
links: [{source: field, target: hall, bandwidth_bytes_per_s: 1e6, delay_ms: 25, both_ways: true}]
checkpoint_storage: hall
"""
DOCUMENTS: list[BaseModel] = [
    JobGraph(
        name="a job",
        operators=(
            Operator(id="a", name="Source: ä 🛰", parallelism=2, born_at=("pi-1",)),
            Operator(id="b", name="yes", parallelism=2, chained=("x", "y")),
        ),
        streams=(Stream.model_validate({"source": "a", "target": "b", "ship_strategy": "HASH"}),),
        checkpoint_interval_ms=1000,
        state_backend="rocksdb",
    ),
    Plan(jobs={"a job": {"a": ("pi-1", "tm"), "b": ("tm", "tm")}}),
    Costs(job="a job", operators=(OperatorCost(operator="a", selectivity=0.1),)),
    Rules(
        rules=(
            Pin(operators=("a",), to="pi-1", subtasks=(0,)),
            Match(operators=("a",), labels={"gpu": "yes"}),
            Colocate(operators=("a", "b"), level="site"),
            Exlocate(operators=("a",)),
            AtMost(operators=("b",), count=2),
            StayOnSite(operators=("b",)),
            Exclusive(operators=("b",)),
            NeverMove(operators=("b",)),
        ),
        max_moves=0,
    ),
]


@pytest.mark.parametrize("suffix", [".json", ".yaml", ".yml", ".txt"])
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: type(d).__name__)
def test_round_trip(document: BaseModel, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"doc{suffix}"
    write(document, path)
    assert path.read_text().startswith("format:") is (suffix in (".yaml", ".yml"))
    assert read(path, type(document)) == document


def test_defaults_are_left_out() -> None:
    assert json.loads(dump(Rules(rules=(NeverMove(operators=("a",)),)))) == {
        "format": "edgeplace/rules",
        "version": 1,
        "rules": [{"kind": "never_move", "operators": ["a"]}],
    }


@settings(deadline=None)
@given(
    job=st.text(min_size=1), operator=st.text(min_size=1), suffix=st.sampled_from(["json", "yaml"])
)
@example(job="\x85", operator="no", suffix="yaml")
@example(job="=", operator="1e3", suffix="yaml")
def test_any_name_survives(
    tmp_path_factory: pytest.TempPathFactory, job: str, operator: str, suffix: str
) -> None:
    plan = Plan(jobs={job: {operator: (job, operator)}})
    path = tmp_path_factory.getbasetemp() / f"plan.{suffix}"
    path.write_bytes(dump(plan, suffix == "yaml").encode())
    assert read(path, Plan) == plan


def test_a_cluster_in_yaml_and_gzip(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER_YAML)
    cluster = read(path, Cluster)
    assert [(t.id, t.node, t.slots, t.host) for t in cluster.task_managers] == [
        ("tm", "server", 8, ""),
        ("pi-1", "pi-1", 2, "10.0.0.2"),
    ]
    zipped = tmp_path / "cluster"
    zipped.write_bytes(gzip.compress(CLUSTER_YAML.encode()))
    assert read(zipped, Cluster) == cluster
    write(cluster, tmp_path / "again.json")
    assert read(tmp_path / "again.json", Cluster) == cluster


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "the file is empty"),
        (" \n\n", "the file is empty"),
        ('{"a": 1', "x:1:8: not valid JSON"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' is given twice"),
        ("a: 1\nb: [", "not valid YAML"),
        ("a: 1\nb: {c: 1, d: 2, c: 3}", "the key 'c' is given twice"),
        ("a: !!python/object/apply:os.getcwd []", "could not determine a constructor"),
        ("a: !!python/name:os.system", "could not determine a constructor"),
        ("a: 2024-13-45", "not valid YAML: month must be in 1..12"),
        ("? [a, b]\n: 1\n? [a, b]\n: 2", "not valid YAML"),
        ("---\na: 1\n---\nb: 1", "expected a single document"),
        ("[" * 100_000, "not valid JSON"),
        (b"\xff\xfe", "cannot be read"),
        (gzip.compress(b'{"a": 1}' * 99, mtime=0)[:-12], "cannot be read"),
        (gzip.compress(b"a: 1", mtime=0)[:10] + b"\xff" * 20, "cannot be read"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, content: str | bytes, says: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidInputError) as e:
        load(path)
    assert says in e.value.what
    assert str(path) in e.value.what
    assert e.value.cure


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no such file"):
        load(tmp_path / "gone")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        load(tmp_path)


def test_python_objects_are_never_made(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: !!python/object/apply:builtins.exec ['import antigravity']")
    with pytest.raises(InvalidInputError):
        load(path)
    assert "antigravity" not in sys.modules


def test_merge_keys_may_be_overridden(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("b: &b {x: 1}\na: {in: &m {<<: *b, x: 2}}\nt: {<<: *m}\nu: [*b, *m]\n")
    assert load(path) == {
        "b": {"x": 1},
        "a": {"in": {"x": 2}},
        "t": {"x": 2},
        "u": [{"x": 1}, {"x": 2}],
    }


@pytest.mark.parametrize(
    ("data", "kind", "says"),
    [
        ([], Plan, "expected a plan, found a list"),
        ("text", Plan, "found a text: 'text'"),
        ({"format": "edgeplace/cluster"}, Plan, "looks like a cluster file, a plan is expected"),
        ({"format": "edgeplace/clutser"}, Plan, "this is 'edgeplace/clutser', expected 'edgepl"),
        ({"name": "j", "operators": []}, Cluster, "like a job file, a cluster file is expected"),
        ({"sites": [], "nodes": []}, JobGraph, "like a cluster file, a job file is expected here"),
        ({"name": "j", "operators": []}, Costs, "like a job file, a costs file is expected here"),
        ({"job": "j", "operators": []}, JobGraph, "like a costs file, a job file is expected"),
        ({"format": ["edgeplace/plan"]}, Plan, "expected 'edgeplace/plan'"),
        ({"rules": []}, Plan, "like a rules file, a plan is expected here"),
        (
            {"sites": [], "nodes": [], "rules": []},
            Cluster,
            "rules: there is no field",
        ),
        ({"format": "edgeplace/plan", "version": 2}, Plan, "version 2 of 'edgeplace/plan'"),
        ({"jobs": {}, "jbos": {}}, Plan, "jbos: there is no field of this name here"),
        ({}, Plan, "jobs: Field required"),
        ({"jobs": {"j": {"a": [""]}}}, Plan, "jobs.j.a.0: String should have at least 1 char"),
        ({"rules": [{"kind": "pni", "operators": ["a"]}]}, Rules, "'pni' found using 'kind'"),
        ({"rules": [{"operators": ["a"]}]}, Rules, "rules.0: Unable to extract tag"),
        (
            {"rules": [{"kind": "pin", "operators": [], "to": "x"}]},
            Rules,
            "rules.0.operators (kind 'pin'): ",
        ),
        ({"max_latency_ms": float("nan")}, Rules, "max_latency_ms"),
        ({"max_moves": -1}, Rules, "max_moves: Input should be greater than or equal to 0 (got -1"),
    ],
)
def test_data_that_is_no_document(data: Any, kind: type[BaseModel], says: str) -> None:
    with pytest.raises(InvalidInputError) as e:
        parse(data, kind, "here")
    assert says in e.value.what
    assert e.value.what.startswith("here: ")
    assert e.value.cure


def test_many_problems_are_cut_but_counted() -> None:
    data = {"jobs": {f"j{i}": {"a": [1]} for i in range(20)}}
    with pytest.raises(InvalidInputError, match="and 12 more"):
        parse(data, Plan, "here")


def test_long_values_are_not_repeated_in_full() -> None:
    with pytest.raises(InvalidInputError) as e:
        parse({"jobs": ["x" * 10_000]}, Plan, "here")
    assert len(e.value.what) < 300


def test_documents_do_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        DOCUMENTS[1].jobs = {}  # type: ignore[attr-defined]


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    write_text("old", path)

    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(InvalidInputError, match="cannot be written: No space left"):
        write_text("new", path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be written"):
        write_text("x", tmp_path / "gone" / "x")


def test_errors_carry_what_and_cure() -> None:
    assert str(InvalidInputError("it broke", "mend it")) == "it broke\n  cure: mend it"
    assert str(InvalidInputError("it broke")) == "it broke"
    assert isinstance(InvalidInputError("x"), ValueError)
