import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
wan_link = pytest.importorskip("testbed.network.wan_link", reason=REASON)
wan = pytest.importorskip("testbed.network.wan", reason=REASON)
errors = pytest.importorskip("testbed.errors", reason=REASON)


def link(**spec: float) -> "wan_link.WanLink":
    return wan_link.WanLink(wan_link.LinkSpec("a", "b", **spec), seed=1)


def test_packets_leave_at_the_rate_of_the_link_and_arrive_after_its_delay() -> None:
    one = link(bytes_per_s=1000, delay_ms=50, queue_ms=10_000)

    arrivals = [one.send(10.0, 100) for _ in range(3)]

    assert arrivals == pytest.approx([10.15, 10.25, 10.35])
    assert one.send(20.0, 100) == pytest.approx(20.15)
    assert one.carried_bytes == 400


def test_a_full_queue_drops_and_does_not_count() -> None:
    one = link(bytes_per_s=1000, queue_ms=150)

    arrivals = [one.send(0.0, 100) for _ in range(4)]

    assert arrivals[2:] == [None, None] or arrivals[3] is None
    assert one.dropped_packets == sum(a is None for a in arrivals) > 0
    assert one.carried_bytes == 100 * sum(a is not None for a in arrivals)


def test_jitter_delays_and_never_reorders() -> None:
    one = link(delay_ms=10, jitter_ms=20)

    sent = [i * 0.001 for i in range(200)]
    arrivals = [one.send(at, 100) for at in sent]

    late_ms = [1000 * (b - a) for a, b in zip(sent, arrivals, strict=True)]
    assert arrivals == sorted(arrivals)
    assert min(late_ms) >= 10 - 1e-9 and 25 < max(late_ms) <= 30 + 1e-9


def test_loss_is_about_the_share_that_was_asked_for() -> None:
    one = link(loss=0.1)

    lost = sum(one.send(float(i), 100) is None for i in range(5000))

    assert 400 < lost < 600
    assert one.dropped_packets == lost


def test_nothing_passes_a_link_that_is_cut() -> None:
    one = link(loss=1.0)
    assert [one.send(i / 10, 100) for i in range(20)] == [None] * 20


@pytest.mark.parametrize("spec", [{"loss": 1.1}, {"delay_ms": -1}, {"bytes_per_s": -5}])
def test_a_link_that_makes_no_sense_is_refused(spec: dict[str, float]) -> None:
    with pytest.raises(errors.TestbedError, match="a -> b"):
        wan_link.LinkSpec("a", "b", **spec)


def spec_of(*ends: str) -> "wan.WanSpec":
    sites = {s: wan.WanSite(f"n-{s}", "10.0.0.0/24") for s in "abc"}
    return wan.WanSpec(sites, [wan_link.LinkSpec(*e) for e in ends], "counters")


def test_traffic_between_leaves_of_a_star_passes_its_middle() -> None:
    routes = spec_of("ab", "ba", "bc", "cb").routes()

    assert routes["a", "c"] == [0, 2]
    assert routes["c", "a"] == [3, 1]
    assert routes["a", "b"] == [0]


def test_links_to_nowhere_and_links_given_twice_are_refused() -> None:
    with pytest.raises(errors.TestbedError, match="no such site"):
        spec_of("ax").routes()
    with pytest.raises(errors.TestbedError, match="given twice"):
        spec_of("ab", "ab").routes()


def test_a_spec_survives_the_way_to_the_process_that_carries(tmp_path) -> None:
    spec = spec_of("ab", "bc")
    file = tmp_path / "wan.json"
    file.write_text(spec.to_json())

    assert wan.WanSpec.read(file) == spec
