"""What servers share that speak Chat Completions and are not OpenAI's.

Reasoning stand beside the content, and are sent back there; a refusal is plain text in a history
("property 'refusal' is unsupported"), and of media only images are sent, unless a server says
otherwise; there are only functions, no freeform tools; a choice names one tool or none; nothing
bears a cache mark; the end user is ``user``. The rules of OpenAI are not theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...core.endpoint import Endpoint
from ...core.fields import Field, text
from ...core.lowering.prefill import is_begun
from ...core.models import DEFAULT, Models
from ...core.reading import maybe_int
from ...core.writing import Writing
from ...dialect import Dialect, Problem
from ...ledger import Ledger
from ...lint.rules import lay_open
from ...model import Extras, Json, OutputFormat, Request, Thinking
from .._model_rules import chat_model
from .._openai import short_user
from . import OpenAIChat
from .parts import AUDIO_SYNONYMS
from .request import FIELDS

OMITTED = "omitted"
USER = Field("user_id", text, "user", also=("safety_identifier",), fit=short_user)


def compatible(
    base: str, key: str, *, prefix: str = "", url_variable: str = "", needs_key: bool = True
) -> tuple[Endpoint, ...]:
    """The address of a server that speaks Chat Completions, with the manners of OpenAI's."""
    row = OpenAIChat.endpoints[0]._replace(
        base=base,
        prefix=prefix,
        url_variables=(url_variable,) if url_variable else (),
        key_variables=(key,),
        needs_key=needs_key,
    )
    return (row,)


IMAGES = cap.Form(
    sources=frozenset({"url", "base64"}), labels=frozenset({"detail"}), usual="image/png"
)
MORE_MEDIA = {
    "image": replace(IMAGES, labels=frozenset()),
    "audio": cap.Form(
        sources=frozenset({"url", "base64"}),
        types=frozenset(),
        families=("audio/",),
        synonyms=AUDIO_SYNONYMS,
    ),
    "video": cap.Form(sources=frozenset({"url", "base64"}), usual="video/mp4"),
}
"""What servers take that are not OpenAI's, under names that are not official."""


class Compatible(OpenAIChat):
    vendor = ""
    serves: ClassVar[tuple[str, ...]] = ()
    aliases: ClassVar[tuple[str, ...]] = ()
    shared: ClassVar[dict[str, frozenset[str]]] = {}
    rules: ClassVar[dict[str, str]] = {}
    thinking_key = "reasoning_content"
    can = replace(
        OpenAIChat.can,
        freeform="wrapped",
        order={
            **OpenAIChat.can.order,
            "assistant": {"reasoning": 0, "text": 1, "refusal": 2, "call": 3},
            "response": {"reasoning": 0, "text": 1, "refusal": 2, "call": 3},
        },
        choices=replace(OpenAIChat.can.choices, subsets=cap.NO_MODE),
        refusals=cap.RESPONSE,
        reasoning=cap.ReasoningForm(parts=cap.EVERYWHERE),
        caching=cap.NO_MARKS,
        media=cap.MediaForms(kinds={"image": IMAGES}, texts=cap.WORDS),
    )
    has_signatures = False
    enforces = False
    fields = FIELDS.without_limits(
        "temperature", "top_p", "frequency_penalty", "presence_penalty", "candidates",
        "top_logprobs", "metadata",
    ).but(USER, Field("service_tier", text, among=()))  # fmt: skip
    budget_key: ClassVar[str | None] = None
    """What a budget of reasoning is called, if there is one."""
    hiding: ClassVar[Mapping[str, Json]] = {}
    """Keys and values that hide the reasoning; the first is what is said."""

    def is_bare(self, form: OutputFormat, w: Writing) -> bool:
        """Whether a schema from elsewhere has nothing to it, not even the name that it needs."""
        if form.kind != "schema" or form.schema.__class__ is not dict or w.home:
            return False
        return not any(x is not None for x in (form.name, form.description, form.strict))

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        """The rules of OpenAI are not theirs; what a model refuses, it refuses here as well."""
        if facet != "request" or not self.vendor:
            return iter(())
        return chat_model(lay_open(doc, facet, models), self.vendor)

    # -- how to think -----------------------------------------------------------------------

    def read_effort(self, doc: dict[str, Json], taken: set[str]) -> Thinking | None:
        said = super().read_effort(doc, taken)
        budget = None if self.budget_key is None else maybe_int(doc, self.budget_key, "")
        if self.budget_key is not None and budget is not None and budget >= 0:
            taken.add(self.budget_key)
            said = said or Thinking(at=f"/{self.budget_key}")
            said = replace(said, mode=said.mode or "on", budget=budget)
        for place, (key, hidden) in enumerate(self.hiding.items()):
            if doc.get(key).__class__ is hidden.__class__ and doc[key] == hidden:
                taken.add(key)
                said = said or Thinking(at=f"/{key}")
                extras = self.respell(said.extras, hidden=key) if place else said.extras
                return replace(said, display=OMITTED, extras=extras)
        return said

    def write_effort(self, out: dict[str, Json], config: Thinking, w: Writing) -> None:
        if self.budget_key and config.budget is not None and (w.home or config.mode != "off"):
            out[self.budget_key] = config.budget
            mode = None if config.mode == "on" else config.mode  # it goes without saying
            config = replace(config, mode=mode, budget=None)
        if self.hiding and config.display == OMITTED:
            key = self.spelling(config).get("hidden") or next(iter(self.hiding))
            out[key] = self.hiding[key]
            config = replace(config, display=None)
        super().write_effort(out, config, w)


CONTINUE, PROMPT = "continue_final_message", "add_generation_prompt"


class Continuing(Compatible):
    """Servers that go on with the last turn where they are told to."""

    goes_on: ClassVar[bool] = False
    """Whether the server goes on with the assistant's last turn though nobody told it to."""

    def read_request(self, doc: Json) -> Request:
        tree = super().read_request(doc)
        if not tree.messages or not is_begun(tree.messages[-1]):
            return tree
        extras = tree.extras or Extras(self.name)
        said = extras.fields
        if self.goes_on and CONTINUE not in said:
            return replace(tree, prefill=True, extras=self.respell(extras, untold=True))
        if said.get(CONTINUE) is not True or said.get(PROMPT, False) is not False:
            return tree
        rest = {k: v for k, v in said.items() if k not in (CONTINUE, PROMPT)}
        extras = self.respell(replace(extras, fields=rest), prompt=PROMPT in said)
        return replace(tree, prefill=True, extras=extras)

    def write_request(self, tree: Request, log: Ledger) -> Json:
        out: Json = super().write_request(replace(tree, prefill=None), log)
        spelling, begun = self.spelling(tree), ends_begun(out["messages"])
        always = self.goes_on and not self.is_home(tree.dialect)
        if continues(self, tree, begun, always, log) and "untold" not in spelling:
            out[CONTINUE] = True
            if spelling.get("prompt", True):
                out[PROMPT] = False  # the two exclude each other
        return out


def continues(to: Dialect, tree: Request, begun: bool, always: bool, log: Ledger) -> bool:
    """Whether the model is told to continue the last message, and that is there."""
    if tree.prefill and not begun:
        to.omit_prefill(tree.messages[-1], log)
    elif always and begun and not tree.prefill:
        to.continue_message(tree.messages[-1], log)
    return bool(tree.prefill) and begun


def ends_begun(messages: list[Json]) -> bool:
    last = messages[-1] if messages else {}
    return last.get("role") == "assistant" and not last.get("tool_calls")
