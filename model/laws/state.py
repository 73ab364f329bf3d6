"""The state of an operator, and so what a checkpoint of it writes, at other rates.

State that has an end, such as windows, sessions, and joins over an interval, holds the records of
some time. What does not depend on the rate is a constant beside it:

    state(r) = fixed + held r

with r records/s into the operator. State per key stops to grow when all keys are there: it is
fixed. State that grows for ever is no function of the rate, and has no law.
"""

from edgeplace.model.base import Frozen, NonNegative


class StateLaw(Frozen):
    """The state law of one operator, over all its subtasks."""

    fixed_bytes: NonNegative
    held_bytes_s: NonNegative
    """Bytes for each record/s into the operator: bytes of a record times the seconds for which the
    state holds it."""

    def through(self, rate_per_s: float, state_bytes: float) -> "StateLaw":
        """Return the law at the level of one measurement."""
        level = state_bytes / self.state_bytes(rate_per_s)
        return StateLaw(
            fixed_bytes=level * self.fixed_bytes, held_bytes_s=level * self.held_bytes_s
        )

    def state_bytes(self, rate_per_s: float) -> float:
        """Return the state at a rate into all subtasks together."""
        return self.fixed_bytes + self.held_bytes_s * rate_per_s
