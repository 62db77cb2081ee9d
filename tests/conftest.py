"""The same tests, the same examples, on every machine and in every run."""

from hypothesis import settings
from hypothesis.internal.conjecture import providers

settings.register_profile("dragoman", derandomize=True, deadline=None, database=None)
settings.load_profile("dragoman")

# Hypothesis also draws words and numbers from the source of whatever modules are loaded, so that
# the examples of a test would depend on which tests ran before it, and on every edit.
if hasattr(providers, "_get_local_constants"):
    NONE = providers._local_constants
    providers._get_local_constants = lambda: NONE
