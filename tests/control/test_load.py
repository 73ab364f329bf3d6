"""Loads from files: what is understood, and what is said of the rest."""

import numpy as np
import pytest

from edgeplace.control.load import DAY_S, Load, read_load
from edgeplace.model import InvalidInputError
from tests.support.loads import flash_crowd, sawtooth, steady, step


def written(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "load.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    "text",
    [
        "0,10\n2,20\n",
        "timestamp|value\n1661724000|10\n1661724002|20\n",
        "date;rate\n2026-01-01 00:00:00;10\n2026-01-01 00:00:02;20\n",
        "\ufefft\tv\r\n5\t10\r\n7\t20\r\n",
        "time,rate\n2026-01-01T00:00:00Z,10\n2026-01-01T00:00:02+00:00,20\n",
    ],
)
def test_rates_between_two_times_are_interpolated(tmp_path, text):
    assert read_load(written(tmp_path, text)).rates_per_s.tolist() == [10, 15, 20]


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "holds no rates"),
        ("time,rate\n", "holds no rates"),
        ("0,1\nx,2\n", ":2: 'x,2' is not a time and a rate"),
        ("0,1\n1,nan\n", ":2: '1,nan'"),
        ("0,1\n1,-5\n", ":2: '1,-5'"),
        ("0,1\n1,2,3\n", ":2: '1,2,3'"),
        ("0,1\n\n0,2\n", ":3: the time does not come after"),
        ("5,1\n4,2\n", ":2: the time does not come after"),
        ("0,1\n1700000000000,2\n", "are the times milliseconds"),
    ],
)
def test_bad_lines_are_named(tmp_path, text, said):
    with pytest.raises(InvalidInputError) as e:
        read_load(written(tmp_path, text))
    assert said in str(e.value)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        read_load(written(tmp_path, "time,r\xe4te\n0,1\n", "latin-1"))
    with pytest.raises(InvalidInputError, match="No such file"):
        read_load(tmp_path / "absent.csv")
    with pytest.raises(InvalidInputError, match="Is a directory"):
        read_load(tmp_path)


def test_days_and_scale():
    load = Load("two days", np.arange(20.0), day_s=10)
    assert load.days == 2
    assert len(load.first(1).rates_per_s) == 10
    assert load.scaled_to(38.0).rates_per_s[-1] == 38
    with pytest.raises(InvalidInputError, match="lasts 2 days"):
        load.first(3)
    with pytest.raises(InvalidInputError, match="zero all the time"):
        Load("none", np.zeros(5)).scaled_to(1.0)


@pytest.mark.parametrize("rates", [[], [-1.0], [np.nan], [[1.0]]])
def test_a_load_is_a_list_of_rates(rates):
    with pytest.raises(InvalidInputError, match="is not a list of rates"):
        Load("bad", np.array(rates))


def test_made_loads_have_the_shapes_they_are_named_for():
    assert set(steady(5.0, 1).rates_per_s) == {5.0}
    day = step(1.0, 9.0, 1).rates_per_s
    assert (day[9 * 3600 - 1], day[9 * 3600], day[17 * 3600]) == (1, 9, 1)
    teeth = sawtooth(0.0, 10.0, 100, 0.01).rates_per_s
    assert (teeth[0], teeth[50], teeth[100]) == (0, 5, 0)
    crowd = flash_crowd(1.0, 11.0, [1000], 0.1).rates_per_s
    assert (crowd[999], crowd[1060]) == (1, 11)
    assert crowd.max() == 11
    assert len(crowd) == DAY_S // 10
