"""The settings at the top of a plan: `# epoch: N` and `# checkpoint-interval-ms: N`."""

import re
from collections.abc import Mapping, Set

_SETTING = re.compile(r"# ([a-z-]{1,40}): ([0-9]{1,15})")
EPOCH = "epoch"
CHECKPOINT_INTERVAL_MS = "checkpoint-interval-ms"
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
    if not hit or hit[1] not in (EPOCH, CHECKPOINT_INTERVAL_MS):
        return (
            "it is no setting",
            f"there are `# {EPOCH}: N` and `# {CHECKPOINT_INTERVAL_MS}: N`",
        )
    if hit[1] in above:
        return f"the setting {hit[1]} has a line already", "keep one of the two"
    shortest, longest = _SHORTEST_INTERVAL_MS, _LONGEST_INTERVAL_MS
    if hit[1] == CHECKPOINT_INTERVAL_MS and not shortest <= int(hit[2]) <= longest:
        return f"a checkpoint interval is {shortest} ms to a year", "write one of these"
    return None


def name_of(line: str) -> str:
    """Return the name of a setting without problems."""
    return line[2:].partition(":")[0]
