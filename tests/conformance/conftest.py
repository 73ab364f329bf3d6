import sys
from pathlib import Path

# The generator, the oracle and the check are shared by the tests here and the night's run.
sys.path.insert(0, str(Path(__file__).parent))
