"""A user's own job: its ends are found in the graph, its rates by REST, its jar by the options."""

import sys
from pathlib import Path

import pytest

from edgeplace import Cluster, JobGraph
from edgeplace.model import (
    Link,
    Node,
    Operator,
    OperatorCost,
    ShipStrategy,
    Site,
    SourceDemand,
    Stream,
    StreamCost,
    TaskManager,
)
from testbed import __main__ as command
from testbed import errors
from testbed.experiments.policies import (
    at_the_edge,
    between_data_and_use,
    born_at_sites,
    half_and_half,
    rules,
    sinks,
)
from testbed.flink.own_job import Attached, Observed, emitted_metrics, line, slopes
from testbed.network.namespaces import link_counts
from testbed.network.wan import WanSite, WanSpec
from testbed.network.wan_link import LinkSpec

PIS, SERVER = ("pi-lyon", "pi-nice"), "server-1"


def job(*operators: tuple[str, int], streams: dict[str, str]) -> JobGraph:
    """Operators by name and parallelism; streams from -> to, spread by key where both are wide."""
    ids = {name: f"id of {name}" for name, _ in operators}
    sources = set(ids) - set(streams.values())
    return JobGraph(
        name="mine",
        operators=tuple(
            Operator(
                id=ids[n],
                name=n,
                parallelism=p,
                cost=OperatorCost(
                    operator=ids[n],
                    demand=SourceDemand(rates_per_s=(100.0,) * p) if n in sources else None,
                ),
            )
            for n, p in operators
        ),
        streams=tuple(
            Stream(
                source=ids[a],
                target=ids[b],
                ship_strategy=ShipStrategy.REBALANCE,
                cost=StreamCost(
                    source=ids[a], target=ids[b], selectivity=1.0, bytes_per_record=100.0
                ),
            )
            for a, b in streams.items()
        ),
    )


SIMPLE = job(
    ("Source: mine", 2),
    ("parse", 2),
    ("sink: Writer", 1),
    streams={"Source: mine": "parse", "parse": "sink: Writer"},
)


@pytest.mark.parametrize(
    ("found", "names"),
    [
        (SIMPLE, ["sink: Writer"]),
        (
            job(
                ("Source: a", 1),
                ("sink: Writer", 2),
                ("sink: Committer", 1),
                streams={"Source: a": "sink: Writer", "sink: Writer": "sink: Committer"},
            ),
            ["sink: Writer", "sink: Committer"],
        ),
        (
            job(
                ("Source: a", 2),
                ("print to Std. Out", 2),
                ("Source: b", 1),
                ("files", 3),
                streams={"Source: a": "print to Std. Out", "Source: b": "files"},
            ),
            ["print to Std. Out", "files"],
        ),
    ],
)
def test_sinks_are_found_and_held_in_the_cloud(found, names):
    assert [op.name for op in sinks(found)] == names
    (pin,) = rules(found).rules
    assert (pin.to, pin.operators) == ("cloud", tuple(f"id of {n}" for n in names))


def test_sources_of_any_width_are_at_the_sites_in_turn():
    wide = job(
        ("Source: mine", 3), ("map", 3), ("out", 3), streams={"Source: mine": "map", "map": "out"}
    )
    turns = ("pi-lyon", "pi-nice", "pi-lyon")
    places = at_the_edge(wide).of("mine")
    assert places == {
        "id of Source: mine": turns,
        "id of map": turns,
        "id of out": (SERVER,) * 3,
    }
    halves = half_and_half(wide).of("mine")
    assert halves["id of map"] == ("pi-lyon", SERVER, SERVER)
    assert halves["id of out"] == (SERVER,) * 3
    stock = {op.id: (SERVER,) * 3 for op in wide.operators}
    assert between_data_and_use(wide, stock).of("mine")["id of Source: mine"] == turns
    assert born_at_sites(wide).sources()[0].born_at == ("lyon", "nice", "lyon")


def test_rates_are_slopes_of_counters_that_are_fetched_now_and_then():
    # 100 and 50 records/s, seen by Flink each 4 s.
    counted = [(t, (100.0 * (t // 4 * 4), 50.0 * (t // 4 * 4))) for t in range(0, 60)]
    assert slopes(counted) == pytest.approx([100, 50], rel=0.02)
    with pytest.raises(errors.TestbedError, match="does not tell"):
        slopes(counted[:1])


def test_the_counter_of_a_source_goes_before_that_of_its_chain():
    names = ["0.numRecordsOut", "1.numRecordsOut", "0.Source__mine.numRecordsOut", "0.busy"]
    names += ["1.Source__mine.numRecordsOut", "1.parse.numRecordsOut"]
    assert emitted_metrics(names, 2) == [f"{i}.Source__mine.numRecordsOut" for i in (0, 1)]
    assert emitted_metrics(names[:2], 2) == names[:2]
    # A subtask that has just started has none yet.
    assert emitted_metrics(names, 3) == []


def test_the_wan_of_another_process_is_read(tmp_path):
    links = [LinkSpec("lyon", "cloud", 500_000.0, 25.0), LinkSpec("cloud", "lyon", 500_000.0, 25.0)]
    sites = {s: WanSite(s, f"10.88.{i}.0/24") for i, s in enumerate(("lyon", "cloud"))}
    spec = WanSpec(sites, links, str(tmp_path / "counters"))
    (tmp_path / "wan.json").write_text(spec.to_json())
    numbers = (1000, 0, 234, 5)
    (tmp_path / "counters").write_bytes(b"".join(n.to_bytes(8, sys.byteorder) for n in numbers))
    world = Attached("http://flink", tmp_path / "sites.json", tmp_path / "wan.json")
    assert (world.wan_bytes(), world.mbit_per_s()) == (1234, 4.0)
    assert link_counts(spec)["cloud", "lyon"].dropped_packets == 5


def test_what_was_seen_stands_beside_what_is_predicted_at_that_rate():
    nodes = [(pi, site) for pi, site in zip(PIS, ("lyon", "nice"), strict=True)]
    cluster = Cluster(
        sites=(Site(id="lyon"), Site(id="nice"), Site(id="cloud", tier="cloud")),
        nodes=tuple(Node(id=n, site=s, cores=1.0) for n, s in [*nodes, (SERVER, "cloud")]),
        task_managers=tuple(TaskManager(id=n, node=n, slots=9) for n in (*PIS, SERVER)),
        links=tuple(Link(source=s, target="cloud", both_ways=True) for s in ("lyon", "nice")),
    )
    own = born_at_sites(SIMPLE)
    seen = Observed(12_345.0, {"id of Source: mine": [150.0, 50.0]}, 0.1)
    said = line(own, cluster, at_the_edge(own), seen)
    # 200 records/s of 100 bytes leave the Pis, half of what `parse` gets has crossed between them.
    assert said.startswith("WAN 12,345 B/s, predicted ")
    assert "Source: mine 150.0, 50.0/s" in said
    assert "too much" not in said
    assert "too much for these figures" in line(
        own, cluster, at_the_edge(own), Observed(1, {}, 99.0)
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "one of the two"),
        (("q1-map", "--jar", "x.jar"), "one of the two"),
        (("--jar", "x.jar", "--rate", "5"), "at its own rate"),
        (("q1-map", "--class", "X"), "belong to --jar"),
    ],
)
def test_a_workload_and_a_jar_are_not_mixed(monkeypatch, capsys, words, said):
    monkeypatch.setattr(sys, "argv", ["testbed", "run", *words])
    with pytest.raises(SystemExit):
        command.main()
    assert said in capsys.readouterr().err


def test_all_behind_args_is_the_jobs(monkeypatch):
    ran = []
    monkeypatch.setattr(command, "run_jar", lambda *given: ran.append(given))
    words = ["--jar", "x.jar", "--class", "mine.Job", "--args", "--rate", "5", "-v"]
    monkeypatch.setattr(sys, "argv", ["testbed", "run", *words])
    assert command.main() == 0
    assert ran == [(Path("x.jar"), "mine.Job", ["--rate", "5", "-v"])]
