"""Errors between edgeplace and a running Flink, one class for each remedy of the caller."""

from edgeplace.model import EdgeplaceError


class FlinkUnreachableError(EdgeplaceError):
    """Flink's REST API cannot be reached, refuses, or gives an answer that is none of Flink's."""


class PrometheusUnreachableError(EdgeplaceError):
    """A Prometheus server cannot be reached, refuses, or gives an answer that is none of its."""


class FlinkNotFoundError(EdgeplaceError):
    """Flink's REST API does not know the requested object."""


class PlanNotWrittenError(EdgeplaceError):
    """A plan cannot be written; what stood in the folder of plans stands there still."""


class AgentMissingError(EdgeplaceError):
    """The JobManager runs without the agent: no plan would be obeyed."""
