"""Lets a bare ``pytest`` find the package ``tests`` as ``python -m`` does."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
