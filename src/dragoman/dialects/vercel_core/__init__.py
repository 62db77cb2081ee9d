"""The CoreMessage of AI SDK 4.

What it does differently from its successors: arguments are ``args``; a result is any value, with
``isError`` beside it and its images in ``experimental_content``; reasoning bears its signature
itself, and a redacted one is a part of its own; media types are MIME types; the limit is
``maxTokens``; the schema of a tool is ``parameters``. No tool runs at the provider.

A turn of text alone is one string, as design 003 has it, unless it comes from another version of
the SDK: "Join multiple text blocks with newlines".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...core.counts import INPUT, OUTPUT, Counts
from ...core.fields import Field, whole
from ...core.reading import as_dict, expected, maybe_list, maybe_str, need_str
from ...core.writing import Writing, joined, note_joined
from ...lint.evidence import Verdict
from ...model import Block, Json, Message, Reasoning, Signature, Text, ToolCall, Usage
from ...tools import freeform
from ..vercel_model import FILES, FORMS, REASONING
from ..vercel_model.parts import write_call_head
from ..vercel_model.request import FIELDS
from ..vercel_model.turns import FREE
from ..vercel_model_v5 import VercelModelV5

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...streams.base import StreamReader, StreamWriter

CALL_KEYS = ("toolCallId", "toolName", "args")
RAW_CALL: dict[str, Json] = {"rawPrompt": None, "rawSettings": {}}


class CoreWriting(Writing):
    """A conversion that knows whether the parts of a turn of text are joined."""

    joins: bool


class VercelCore(VercelModelV5):
    name = "vercel-core"
    spec = "https://v4.ai-sdk.dev/docs/reference/ai-sdk-core/core-message"
    kin = frozenset({"vercel-model", "vercel-model-v5", "vercel-model-v6"})
    flat = True
    claims = frozenset(
        {"isError", "experimental_content", "content", "text", "reasoning", "toolCalls"}
    )
    media_type = "mimeType"
    arguments = "args"
    fields = FIELDS.but(Field("max_tokens", whole, "maxTokens", also=("maxOutputTokens",), least=1))
    schema = "parameters"
    active = "experimental_activeTools"
    allowed: ClassVar[dict[str, frozenset[str]]] = {
        "user": frozenset({"text", "image", "file"}),
        "assistant": frozenset({"text", "file", "reasoning", "redacted-reasoning", "tool-call"}),
        "tool": frozenset({"tool-result"}),
    }
    result_parts = frozenset({"text", "image"})
    can = replace(
        VercelModelV5.can,
        item_ids=cap.HISTORY,
        order={"response": {"reasoning": 0, "text": 1, "call": 2}},
        reasoning=replace(REASONING, redacted=frozenset({("anthropic", "encrypted")})),
        replies=cap.ReasoningForm(
            signatures=frozenset({("anthropic", "signature"), ("anthropic", "encrypted")}),
            redacted=frozenset({("anthropic", "encrypted")}),
            empty=cap.EVERYWHERE,
        ),
        media=replace(
            VercelModelV5.can.media,
            kinds={
                kind: replace(form, sources=frozenset({"url", "base64"}))
                for kind, form in FORMS.items()
            },
            results={"image": replace(FILES, sources=frozenset({"base64"}))},
        ),
        caching=replace(VercelModelV5.can.caching, on=VercelModelV5.can.caching.on - {"tool"}),
    )

    own_keys = frozenset({"args", "result", "mimeType", "isError", "signature"})
    other_keys = frozenset({"input", "output", "mediaType"})
    own_settings = frozenset({"maxTokens", "experimental_activeTools"})
    other_settings = frozenset({"maxOutputTokens", "instructions", "activeTools"})
    schema_key = "parameters"
    alone = False

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        """Of its own, so that it is asked beside its successors."""
        yield from super().sniff(doc)
        if doc.__class__ is dict and doc.get("finishReason").__class__ is str:
            if doc.get("usage").__class__ is dict and "promptTokens" in doc["usage"]:
                yield "response", 0.9, ("'finishReason' and 'promptTokens'",)

    stream_signs = (("textDelta", None), ("argsTextDelta", None))

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import CoreReader

        return CoreReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .stream import CoreWriter

        return CoreWriter(self, log, same)

    # -- turns of text alone are strings -------------------------------------------------------

    def writing(self, log: Ledger, dialect: str | None, *, reply: bool = False) -> Writing:
        w = CoreWriting(log, FREE, FREE, self.is_same(dialect), reply)
        w.joins = not self.knows(dialect)
        return w

    def write_turn(self, message: Message, w: Writing) -> dict[str, Json] | None:
        if isinstance(w, CoreWriting) and w.joins and all(map(is_mere_text, message.content)):
            message = replace(message, content=(self.joined(message.content, message.at, w),))
        return super().write_turn(message, w)

    def write_system(self, message: Message, w: Writing) -> list[dict[str, Json]]:
        """ "RETURN { role: 'system', content: text }", also of no blocks at all."""
        if isinstance(w, CoreWriting) and w.joins and all(map(is_mere_text, message.content)):
            message = replace(message, content=(self.joined(message.content, message.at, w),))
        return super().write_system(message, w)

    def joined(self, blocks: Sequence[Block], at: str, w: Writing) -> Text:
        """ "RETURN JOIN textParts WITH '\\n'": one text, also where there is none."""
        texts = [block for block in blocks if isinstance(block, Text)]
        if not texts:
            self.add_text(at, w.log)
            return Text("", at=at)
        for block in texts[1:]:
            self.join_text(block.at, w.log)
            self.lose(block.extras, block.at, w.log)
        if len(texts) == 1:
            return texts[0]
        self.lose(texts[0].extras, texts[0].at, w.log)
        return Text("\n".join(block.text for block in texts), at=texts[0].at)

    # -- replies: text, reasoning and calls stand beside each other ----------------------------

    def read_reply(self, doc: dict[str, Json], taken: set[str]) -> Message:
        blocks = self.read_beside(doc, taken)
        taken.discard("content")
        if (text := maybe_str(doc, "text", "")) is not None:
            taken.add("text")
            blocks.append(Text(text, at="/text"))
        for index, item in enumerate(maybe_list(doc, "toolCalls", "") or ()):
            at = f"/toolCalls/{index}"
            call = as_dict(item, at)
            usual = call.get("toolCallType") == "function"
            blocks.append(
                ToolCall(
                    need_str(call, "toolCallId", at),
                    need_str(call, "toolName", at),
                    maybe_str(call, "args", at) or "{}",
                    at=at,
                    extras=self.keep(call, (*CALL_KEYS, "toolCallType") if usual else CALL_KEYS),
                )
            )
        if doc.get("toolCalls"):
            taken.add("toolCalls")
        if doc.get("rawCall") == RAW_CALL:
            taken.add("rawCall")
        return Message("assistant", tuple(blocks))

    def read_beside(self, doc: dict[str, Json], taken: set[str]) -> list[Block]:
        given = doc.get("reasoning")
        if given is None or given == []:
            return []
        taken.add("reasoning")
        if given.__class__ is str:
            return [Reasoning((given,), at="/reasoning")]
        if given.__class__ is not list:
            expected("a string or a list", given, "/reasoning")
        return [
            self.read_reply_reasoning(as_dict(part, at), at)
            for index, part in enumerate(given)
            if (at := f"/reasoning/{index}")
        ]

    def read_reply_reasoning(self, part: dict[str, Json], at: str) -> Reasoning:
        if part.get("type") == "redacted":
            signature = Signature(need_str(part, "data", at), "anthropic", "encrypted")
            extras = self.keep(part, ("type", "data"))
            return Reasoning(signature=signature, at=at, extras=extras)
        text, data = need_str(part, "text", at), maybe_str(part, "signature", at)
        taken = ("type", "text") if part.get("type") == "text" else ("text",)
        extras = self.keep(part, (*taken, "signature") if data else taken)
        own = Signature(data, "anthropic") if data else None
        return Reasoning((text,) if text or not data else (), signature=own, at=at, extras=extras)

    def write_reply(self, out: dict[str, Json], message: Message, w: Writing) -> None:
        self.lose(message.extras, message.at, w.log)
        reasoning: list[Json] = []
        calls: list[Json] = []
        for block in message.content:
            if isinstance(block, Text):
                self.write_reply_text(out, block, w)
            elif isinstance(block, Reasoning):
                reasoning.append(self.write_reply_reasoning(block, w))
            elif isinstance(block, ToolCall):
                calls.append(self.write_reply_call(block, w))
            else:
                self.omit(block, w.log)
        if reasoning:
            out["reasoning"] = reasoning
        if calls:
            out["toolCalls"] = calls
        out["rawCall"] = RAW_CALL

    def write_reply_text(self, out: dict[str, Json], block: Text, w: Writing) -> None:
        self.lose(block.extras, block.at, w.log)
        if "text" in out:
            note_joined(block, self, w)
        out["text"] = out.get("text", "") + block.text

    def write_reply_reasoning(self, block: Reasoning, w: Writing) -> dict[str, Json]:
        signature = block.signature
        if signature is not None and signature.kind == "encrypted":
            return self.emit({"type": "redacted", "data": signature.data}, block, w.log)
        out: dict[str, Json] = {"type": "text", "text": joined(block.words)}
        if signature is not None:
            out["signature"] = signature.data
        return self.emit(out, block, w.log)

    def write_reply_call(self, call: ToolCall, w: Writing) -> Json:
        head = {"toolCallType": "function", **write_call_head(call, w)}
        call = freeform.as_function(call)
        return self.emit({**head, "args": call.arguments or "{}"}, call, w.log)

    counts = Counts({"promptTokens": INPUT, "completionTokens": OUTPUT}, required=True)

    def read_usage(self, doc: dict[str, Json], at: str) -> Usage:
        return self.counts.read(self, doc, at)


def is_mere_text(block: Block) -> bool:
    """Whether a block is text that has nothing which only a part of its own can have."""
    return block.__class__ is Text and block.cache is None and not block.citations


DIALECT = VercelCore()
