"""What goes wrong between us and a running Flink, sorted by what the caller can do about it."""

from edgeplace.model import EdgeplaceError


class FlinkUnreachableError(EdgeplaceError):
    """Flink's REST API cannot be reached, refuses, or gives an answer that is none of Flink's."""


class FlinkNotFoundError(EdgeplaceError):
    """Flink's REST API answers, and does not know what it was asked for."""


class PlanNotWrittenError(EdgeplaceError):
    """A plan cannot be written; what stood in the folder of plans stands there still."""


class AgentMissingError(EdgeplaceError):
    """The JobManager runs without the agent: no plan would be obeyed."""
