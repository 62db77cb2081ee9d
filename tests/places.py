"""Where things are: the root of the project, and what the tests share."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
CORPUS = TESTS / "corpus"
AWKWARD = TESTS / "awkward"
