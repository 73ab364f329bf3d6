"""Errors between edgeplace and a running Flink, one class for each remedy of the caller."""

from edgeplace.model import EdgeplaceError


class FlinkUnreachableError(EdgeplaceError):
    """Flink's REST API cannot be reached, refuses, or gives an answer that is none of Flink's."""


class FlinkNotFoundError(EdgeplaceError):
    """Flink's REST API answers, and does not know what it was asked for."""


class PlanNotWrittenError(EdgeplaceError):
    """A plan cannot be written; what stood in the folder of plans stands there still."""


class AgentMissingError(EdgeplaceError):
    """The JobManager runs without the agent: no plan would be obeyed."""
