import sys
from pathlib import Path

# The oracle and the strategies are shared by the tests here, and are no tests themselves.
sys.path.insert(0, str(Path(__file__).parent))
