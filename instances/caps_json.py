"""The job files of CAPS: read its JSON as a job graph.

Wang et al., "CAPSys: Contention-aware task placement for data stream processing", EuroSys 2025;
format of https://github.com/CASP-Systems-BU/CAPSys, `scripts/caps-go`: a list of operators with

* ``compute``: CPU of all its subtasks at the target rate, in ms a second;
* ``state``: bytes a second to and from its state;
* ``network``: MB a second that it sends, all subtasks together;
* ``outboundtype``: ship strategy to its one consumer; ``downNode``, ``upNode``: neighbours' ids.

The format has no record rates. One record a second per source subtask represents the target rate,
so that costs per record are costs at the target rate. State traffic becomes checkpointed bytes at
an interval of one second.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeplace.model import (
    InvalidInputError,
    JobGraph,
    ShipStrategy,
    load,
    parse,
)

SECOND_MS = 1000.0
MEGABYTE = 1e6
FORWARD = "FORWARD"
IDLE_RATE_PER_S = 1e9
"""True rate of an operator without compute."""


def is_caps(data: object) -> bool:
    """Return whether plain data looks like a job file of CAPS."""
    return (
        isinstance(data, list)
        and bool(data)
        and all(isinstance(o, dict) and "compute" in o and "upNode" in o for o in data)
    )


def read_caps(path: str | Path, node_class: str = "default") -> JobGraph:
    """Read a job of CAPS; its sources may run anywhere, as CAPS has it.

    Parameters
    ----------
    node_class
        The class of machines on which the costs were measured.

    Raises
    ------
    InvalidInputError
        If the file is not such a job; the message names operator and field.
    """
    data = load(path)
    if not is_caps(data):
        raise InvalidInputError(
            f"{path}: no job of CAPS", "give its list of operators with compute, state and network"
        )
    by_id: dict[str, Mapping[str, Any]] = {}
    for n, entry in enumerate(data, start=1):
        missing = {"id", "name", "parallelism", "state", "network", "outboundtype", "downNode"}
        missing -= set(entry)
        if missing:
            raise InvalidInputError(
                f"{path}: operator {n}: {', '.join(sorted(missing))} missing", "add the fields"
            )
        by_id[str(entry["id"])] = entry
    for key, entry in by_id.items():
        for other in (*entry["upNode"], *entry["downNode"]):
            if str(other) not in by_id:
                raise InvalidInputError(
                    f"{path}: operator {key!r} names a neighbour {other!r} that is not there",
                    "correct upNode and downNode",
                )
        for field in ("parallelism", "compute", "state", "network"):
            if not isinstance(entry[field], int | float) or not entry[field] >= 0:
                raise InvalidInputError(
                    f"{path}: operator {key!r}: {field} is {entry[field]!r}",
                    "give a number of 0 or more",
                )
    rates = _rates(by_id, str(path))
    return parse(
        {
            "name": Path(path).name.split(".")[0],
            "checkpoint_interval_ms": SECOND_MS,
            "operators": [_operator(e, rates[k], node_class) for k, e in by_id.items()],
            "streams": [
                _stream(e, by_id[str(target)], rates[k])
                for k, e in by_id.items()
                for target in e["downNode"]
            ],
        },
        JobGraph,
        str(path),
    )


def _rates(by_id: Mapping[str, Mapping[str, Any]], origin: str) -> dict[str, float]:
    """Return the records/s of each operator where every subtask of a source emits one."""
    rates: dict[str, float] = {}
    left = dict(by_id)
    while left:
        ready = [k for k, e in left.items() if all(str(u) in rates for u in e["upNode"])]
        if not ready:
            raise InvalidInputError(
                f"{origin}: the operators {sorted(left)} form a cycle", "correct upNode"
            )
        for key in ready:
            entry = left.pop(key)
            inputs = [rates[str(u)] for u in entry["upNode"]]
            rates[key] = sum(inputs) if inputs else float(entry["parallelism"])
    return rates


def _operator(entry: Mapping[str, Any], rate: float, node_class: str) -> dict[str, Any]:
    compute = float(entry["compute"])
    busy_rate = rate * SECOND_MS / compute if compute and rate else IDLE_RATE_PER_S
    source = not entry["upNode"]
    key = str(entry["id"])
    return {
        "id": key,
        "name": entry["name"],
        "parallelism": entry["parallelism"],
        "slot_sharing_group": key,
        "born_at": ("anywhere",) if source else (),
        "cost": {
            "operator": key,
            "classes": [{"node_class": node_class, "true_rate_per_s": busy_rate}],
            "selectivity": None if source else 1.0,
            "demand": {"rates_per_s": (1.0,) * int(entry["parallelism"])} if source else None,
            "checkpointed_bytes": entry["state"] or None,
        },
    }


def _stream(entry: Mapping[str, Any], consumer: Mapping[str, Any], rate: float) -> dict[str, Any]:
    ends = {"source": str(entry["id"]), "target": str(consumer["id"])}
    ship = str(entry["outboundtype"]).upper()
    if ship == FORWARD and entry["parallelism"] != consumer["parallelism"]:
        # CAPS calls any local exchange FORWARD; between unlike parallelisms Flink has RESCALE.
        ship = ShipStrategy.RESCALE.value
    size = entry["network"] * MEGABYTE / rate if rate else 0.0
    cost = {**ends, "selectivity": 1.0, "bytes_per_record": size}
    return {**ends, "ship_strategy": ship, "cost": cost}
