"""The one error the testbed reports without a traceback."""


class TestbedError(RuntimeError):
    """Something this machine lacks, or a cluster or job that did not come up in time."""
