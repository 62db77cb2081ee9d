"""A pytest plugin: the fixture ``scripted_model``; see ``dragoman.gateway.testing``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from .testing import Model, scripted


@pytest.fixture
def scripted_model() -> Callable[..., AbstractContextManager[Model]]:
    """Starts models with scripted replies: ``with scripted_model({"text": "Hi"}) as model``."""
    return scripted
