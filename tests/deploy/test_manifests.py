"""deploy/kubernetes: it renders, and Kubernetes and the operator take each of its objects.

Rendered by kubectl and checked strictly against the schemas of Kubernetes; the FlinkDeployment
against the validator that npm's @kubernetes-models/flink generates from the operator's CRD.
"""

import copy
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgeplace.model.inventory.kubernetes import cluster_of_kubernetes

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
JAR = "edgeplace-flink-agent.jar"
PACKAGE = "@kubernetes-models/flink"
VALIDATOR = f"./node_modules/{PACKAGE}/_schemas/FlinkApacheOrgV1beta1FlinkDeployment.js"
VERSION = "1.0.1"
CHECK = """
import {readFileSync} from "node:fs";
const {validate} = await import(process.argv[2]);
const said = JSON.parse(readFileSync(0)).map(
    (one) => validate(one) ? [] : validate.errors.map((e) => e.instancePath + " " + e.keyword));
console.log(JSON.stringify(said));
"""
TYPES = f"node_modules/{PACKAGE}/flink.apache.org/v1beta1/FlinkDeployment.d.ts"

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="deploy/ is not in the wheel, and not beside these tests"
)


def written() -> list[dict[str, Any]]:
    """Return the objects in the files that the kustomization lists."""
    listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    assert {f"{p.name}" for p in FOLDER.glob("*.yaml")} == {"kustomization.yaml", *listed}
    return [each for name in listed for each in yaml.safe_load_all((FOLDER / name).read_text())]


def the(kind: str, name: str = "") -> dict[str, Any]:
    (found,) = (o for o in written() if o["kind"] == kind and name in o["metadata"]["name"])
    return found


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("no kubectl: apt-get install kubernetes-client")
    folder = tmp_path_factory.mktemp("kubernetes") / "it"
    shutil.copytree(FOLDER, folder)
    shutil.copy(ROOT / "adapters" / "flink" / "agent" / JAR, folder)
    ran = subprocess.run(
        [kubectl, "kustomize", str(folder)], capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    # Newer releases warn of fields that older ones need.
    assert ran.stderr == ""
    return list(yaml.safe_load_all(ran.stdout))


def test_it_renders_with_the_agent(rendered: list[dict[str, Any]]) -> None:
    without_agent = [o for o in rendered if o["kind"] != "ConfigMap"]
    assert sorted(map(key, without_agent)) == sorted(map(key, written()))
    (agent,) = (o for o in rendered if o["kind"] == "ConfigMap")
    assert list(agent["binaryData"]) == [JAR]
    # What the API server allows.
    assert len(agent["binaryData"][JAR]) < 2**20
    spec = the("FlinkDeployment")["spec"]["jobManager"]["podTemplate"]["spec"]
    assert {"name": "agent", "configMap": {"name": agent["metadata"]["name"]}} in spec["volumes"]


def key(thing: dict[str, Any]) -> tuple[str, str]:
    return thing["kind"], thing["metadata"]["name"]


def test_schemas_of_kubernetes() -> None:
    schemas = pytest.importorskip("kubernetes_validate", reason="a dependency of development")
    pod = the("FlinkDeployment")["spec"]["jobManager"]["podTemplate"]
    objects = [o for o in written() if o["kind"] != "FlinkDeployment"]
    for thing in [*objects, {"apiVersion": "v1", "kind": "Pod", "metadata": {}, **pod}]:
        for release in ("1.32", "1.37"):
            schemas.validate(thing, release, strict=True)
    wrong = copy.deepcopy(objects[-1])
    wrong["spec"]["template"]["spec"]["nodeselector"] = {}
    with pytest.raises(schemas.ValidationError, match="nodeselector"):
        schemas.validate(wrong, "1.37", strict=True)


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the operator's schema."""
    npm = shutil.which("npm")
    if not (npm and shutil.which("node")):
        pytest.skip("no npm and node: apt-get install npm")
    folder = tmp_path_factory.mktemp("operator")
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "check.js").write_text(CHECK)
    command = [
        npm,
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        f"{PACKAGE}@{VERSION}",
    ]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    if ran.returncode != 0:
        pytest.skip(f"npm's registry does not give {PACKAGE}: {ran.stderr[-200:]}")
    return folder


@pytest.mark.slow
def test_schema_of_the_operator(schema: Path) -> None:
    right = the("FlinkDeployment")
    mode = copy.deepcopy(right)
    mode["spec"]["mode"] = "edge"
    assert problems(schema, [right, mode]) == [
        [],
        ["/spec/mode enum"],
    ]


@pytest.mark.slow
def test_the_operator_knows_each_field(schema: Path) -> None:
    """A validator ignores fields that it does not know: the types of the package name them all."""
    known = declared((schema / TYPES).read_text())
    spec = the("FlinkDeployment")["spec"]
    assert {"mode", "jobManager", "taskManager"} <= known["spec"].keys()
    assert list(unknown_fields(spec, known["spec"], "spec")) == []
    spec["taskManager"]["nodeSelector"] = {}
    spec["jobManager"]["podTemplate"]["spec"]["containers"][0]["volumemounts"] = []
    spec["flinkVersoin"] = "v2_2"
    assert set(unknown_fields(spec, known["spec"], "spec")) == {
        "spec.flinkVersoin",
        "spec.taskManager.nodeSelector",
        "spec.jobManager.podTemplate.spec.containers.volumemounts",
    }


def declared(types: str) -> dict[str, Any]:
    """Return the fields of the first interface, and theirs; None: any, or of no fields."""
    top: dict[str, Any] = {}
    inside: list[dict[str, Any] | None] = [top]
    _, _, interface = types.partition("interface IFlinkDeployment {")
    for line in map(str.strip, interface.splitlines()):
        if field := re.match(r'"(\w+)"\??: (?:Array<)?(\{$)?', line):
            within = inside[-1]
            assert within is not None
            within[field[1]] = {} if field[2] else None
            if field[2]:
                inside.append(within[field[1]])
        elif line.startswith("[key") and line.endswith("{"):
            inside.append({})
        elif line.startswith("}"):
            inside.pop()
            if not inside:
                return top
    raise AssertionError("the interface has no end")


def unknown_fields(thing: Any, known: dict[str, Any] | None, path: str) -> Iterator[str]:
    """Yield the paths that a thing has and a type of its own lacks; a map of names has no type."""
    for each in thing if isinstance(thing, list) else [thing]:
        for name, value in each.items() if isinstance(each, dict) and known else ():
            if name in known:
                yield from unknown_fields(value, known[name], f"{path}.{name}")
            else:
                yield f"{path}.{name}"


def problems(schema: Path, things: list[dict[str, Any]]) -> list[list[str]]:
    ran = subprocess.run(
        [shutil.which("node") or "node", "check.js", VALIDATOR],
        cwd=schema,
        input=json.dumps(things),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    found: list[list[str]] = json.loads(ran.stdout)
    return found


def test_classes_differ_in_their_size_only() -> None:
    four, five = ((FOLDER / f"edge-pi{n}.yaml").read_text() for n in (4, 5))
    different = {
        line.strip().split(":")[0].split("=")[0]
        for line in set(four.splitlines()) ^ set(five.splitlines())
        if "pi4" not in line and "pi5" not in line and not line.startswith("#")
    }
    assert different == {
        "- -Dtaskmanager.numberOfTaskSlots",
        "- -Dtaskmanager.memory.process.size",
        "requests",
        "limits",
    }


def test_each_pool_gives_names_that_stay_and_slots_within_its_cores() -> None:
    """What `discover --kubernetes` makes of a pod of each pool, on a node that fits."""
    for pool in (o for o in written() if o["kind"] in ("DaemonSet", "StatefulSet")):
        spec = copy.deepcopy(pool["spec"]["template"]["spec"])
        node = {
            "kind": "Node",
            "metadata": {
                "name": "node-1",
                "labels": {"topology.kubernetes.io/zone": "lyon", **spec["nodeSelector"]},
            },
            "status": {"allocatable": {"cpu": "8", "memory": "8Gi"}},
        }
        spec["nodeName"] = "node-1"
        pod = {"kind": "Pod", "metadata": {"name": "pod-0", "labels": {}}, "spec": spec}
        found = cluster_of_kubernetes({"kind": "List", "items": [node, pod]}, "it")
        (placed,) = found["nodes"]
        assert placed["id"] == ("node-1" if pool["kind"] == "DaemonSet" else "pod-0")
        assert placed["slots"] == placed["cores"] <= 4
        (container,) = spec["containers"]
        # The operator's own name of the JobManager, which Flink compares with this one.
        name = the("FlinkDeployment")["metadata"]["name"]
        assert f"-Djobmanager.rpc.address={name}.$(NAMESPACE)" in container["args"]
        assert not any("resource-id" in note for note in found["notes"])
        # Guaranteed: what is asked for is what there is.
        room = container["resources"]
        assert room["requests"] == room["limits"]


def test_the_agent_is_loaded_where_it_is_mounted() -> None:
    spec = the("FlinkDeployment")["spec"]
    assert (spec["mode"], spec["flinkConfiguration"]["job.autoscaler.enabled"]) == (
        "standalone",
        "false",
    )
    line = spec["flinkConfiguration"]["env.java.opts.jobmanager"]
    main, beside = spec["jobManager"]["podTemplate"]["spec"]["containers"]
    mounts = {m["name"]: m["mountPath"] for m in main["volumeMounts"]}
    assert line == f"-javaagent:{mounts['agent']}/{JAR}=plans={mounts['plans']}"
    assert {m["name"]: m["mountPath"] for m in beside["volumeMounts"]} == {"plans": mounts["plans"]}
