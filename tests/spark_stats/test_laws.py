"""The flush law, against combiners that are run record by record and share no code with it."""

import math
import random
from itertools import accumulate

import pytest

from edgeplace.model import AtRate
from edgeplace.model.laws.by_rate import selectivity_at
from edgeplace.model.laws.flush import FlushLaw, Gathering
from edgeplace.spark_stats.laws import learn, state_law

RATES = (50, 400, 3_000, 12_000)
EVERY_SECOND = Gathering(interval_s=1, records=2_000, checkpoint_s=5)


def combined(rate, keys, *, exponent=1.0, cold=0.0, records=None, checkpoint=True, words=1):
    """Return records out per record in of a combiner with a timer of 1 s, over some 20 s.

    Records come evenly. A key is the next word of a Zipf distribution, or one never seen before.
    """
    dice = random.Random(f"{rate} {keys} {exponent}")  # noqa: S311 - a fixed draw
    totals = list(accumulate(1 / rank**exponent for rank in range(1, keys + 1)))
    names = range(keys)
    seconds = max(4, min(20, 60_000 // (rate * words)))
    if checkpoint:
        seconds = 5 * max(1, seconds // 5)
    gathered, folded, out, new = set(), 0, 0, 0
    next_timer, next_checkpoint = 1.0, 2.5 if checkpoint else float("inf")
    for i in range(rate * seconds):
        now = i / rate
        if now >= next_timer or now >= next_checkpoint:
            next_timer += now >= next_timer
            next_checkpoint += 5 * (now >= next_checkpoint)
            out, folded = out + len(gathered), 0
            gathered.clear()
        for _ in range(words):
            if dice.random() < cold:
                new += 1
                gathered.add(-new)
            else:
                gathered.add(dice.choices(names, cum_weights=totals)[0])
        folded += 1
        if folded == records:
            out, folded = out + len(gathered), 0
            gathered.clear()
    return (out + len(gathered)) / (rate * seconds)


def measured(**how):
    return tuple(
        AtRate(rate_per_s=rate, selectivity=combined(rate, **how), bytes_per_record=50)
        for rate in RATES
    )


@pytest.mark.parametrize("words", [1, 4])
@pytest.mark.parametrize("rate", [30, 700, 5_300])
def test_a_law_whose_keys_are_known_says_what_a_combiner_puts_out(rate, words):
    gathering = EVERY_SECOND.model_copy(update={"keys_per_record": words})
    law = FlushLaw(gathering=gathering, form="zipf", keys=500, shape=1.0)
    seen = combined(rate, 500, records=2_000, words=words)

    assert law.selectivity(rate) == pytest.approx(seen, rel=0.06)


def test_equal_keys_and_cold_ones_are_counted():
    gathering = Gathering(interval_s=1)
    law = FlushLaw(gathering=gathering, form="hot and cold", keys=40, shape=0.2)
    seen = combined(900, 40, exponent=0, cold=0.2, checkpoint=False)

    assert law.selectivity(900) == pytest.approx(seen, rel=0.06)


def test_without_a_timer_each_batch_has_its_own_keys():
    law = FlushLaw(gathering=Gathering(records=100), form="hot and cold", keys=5)

    assert law.selectivity(7) == law.selectivity(7_000) == pytest.approx(0.05)


def test_the_rarer_a_record_the_more_it_goes_alone():
    law = FlushLaw(gathering=EVERY_SECOND, form="zipf", keys=500, shape=1.0)

    assert law.selectivity(0) == 1
    assert law.selectivity(1e-6) == pytest.approx(1, rel=1e-4)


@pytest.mark.parametrize("exponent", [0, 0.5, 1, 2, 3])
@pytest.mark.parametrize("keys", [1, 5, 32, 40, 1_000])
def test_zipf_is_the_sum_over_the_ranks(keys, exponent):
    law = FlushLaw(gathering=EVERY_SECOND, form="zipf", keys=keys, shape=exponent)
    weights = [rank**-exponent for rank in range(1, keys + 1)]

    for n in (1, 20, 100, 10_000):
        each = [1 - math.exp(-n * weight / sum(weights)) for weight in weights]
        assert law.distinct(n) == pytest.approx(sum(each), rel=1e-3 if keys > 32 else 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "how"),
    [
        ("zipf", {"keys": 500, "exponent": 1.0}),
        ("hot and cold", {"keys": 40, "exponent": 0.0, "cold": 0.15}),
    ],
)
def test_the_form_of_the_keys_is_found_and_holds_between_and_beyond(form, how):
    seen = measured(records=2_000, **how)

    choice = learn(EVERY_SECOND, seen)

    assert choice.reason == ""
    assert choice.law.form == form
    assert choice.law.keys == pytest.approx(how["keys"], rel=0.25)
    for rate in (15, 1_100, 40_000):
        now = combined(rate, records=2_000, **how)
        assert selectivity_at(rate, seen, choice.law) == pytest.approx(now, rel=0.12)


def test_measured_rates_keep_their_measurement():
    seen = measured(keys=40, exponent=0.0, cold=0.15, records=2_000)
    law = learn(EVERY_SECOND, seen).law

    for at in seen:
        assert selectivity_at(at.rate_per_s, seen, law) == pytest.approx(at.selectivity)


@pytest.mark.slow
def test_a_filter_has_no_law_because_its_measurements_do_as_well():
    seen = tuple(AtRate(rate_per_s=r, selectivity=0.7, bytes_per_record=50) for r in RATES)

    choice = learn(EVERY_SECOND, seen)

    assert choice.law is None
    assert "measurements at the rates next to them by 1.00" in choice.reason


@pytest.mark.slow
def test_a_stream_that_flushes_by_another_law_is_refused():
    jumps = zip(RATES, (0.9, 0.02, 0.6, 0.01), strict=True)
    seen = tuple(AtRate(rate_per_s=r, selectivity=s, bytes_per_record=50) for r, s in jumps)

    assert learn(EVERY_SECOND, seen).law is None


def test_two_rates_are_too_few():
    seen = measured(keys=40, exponent=0.0)[:2]

    assert learn(EVERY_SECOND, seen).reason == "2 rates; the law needs 3"


def test_state_that_holds_some_seconds_of_records_has_a_law():
    # 300 kB, and 20 s of records of 8 bytes.
    seen = [(rate, 300_000 + 160 * rate) for rate in (50, 400, 5_000)]

    law = state_law(seen)

    assert law.fixed_bytes == pytest.approx(300_000, rel=1e-6)
    assert law.held_bytes_s == pytest.approx(160, rel=1e-6)
    assert law.through(50, 616_000).state_bytes(50) == pytest.approx(616_000)


@pytest.mark.parametrize(
    "states", [(1e6, 1.05e6, 1.02e6), (1e6, 1e3, 1e6), (1e4, 2e4)], ids=["same", "odd", "two"]
)
def test_other_state_has_none(states):
    assert state_law(list(zip((50, 400, 5_000), states, strict=False))) is None
