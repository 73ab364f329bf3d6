"""The published JSON Schemas: current, and of one mind with what reads the documents."""

import json
import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from edgeplace.cli.schemas import DOCUMENTS, schema, write_schemas
from edgeplace.instances import path
from edgeplace.instances.families import generate
from edgeplace.model import InvalidInputError, dump, load, parse

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs" / "schemas"
NODE = {"id": "pi", "site": "here", "cores": 4}
CLUSTER = {"sites": [{"id": "here"}], "nodes": [NODE]}
OPERATOR = {"id": "o", "name": "o", "parallelism": 1, "cost": {"selectivity": 1}}
JOB = {"name": "job", "operators": [OPERATOR]}


def errors(name, data):
    return [e.message for e in Draft202012Validator(schema(name)).iter_errors(data)]


@pytest.mark.slow
def test_the_published_schemas_are_current(tmp_path):
    write_schemas(tmp_path)
    made = {p.name: p.read_text() for p in tmp_path.iterdir()}
    assert {p.name: p.read_text() for p in PUBLISHED.iterdir()} == made, "run: make schemas"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_schema_is_one(name):
    Draft202012Validator.check_schema(schema(name))


@pytest.mark.slow
def test_the_documents_of_the_demo_and_of_the_docs_are_valid():
    demo = path("demo")
    assert errors("cluster", load(demo / "cluster.yaml")) == []
    assert errors("rules", load(demo / "rules.yaml")) == []
    assert errors("cluster", load(path("depots/cluster.yaml"))) == []
    assert errors("project", load(path("depots/edgeplace.yaml"))) == []
    for name in ("parcels", "forklifts"):
        assert errors("job", load(path(f"depots/{name}.yaml"))) == []
    page = (ROOT / "docs" / "job.md").read_text()
    job, cluster = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert errors("job", yaml.safe_load(job)) == []
    assert errors("cluster", yaml.safe_load(cluster)) == []


@pytest.mark.parametrize(("rates", "births"), [("5 /s", "depot-*"), (5, ["a-*", "b"]), ([5], [])])
def test_one_rate_and_one_place_need_no_list(rates, births):
    source = {**OPERATOR, "born_at": births, "cost": {"demand": {"rates_per_s": rates}}}
    assert errors("job", {**JOB, "operators": [source]}) == []
    for wrong in ({"rates_per_s": "5 MB"}, {"rates_per_s": []}):
        assert errors("job", {**JOB, "operators": [{**source, "cost": {"demand": wrong}}]})


@pytest.mark.parametrize("name", ["seed-pis-2-1", "tree-3-1", "nexmark-5-1"])
def test_what_is_written_is_valid(name):
    instance = generate(name)
    assert errors("instance", json.loads(dump(instance))) == []
    assert errors("job", json.loads(dump(instance.jobs[0]))) == []
    assert errors("cluster", json.loads(dump(instance.cluster))) == []
    assert errors("rules", json.loads(dump(instance.rules))) == []


@pytest.mark.parametrize(
    ("name", "data", "valid"),
    [
        ("cluster", CLUSTER, True),
        ("cluster", {**CLUSTER, "nodes": [{**NODE, "slots": 4, "host": "10.0.0.1"}]}, True),
        ("cluster", {**CLUSTER, "nodes": [{**NODE, "slot": 4}]}, False),
        ("cluster", {**CLUSTER, "nodes": [{"id": "pi", "cores": 4}]}, False),
        (
            "cluster",
            {
                "sites": [{"id": "d-*", "count": 2, "nodes": [{"id": "n"}]}],
                "node_classes": [{"id": "default", "cores": 4, "slots": 4}],
            },
            True,
        ),
        ("cluster", {"sites": [{"id": "d-*", "count": 2, "node": []}]}, False),
        ("cluster", {**CLUSTER, "version": 2}, False),
        ("job", JOB, True),
        ("job", {**JOB, "operators": []}, False),
        ("job", {**JOB, "operators": [{**OPERATOR, "parallelism": 0}]}, False),
        ("rules", {"rules": [{"kind": "pin", "operators": ["o"], "to": "here"}]}, True),
        ("rules", {"rules": [{"kind": "pins", "operators": ["o"], "to": "here"}]}, False),
        ("costs", {"job": "job", "operators": [{"operator": "o"}]}, True),
        ("costs", {"job": "job", "operators": [{}]}, False),
        ("project", {"jobs": ["job.yaml"], "cluster": "c.yaml", "objective": ["wan:5%"]}, True),
        ("project", {"jobmanager": "http://localhost:8081"}, True),
        ("project", {"jobs": "job.yaml", "cluster": "c.yaml"}, False),
        ("project", {"jobs": ["job.yaml"], "cluster": "c.yaml", "cost": ["c.json"]}, False),
        ("plan", {"jobs": {"job": {"o": ["pi"]}}}, True),
        ("plan", {"jobs": {"job": {"o": "pi"}}}, False),
    ],
)
def test_schema_and_reader_agree(name, data, valid):
    assert (errors(name, data) == []) == valid
    if valid:
        parse(data, DOCUMENTS[name], "file")
    else:
        with pytest.raises(InvalidInputError):
            parse(data, DOCUMENTS[name], "file")


def test_fields_say_what_they_are():
    link_target = schema("cluster")["properties"]["link_target"]
    assert link_target["description"]
    notes = schema("job")["$defs"]["Operator"]["properties"]["born_at"]["description"]
    assert notes.startswith("For sources: where the data of each subtask is born")
