"""Put normviz, and what the tests have for browsers, on the path: a benchmark is run as a script, from anywhere."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
