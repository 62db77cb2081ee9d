"""The same tests, the same examples, on every machine and in every run.

Which of them run is chosen here, for all; ``choosing`` says how.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

import choosing
import places
from dragoman import DragomanError, dialects

# Each client that is made reads the certificates of all authorities, 20 ms for hundreds of clients
# that ask this machine alone, without TLS. They get one, whose key was thrown away.
os.environ["SSL_CERT_FILE"] = str(places.TESTS / "authority.pem")

settings.register_profile("dragoman", derandomize=True, deadline=None, database=None)
settings.load_profile("dragoman")

# Hypothesis also draws words and numbers from the source of whatever modules are loaded, so that
# the examples of a test would depend on which tests ran before it, and on every edit.
if hasattr(providers, "_get_local_constants"):
    NONE = providers._local_constants
    providers._get_local_constants = lambda: NONE

left_out: set[str] = set()
"""Functions of which nothing is kept: a function must have one item at least, to be left out."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dragoman")
    group.addoption("--quick", action="store_true", help="a selection that ends soon")
    group.addoption("--most", action="store_true", help="a sample of what there is most of")
    group.addoption("--dialect", metavar="NAME", help="the laws of one dialect, in seconds")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "node: needs node and the packages of tests/node")
    config.addinivalue_line("markers", "redis: needs redis-server")
    config.addinivalue_line("markers", "browser: needs Chromium and the packages of web")
    config.addinivalue_line("markers", "everywhere: tries its document with every dialect")
    choosing.chosen["quick"] = config.getoption("quick")
    choosing.chosen["most"] = config.getoption("most")
    name = config.getoption("dialect")
    if name:
        try:
            choosing.chosen["dialect"] = dialects.get(name).name
        except DragomanError as problem:
            raise pytest.UsageError(str(problem)) from None


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Generator[None, None, None]:
    """Leave out what does not run before items are made of it, which takes longer than most run."""
    yield
    calls = metafunc._calls
    if not calls or not is_chosen():
        return
    name = metafunc.definition.nodeid
    if choosing.is_own(metafunc.definition.path.name):
        calls[:] = [calls[n] for n in choosing.sampled(name, [c.id for c in calls])]
        return
    everywhere = metafunc.definition.get_closest_marker("everywhere") is not None
    places = choosing.kept(name, [c.id for c in calls], [c.params for c in calls], everywhere)
    if not places:
        left_out.add(name)
    calls[:] = [calls[place] for place in places or (0,)]


def is_chosen() -> bool:
    return any(choosing.chosen.values())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not is_chosen():
        return
    gone = [item for item in items if not runs(item)]
    config.hook.pytest_deselected(items=gone)
    items[:] = [item for item in items if runs(item)]


def pytest_collection_finish() -> None:
    """A hundred thousand items live as long as the run: nobody need look through them again."""
    gc.collect()
    gc.freeze()


NEEDS = ("browser", "node", "redis")
"""Marks of tests that need other programs; they run where everything does."""


def runs(item: pytest.Item) -> bool:
    name = item.nodeid.partition("[")[0]
    dialect = choosing.chosen["dialect"]
    if choosing.chosen["most"]:
        return name not in left_out
    if name in left_out or any(item.get_closest_marker(need) for need in NEEDS):
        return False
    if dialect is not None:
        return "[" in item.nodeid or choosing.is_own(item.path.name)
    return choosing.own(name) not in choosing.SLOW
