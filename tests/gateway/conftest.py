"""Connections that a test leaves open complain in that test, and not in some later one."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    gc.freeze()  # what was there before: only what the test leaves is looked through
    yield
    gc.collect()
