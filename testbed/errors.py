"""The error that the testbed reports without a traceback."""


class TestbedError(RuntimeError):
    """This machine lacks something, or a cluster or a job did not start in time."""
