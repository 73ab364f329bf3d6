"""control.yaml: each key wrong in name, type or range, with the line and the cure."""

import calendar
import re
from pathlib import Path

import pytest
import yaml

from edgeplace.control.settings import ChangeLimits, ControlSettings, is_frozen
from edgeplace.model import InvalidInputError, read

LEAST = "jobmanager: http://localhost:8081\njob: telemetry\ncluster: cluster.yaml\n"


def reading(tmp_path, more, least=LEAST):
    path = tmp_path / "control.yaml"
    path.write_text(least + more)
    return read(path, ControlSettings)


def test_three_keys_are_enough(tmp_path):
    found = reading(tmp_path, "")
    assert (found.mode, found.poll_s, found.decide_s) == ("recommend", 10, 900)


def keys(model, prefix=""):
    """Yield each key and its default, those of a part behind its name."""
    for name, field in model.model_fields.items():
        if isinstance(field.default, ChangeLimits):
            yield from keys(ChangeLimits, f"{name}.")
        elif name not in ("format", "version"):
            yield prefix + name, "required" if field.is_required() else field.default


def test_the_page_has_each_key_and_its_default():
    page = Path(__file__).parents[2] / "docs" / "control.md"
    if not page.exists():
        pytest.skip(f"{page} is not there")
    _, _, after = page.read_text().partition("## All keys of control.yaml")
    rows = re.findall(r"^\| `([\w.]+)` \| `?([^|`]+)`? \| \S", after.partition("\n## ")[0], re.M)
    said = {key: default.strip() for key, default in rows}
    wanted = dict(keys(ControlSettings))
    assert list(said) == list(wanted)
    for key, default in wanted.items():
        shown = said[key]
        # A dash: nothing is given.
        assert (not default) if shown == "-" else yaml.safe_load(shown) == default, key


WRONG = {
    "jobmanager": (["8081", "[]", "localhost:8081", "http://", "http://h:99999"], "jobmanager"),
    "job": (["1", ""], "job"),
    "cluster": (["{}", "7"], "cluster"),
    "costs": (["3", "''"], "costs"),
    "rules": (["[]"], "rules"),
    "credentials": (["true"], "credentials"),
    "ca_file": (["1"], "ca_file"),
    "plans": (["[a]"], "plans"),
    "folder": (["''"], "folder"),
    "mode": (["aply", "1"], "mode"),
    "poll_s": (["0", "x", ".nan", ".inf", "true", "10 sec"], "poll_s"),
    "decide_s": (["59", "1e9"], "decide_s"),
    "settle_s": (["0"], "settle_s"),
    "solve_s": (["601"], "solve_s"),
    "apply_s": (["-1"], "apply_s"),
    "measure_s": (["0", "hourly"], "measure_s"),
    "headroom": (["0.9", "true"], "headroom"),
    "quantile": (["1", "0.4"], "quantile"),
    "changes": (["3", "[]"], "changes"),
    "listen": (["9550", "0.0.0.0:9550", "'127.0.0.1:99999'", "'example.org:80'"], "listen"),
    "rescale": (["8", "[window]", "{window: 8..1}", "{window: many}"], "rescale"),
    "recovery_s": (["0", "soon"], "recovery_s"),
    "survive": (["lyon", "[3]"], "survive"),
    "version": (["2"], "version"),
}


@pytest.mark.parametrize(
    ("key", "value"), [(k, v) for k, (values, _) in WRONG.items() for v in values]
)
def test_a_wrong_value_is_said_with_its_key(tmp_path, key, value):
    least = "".join(line for line in LEAST.splitlines(True) if not line.startswith(f"{key}:"))
    with pytest.raises(InvalidInputError) as e:
        reading(tmp_path, f"{key}: {value}\n", least)
    assert key in str(e.value)
    assert str(tmp_path / "control.yaml") in str(e.value)
    assert e.value.cure


def test_an_address_with_a_password_is_not_repeated(tmp_path):
    least = "".join(line for line in LEAST.splitlines(True) if not line.startswith("jobmanager:"))
    with pytest.raises(InvalidInputError, match=r"jobmanager .line .*: .*user or a password") as e:
        reading(tmp_path, "jobmanager: http://me:geheim@h:8081\n", least)
    assert "geheim" not in str(e.value)
    assert "geheim" not in e.value.cure
    assert "credentials" in e.value.cure


def test_every_key_is_tried():
    assert set(WRONG) == set(ControlSettings.model_fields) - {"format"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("changes: {voluntary_per_hour: -1}", "voluntary_per_hour"),
        ("changes: {voluntary_per_day: 1.5}", "voluntary_per_day"),
        ("changes: {urgent_per_hour: many}", "urgent_per_hour"),
        ("changes: {wan_mb_per_day: -3}", "wan_mb_per_day"),
        ("changes: {least_gain: 5%}", "least_gain"),
        ("changes: {freeze: Fri 16:00}", "freeze"),
        ("changes: {freeze: [Fri 16:00]}", "write two times in UTC, Fri 16:00 - Mon 08:00"),
        ("changes: {freeze: [Fri 25:00 - Mon 08:00]}", "is no time of a week"),
        ("changes: {freezes: []}", "did you mean 'freeze'?"),
        ("pol_s: 5", "did you mean 'poll_s'?"),
    ],
)
def test_what_is_wrong_below_is_named_with_its_line(tmp_path, text, said):
    with pytest.raises(InvalidInputError) as e:
        reading(tmp_path, text + "\n")
    assert said in str(e.value)
    assert "line 4" in str(e.value)


@pytest.mark.parametrize("key", ["jobmanager", "job", "cluster"])
def test_a_key_that_is_missing_is_named(tmp_path, key):
    least = "".join(line for line in LEAST.splitlines(True) if not line.startswith(f"{key}:"))
    with pytest.raises(InvalidInputError, match=rf"{key}: Field required"):
        reading(tmp_path, "", least)


def test_another_document_is_said_to_be_one(tmp_path):
    with pytest.raises(InvalidInputError, match="this looks like a cluster file"):
        reading(tmp_path, "", "sites: []\nnodes: []\n")


@pytest.mark.parametrize(
    ("moment", "frozen"),
    [
        ((2026, 11, 20, 15, 59), False),
        ((2026, 11, 20, 16, 0), True),
        ((2026, 11, 22, 12, 0), True),
        ((2026, 11, 23, 7, 59), True),
        ((2026, 11, 23, 8, 0), False),
    ],
)
def test_a_freeze_over_the_weekend(moment, frozen):
    wall_s = calendar.timegm((*moment, 0))
    assert bool(is_frozen(("Fri 16:00 - Mon 08:00",), wall_s)) == frozen


def test_a_freeze_at_noon():
    freeze = ("Wed 12:00 - Wed 13:00",)
    assert is_frozen(freeze, calendar.timegm((2026, 11, 25, 12, 30, 0)))
    assert not is_frozen(freeze, calendar.timegm((2026, 11, 25, 13, 0, 0)))
