"""What servers share that speak Chat Completions and are not OpenAI's.

Reasoning stand beside the content, and are sent back there; a refusal is plain text in a history
("property 'refusal' is unsupported"), and of media only images are sent, unless a server says
otherwise; there are only functions, no freeform tools; a choice names one tool or none; nothing
has a cache mark; the end user is ``user``. The rules of OpenAI are not theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import ClassVar, Literal, TypeAlias, TypeVar

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
from ...lint.rules import lay_open, within
from ...model import Block, Json, Media, Node, OutputFormat, Request, Source, Thinking, ToolChoice
from .._model_rules import chat_model
from .._openai import short_user
from . import OpenAIChat
from .parts import AUDIO_SYNONYMS
from .request import FIELDS

N = TypeVar("N", bound=Node)
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
    rules: ClassVar[dict[str, str]] = {"range": "A number is in the range that the API documents."}
    thinking_key: ClassVar[str | None] = "reasoning_content"
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
    """Keys and values that hide the reasoning; the first is what is written."""

    def is_bare(self, form: OutputFormat, w: Writing) -> bool:
        """Whether a schema has nothing to it, not even the name that it needs."""
        if form.kind != "schema" or form.schema.__class__ is not dict:
            return False
        if w.same and form.extras is not None and form.extras.fields:
            return False
        return not any(x is not None for x in (form.name, form.description, form.strict))

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        """The rules of OpenAI are not theirs, but for the ranges that the table of a variant has;
        what a model refuses, it refuses here as well."""
        if facet != "request":
            return iter(())
        page = lay_open(doc, facet, models)
        told = chat_model(page, self.vendor) if self.vendor else ()
        return chain(within(self.fields)(page), told)

    # -- how to think -----------------------------------------------------------------------

    def read_effort(self, doc: dict[str, Json], taken: set[str]) -> Thinking | None:
        given = super().read_effort(doc, taken)
        budget = None if self.budget_key is None else maybe_int(doc, self.budget_key, "")
        if self.budget_key is not None and budget is not None and budget >= 0:
            taken.add(self.budget_key)
            given = given or Thinking(at=f"/{self.budget_key}")
            given = replace(given, mode=given.mode or "on", budget=budget)
        for key, hidden in self.hiding.items():
            if doc.get(key).__class__ is hidden.__class__ and doc[key] == hidden:
                taken.add(key)
                given = replace(given or Thinking(at=f"/{key}"), display=OMITTED)
                if key == next(iter(self.hiding)):
                    return given
                return replace(given, extras=self.respell(given.extras, hidden=key))
        return given

    def write_effort(self, out: dict[str, Json], config: Thinking, w: Writing) -> None:
        if self.budget_key and config.budget is not None and (w.same or config.mode != "off"):
            out[self.budget_key] = config.budget
            mode = None if config.mode == "on" else config.mode  # it goes without saying
            config = replace(config, mode=mode, budget=None)
        if self.hiding and config.display == OMITTED:
            key = self.spelling(config).get("hidden", next(iter(self.hiding)))
            out[key] = self.hiding[key]
            config = replace(config, display=None)
        super().write_effort(out, config, w)


Mode: TypeAlias = Literal["on", "off", "adaptive", "between-tools"]


class Switched(Compatible):
    """Servers that turn reasoning on and off with ``thinking: {"type": ...}``."""

    modes: ClassVar[Mapping[str, Mode]] = {"enabled": "on", "disabled": "off"}
    """The types, and what they mean."""
    inner_budget: ClassVar[str | None] = None
    """What a budget is called in the object, if it has one."""

    def read_effort(self, doc: dict[str, Json], taken: set[str]) -> Thinking | None:
        given = super().read_effort(doc, taken)
        config = doc.get("thinking")
        if (
            config.__class__ is not dict
            or (mode := self.modes.get(str(config.get("type")))) is None
        ):
            return given
        taken.add("thinking")
        effort = None if given is None else given.effort
        budget = maybe_int(config, self.inner_budget, "/thinking") if self.inner_budget else None
        known = ("type", self.inner_budget) if self.inner_budget else ("type",)
        return Thinking(mode, effort, budget, at="/thinking", extras=self.keep(config, known))

    def write_effort(self, out: dict[str, Json], config: Thinking, w: Writing) -> None:
        if config.mode is not None or (self.inner_budget and config.budget is not None):
            mode = config.mode or "on"
            words = {meaning: word for word, meaning in reversed(tuple(self.modes.items()))}
            written: dict[str, Json] = {"type": words.get(mode, next(iter(self.modes)))}
            if self.inner_budget and config.budget is not None and (w.same or mode != "off"):
                written[self.inner_budget] = config.budget
            out["thinking"] = self.emit(written, config, w.log) if w.same else written
        super().write_effort(out, replace(config, mode=None, budget=None), w)


class Prefixed(Compatible):
    """Servers that go on with the last turn where a key in it says so."""

    windows = False  # the last turn may say that it is the last
    prefix: ClassVar[str] = "prefix"

    def read_request(self, doc: Json) -> Request:
        return prefixed(super().read_request(doc), self.prefix)

    def write_request(self, tree: Request, log: Ledger) -> Json:
        out: Json = super().write_request(replace(tree, prefill=None), log)
        messages = out["messages"]
        begun = bool(messages) and messages[-1]["role"] == "assistant"
        if continues(self, tree, begun, False, log):
            messages[-1][self.prefix] = True
        return out


class Stored(Compatible):
    """Servers that keep files, which are named as if they were addresses."""

    file_prefix: ClassVar[str] = ""

    def read_part(self, doc: dict[str, Json], kind: Json, at: str) -> Block:
        block = super().read_part(doc, kind, at)
        if not isinstance(block, Media) or not block.source.value.startswith(self.file_prefix):
            return block
        return replace(block, source=Source("file", block.source.value, issuer=self.issuer))

    def write_part(self, block: Block, w: Writing) -> list[Json]:
        if isinstance(block, Media) and block.source.kind == "file":
            block = replace(block, source=Source("url", block.source.value))
        return super().write_part(block, w)


CONTINUE, PROMPT = "continue_final_message", "add_generation_prompt"


class Continuing(Compatible):
    """Servers that go on with the last turn where they are told to."""

    windows = False  # what they are told of the last turn does not stand in it
    goes_on: ClassVar[bool] = False
    """Whether the server goes on with the assistant's last turn though nobody told it to."""

    def read_request(self, doc: Json) -> Request:
        tree = super().read_request(doc)
        if not tree.messages or not is_begun(tree.messages[-1]):
            return tree
        given = {} if tree.extras is None else tree.extras.fields
        if self.goes_on and CONTINUE not in given:
            return replace(tree, prefill=True)
        if given.get(CONTINUE) is not True or given.get(PROMPT, False) is not False:
            return tree
        return without_fields(replace(tree, prefill=True), CONTINUE, PROMPT)

    def write_request(self, tree: Request, log: Ledger) -> Json:
        out: Json = super().write_request(replace(tree, prefill=None), log)
        always = self.goes_on and not self.is_same(tree.dialect)
        if continues(self, tree, ends_begun(out["messages"]), always, log):
            out |= {CONTINUE: True, PROMPT: False}  # the two exclude each other
        return out


def without_fields(node: N, *keys: str) -> N:
    """A node without some of its unknown fields, which are known after all."""
    if node.extras is None:
        return node
    rest = {key: value for key, value in node.extras.fields.items() if key not in keys}
    return replace(node, extras=replace(node.extras, fields=rest))


def prefixed(tree: Request, key: str = "prefix") -> Request:
    """A request whose last message says ``prefix``: the model goes on with it."""
    last = tree.messages[-1] if tree.messages else None
    if last is None or last.extras is None or last.extras.fields.get(key) is not True:
        return tree
    messages = (*tree.messages[:-1], without_fields(last, key))
    return replace(tree, messages=messages, prefill=True)


def continues(to: Dialect, tree: Request, begun: bool, always: bool, log: Ledger) -> bool:
    """Whether the model is told to continue the last message, and that is there."""
    if tree.prefill and tree.messages and not begun:
        to.omit_prefill(tree.messages[-1], log)
    elif always and begun and not tree.prefill:
        to.continue_message(tree.messages[-1], log)
    return bool(tree.prefill) and begun


def unforced(tree: Request, choice: ToolChoice, log: Ledger) -> Request:
    """A request of which the choice is one that a model may be given while it thinks.

    A call that was asked for is worth more than reasoning that nobody asked for; where both were
    asked for, the model may choose.
    """
    thinking = tree.params.thinking
    if choice.mode not in ("required", "named") or not tree.tools:
        return tree
    if thinking is None or not (thinking.mode or thinking.effort or thinking.budget):
        log.invented(
            "thinking",
            choice.at,
            f"{log.target} does not support a forced tool call with thinking enabled",
        )
        off = replace(thinking or Thinking(at=choice.at), mode="off")
        return replace(tree, params=replace(tree.params, thinking=off))
    if thinking.mode == "off":
        return tree
    why = f"{log.target} takes no forced tool call with thinking enabled; the model may choose"
    log.approximated("tool_choice", choice.at, why)
    return replace(tree, tool_choice=replace(choice, mode="auto", name=None, kind="function"))


def ends_begun(messages: list[Json]) -> bool:
    last = messages[-1] if messages else {}
    return last.get("role") == "assistant" and not last.get("tool_calls")
