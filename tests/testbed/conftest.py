import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

# The testbed is no part of the wheel and of an editable install: it is found beside the tests only.
if (ROOT / "testbed" / "__init__.py").is_file():
    sys.path.append(str(ROOT))
