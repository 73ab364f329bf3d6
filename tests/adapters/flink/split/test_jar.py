"""The jar of split aggregates: built again, its rule, its panes and what it refuses."""

import random
import shutil
import subprocess
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.slow

Probe = Callable[..., Any]
KEYS = 10_000
PER_SLIDE = 20_000


def test_the_same_sources_give_the_same_jar(split_jar: Path, home: Path, tmp_path: Path) -> None:
    from testbed.flink.split_jar import build

    javac = shutil.which("javac")
    assert javac
    version = subprocess.run([javac, "-version"], capture_output=True, text=True).stdout
    if not version.startswith("javac 17."):
        pytest.skip(f"the jar is built by JDK 17, here is {version}")
    built = build(home, tmp_path / "split.jar")
    assert built.read_bytes() == split_jar.read_bytes(), "run make agent and commit the jar"


def test_the_jar_has_classes_of_its_own_package_only(split_jar: Path) -> None:
    with zipfile.ZipFile(split_jar) as jar:
        names = set(jar.namelist()) - {"META-INF/MANIFEST.MF"}
    # The agent may be in the same JVM, from another release.
    assert {name.rpartition("/")[0] for name in names} == {"dev/edgeplace/flink/split"}


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("session", "session windows cannot be split"),
        ("processing time", "TumblingProcessingTimeWindows cannot be split"),
        ("no merge", "fails on two empty accumulators"),
        ("null merge", "returns null"),
        ("no workers", "give 1 worker or more"),
        ("no window", "a WindowFunction needs windows: call window(...)"),
    ],
)
def test_what_cannot_be_split_is_refused_with_the_reason(
    probe: Probe, what: str, says: str
) -> None:
    assert says in probe("refusal", what)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    size=st.integers(1, 50),
    slide=st.integers(1, 50),
    offset=st.integers(0, 49),
    times=st.lists(st.integers(-200, 200), min_size=1, max_size=20),
)
def test_the_records_of_a_pane_are_in_the_same_windows(
    probe: Probe, size: int, slide: int, offset: int, times: list[int]
) -> None:
    offset = offset % slide

    def windows(time: int) -> set[int]:
        return {
            begin for begin in range(time - size + 1, time + 1) if (begin - offset) % slide == 0
        }

    answer = probe("panes", str(size), str(slide), str(offset), "\n".join(map(str, times)))
    for time, (begin, end) in zip(times, answer, strict=True):
        assert begin <= time < end
        assert all(windows(other) == windows(time) for other in range(begin, end))
        # And no pane is shorter than it can be.
        assert windows(begin - 1) != windows(time) or not windows(time)
        assert windows(end) != windows(time) or not windows(time)


def records(zipf: float, seed: int, slides: int, drift: int = 0) -> list[list[int]]:
    """Return the keys of each slide; every few slides other keys are frequent."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    weights = [(i + 1) ** -zipf for i in range(KEYS)]
    return [
        [1_000_003 * k + (slide // drift if drift else 0) for k in keys]
        for slide in range(slides)
        for keys in [rng.choices(range(KEYS), weights, k=PER_SLIDE)]
    ]


def routed(
    probe: Probe, weights: Sequence[float], slides: Sequence[Sequence[int]]
) -> list[list[int]]:
    texts = ("\n".join(map(str, keys)) for keys in slides)
    found: list[list[int]] = probe("rule", "\n".join(map(str, weights)), *texts)
    return found


def over(weights: Sequence[float], workers: Sequence[int]) -> float:
    """Return how far the fullest worker is above its share."""
    expected = [len(workers) * w / sum(weights) for w in weights]
    return max(workers.count(i) / e - 1 for i, e in enumerate(expected) if e)


@pytest.mark.parametrize(
    ("weights", "drift"),
    [([1.0] * 16, 0), ([1.0] * 16, 3), ([0.5 + i / 15 for i in range(16)], 3), ([1.0] * 64, 0)],
)
def test_every_worker_has_its_share_and_few_keys_are_at_many(
    probe: Probe, weights: list[float], drift: int
) -> None:
    slides = records(1.5, 7, 8, drift)
    found = routed(probe, weights, slides)
    # Nothing is known of the first slide, and little of the keys after a change.
    for keys, workers in list(zip(slides, found, strict=True))[1:]:
        assert over(weights, workers) < 0.06
        partials = len(set(zip(keys, workers, strict=True)))
        # Keys + workers - 1 is the fewest that balances perfectly (McNaughton 1959). Beyond it are
        # cold keys that became hot, or passed a worker that was full.
        assert partials <= len(set(keys)) + len(weights) - 1 + 2


@pytest.mark.parametrize(
    ("weights", "zipf"), [([1.0] * 16, 0.5), ([0.0, 1.0, 3.0, 0.7], 1.0), ([1.0, 2.0] * 8, 1.5)]
)
def test_mild_skew_is_balanced_and_the_bench_has_the_same_rule(
    probe: Probe, weights: list[float], zipf: float
) -> None:
    bench = pytest.importorskip(
        "benchmarks.partitioners.edgeplace_rule", reason="the bench is not beside these tests"
    )
    rule = bench.EdgeplaceRule(len(weights), np.array(weights))
    # A slide that is much shorter, too, and hot keys that change.
    slides = records(zipf, 11, 6, 3)
    slides[2] = slides[2][:700]
    for keys, workers in zip(slides, routed(probe, weights, slides), strict=True):
        assert [rule.route(key) for key in keys] == workers
        rule.end_of_slide()
        # Rare keys pass at 10 % of the slide before at the latest; in a short one that is much.
        assert len(keys) == 700 or over(weights, workers) < 0.11


def test_a_worker_without_weight_gets_nothing(probe: Probe) -> None:
    weights = [0.0, 1.0, 0.0, 2.0, 1.0, 0.0]
    for workers in routed(probe, weights, records(1.5, 3, 3)):
        assert {*workers} == {1, 3, 4}


def test_one_key_is_spread_over_all_workers(probe: Probe) -> None:
    weights = [1.0, 2.0, 3.0]
    for workers in routed(probe, weights, [[42] * 10_000] * 3):
        assert over(weights, workers) < 0.07


def test_keys_that_are_all_distinct_go_by_weight_alone(probe: Probe) -> None:
    weights = [1.0, 2.0, 3.0]
    slides = [list(range(i * 50_000, (i + 1) * 50_000)) for i in range(3)]
    for workers in routed(probe, weights, slides):
        assert over(weights, workers) < 0.05


@pytest.mark.parametrize(
    ("keys", "repeats", "option"),
    [(250_000, 1, "plain"), (300, 50, "reuse"), (1, 1000, "plain")],
)
def test_a_job_counts_each_record_once(probe: Probe, keys: int, repeats: int, option: str) -> None:
    # With a key for each record, records pass through, and then one key is all there is.
    wanted = {"keys": keys, "of key 0": repeats + keys, "sum": keys * repeats + keys}
    assert probe("local", str(keys), str(repeats), option) == wanted


@pytest.mark.parametrize(
    "form",
    [
        "WindowFunction",
        "WindowFunction, typed",
        "lambda, typed",
        "ProcessWindowFunction",
        "ProcessWindowFunction, typed",
    ],
)
def test_what_flink_takes_behind_the_aggregate_of_a_window_is_taken(
    probe: Probe, form: str
) -> None:
    counts = Counter((number % 10, number // 40 * 40) for number in range(100))
    wanted = sorted(f"{key} {begin} {n}" for (key, begin), n in counts.items())
    assert sorted(probe("windowed", form)) == wanted


def test_with_keys_that_are_not_deterministic_each_record_counts_once(probe: Probe) -> None:
    # Router and combine get other keys for a record; the last one that is asked for counts.
    said = probe("local", "1000", "1", "random")
    assert (said["keys"], said["sum"]) == (5, 2000)


def test_a_null_key_fails_the_job_with_the_reason(probe: Probe) -> None:
    assert "Flink has no null keys" in probe("local", "20", "1", "null")
