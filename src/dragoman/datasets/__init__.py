"""From sessions and logs to training sets: many records, converted in pieces.

    inputs -> chunks -> converter -> parts -> selection -> shards
                            |                     |
                        rejects            dedup, sample, split, shuffle

A *chunk* is what one worker does at once: some megabytes of the inputs (``inputs``). ``converting``
makes lines of them, each for itself, and a note of each line (``noting``), so a chunk does not
depend on any other. ``selecting`` then sees the notes of all chunks in their order, and decides
which lines stay and in which shard each one stands; ``shards`` writes these. So the bytes do not
depend on how many workers there are, nor on the engine.

``job`` runs it. What a chunk gave and each shard are written under another name, then renamed, and
what is there already is not done again: a job that was killed goes on where it was.
"""

from .job import Finished, Job, Run, State
from .lines import Line
from .options import Options, Recipe, options_of, read_recipe

__all__ = [
    "Finished",
    "Job",
    "Line",
    "Options",
    "Recipe",
    "Run",
    "State",
    "options_of",
    "read_recipe",
]
