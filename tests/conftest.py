"""The same tests, the same examples, on every machine and in every run."""

from hypothesis import settings

settings.register_profile("dragoman", derandomize=True, deadline=None, database=None)
settings.load_profile("dragoman")
