"""Mutation testing: small faults are put into the core, one at a time, and the tests must notice.

``python -m mutants`` (``make mutants``) makes the mutants of some files (``mutating``), runs for
each of them the checks that reach its line (``checks``) in a process of its own (``judging``), and
prints how many survived. Mutants that mean the same as the original are in ``equivalent.toml``.

With ``--tell`` it looks for inputs that tell the survivors from the original (``pool``,
``telling``) and keeps them in ``tests/kept``; they are checks from then on.
"""

import fuzz as fuzz  # which finds the modules of tests
