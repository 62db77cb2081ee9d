"""Responses as routers write it that came from Anthropic: the shapes of a design, not of an API.

What it does differently from ``openai-responses``, its parent: the system prompt stands beside the
items as ``system``; every content is a list of parts; a call stands inside the assistant's message
as ``tool_use``, its arguments an object; all results that follow each other share one message of
the user's, as ``tool_result``; an image of the assistant's is an ``output_image``; images have no
detail, nothing has a cache mark, calls have one id; a response does not repeat its request, its
messages have no ids, and one in which nothing is written and nothing called holds
``[No response generated]``.

A result has two fields there, whom it replies and what it says, so a failed tool is told by the
text mark, as in the parent; an ``is_error`` beside it is read. Freeform calls, reasoning, settings
and the items of a response are those of Responses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.counts import Counts
from ..core.models import DEFAULT, Models
from ..core.reading import compact, maybe_str
from ..core.writing import object_of
from ..dialect import Problem
from ..ledger import Ledger
from ..lint.evidence import (
    Evidence,
    Look,
    Verdict,
    objects,
    weigh_doubts,
    weigh_keys,
    weigh_messages,
)
from ..lint.rules import (
    Page,
    Problems,
    Rule,
    examine,
    illegal_name,
    lay_open,
    place_of,
    placed,
    string,
    too_long,
)
from ..model import Block, Json, Media, Message, Raw, Response, Text, ToolCall, ToolResult
from .openai_responses import OpenAIResponses, calls, items
from .openai_responses import rules as official
from .openai_responses import sniff as signs
from .openai_responses.base import ResponsesBase
from .openai_responses.calls import TOOL_RESULT_KEYS
from .openai_responses.parts import INPUT, OUTPUT, ItemWriting, Reader, part_of
from .openai_responses.response import COUNTS

if TYPE_CHECKING:
    from ..streams.base import StreamReader, StreamWriter

SILENCE = "[No response generated]"
"""What stands where a response says nothing and calls nothing."""
CALL, RESULT = "tool_use", "tool_result"
CHAT = "openai-chat"
PASSED = "written unchanged, though router-responses may not support it"
ENDED = ("completed", "incomplete")

# rule -> its meaning; in quotes the words of the design.
OFFICIAL = {name: written for name, written in official.RULES.items() if name not in official.SAID}
RULES: dict[str, str] = OFFICIAL | {
    "content-role": "'Always use correct content type for role': output_text, output_image "
    "and tool_use for the assistant, input_text and input_image for the others; tool_result for "
    "the user.",
    "empty-message": "'User messages must always have content'.",
    "orphan-result": "'Maintain tool_call_id <-> tool_use_id mapping': a result names a call "
    "before it.",
    "result-group": "'Group all tool results in single user message'.",
    "field-type": "'All fields properly typed': ids are strings, the input of a call is an "
    "object, the content of a result is text or parts, an image is a URL.",
}
MEDIA = ("input_image", "input_file")
PARTS = {
    "user": (INPUT, *MEDIA, RESULT),
    "system": (INPUT, *MEDIA),
    "developer": (INPUT, *MEDIA),
    "assistant": (OUTPUT, "output_image", "refusal", CALL),
}
# The parts that no document of the real API has.
OWN = (CALL, RESULT, "output_image")
LOOK = Look(
    roles=signs.LOOK.roles,
    keys=signs.LOOK.keys,
    items=signs.LOOK.items,
    parts={**signs.LOOK.parts, "output_image": 0.9, CALL: 0.6, RESULT: 0.6},
    foreign_keys=signs.LOOK.foreign_keys,
    foreign_parts={k: v for k, v in signs.LOOK.foreign_parts.items() if k not in OWN},
)
FOREIGN = {k: v for k, v in signs.FOREIGN.items() if k != "system"}


class RouterResponses(official.ResponsesRules, ResponsesBase):
    name = "router-responses"
    can = replace(
        OpenAIResponses.can,
        tools=frozenset(),
        citations=replace(OpenAIResponses.can.citations, places=cap.EVERYWHERE),
        media=replace(
            OpenAIResponses.can.media,
            kinds={
                **OpenAIResponses.can.media.kinds,
                "image": cap.Form(sources=cap.POINTED, usual="image/png", synonyms=cap.JPEG),
            },
            roles=OpenAIResponses.can.media.roles | {"assistant"},
            spoken=frozenset({"image"}),
        ),
        result_names=False,
        caching=cap.NO_MARKS,  # "Strip these before transformation"
        lacks=cap.RARE - {"service_tier"} | {"error.request_id"},
    )
    needs_model = True
    pairs = True
    spec = "docs/dialects/router-responses.md"
    aliases = ("router",)
    history = "input"
    names_calls = annotates = False
    listed = True
    counts = Counts(COUNTS.rows)
    shared: ClassVar[dict[str, frozenset[str]]] = {
        **OpenAIResponses.shared,
        "openai-responses": OpenAIResponses.shared["router-responses"],
    }

    # -- reading ----------------------------------------------------------------------------

    def read_tool_result(self, doc: dict[str, Json], at: str) -> ToolResult:
        """A result that has a flag for failure is Anthropic's; without, its text tells."""
        if doc.get("is_error") is not None:
            return super().read_tool_result(doc, at)
        failed, blocks = calls.read_answered(self, doc, "content", at)
        return ToolResult(
            maybe_str(doc, "tool_use_id", at),
            blocks,
            failed or None,
            at=at,
            extras=self.keep(doc, TOOL_RESULT_KEYS),
        )

    RESULT_PARTS: ClassVar[dict[str, Reader]] = {
        **OpenAIResponses.RESULT_PARTS,
        RESULT: read_tool_result,
    }

    def read_response(self, doc: Json) -> Response:
        """A response; one that holds nothing but the placeholder is empty."""
        if not is_silent(doc):
            if is_mute(doc):
                doc = doc | {"output_text": ""}
            return super().read_response(doc)
        doc = doc | {"output": doc["output"][:-1]}
        if doc.get("output_text"):
            doc["output_text"] = ""
        return super().read_response(doc)

    # -- conversations ----------------------------------------------------------------------

    def write_prompt(
        self, out: dict[str, Json], messages: Sequence[Message], w: ItemWriting
    ) -> Sequence[Message]:
        left = super().write_prompt(out, messages, w)
        if "instructions" in out:
            out["system"] = out.pop("instructions")
        return left

    def write_results(self, message: Message, out: list[Json], w: ItemWriting) -> None:
        """Results share one message of the user's, in their order."""
        found: list[Json] = []
        super().write_results(message, found, w)
        for doc in found:
            if doc.get("type") != RESULT:
                out.append(doc)  # the result of a freeform call is an item
            elif out and holds(out[-1], RESULT):
                out[-1]["content"].append(doc)
            else:
                out.append({"role": "user", "content": [doc]})

    def write_result(self, result: ToolResult, w: ItemWriting) -> Json:
        if result.kind != "function" or (w.same and result.name is not None):
            return super().write_result(result, w)
        out: dict[str, Json] = {"type": RESULT}
        if result.call_id is not None or not w.same:
            out["tool_use_id"] = w.result_id(result)
        out["content"] = calls.write_answered(self, result, w)
        return self.emit(out, result, w.log)

    # -- what the assistant says ------------------------------------------------------------

    def is_part(self, block: Block, w: ItemWriting) -> bool:
        """In a request, calls and images stand inside a message too; freeform calls do not."""
        if not w.reply:
            if isinstance(block, ToolCall):
                return is_inline(block, w)
            if self.is_passed(block) or (isinstance(block, Media) and block.kind == "image"):
                return True
        return super().is_part(block, w)

    def write_part(self, block: Block, out: list[Json], w: Any) -> None:
        """ "Fallback return item": a part that is unknown is passed on as it is."""
        if isinstance(block, Raw) and self.is_passed(block):
            w.log.approximated("raw", block.at, PASSED)
            out.append(block.payload)
        else:
            super().write_part(block, out, w)

    def is_passed(self, block: Block) -> bool:
        """Whether a block is an unknown part of a chat message, which is passed on."""
        return isinstance(block, Raw) and block.dialect == CHAT and block.code is None

    def write_call(self, call: ToolCall, w: ItemWriting) -> Json:
        if w.reply or not is_inline(call, w):
            return super().write_call(call, w)
        out: dict[str, Json] = {"type": CALL}
        if call.id is not None or not w.same:
            out["id"] = w.call_id(call)
        out["name"] = w.tool_name(call.name, call.at)
        out["input"] = object_of(call, w.log)
        if call.item_id is not None:
            w.log.dropped("tool_call.item_id", call.at, f"{self.name} has one id per tool call")
        return self.emit(out, part_of(self, call), w.log)

    def write_image(self, block: Media, w: Any) -> dict[str, Json]:
        out = super().write_image(block, w)
        if not w.same:
            del out["detail"]
        return out

    # -- replies ----------------------------------------------------------------------------

    def write_response(self, tree: Response, log: Ledger) -> Json:
        out = super().write_response(tree, log)
        items, same = out["output"], self.is_same(tree.dialect)
        if not same and items and items[-1].get("status") == "incomplete":
            del items[-1]["status"]  # the response says it for all its items
        if is_silent(out):
            why = f"{SILENCE!r} means an empty response in {self.name}"
            written = tree.candidates[0]
            at = next((b.at for b in written.message.content if isinstance(b, Text)), written.at)
            log.approximated("message.empty", at, why)
        elif out.get("status") in ENDED and all(i.get("type") == "reasoning" for i in items):
            items.append(message_item([{"type": OUTPUT, "text": SILENCE}]))
            if "output_text" in out:
                out["output_text"] = SILENCE
            if not same:
                why = f"an empty response is written as {SILENCE!r} in {self.name}"
                log.moved("message.empty", tree.at, why)
        return out

    def write_new_item(self, blocks: Sequence[Block], w: ItemWriting) -> Json:
        """A message of a response has no id here, so none is made up."""
        out = message_item(items.write_spoken(self, blocks, w))
        return out if w.reply else {k: v for k, v in out.items() if k != "type"}

    def echo(self, request: Json) -> None:
        """A reply does not repeat its request here."""

    def write_echo(self, out: dict[str, Json], tree: Response, w: ItemWriting) -> None:
        """A response need not repeat its request here."""
        if w.same:
            super().write_echo(out, tree, w)

    def settle(self, message: Message, log: Ledger) -> Message:
        """In a history, calls stand inside the message, and have one id."""
        content = [
            self.settle_call(block, log)
            if isinstance(block, ToolCall) and block.kind == "function"
            else block
            for block in super().settle(message, log).content
        ]
        return replace(message, content=tuple(content))

    def settle_call(self, call: ToolCall, log: Ledger) -> ToolCall:
        if call.item_id is not None:
            log.dropped("tool_call.item_id", call.at, f"{self.name} has one id per tool call")
        return replace(call, arguments=compact(object_of(call, log)), item_id=None)

    # -- streams ----------------------------------------------------------------------------

    def read_stream(self, whole: bool) -> StreamReader:
        from .openai_responses.inline_stream import InlineReader

        return InlineReader(self, whole, is_silent)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .openai_responses.write_stream import ResponsesWriter

        return ResponsesWriter(self, log, same)

    # -- what it rejects, and how to know it ------------------------------------------------

    rules = RULES

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        listed = "output" if facet == "response" else "input"
        return examine(
            self, lay_open(doc, facet, models, listed=listed), doc, FACETS.get(facet, ())
        )

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        """Only what the parent would never say; all else is the parent's to claim."""
        if doc.__class__ is dict and doc.get("output").__class__ is list:
            if is_silent(doc) or tells(doc["output"]):
                yield reply(doc)
        elif doc.__class__ is dict and doc.get("input").__class__ in (str, list):
            if doc.get("system").__class__ is str or tells(doc["input"]):
                yield request(doc)
                if doc["input"].__class__ is list:
                    yield history(doc)
        elif tells(doc) and not signs.LOOK.parts.keys().isdisjoint(kinds_in(doc)):
            e = Evidence("messages")
            e.speaks_for("a list of messages", 0.3)
            weigh_messages(e, doc, LOOK)
            yield e.verdict()


def is_inline(call: ToolCall, w: ItemWriting) -> bool:
    """Whether a call can stand inside a message; of its own, only if that tells all of it."""
    if call.kind != "function" or not w.same:
        return call.kind == "function"
    log = w.log.apart()
    object_of(call, log)
    return call.item_id is None and call.namespace is None and not log.losses


def message_item(parts: list[Json]) -> dict[str, Json]:
    """A message of a response."""
    return {"type": "message", "role": "assistant", "content": parts}


def is_silent(doc: Json) -> bool:
    """Whether a response has nothing but reasoning and, at its end, the placeholder."""
    output = doc.get("output") if doc.__class__ is dict else None
    if output.__class__ is not list or not output or doc.get("output_text") not in (None, SILENCE):
        return False
    *before, last = output
    if last.__class__ is not dict or last.get("role") != "assistant":
        return False
    content = last.get("content")
    if content.__class__ is not list or len(content) != 1 or content[0].__class__ is not dict:
        return False
    written = content[0]
    return (
        last.get("type") == "message"
        and last.keys() <= {"type", "id", "status", "role", "content"}
        and (written.get("type"), written.get("text")) == (OUTPUT, SILENCE)
        and written.keys() <= {"type", "text", "annotations", "logprobs"}
        and not (written.get("annotations") or written.get("logprobs"))
        and all(i.__class__ is dict and i.get("type") == "reasoning" for i in before)
    )


def is_mute(doc: Json) -> bool:
    """Whether the placeholder stands beside an output that says nothing."""
    if doc.__class__ is not dict or doc.get("output_text") != SILENCE:
        return False
    output = doc.get("output") or []
    return output.__class__ is list and all(
        item.__class__ is dict and item.get("type") == "reasoning" for item in output
    )


def holds(message: Json, kind: str) -> bool:
    """Whether a message has a part of some type."""
    return any(part.get("type") == kind for part in objects(message.get("content")))


# -- rules ----------------------------------------------------------------------------------------


def messages_in(page: Page) -> Iterator[tuple[str, str, dict[str, Json]]]:
    """The messages among the items: place, role, message."""
    for at, item in page.messages:
        if official.kind_of(item) == "message" and (role := string(item.get("role"))) is not None:
            yield at, role, item


def parts_in(page: Page) -> Iterator[tuple[str, str, dict[str, Json]]]:
    """The parts of the messages: place, type, part."""
    for at, _, item in messages_in(page):
        for where, part in placed(item.get("content"), f"{at}/content"):
            yield where, string(part.get("type")) or "", part


def roles(page: Page) -> Problems:
    for at, role, item in messages_in(page):
        known = PARTS.get(role)
        if known is None:
            message = f"Invalid value: {role!r}. Supported values are: {', '.join(PARTS)}."
            yield Problem("role", f"{at}/role", message)
            continue
        for where, part in placed(item.get("content"), f"{at}/content"):
            kind = string(part.get("type"))
            if kind is not None and kind not in known:
                message = (
                    f"Invalid value: {kind!r}. Supported for the role {role!r}: {', '.join(known)}."
                )
                yield Problem("content-role", f"{where}/type", message)


def contents(page: Page) -> Problems:
    for at, role, item in messages_in(page):
        if role == "user" and not item.get("content"):
            yield Problem("empty-message", at, "User messages must always have content")


def groups(page: Page) -> Problems:
    before = False
    for at, item in page.messages:
        results = item.get("role") == "user" and holds(item, RESULT)
        if results and before:
            message = "these results and those of the message before belong in one message"
            yield Problem("result-group", at, message)
        before = results


def pairing(page: Page) -> Problems:
    """Every call has its result, every result its call before it, be they parts or items."""
    if official.stored(page):
        return
    pairs = list(calls_and_results(page))
    replied = {name for name, _, is_result in pairs if is_result}
    called: set[str] = set()
    for name, at, is_result in pairs:
        if not is_result:
            called.add(name)
            if page.whole and name not in replied:
                yield Problem("unanswered-call", at, f"No tool output found for call {name}.")
        elif name not in called:
            yield Problem("orphan-result", at, f"No tool call found for result of {name}.")


def calls_and_results(page: Page) -> Iterator[tuple[str, str, bool]]:
    """The id of each call and result in their order, its place, and whether it is a result."""
    for at, item in page.messages:
        for where, doc in ((at, item), *placed(item.get("content"), f"{at}/content")):
            kind = string(doc.get("type")) or ""
            result = kind == RESULT or kind in official.RESULTS
            key = {CALL: "id", RESULT: "tool_use_id"}.get(kind, "call_id")
            name = string(doc.get(key))
            if name is not None and (result or kind == CALL or kind in official.CALLS):
                yield name, where, result


def fields(page: Page) -> Problems:
    for at, kind, part in parts_in(page):
        key = {CALL: "id", RESULT: "tool_use_id"}.get(kind)
        if key is not None:
            yield from too_long("call-id", f"{at}/{key}", part.get(key), official.ID_LIMIT)
            if string(part.get(key)) is None:
                yield mistyped(at, key, "a string")
        if kind == CALL:
            name = part.get("name")
            yield from illegal_name("tool-name", f"{at}/name", name, official.NAME_LIMIT)
            if part.get("input").__class__ is not dict:
                yield mistyped(at, "input", "an object")
        elif kind == RESULT and part.get("content").__class__ not in (str, list):
            yield mistyped(at, "content", "a string or a list")
        elif kind in ("input_image", "output_image") and string(part.get("file_id")) is None:
            if string(part.get("image_url")) is None:
                yield mistyped(at, "image_url", "a string")


def mistyped(at: str, key: str, what: str) -> Problem:
    where = f"{at}/{key}"
    return Problem("field-type", where, f"Invalid type for '{place_of(where)}': expected {what}.")


HISTORY: tuple[Rule, ...] = (
    roles, contents, groups, pairing, fields, official.identifiers, official.reasoning,
)  # fmt: skip
FACETS: dict[str, tuple[Rule, ...]] = official.FACETS | {
    "request": (*official.FACETS["request"][: -len(official.HISTORY)], *HISTORY),
    "messages": HISTORY,
}


# -- evidence -------------------------------------------------------------------------------------


def kinds_in(items: Json) -> set[str]:
    """The types of the parts of the first messages."""
    parts = (part for item in objects(items) for part in objects(item.get("content")))
    return {kind for part in parts if (kind := string(part.get("type"))) is not None}


def tells(items: Json) -> bool:
    """Whether there is a part that no document of the real API has."""
    return not kinds_in(items).isdisjoint(OWN)


def request(doc: dict[str, Json]) -> Verdict:
    e = Evidence("request")
    weigh_keys(e, doc, {"input": 0.5, "system": 0.5, **signs.REQUEST})
    weigh_doubts(e, doc, FOREIGN)
    if doc.get("model").__class__ is not str:
        e.speaks_against("no model is named", 0.4)
    weigh_items(e, doc["input"])
    return e.verdict()


def history(doc: dict[str, Json]) -> Verdict:
    e = Evidence("messages")
    weigh_keys(e, doc, {"input": 0.5, "system": 0.5})
    weigh_doubts(e, doc, FOREIGN | {"model": 0.9, "tools": 0.5})
    weigh_items(e, doc["input"])
    return e.verdict()


def reply(doc: dict[str, Json]) -> Verdict:
    e = Evidence("response")
    weigh_keys(e, doc, {"output": 0.5, "status": 0.3})
    if is_silent(doc):
        e.speaks_for(f"the words {SILENCE!r}", 0.9)
    if doc.get("object") == "response":
        e.speaks_for("the object 'response'", 0.9)
    weigh_items(e, doc["output"])
    return e.verdict()


def weigh_items(e: Evidence, items: Json) -> None:
    if items.__class__ is list:
        weigh_messages(e, items, LOOK)


DIALECT = RouterResponses()
