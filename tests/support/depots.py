"""A parcel service: depots of two to four Pis, regional servers, a cloud, and two jobs."""

from edgeplace.model import Cluster, JobGraph, parse

REGIONS = ("north", "south", "east", "west", "mid")
CLASSES = ("pi4", "pi5", "mini", "vm")


def depot(d: int) -> str:
    return f"depot-{d:02d}"


def pis(d: int) -> list[str]:
    """Return the machines of a depot."""
    return [f"{depot(d)}-pi{k}" for k in range(2 + d % 3)]


def depots_cluster(n: int = 40) -> Cluster:
    """Return the cluster: every fourth depot has Pi 5, the others Pi 4."""
    sites = [{"id": "cloud", "tier": "cloud"}, *({"id": f"region-{r}"} for r in REGIONS)]
    nodes = [machine(f"vm-{i}", "cloud", "vm", 16, 24) for i in range(4)]
    links = []
    for r in REGIONS:
        nodes.append(machine(f"mini-{r}", f"region-{r}", "mini", 16, 16))
        links.append(link(f"region-{r}", "cloud", 125_000_000, 10, 0.02e-9))
    for d in range(n):
        sites.append({"id": depot(d)})
        kind = "pi4" if d % 4 else "pi5"
        nodes += [machine(pi, depot(d), kind, 4, 4) for pi in pis(d)]
        links.append(link(depot(d), f"region-{REGIONS[d % 5]}", 1_250_000, 40, 4e-9))
    return parse(
        {"sites": sites, "nodes": nodes, "links": links, "checkpoint_storage": "cloud"},
        Cluster,
        "the depots",
    )


def machine(name: str, site: str, kind: str, cores: int, slots: int) -> dict[str, object]:
    memory = 3_000_000_000 if kind in ("pi4", "pi5") else 32_000_000_000
    return {
        "id": name,
        "site": site,
        "node_class": kind,
        "cores": cores,
        "slots": slots,
        "memory_bytes": memory,
    }


def link(a: str, b: str, bandwidth: float, delay_ms: float, price: float) -> dict[str, object]:
    return {
        "source": a,
        "target": b,
        "bandwidth_bytes_per_s": bandwidth,
        "delay_ms": delay_ms,
        "price_per_byte": price,
        "both_ways": True,
    }


def parcels(n: int = 40) -> JobGraph:
    """Return the job of the cameras, one at each Pi; a Pi 4 is too slow to detect."""
    cameras = [pi for d in range(n) for pi in pis(d)]
    p = len(cameras)
    return _job(
        "parcels",
        [
            _operator("camera", p, (100, 200, 500, 500), born_at=cameras, rate=5),
            _operator("decode", p, (25, 60, 150, 200)),
            _operator("detect", p, (2.5, 9, 40, 60), selectivity=1.5),
            _operator("track", 8, (800, 1500, 5000, 8000), selectivity=0.3, state=400_000_000),
            _operator("window", 4, (4000, 8000, 20000, 30000), selectivity=0.02, state=20_000_000),
            _operator("sink", 1, (4000, 8000, 20000, 30000)),
        ],
        [
            ("camera", "decode", "FORWARD", 40_000),
            ("decode", "detect", "FORWARD", 1_382_400),
            ("detect", "track", "HASH", 300),
            ("track", "window", "HASH", 120),
            ("window", "sink", "REBALANCE", 200),
        ],
    )


def forklifts(n: int = 40) -> JobGraph:
    """Return the second job: one small source in each depot."""
    return _job(
        "forklifts",
        [
            _operator(
                "canbus", n, (5000, 8000, 9000, 9000), born_at=list(map(depot, range(n))), rate=600
            ),
            _operator("parse", n, (3000, 6000, 9000, 9000), selectivity=0.05),
            _operator("per-minute", 8, (9000, 9000, 20000, 20000), state=10_000_000),
            _operator("sink", 1, (9000, 9000, 20000, 20000)),
        ],
        [
            ("canbus", "parse", "FORWARD", 120),
            ("parse", "per-minute", "HASH", 60),
            ("per-minute", "sink", "REBALANCE", 100),
        ],
    )


def _operator(
    name: str,
    parallelism: int,
    rates: tuple[float, ...],
    born_at: list[str] | None = None,
    rate: float | None = None,
    selectivity: float = 1.0,
    state: int = 0,
) -> dict[str, object]:
    cost: dict[str, object] = {
        "classes": [
            {"node_class": c, "true_rate_per_s": r} for c, r in zip(CLASSES, rates, strict=True)
        ]
    }
    if rate is not None:
        cost["demand"] = {"rates_per_s": [rate]}
    else:
        cost |= {
            "selectivity": selectivity,
            "state_bytes": state,
            "checkpointed_bytes": state // 10,
        }
    found: dict[str, object] = {"id": name, "name": name, "parallelism": parallelism, "cost": cost}
    return found | ({"born_at": born_at} if born_at else {})


def _job(
    name: str, operators: list[dict[str, object]], streams: list[tuple[str, str, str, float]]
) -> JobGraph:
    return parse(
        {
            "name": name,
            "checkpoint_interval_ms": 30_000,
            "operators": operators,
            "streams": [
                {
                    "source": a,
                    "target": b,
                    "ship_strategy": ship,
                    "cost": {"bytes_per_record": size},
                }
                for a, b, ship, size in streams
            ],
        },
        JobGraph,
        name,
    )
