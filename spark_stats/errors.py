"""The error of a Spark that runs elsewhere."""

from edgeplace.model.errors import EdgeplaceError


class SparkUnavailableError(EdgeplaceError, RuntimeError):
    """Spark cannot be reached, has no machine for the work, or gave up on it."""
