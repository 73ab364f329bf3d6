import signal

import pytest


@pytest.fixture
def python_handles_ctrl_c():
    """A Spark context of another test leaves a handler that asks its JVM first."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
