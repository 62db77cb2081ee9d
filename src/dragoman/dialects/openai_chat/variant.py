"""What servers share that speak Chat Completions and are not OpenAI's.

Thoughts stand beside the content, and are sent back there; a refusal is plain text in a history
("property 'refusal' is unsupported"), and of media only images are sent, unless a server says
otherwise; there are only functions, no freeform tools; a choice names one tool or none; nothing
bears a cache mark; the end user is ``user``. The rules of OpenAI are not theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ...dialect import Problem
from ...model import Json, OutputFormat
from ...writing import Writing
from . import OpenAIChat


class Compatible(OpenAIChat):
    aliases: ClassVar[tuple[str, ...]] = ()
    shared: ClassVar[dict[str, frozenset[str]]] = {}
    rules: ClassVar[dict[str, str]] = {}
    thinking_key = "reasoning_content"
    media_kinds: ClassVar[tuple[str, ...]] = ("image",)
    has_refusals = False
    has_freeform = False
    has_signatures = False
    has_subsets = False
    enforces = False
    limits_labels = False
    cache_key: ClassVar[str | None] = None
    user_key = "user"
    tiers: ClassVar[tuple[str, ...]] = ()

    def is_bare(self, form: OutputFormat, w: Writing) -> bool:
        """Whether a schema from elsewhere has nothing to it, not even the name that it needs."""
        if form.kind != "schema" or form.schema.__class__ is not dict or w.home:
            return False
        return not any(x is not None for x in (form.name, form.description, form.strict))

    def check(self, doc: Json, facet: str) -> Iterator[Problem]:
        return iter(())
