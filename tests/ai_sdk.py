"""The AI SDK under node, which some tests ask."""

from __future__ import annotations

import os
import shutil
from functools import cache

import pytest

import places

NODE = places.TESTS / "node"


@cache
def node() -> str:
    """Node and the packages; without them there is nothing to ask, which CI does not excuse."""
    found = shutil.which("node")
    why = None
    if found is None:
        why = "node is not installed"
    elif not (NODE / "node_modules" / "ai7").is_dir():
        why = "the packages are not installed: make node"
    if why is not None:
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    assert found is not None
    return found
