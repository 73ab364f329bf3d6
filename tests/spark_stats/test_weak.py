"""Which measured rates are marked weak, and why."""

import pytest

from edgeplace.model import ClassCost, NodeClass, OperatorCost
from edgeplace.spark_stats import measure
from edgeplace.spark_stats.weak import mark_weak

START = 1_795_225_900_000
POLLS = 9


def on(node_class: str, rate_per_s: float, busy_share: float = 0.5, busy_s: float = 20.0):
    return ClassCost(
        node_class=node_class, true_rate_per_s=rate_per_s, busy_share=busy_share, busy_s=busy_s
    )


def op(name: str, *classes: ClassCost) -> OperatorCost:
    return OperatorCost(operator=name, classes=classes)


def marked(cluster, *operators):
    return {
        (o.operator, c.node_class): c.weak for o in mark_weak(operators, cluster) for c in o.classes
    }


@pytest.fixture
def with_speeds(cluster):
    classes = (NodeClass(id="pi", speed=0.5), NodeClass(id="server", speed=1.0))
    return cluster.model_copy(update={"node_classes": classes})


@pytest.mark.parametrize(
    ("busy_share", "busy_s", "said"),
    [
        (0.004, 20.0, "busy 0.40% of the time"),
        (0.05, 20.0, ""),
        (0.5, 0.4, "busy for 0.40 s in all"),
        (0.004, 0.4, "busy 0.40% of the time; busy for 0.40 s in all"),
    ],
)
def test_little_busy_time_is_weak(cluster, busy_share, busy_s, said):
    assert marked(cluster, op("a", on("pi", 100.0, busy_share, busy_s))) == {("a", "pi"): said}


@pytest.mark.parametrize(("server_per_s", "doubted"), [(600.0, True), (700.0, False)])
def test_slower_on_the_faster_class_is_weak(with_speeds, server_per_s, doubted):
    said = marked(with_speeds, op("a", on("pi", 1000.0), on("server", server_per_s)))
    assert set(said.values()) == {
        "600/s on 'server', though that is faster than 'pi' with 1,000/s" if doubted else ""
    }


def test_without_speeds_the_other_operators_tell_which_class_is_faster(cluster):
    faster = [op(name, on("pi", 100.0), on("server", 300.0)) for name in "bc"]
    odd = op("a", on("pi", 300.0), on("server", 100.0))
    assert all(marked(cluster, odd, *faster)["a", tm] for tm in ("pi", "server"))
    # One other operator is no majority: which of the two is odd cannot be told.
    assert not any(marked(cluster, odd, faster[0]).values())


@pytest.mark.parametrize("records_per_s", [30, 3000])
def test_a_log_of_a_trickle(with_speeds, recording, records_per_s):
    """Busy time of a thread that wakes up rarely: the faster machine seems ten times as slow."""
    per_s = {"pi": 18_258, "server": 1_896 if records_per_s < 100 else 30_000}
    recording.job({"Source: s": 1, "label": 2}, [("Source: s", "label", "HASH")])
    for poll in range(POLLS):
        ts, count = START + 5000 * poll, 5 * records_per_s * poll
        recording.placed(ts, "Source: s", ["pi-1"])
        recording.placed(ts, "label", ["pi-2", "server"])
        recording.metrics(ts, "Source: s", numRecordsOut=2 * count, accumulateBusyTimeMs=count)
        recording.metrics(
            ts,
            "label",
            numRecordsIn=[count, count],
            accumulateBusyTimeMs=[round(1000 * count / rate) for rate in per_s.values()],
        )
    found = measure([recording.write()], with_speeds).costs
    label = next(o for o in found.operators if o.operator == "id-label")
    pi, server = label.on("pi"), label.on("server")
    assert server.true_rate_per_s == pytest.approx(per_s["server"], rel=0.01)
    if records_per_s == 30:
        assert server.weak.startswith("busy 1.58% of the time; busy for 0.63 s in all; 1,8")
        assert pi.weak.startswith("busy 0.17% of the time; ")
    else:
        assert (pi.weak, server.weak) == ("", "")
