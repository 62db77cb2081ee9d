"""The dialect of one chat template: a conversation as the text that the template prints of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ..core.writing import Writing
from ..dialects._chatlike import Chatlike
from ..dialects._sessions import ABSENT
from ..errors import Unsayable
from ..ledger import Ledger
from ..model import History, Json, Message, Request, Text, Tool, ToolCall, ToolResult
from .probes import Probe, Probes
from .rendering import Renderer, tojson
from .spans import spans_of

Spans: TypeAlias = Literal["none", "last", "all"]
SWALLOWED = "the chat template leaves out {}"
WHAT = {
    "text": "this text",
    "reasoning": "this reasoning",
    "call": "a part of this call",
    "result": "this result",
    "tool": "a part of this tool",
}


class Printed(NamedTuple):
    """A text, the messages as the template took them, and what it left out."""

    text: str
    docs: list[Json]
    marked: list[Json]
    gone: list[Probe]
    again: str
    """the text with marks"""


class Options(Struct, frozen=True):
    """What a record has beside the text."""

    spans: Spans = "none"
    """The places of the assistant's turns in the text: of all of them, or of the last one."""
    reasoning: bool = True
    """Whether reasoning is in them."""
    pairs: bool = False
    """Whether a record is ``prompt`` and ``completion``, the last reply, instead of ``text``."""


class ChatTemplate(Chatlike):
    """A dialect that is written only. It is made for one template, and registered by its path."""

    name = "template"
    spec = "https://huggingface.co/docs/transformers/chat_templating"
    history = None  # the whole conversation is one text
    read_tools = write_tools = ABSENT
    code: ClassVar[str] = "template"

    def __init__(
        self, source: str, *, tokens: dict[str, str] | None = None, options: Options | None = None
    ) -> None:
        self.options = options or Options()
        self.render = Renderer(source, tokens)
        if self.options.pairs:
            self.can = replace(Chatlike.can, training=frozenset({"completion"}))  # type: ignore[misc]

    def write_request(self, tree: Request, log: Ledger) -> Json:
        w = self.writing(log, tree.dialect)
        self.lose_settings(tree, w)
        tools = tree.tools or ()
        self.lose(tree.extras, tree.at, log)
        told = tree.training
        count = 1 if told is None or told.completion is None else told.completion
        return self.write_record(tree.messages, tools, count, w)

    def write_messages(self, tree: History, log: Ledger) -> Json:
        self.lose(tree.extras, tree.at, log)
        return self.write_record(tree.messages, (), 1, self.writing(log, tree.dialect))

    def write_record(
        self, messages: Sequence[Message], tools: Sequence[Tool], count: int, w: Writing
    ) -> dict[str, Json]:
        self.render.now = w.log.now
        w.log.embeds = False  # a template looks into what it prints
        turns: list[tuple[Message, Json]] = []
        names: dict[str, str] = {}
        for message in self.results_in_order(messages, w.log):
            doc = self.write_turn(message, names, w)
            if doc is not None:
                turns.append((message, doc))
        if not turns:
            raise Unsayable("there is nothing to print: the conversation has no messages")
        docs, defined = [doc for _, doc in turns], self.write_toolbox(tools, w)
        probes = Probes()
        marked_tools = [marked_tool(probes, t, d) for t, d in zip(tools, defined, strict=True)]
        marked = [marked_turn(probes, n, *turn) for n, turn in enumerate(turns)]
        printed = self.printed(docs, defined, marked, marked_tools, probes)
        text, docs, marked = printed.text, printed.docs, printed.marked
        self.note_swallowed(printed.gone, w.log)
        if self.options.spans == "none" and not self.options.pairs:
            return {"text": text}
        spans = spans_of(self.render, text, probes, marked, marked_tools)
        if self.options.pairs:
            return self.pair(text, spans, docs, defined, count)
        if not self.options.reasoning:
            spans = {n: without(own, probes.places(n, "reasoning")) for n, own in spans.items()}
        chosen = sorted(spans)[-1:] if self.options.spans == "last" else sorted(spans)
        return {"text": text, "spans": [list(piece) for n in chosen for piece in spans[n]]}

    def printed(
        self, docs: list[Json], tools: list[Json], marked: list[Json], marked_tools: list[Json],
        probes: Probes,
    ) -> Printed:  # fmt: skip
        """The text, in that form of the messages of which the template prints most."""
        best: Printed | None = None
        refusal: Unsayable | None = None
        for form in FORMS:
            given = form(docs)
            if best is not None and given == best.docs:
                continue
            try:
                text = self.render(given, tools)
                again = self.render(form(marked), marked_tools)
            except Unsayable as problem:
                refusal = refusal or problem
                continue
            gone = probes.locate(again, text)
            if best is None or len(gone) < len(best.gone):
                best = Printed(text, given, form(marked), gone, again)
            if not gone or not any(probe.what in ("text", "result") for probe in gone):
                break
        if best is None:
            assert refusal is not None
            raise refusal
        probes.locate(best.again, best.text)
        return best

    def note_swallowed(self, gone: list[Probe], log: Ledger) -> None:
        for what, at in dict.fromkeys((probe.what, probe.at) for probe in gone):
            log.dropped(self.code, at, SWALLOWED.format(WHAT[what]))

    def pair(
        self, text: str, spans: dict[int, list[tuple[int, int]]], docs: list[Json],
        tools: list[Json], count: int,
    ) -> dict[str, Json]:  # fmt: skip
        """The text, divided before what is learned; without a reply it is a prompt alone."""
        first = max(len(docs) - count, 0)
        own = [piece[0][0] for n, piece in spans.items() if n >= first and piece]
        if docs[-1]["role"] != "assistant" or not own:
            return {"prompt": self.render(docs, tools, prompt=True), "completion": ""}
        return {"prompt": text[: min(own)], "completion": text[min(own) :]}


def as_parts(docs: list[Json]) -> list[Json]:
    """Messages whose content is a list of parts, as templates of models that see ask for it."""
    return [{**d, "content": [{"type": "text", "text": d["content"]}]} for d in docs]


def as_text(docs: list[Json]) -> list[Json]:
    """Messages in which the arguments of calls are JSON text."""
    out: list[Json] = []
    for doc in docs:
        if "tool_calls" in doc:
            calls = [
                {
                    **c,
                    "function": {**c["function"], "arguments": tojson(c["function"]["arguments"])},
                }
                for c in doc["tool_calls"]
            ]
            doc = {**doc, "tool_calls": calls}
        out.append(doc)
    return out


FORMS: tuple[Callable[[list[Json]], list[Json]], ...] = (list, as_text, as_parts)
"""How messages are given to a template, what most take first."""


def without(
    pieces: list[tuple[int, int]], holes: Iterable[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Pieces of a text without some places in it."""
    out = list(pieces)
    for start, end in holes:
        cut: list[tuple[int, int]] = []
        for a, b in out:
            if end <= a or start >= b:
                cut.append((a, b))
                continue
            cut += [(x, y) for x, y in ((a, max(a, start)), (min(b, end), b)) if x < y]
        out = cut
    return out


# -- marks ------------------------------------------------------------------------------------


def marked_turn(probes: Probes, number: int, message: Message, doc: Json) -> Json:
    """A message with marks around all that it says."""
    out: dict[str, Json] = dict(doc)
    kind = "result" if message.role == "tool" else "text"
    texts = [block for block in message.content if isinstance(block, Text | ToolResult)]
    at = texts[0].at if texts else message.at
    if out.get("reasoning_content"):
        block = next(b for b in message.content if b.__class__.__name__ == "Reasoning")
        out["reasoning_content"] = probes.mark(
            "reasoning", block.at, number, out["reasoning_content"]
        )
    if out["content"].__class__ is str:
        out["content"] = probes.mark(kind, at, number, out["content"])
    calls = [block for block in message.content if isinstance(block, ToolCall)]
    if calls:
        out["tool_calls"] = [
            marked_call(probes, number, call, written)
            for call, written in zip(calls, doc["tool_calls"], strict=True)
        ]
    return out


def marked_call(probes: Probes, number: int, call: ToolCall, doc: Json) -> Json:
    function = dict(doc["function"])
    function["name"] = probes.mark("call", call.at, number, function["name"])
    function["arguments"] = probes.mark_value("call", call.at, number, function["arguments"])
    return {**doc, "function": function}


def marked_tool(probes: Probes, tool: Tool, doc: Json) -> Json:
    """A tool with marks around its name and its description; of its parameters, the names."""
    function = dict(doc["function"])
    function["name"] = probes.mark("tool", tool.at, -1, function["name"])
    if function.get("description"):
        function["description"] = probes.mark("tool", tool.at, -1, function["description"])
    schema = function.get("parameters")
    properties = schema.get("properties") if schema.__class__ is dict else None
    for name in properties if properties.__class__ is dict else ():
        probes.note("tool", tool.at, -1, name)
    return {**doc, "function": function}
