"""The settings at the top of a plan: lines `# name: number`."""

import re
from collections.abc import Mapping, Set

from edgeplace.model import Plan

_SETTING = re.compile(r"# ([a-z-]{1,40}): ([0-9]{1,15})")
EPOCH = "epoch"
CHECKPOINT_INTERVAL_MS = "checkpoint-interval-ms"
PREDICTED_WAN_BYTES_PER_S = "predicted-wan-bytes-per-s"
PREDICTED_HEADROOM_PERCENT = "predicted-headroom-percent"
_NAMES = (EPOCH, CHECKPOINT_INTERVAL_MS, PREDICTED_WAN_BYTES_PER_S, PREDICTED_HEADROOM_PERCENT)
_SHORTEST_INTERVAL_MS = 10
_LONGEST_INTERVAL_MS = 365 * 24 * 3600 * 1000


def is_setting(line: str) -> bool:
    """Return whether a line above all tasks is a setting, valid or not."""
    return line.startswith("# ") and "; " not in line


def settings_of(text: str) -> dict[str, int]:
    """Return the settings of a plan, without those that are wrong."""
    found: dict[str, int] = {}
    for line in text.split("\n"):
        if not is_setting(line):
            break
        hit = _SETTING.fullmatch(line)
        if hit:
            found.setdefault(hit[1], int(hit[2]))
    return found


def predictions(plan: Plan, job: str) -> dict[str, int]:
    """Return the settings that say what a plan promises of a job; empty: the plan does not say it.

    The agent shows them as metrics, beside what is.
    """
    wan = None
    if job in plan.uses:
        wan = sum(sum(ends.values()) for ends in plan.uses[job].bytes_per_s.values())
    return promised(wan, plan.headroom)


def promised(wan_bytes_per_s: float | None, headroom: float | None) -> dict[str, int]:
    """Return the settings that say what is promised of a job; None: it is not known."""
    found = {}
    if wan_bytes_per_s is not None:
        found[PREDICTED_WAN_BYTES_PER_S] = round(wan_bytes_per_s)
    if headroom is not None:
        found[PREDICTED_HEADROOM_PERCENT] = round(100 * headroom)
    return found


def rendered(settings: Mapping[str, int]) -> str:
    """Return settings as the top of a plan."""
    return "".join(f"# {name}: {value}\n" for name, value in settings.items())


def without_settings(text: str) -> str:
    """Return the lines of a plan that place tasks."""
    lines = text.split("\n")
    while lines and is_setting(lines[0]):
        del lines[0]
    return "\n".join(lines)


def problem_of(line: str, above: Set[str]) -> tuple[str, str] | None:
    """Return the problem of a setting, and the cure; None: it is valid.

    Parameters
    ----------
    above
        Names of the settings in the lines above.
    """
    hit = _SETTING.fullmatch(line)
    if not hit or hit[1] not in _NAMES:
        return "it is no setting", "there are " + ", ".join(f"`# {name}: N`" for name in _NAMES)
    if hit[1] in above:
        return f"the setting {hit[1]} has a line already", "keep one of the two"
    shortest, longest = _SHORTEST_INTERVAL_MS, _LONGEST_INTERVAL_MS
    if hit[1] == CHECKPOINT_INTERVAL_MS and not shortest <= int(hit[2]) <= longest:
        return f"a checkpoint interval is {shortest} ms to a year", "write one of these"
    return None


def name_of(line: str) -> str:
    """Return the name of a setting without problems."""
    return line[2:].partition(":")[0]
