"""What the exactly-once sink of `Readings.java` has, and what it must have."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Sensor:
    """What is known of one sensor's readings.

    Parameters
    ----------
    count
        New readings.
    sum
        Of their values.
    last
        Largest number.
    again
        Messages that came once more.
    """

    count: int = 0
    sum: int = 0
    last: int = -1
    again: int = 0


def committed(folder: Path) -> dict[str, Sensor]:
    """Return sensor -> what the exactly-once sink has committed so far."""
    sensors: dict[str, Sensor] = {}
    for file in folder.glob("[!.]*"):
        for line in file.read_text().splitlines():
            name, *numbers = line.split()
            count, total, last, again = map(int, numbers)
            sensor = sensors.setdefault(name, Sensor())
            sensor.count += count
            sensor.sum += total
            sensor.last = max(sensor.last, last)
            sensor.again += again
    return sensors


def wrong_readings(found: Mapping[str, Sensor], sensors: list[str], records: int) -> list[str]:
    """Compare with sensors that have sent the numbers from 0 to ``records`` - 1.

    A number that is counted twice or lost changes the count. `Sensor.again` is not judged.
    """
    wanted = (records, sum(number % 100 for number in range(records)), records - 1)
    problems = []
    for name in sorted({*sensors, *found}):
        each = found.get(name, Sensor())
        if name not in sensors:
            problems.append(f"{name}: nobody has sent this")
        elif (each.count, each.sum, each.last) != wanted:
            problems.append(
                f"{name}: count, sum and last number are {(each.count, each.sum, each.last)} "
                f"instead of {wanted}"
            )
    return problems
