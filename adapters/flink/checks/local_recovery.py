"""Local recovery: a subtask that keeps its slot finds its state on its own machine."""

from collections.abc import Mapping

from edgeplace.adapters.flink.rest.release import major_minor

_UNTIL_1_19 = "state.backend.local-recovery"
"""Later releases take it for both of the other two, where these are not set."""
_RECOVERY = "execution.state-recovery.from-local"
_BACKUP = "execution.checkpointing.local-backup.enabled"


def is_on(configuration: Mapping[str, str]) -> bool:
    """Tell whether Flink's configuration turns it on; by default it is off.

    Parameters
    ----------
    configuration
        The JobManager's; the TaskManagers are taken to have the same.
    """
    former = configuration.get(_UNTIL_1_19, "false")
    values = (configuration.get(name, former) for name in (_RECOVERY, _BACKUP))
    return all(value.strip().lower() == "true" for value in values)


def lines(release: str) -> tuple[str, ...]:
    """Return the lines of Flink's configuration that turn it on in a release, such as `2.3.0`."""
    known = major_minor(release)
    names = (_UNTIL_1_19,) if known is not None and known < (1, 20) else (_RECOVERY, _BACKUP)
    return tuple(f"{name}: true" for name in names)
