"""Turn Flink's REST answers about a job into the job graph and the placement.

Answers are those of Flink 1.18 to 2.3: `GET /jobs/:jobid` (which holds the plan too),
`/jobs/:jobid/plan`, `/jobs/:jobid/vertices/:vertexid` and `/jobs/:jobid/checkpoints/config`
(https://nightlies.apache.org/flink/flink-docs-stable/docs/ops/rest_api/).
"""

from collections.abc import Mapping
from typing import Any

from edgeplace.adapters.flink.rest.answer import SAVE_AGAIN, RestAnswer, need
from edgeplace.model import InvalidInputError, JobGraph, ShipStrategy, parse
from edgeplace.model.job import default_max_parallelism

_STREAMING_EXCHANGES = ("pipelined", "pipelined_bounded", "pipelined_approximate")
_DISABLED_INTERVAL_MS = 2**53
"""Flink writes 2^63 - 1 where checkpoints are not periodic; JSON tools may round that."""
_STATE_BACKENDS = {
    "HashMapStateBackend": "heap",
    "MemoryStateBackend": "heap",
    "FsStateBackend": "heap",
    "EmbeddedRocksDBStateBackend": "rocksdb",
    "RocksDBStateBackend": "rocksdb",
}


def job_graph(
    job_detail: RestAnswer,
    plan: RestAnswer | None = None,
    *,
    checkpoint_config: RestAnswer | None = None,
) -> JobGraph:
    """Return the job graph that REST answers describe.

    Parameters
    ----------
    job_detail
        Answer to `GET /jobs/:jobid`.
    plan
        Answer to `GET /jobs/:jobid/plan`; None: the plan inside `job_detail`.
    checkpoint_config
        Answer to `GET /jobs/:jobid/checkpoints/config`; None: no checkpoint interval is known.

    Raises
    ------
    InvalidInputError
        If an answer is incomplete or an error of Flink's, if the answers are of different jobs, or
        if the job is a batch job.
    """
    jid = need(job_detail, "jid", str, "the answer to /jobs/:jobid")
    where = f"/jobs/{jid}"
    notes: list[str] = []
    nodes = _plan_nodes(job_detail, plan, jid)
    vertices = vertices_of(job_detail)
    _same_vertices(vertices, nodes, where)
    groups = _slot_sharing_groups(vertices, notes)
    operators = []
    for vid, vertex in vertices.items():
        parallelism = vertex["parallelism"]
        if parallelism != nodes[vid].get("parallelism", parallelism):
            notes.append(
                f"{vertex['name']!r} runs with parallelism {parallelism}, its plan says "
                f"{nodes[vid]['parallelism']}: taken as it runs"
            )
        operators.append(
            {
                "id": vid,
                "name": vertex["name"],
                "parallelism": parallelism,
                "max_parallelism": _max_parallelism(vertex, notes),
                "slot_sharing_group": groups[vid],
                "chained": _chain(vertex["name"]),
            }
        )
    return parse(
        {
            "name": job_detail.get("name") or jid,
            "job_id": jid,
            "operators": operators,
            "streams": _streams(vertices, nodes, where, notes),
            **_checkpoints(checkpoint_config, where, notes),
            "notes": notes,
        },
        JobGraph,
        where,
    )


def vertices_of(job_detail: RestAnswer) -> dict[str, RestAnswer]:
    """Return the vertices of an answer to `/jobs/:jobid` by id, in its order.

    Raises
    ------
    InvalidInputError
        If there are none yet, or one lacks its name or its parallelism.
    """
    where = f"/jobs/{job_detail.get('jid')}"
    vertices: dict[str, RestAnswer] = {}
    for v in need(job_detail, "vertices", list, where):
        vid = need(v, "id", str, f"{where}: vertices")
        name = need(v, "name", str, f"{where}: vertex {vid}")
        parallelism = need(v, "parallelism", int, f"{where}: vertex {vid}")
        if parallelism < 1:
            raise InvalidInputError(
                f"{where}: {name!r} has parallelism {parallelism}: it is not decided yet",
                SAVE_AGAIN,
            )
        vertices[vid] = v
    if not vertices:
        raise InvalidInputError(f"{where}: the job has no vertices yet", SAVE_AGAIN)
    return vertices


def placement(vertex_answers: Mapping[str, RestAnswer]) -> dict[str, tuple[str | None, ...]]:
    """Return vertex id -> TaskManager of each subtask; None: it runs nowhere.

    Parameters
    ----------
    vertex_answers
        Vertex id -> answer to `GET /jobs/:jobid/vertices/:vertexid`.

    Raises
    ------
    InvalidInputError
        If an answer is incomplete, or of another vertex.
    """
    found: dict[str, tuple[str | None, ...]] = {}
    for vid, answer in vertex_answers.items():
        where = f"the answer to /jobs/:jobid/vertices/{vid}"
        if need(answer, "id", str, where) != vid:
            raise InvalidInputError(f"{where} is of vertex {answer['id']}", SAVE_AGAIN)
        places: list[str | None] = [None] * need(answer, "parallelism", int, where)
        seen: set[int] = set()
        for subtask in need(answer, "subtasks", list, where):
            index = need(subtask, "subtask", int, where)
            if index in seen or not 0 <= index < len(places):
                raise InvalidInputError(
                    f"{where}: subtask {index} is "
                    + ("listed twice" if index in seen else f"not within 0..{len(places) - 1}"),
                    SAVE_AGAIN,
                )
            seen.add(index)
            places[index] = _location(subtask)
        found[vid] = tuple(places)
    return found


def _plan_nodes(job_detail: RestAnswer, plan: RestAnswer | None, jid: str) -> dict[str, RestAnswer]:
    where = f"/jobs/{jid}/plan"
    if job_detail.get("job-type", "STREAMING") != "STREAMING" or job_detail.get(
        "pending-operators"
    ):
        raise InvalidInputError(f"job {jid} is a batch job", "only streaming jobs can be placed")
    if plan is None:
        plan = job_detail.get("plan")
    if not plan:
        raise InvalidInputError(
            f"/jobs/{jid} holds no plan, so the streams between operators are not known",
            f"save {where} beside it and give the folder of both",
        )
    inner = plan.get("plan", plan) if isinstance(plan, Mapping) else plan
    nodes = need(inner, "nodes", list, where)
    if inner.get("jid", jid) != jid:
        raise InvalidInputError(
            f"the plan is of job {inner['jid']}, the vertices are of job {jid}",
            "save both answers of one job",
        )
    if inner.get("type", "STREAMING") == "BATCH":
        raise InvalidInputError(f"job {jid} is a batch job", "only streaming jobs can be placed")
    return {need(n, "id", str, where): n for n in nodes}


def _same_vertices(
    vertices: Mapping[str, RestAnswer], nodes: Mapping[str, RestAnswer], where: str
) -> None:
    missing = [v["name"] for vid, v in vertices.items() if vid not in nodes]
    extra = [nid for nid in nodes if nid not in vertices]
    if missing or extra:
        said = [f"the plan lacks {missing}"] if missing else []
        said += [f"the job lacks the plan's vertices {extra}"] if extra else []
        raise InvalidInputError(f"{where}: {'; '.join(said)}", "save both answers of one job")


def _slot_sharing_groups(vertices: Mapping[str, RestAnswer], notes: list[str]) -> dict[str, str]:
    ids = {vid: v.get("slotSharingGroupId") for vid, v in vertices.items()}
    if None in ids.values():
        notes.append(
            "slot sharing groups are not in the answers (Flink gives them since 1.20): all "
            "operators are taken to share one"
        )
        return dict.fromkeys(ids, "default")
    # The ids are random at each submission. Names in order make two runs comparable.
    distinct = list(dict.fromkeys(ids.values()))
    if len(distinct) == 1:
        return dict.fromkeys(ids, "default")
    return {vid: f"group-{distinct.index(group) + 1}" for vid, group in ids.items()}


def _max_parallelism(vertex: RestAnswer, notes: list[str]) -> int:
    stated = vertex.get("maxParallelism")
    if isinstance(stated, int) and stated > 0:
        return stated
    default = default_max_parallelism(vertex["parallelism"])
    notes.append(f"{vertex['name']!r}: max parallelism is not in the answer, {default} is assumed")
    return default


def _chain(name: str, separators: tuple[str, ...] = (" -> ",)) -> tuple[str, ...]:
    """Split `Source: a -> (b -> c, Sink: d)` into the operators of the chain."""
    parts = []
    depth = start = i = 0
    while i < len(name):
        depth += (name[i] in "([") - (name[i] in ")]")
        separator = next((s for s in separators if depth == 0 and name.startswith(s, i)), "")
        if separator:
            parts.append(name[start:i])
            start = i + len(separator)
        i += len(separator) or 1
    parts.append(name[start:])
    chain: list[str] = []
    for part in parts:
        if chain and part.startswith("(") and part.endswith(")"):
            chain += _chain(part[1:-1], (" -> ", ", "))
        else:
            chain.append(part)
    return tuple(chain)


def _streams(
    vertices: Mapping[str, RestAnswer],
    nodes: Mapping[str, RestAnswer],
    where: str,
    notes: list[str],
) -> list[dict[str, Any]]:
    streams = []
    for target, vertex in vertices.items():
        # The node of a source has no `inputs` at all.
        for entry in sorted(nodes[target].get("inputs") or (), key=lambda e: e.get("num", 0)):
            source = need(entry, "id", str, f"{where}/plan: an input of {vertex['name']!r}")
            if source not in vertices:
                raise InvalidInputError(
                    f"{where}/plan: {vertex['name']!r} has an input from {source}, which is no "
                    "vertex of the job",
                    "save the plan again",
                )
            title = f"{vertices[source]['name']!r} -> {vertex['name']!r}"
            exchange = entry.get("exchange", "pipelined")
            if exchange not in _STREAMING_EXCHANGES:
                raise InvalidInputError(
                    f"stream {title} has the exchange {exchange!r}, which only batch jobs have",
                    "only streaming jobs can be placed: set execution.runtime-mode to STREAMING",
                )
            strategy = _ship_strategy(entry.get("ship_strategy"), title, notes)
            unequal = vertices[source]["parallelism"] != vertex["parallelism"]
            if strategy is ShipStrategy.FORWARD and unequal:
                # Rescaling in place (the adaptive scheduler) keeps the label and the pointwise
                # pattern; between unequal parallelisms that pattern is RESCALE's.
                strategy = ShipStrategy.RESCALE
                notes.append(f"stream {title}: FORWARD between unequal parallelisms is RESCALE")
            streams.append({"source": source, "target": target, "ship_strategy": strategy})
    return streams


def host_of_endpoint(subtask: RestAnswer) -> str:
    """Return the host in the `endpoint` (`host` up to Flink 1.18) of a subtask; empty: nowhere."""
    endpoint = str(subtask.get("endpoint") or subtask.get("host") or "")
    host, colon, _ = endpoint.rpartition(":")
    return host.strip("[]") if colon else ""


def _ship_strategy(label: Any, title: str, notes: list[str]) -> ShipStrategy:
    # SQL writes the keys behind the word: HASH[user, item].
    word = str(label).partition("[")[0].strip().upper()
    if word in ShipStrategy.__members__:
        return ShipStrategy(word)
    notes.append(f"stream {title}: ship strategy {label!r} is not known, CUSTOM is assumed")
    return ShipStrategy.CUSTOM


def _checkpoints(config: RestAnswer | None, where: str, notes: list[str]) -> dict[str, Any]:
    if config is None:
        notes.append("the checkpoint interval is not in the answers: checkpoints are not counted")
        return {}
    known: dict[str, Any] = {}
    interval = need(config, "interval", int | float, f"{where}/checkpoints/config")
    if 0 < interval < _DISABLED_INTERVAL_MS:
        known["checkpoint_interval_ms"] = interval
    backend = config.get("state_backend")
    if isinstance(backend, str) and backend in _STATE_BACKENDS:
        known["state_backend"] = _STATE_BACKENDS[backend]
    else:
        notes.append(f"state backend {backend!r} is not known: state is counted as heap")
    return known


def _location(subtask: RestAnswer) -> str | None:
    for key in ("taskmanager-id", "endpoint", "host"):
        value = subtask.get(key)
        if isinstance(value, str) and value and value != "(unassigned)":
            return value
    return None
