"""Some 600 wrong inputs: each ends with what is wrong, where, and a cure, and harms nothing.

The cases are the products of tables: kinds of files and damage, fields and values, options and
values. A case that is answered is wrong, too.
"""

import copy
import gzip
import hashlib
import json
import os
from pathlib import Path

import pytest
import yaml

JOB = {
    "name": "cameras",
    "checkpoint_interval_ms": 10000,
    "operators": [
        {
            "id": "camera",
            "name": "camera",
            "parallelism": 2,
            "born_at": ["paris"],
            "cost": {
                "demand": {"rates_per_s": [10]},
                "classes": [{"node_class": "pi", "true_rate_per_s": 100}],
            },
        },
        {
            "id": "report",
            "name": "report",
            "parallelism": 1,
            "cost": {
                "selectivity": 0.5,
                "state_bytes": 1000,
                "classes": [{"node_class": "pi", "true_rate_per_s": 100}],
            },
        },
    ],
    "streams": [
        {
            "source": "camera",
            "target": "report",
            "ship_strategy": "REBALANCE",
            "cost": {"bytes_per_record": 100},
        }
    ],
}
CLUSTER = {
    "sites": [{"id": "paris"}, {"id": "cloud", "tier": "cloud"}],
    "nodes": [
        {"id": "pi-1", "site": "paris", "node_class": "pi", "cores": 4, "slots": 4},
        {"id": "server", "site": "cloud", "node_class": "pi", "cores": 16},
    ],
    "task_managers": [{"id": "tm", "node": "server", "slots": 8}],
    "links": [
        {
            "source": "paris",
            "target": "cloud",
            "bandwidth_bytes_per_s": 1000000,
            "delay_ms": 20,
            "both_ways": True,
        }
    ],
}
COSTS = {
    "job": "cameras",
    "operators": [{"operator": "report", "classes": [{"node_class": "pi", "true_rate_per_s": 50}]}],
}
RULES = {"rules": [{"kind": "pin", "operators": ["report"], "to": "cloud"}]}
PLAN = {"jobs": {"cameras": {"camera": ["pi-1", "pi-1"], "report": ["tm"]}}}
DOCUMENTS = {"job": JOB, "cluster": CLUSTER, "costs": COSTS, "rules": RULES, "plan": PLAN}

WRONG_CURES = (
    "is the file whole?",
    "write the document again",
    "correct the fields named",
    "correct it",
)


@pytest.fixture
def files(tmp_path) -> dict[str, Path]:
    for kind, document in DOCUMENTS.items():
        (tmp_path / f"{kind}.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    return {kind: tmp_path / f"{kind}.yaml" for kind in DOCUMENTS}


@pytest.fixture
def ask(edgeplace, files):
    """Explain the plan: the command that reads a file of every kind."""

    def run(*more):
        return edgeplace(
            *("explain", files["job"], files["cluster"], files["plan"]),
            *("--costs", files["costs"], "--rules", files["rules"]),
            *more,
        )

    return run


def digests(folder: Path) -> dict[str, str]:
    return {
        str(p): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def refused(ran, *named: object) -> str:
    """Check that a command said what is wrong, where, and what helps; return the cure."""
    assert ran.status == 2, (ran.status, ran.out[-300:], ran.err)
    assert "Traceback" not in ran.err
    assert "this is a bug" not in ran.err
    assert ran.out == ""
    for word in named:
        assert str(word) in ran.err
    cure = ran.err.rpartition("\n  cure: ")[2].strip()
    assert cure and cure != ran.err.strip(), ran.err
    assert not any(wrong == cure for wrong in WRONG_CURES)
    return cure


def test_the_documents_are_right_as_they_are(ask):
    ran = ask()
    assert (ran.status, ran.err) == (0, "")


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join([f'*{a}'] * 10)}]\n"
    for a, b in zip("abcdefghi", "bcdefghij", strict=True)
)
MERGED = "a: &a {x: 1}\n" + "".join(
    f"{b}: &{b}\n" + "".join(f"  k{i}: *{a}\n" for i in range(10))
    for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
DAMAGES = {
    "empty": b"",
    "blank": b" \n\n",
    "binary": bytes(range(256)),
    "utf-16": "name: x".encode("utf-16"),
    "latin-1": "name: Füllstand\n".encode("latin-1"),
    "cut off JSON": b'{"name": "x", "operators": [',
    "JSON with a comma too much": b'{"name": "x",}',
    "a JSON key twice": b'{"name": "x", "name": "y"}',
    "cut off gzip": gzip.compress(b"name: x\n" * 99)[:-9],
    "damaged gzip": gzip.compress(b"name: x\n" * 99)[:12] + b"\xff" * 40,
    "YAML that is not closed": b"name: [x",
    "YAML with tabs": b"name:\n\t- x\n",
    "a YAML key twice": b"name: x\nname: y\n",
    "two YAML documents": b"---\nname: x\n---\nname: y\n",
    "a Python object": b"name: !!python/object/apply:os.getcwd []\n",
    "aliases by the million": BOMB.encode(),
    "merged aliases by the million": MERGED.encode(),
    "an alias of itself": b"name: &a [*a]\n",
    "deep JSON": b'{"name": ' * 100_000,
    "deep JSON that is closed": b'{"name": ' * 900 + b"1" + b"}" * 900,
    "deep YAML": b"name: " + b"[" * 100_000,
    "deep YAML that is closed": b"name: " + b"[" * 600 + b"]" * 600,
    "a list": b"- 1\n- 2\n",
    "a text": b"just a text\n",
    "a number": b"42\n",
    "nothing": b"null\n",
    "another format": b"format: edgeplace/nothing\n",
    "another version": b"version: 7\n",
    "a folder": None,
    "not there": None,
    "a link to itself": None,
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_damaged_file(ask, files, tmp_path, kind, damage):
    file = files[kind]
    content = DAMAGES[damage]
    if content is not None:
        if damage in ("another format", "another version"):
            content += file.read_bytes()
        file.write_bytes(content)
    else:
        file.unlink()
        if damage == "a folder":
            file.mkdir()
        elif damage == "a link to itself":
            file.symlink_to(file)
    before = digests(tmp_path)
    cure = refused(ask(), file)
    assert digests(tmp_path) == before
    if damage in ("utf-16", "latin-1", "binary"):
        assert "save the file as UTF-8" in cure
    elif damage == "a folder" and kind != "job":
        assert cure == "give the name of a file"
    elif damage == "not there":
        assert cure == "check the path"


@pytest.mark.parametrize("kind", DOCUMENTS)
@pytest.mark.parametrize("other", DOCUMENTS)
def test_two_files_that_are_swapped(ask, files, tmp_path, kind, other):
    if kind == other:
        assert ask().status == 0
        return
    files[kind].write_bytes(files[other].read_bytes())
    before = digests(tmp_path)
    cure = refused(ask(), files[kind])
    assert "give" in cure
    assert digests(tmp_path) == before


def test_a_file_that_may_not_be_read(ask, files, monkeypatch):
    """Root may read all, so the system's word is put on."""
    opened = Path.open

    def forbidden(self, *args, **more):
        if self == files["cluster"]:
            raise PermissionError(13, "Permission denied", str(self))
        return opened(self, *args, **more)

    monkeypatch.setattr(Path, "open", forbidden)
    cure = refused(ask(), f"{files['cluster']}: cannot be read: Permission denied")
    assert f"chmod a+r {files['cluster']}" in cure


NUMBERS = ["fast", "10 furlongs", "", True, None, [], {}, float("nan"), float("inf"), 1e308, -1]
WHOLE = [0, -1, 1.5, "four", True, None, [], 10**30]
IDS = [False, 17, 4.2, None, "", [], {}]
LISTS = ["x", 3, None, {}, True]
FIELDS = [
    ("job", ("operators", 0, "cost", "demand", "rates_per_s", 0), NUMBERS),
    ("job", ("operators", 0, "cost", "classes", 0, "true_rate_per_s"), [*NUMBERS, 0, 5e-324]),
    ("job", ("streams", 0, "cost", "bytes_per_record"), [v for v in NUMBERS if v is not None]),
    ("job", ("operators", 0, "parallelism"), [*WHOLE, 40000]),
    ("job", ("operators", 0, "max_parallelism"), [*WHOLE, 40000]),
    ("job", ("operators", 1, "id"), IDS),
    ("job", ("operators", 1, "name"), IDS),
    ("job", ("name",), IDS),
    ("job", ("operators",), [*LISTS, []]),
    ("job", ("streams", 0, "ship_strategy"), ["HASHED", 3, None, [], "forward"]),
    ("job", ("streams", 0, "target"), ["reprot", False, 7, ""]),
    ("job", ("operators", 0, "born_at"), ["x", [1], [""], ["a", "b", "c"]]),
    ("cluster", ("nodes", 0, "cores"), [*NUMBERS, 0]),
    ("cluster", ("nodes", 0, "slots"), [v for v in WHOLE if v != 0]),
    ("cluster", ("nodes", 0, "id"), IDS),
    ("cluster", ("nodes", 0, "site"), [*IDS, "parsi"]),
    ("cluster", ("task_managers", 0, "node"), ["severr", False, 9]),
    ("cluster", ("links", 0, "bandwidth_bytes_per_s"), [v for v in NUMBERS if v is not None]),
    ("cluster", ("links", 0, "delay_ms"), NUMBERS),
    ("cluster", ("links", 0, "target"), ["clodu", "paris", 1, False]),
    ("cluster", ("links", 0, "both_ways"), ["perhaps", 7, None, []]),
    ("cluster", ("sites", 1, "tier"), ["clowd", 1, None]),
    ("cluster", ("sites",), [*LISTS, []]),
    ("costs", ("operators", 0, "classes", 0, "true_rate_per_s"), [*NUMBERS, 0]),
    ("costs", ("operators", 0, "operator"), [*IDS, "reprot"]),
    ("rules", ("rules", 0, "kind"), ["pni", 1, None]),
    ("rules", ("rules", 0, "to"), [*IDS, "nowhere"]),
    ("rules", ("rules", 0, "operators"), [*LISTS, [], ["reprot"]]),
    ("plan", ("jobs", "cameras", "report"), [*LISTS, [], ["tm", 1], ["nowhere"], [7], [False]]),
    ("plan", ("jobs",), [*LISTS[:3], True]),
]
VALUES = [
    pytest.param(kind, where, value, id=f"{kind}-{'.'.join(map(str, where))}-{str(value)[:12]}")
    for kind, where, values in FIELDS
    for value in values
]


@pytest.mark.parametrize(("kind", "where", "value"), VALUES)
def test_a_field_with_a_wrong_value(ask, files, tmp_path, kind, where, value):
    document = copy.deepcopy(DOCUMENTS[kind])
    at = document
    for part in where[:-1]:
        at = at[part]
    at[where[-1]] = value
    files[kind].write_text(yaml.safe_dump(document, sort_keys=False))
    before = digests(tmp_path)
    ran = ask()
    cure = refused(ran)
    assert digests(tmp_path) == before
    field = next(part for part in reversed(where) if isinstance(part, str))
    shown = [str(value), repr(value), field]
    assert any(text and text in ran.err for text in shown), ran.err
    if isinstance(value, bool | int | float) and where[-1] in ("id", "name", "site", "to"):
        assert "put it in quotes: " in cure


@pytest.mark.parametrize(
    ("written", "cure"),
    [
        ("10", "write it as a list: [10]"),
        # Without a point and a sign, YAML 1.1 has no number here but a text.
        ("1e3", "write it as a list: [1e3]"),
        ("1e308", "write it as a list, [a, b]; write a number in that range"),
        ("fast", "write it as a list, [a, b]; write a number"),
    ],
)
def test_one_value_where_a_list_belongs(ask, files, written, cure):
    document = copy.deepcopy(DOCUMENTS["job"])
    document["streams"][0]["cost"]["shares"] = "HERE"
    text = yaml.safe_dump(document, sort_keys=False).replace("HERE", written)
    files["job"].write_text(text)
    assert cure in refused(ask(), f"got {yaml.safe_load(written)!r}")


@pytest.mark.parametrize("written", ["fast", "-5", "5 MB", "yes", "1e308"])
def test_one_rate_that_is_none_is_said_as_one_of_a_list(ask, files, written):
    document = copy.deepcopy(DOCUMENTS["job"])
    document["operators"][0]["cost"]["demand"]["rates_per_s"] = "HERE"
    text = yaml.safe_dump(document, sort_keys=False).replace("HERE", written)
    files["job"].write_text(text)
    line = next(i for i, row in enumerate(text.splitlines(), 1) if "rates_per_s" in row)
    where = f"operators.0.cost.demand.rates_per_s.0 (id 'camera', line {line})"
    assert refused(ask(), where).startswith("write ")


MISSPELT = [
    ("job", (), "operatros", "operators"),
    ("job", (), "checkpointInterval_ms", "checkpoint_interval_ms"),
    ("job", ("operators", 0), "paralelism", "parallelism"),
    ("job", ("operators", 0), "born-at", "born_at"),
    ("job", ("operators", 0, "cost"), "selectivty", "selectivity"),
    ("job", ("operators", 0, "cost", "classes", 0), "truerate_per_s", "true_rate_per_s"),
    ("job", ("streams", 0), "shipStrategy", "ship_strategy"),
    ("cluster", (), "linsk", "links"),
    ("cluster", ("nodes", 0), "coers", "cores"),
    ("cluster", ("nodes", 1), "slot", "slots"),
    ("cluster", ("nodes", 0), "node_clas", "node_class"),
    ("cluster", ("links", 0), "bandwith_bytes_per_s", "bandwidth_bytes_per_s"),
    ("cluster", ("links", 0), "delay", "delay_ms"),
    ("cluster", ("sites", 0), "teir", "tier"),
    ("costs", ("operators", 0, "classes", 0), "node_klass", "node_class"),
    ("rules", ("rules", 0), "operator", "operators"),
    ("rules", (), "max_latency", "max_latency_ms"),
]


@pytest.mark.parametrize(("kind", "where", "wrong", "right"), MISSPELT)
def test_a_field_that_is_misspelt(ask, files, kind, where, wrong, right):
    document = copy.deepcopy(DOCUMENTS[kind])
    at = document
    for part in where:
        at = at[part]
    at[wrong] = 1
    text = yaml.safe_dump(document, sort_keys=False)
    files[kind].write_text(text)
    line = next(i for i, row in enumerate(text.splitlines(), 1) if f"{wrong}:" in row)
    cure = refused(ask(), files[kind], f"line {line}", wrong)
    assert f"did you mean {right!r}?" in cure


@pytest.mark.parametrize("written", ["no", "off", "17", "4.20", "2024-01-02", "1e3", "on"])
def test_what_yaml_takes_for_something_else_is_to_be_quoted(ask, files, written):
    """The cure has the text as it is in the file, not what YAML made of it."""
    text = files["cluster"].read_text().replace("id: pi-1", f"id: {written}")
    files["cluster"].write_text(text)
    if written == "1e3":
        # YAML 1.1 takes this for a text.
        refused(ask(), "pi-1")
        return
    line = next(i for i, row in enumerate(text.splitlines(), 1) if row.endswith(f"id: {written}"))
    cure = refused(ask(), files["cluster"], f"nodes.0.id (line {line})")
    assert f'put it in quotes: "{written}"' in cure


def test_an_id_that_is_no_text_is_told_once(ask, files):
    """The cost of an operator has the operator's id where it says none of its own."""
    text = files["job"].read_text()
    files["job"].write_text(text.replace("id: camera\n", "id: no\n", 1))
    assert refused(ask(), "operators.0.id") == 'put it in quotes: "no"'
    assert "operators.0.cost" not in ask().err


def test_an_entry_is_named_by_its_line_and_id(ask, files):
    nodes = [
        {"id": f"pi-{i}", "site": "paris", "node_class": "pi", "cores": 4, "slots": 4}
        for i in range(128)
    ]
    nodes[77]["cores"] = "four"
    text = yaml.safe_dump({**CLUSTER, "nodes": nodes}, sort_keys=False)
    files["cluster"].write_text(text)
    line = text[: text.index("four")].count("\n") + 1
    refused(ask(), f"nodes.77.cores (id 'pi-77', line {line})")
    nodes[77]["cores"], nodes[77]["slots"] = 4, "many"
    files["cluster"].write_text(json.dumps({**CLUSTER, "nodes": nodes}, indent=1))
    # The TaskManager of a node is at its node.
    assert "nodes.77.slots (id 'pi-77', line " in ask().err


OPTIONS = [
    ("--gap", ["5", "-1", "nan", "inf", "x", "", "500%", "5 %%", "-5%"]),
    ("--time-limit", ["-1", "nan", "inf", "soon", "", "1h", "-0.5"]),
    ("--objective", ["", "wan,wan", "speed", "wan:x%", "wan:-1%", "wan;latency", ",", "wan:5%%"]),
    (
        "--set",
        [
            *("", "rate", "rate=2", "rate=x", "rate=x0", "rate=x-1", "rate=xinf", "rate:=3"),
            *("rate:camera=", "rate:camera=many", "rate:camera=-1", "rate:camera=nan"),
            *("rate:camera=1e400", "rate:cam=3", "rate:report=3", "site:paris", "site:=lost"),
            *("site:parsi=lost", "link:paris-cloud", "link:paris-cloud=0", "link:paris-cloud=-1"),
            *("link:paris-rome=0.5", "link:=0.5", "node+=", "node+=gpu", "node+=pi@rome"),
            *("slots=3", "nodes+=pi", "x", "=", ":"),
        ],
    ),
    ("--current", ["none.yaml", "", "."]),
    ("--costs", ["none.yaml", "."]),
    ("--rules", ["none.yaml", "."]),
    ("-o", ["", ".", "none/plan.json", "job.yaml", "cluster.yaml", "job.yaml/plan.json"]),
    ("--report", [".", "none/page.html", "job.yaml"]),
    ("--schedulercfg", [".", "none/cfg", "cluster.yaml"]),
    ("--pareto", ["x.png", "x", ".", "none/x.svg", "job.yaml"]),
]
ASKED = [(option, value) for option, values in OPTIONS for value in values]


@pytest.mark.parametrize(("option", "value"), ASKED)
def test_an_option_with_a_wrong_value(edgeplace, files, tmp_path, monkeypatch, option, value):
    monkeypatch.chdir(tmp_path)
    before = digests(tmp_path)
    ran = edgeplace("solve", "job.yaml", "cluster.yaml", f"{option}={value}" if value else option)
    if not value and "expected one argument" in ran.err:
        ran = edgeplace("solve", "job.yaml", "cluster.yaml", option, "")
    if option == "--pareto" and ran.status == 0:
        pytest.fail(f"{option} {value!r} was answered")
    refused(ran, option if option == "--set" else value.split(",")[0])
    assert digests(tmp_path) == before


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (("bench", "--sites", "3"), "--sites"),
        (("bench", "none"), "none"),
        (("bench", "--topology", "none.graphml"), "none.graphml"),
        (("bench", "--backends", "cplex"), "cplex"),
        (("bench", "--time-limit", "0"), "--time-limit"),
        (("bench", "--time-limit", "-1"), "--time-limit"),
        (("bench", "--gap", "7"), "--gap"),
        (("bench", "--jobs", "0"), "--jobs"),
        (("bench", "job.yaml", "none.yaml"), "none.yaml"),
        (("bench", "--costs", "costs.yaml"), "--costs"),
        (("bench", "tree", "--out", "job.yaml"), "job.yaml"),
        (("explain", "job.yaml", "cluster.yaml", "plan.yaml", "--subtask", "x (1/1)"), "x"),
        (("explain", "job.yaml", "cluster.yaml", "plan.yaml", "--subtask", "camera (9/2)"), "9"),
        (("explain", "job.yaml", "cluster.yaml", "plan.yaml", "--against", "none"), "none"),
        (
            ("explain", "job.yaml", "cluster.yaml", "plan.yaml", "--prices", "--time-limit=-1"),
            "--time-limit",
        ),
        (("costs", "none.jsonl"), "none.jsonl"),
        (("costs", "job.yaml"), "job.yaml"),
        (("costs", "job.yaml", "-o", "job.yaml"), "job.yaml"),
        (("costs", "job.yaml", "--cluster", "none.yaml"), "none.yaml"),
        (("costs", "job.yaml", "--placement", "plan.yaml"), "--placement"),
        (("costs", "job.yaml", "--rate", "camera"), "camera"),
        (("flink", "apply", "none.json", "--jobmanager", "http://127.0.0.1:1"), "none.json"),
        (("flink", "apply", "job.yaml", "--jobmanager", "http://127.0.0.1:1"), "job.yaml"),
        (("flink", "install", "none"), "none"),
        (("flink", "collect", "--jobmanager", "ftp://x", "-o", "x"), "the JobManager"),
    ],
)
def test_other_commands(edgeplace, files, tmp_path, monkeypatch, argv, named):
    monkeypatch.chdir(tmp_path)
    before = digests(tmp_path)
    refused(edgeplace(*argv), named)
    assert digests(tmp_path) == before


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there is no /dev/zero")
def test_a_device_without_an_end_is_no_document(edgeplace, files, monkeypatch):
    monkeypatch.setattr("edgeplace.model.parsing.content.MOST_BYTES", 1 << 20)
    refused(edgeplace("solve", files["job"], "/dev/zero"), "/dev/zero: more than 1 MiB of data")
    big = files["job"].with_suffix(".gz")
    big.write_bytes(gzip.compress(bytes(2 << 20)))
    refused(edgeplace("solve", files["job"], big), f"{big}: more than 1 MiB of data")
