import signal
import sys
from pathlib import Path

import pytest

# The oracle and the strategies are shared by the tests here, and are no tests themselves.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def python_handles_ctrl_c():
    """A Spark context of another test leaves a handler that asks its JVM first."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
