"""Fuzzing: documents and streams that are changed at random, and what must hold of them.

    make fuzz MINUTES=10        guided by coverage where atheris can be installed
    python -m fuzz --runs 2000  with nothing but the standard library

An input is a row of choices (``dice``): which seed of which dialect, what happens to it
(``mutations`` for documents, ``streams`` for streams), and which dialect it becomes. ``oracles``
says what must hold; ``run`` makes inputs, and minimises and stores those that break an oracle.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
for _folder in ("tests", "src"):
    if str(ROOT / _folder) not in sys.path:
        sys.path.insert(0, str(ROOT / _folder))
