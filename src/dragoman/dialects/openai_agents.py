"""Items of OpenAI's Agents SDK: those of a session, or of ``RunResult.to_input_list``.

What it does differently from its parent, the items of the Responses API: there is nothing but the
items, as instructions are the agent's own; a model that does not speak that API is converted to it,
and what the items have no field for stands in ``provider_data``: Claude's blocks of reasoning, the
signatures of Gemini's calls, the model; an id that such a model has not given is ``__fake_id__``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.endpoint import Endpoint
from ..core.writing import is_blank, joined
from ..dialect import Dialect
from ..ledger import Ledger
from ..lint.evidence import Verdict, objects, told_by
from ..model import Block, Extras, History, Json, Message, Reasoning, Signature, ToolCall
from ._sessions import ABSENT
from .openai_responses import REASONING, OpenAIResponses, calls, request
from .openai_responses.parts import ItemWriting

FAKE = "__fake_id__"
"""agents/models/fake_id.py: "This is a placeholder ID used to fill in the `id` field in Responses
API related objects." """
DATA, BLOCKS, SIGNED = "provider_data", "thinking_blocks", "thought_signature"
KINDS = {"signature": "thinking", "encrypted": "redacted_thinking"}


class OpenAIAgents(OpenAIResponses):
    name = "openai-agents"
    spec = "https://openai.github.io/openai-agents-python/sessions/"
    aliases: ClassVar[tuple[str, ...]] = ("agents-sdk",)
    kin = frozenset({"openai-responses"})
    vendor = ""
    serves: ClassVar[tuple[str, ...]] = ()
    needs_model = False
    endpoints: ClassVar[tuple[Endpoint, ...]] = ()
    stream_signs = ()
    rules: ClassVar[dict[str, str]] = {}
    can = replace(
        OpenAIResponses.can,
        refusals=cap.EVERYWHERE,
        reasoning=replace(
            REASONING,
            signatures=frozenset(
                {
                    ("openai", "encrypted"),
                    ("anthropic", "signature"),
                    ("anthropic", "encrypted"),
                }
            ),
            unsigned=cap.EVERYWHERE,
            redacted=frozenset({("anthropic", "encrypted")}),
        ),
    )

    read_request = write_request = ABSENT
    read_response = write_response = ABSENT
    read_error = write_error = ABSENT
    read_tools = write_tools = ABSENT
    read_tool_choice = write_tool_choice = ABSENT
    read_stream = write_stream = ABSENT
    fit_model = Dialect.fit_model
    check = Dialect.check

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        found = told_by(signs(doc), super().sniff(doc))
        return (verdict for verdict in found if verdict[0] == "messages")

    def read_messages(self, doc: Json) -> History:
        tree = request.read_messages(self, without_fakes(doc))
        return replace(tree, messages=tuple(map(self.signed, tree.messages)))

    def signed(self, message: Message) -> Message:
        """What the model said, with the signatures that Gemini has given its calls."""
        if message.role != "assistant":
            return message
        content = tuple(
            self.signed_call(block) if isinstance(block, ToolCall) and block.extras else block
            for block in message.content
        )
        return replace(message, content=content)

    def signed_call(self, call: ToolCall) -> ToolCall:
        assert call.extras is not None
        data = call.extras.fields.get(DATA)
        signature = data.get(SIGNED) if data.__class__ is dict else None
        if signature.__class__ is not str:
            return call
        fields, inner = without(call.extras, SIGNED)
        own = Signature(signature, "google")
        return replace(call, extras=replace(call.extras, fields=fields, inner=inner, signature=own))

    def write_messages(self, tree: History, log: Ledger) -> Json:
        w = self.writing(log, tree.dialect)
        items = self.write_items(tree.messages, w)
        if tree.extras is not None and self.is_same(tree.extras.dialect):
            return self.emit({"input": items}, tree, log)
        self.lose(tree.extras, tree.at, log)
        return items

    def write_prompt(
        self, out: dict[str, Json], messages: Sequence[Message], w: ItemWriting
    ) -> Sequence[Message]:
        return messages

    # -- reasoning --------------------------------------------------------------------------

    def read_reasoning(self, doc: dict[str, Json], at: str) -> Block:
        """Reasoning; of what another model said, its own block says more than the item."""
        block = calls.read_reasoning(self, doc, at)
        if not isinstance(block, Reasoning):
            return block
        found, extras = native(doc), block.extras
        if found is None or extras is None or not repeats(block, *found):
            return block
        text, signature = found
        fields, inner = without(extras, BLOCKS)
        kept = Extras(self.name, fields, extras.spelling, inner) if fields else None
        return replace(
            block,
            content=(text,) if text else (),
            summary=(),
            signature=signature,
            extras=kept,
        )

    def write_reasoning(self, block: Reasoning, w: ItemWriting) -> Json | None:
        signature = block.signature
        if block.id is None:
            block = replace(block, id=FAKE)
        if signature is None or signature.issuer == self.issuer:
            return calls.write_reasoning(self, block, w)
        text = joined(block.words)
        own = replace(block, content=(text,) if text else (), summary=(), extras=None)
        doc = calls.write_reasoning(self, own, w) or {}
        if signature.kind == "encrypted":
            del doc["encrypted_content"]
            written = {"type": "redacted_thinking", "data": signature.data}
        else:
            written = {"type": "thinking", "thinking": text, "signature": signature.data}
        doc[DATA] = {BLOCKS: [written]}
        return self.emit(doc, block, w.log)

    # -- calls ------------------------------------------------------------------------------

    def write_call(self, call: ToolCall, w: ItemWriting) -> Json:
        extras = call.extras
        signature = None if extras is None else extras.signature
        if signature is None or signature.issuer != "google" or signature.kind != "signature":
            return calls.write_call(self, call, w)
        assert extras is not None
        doc = calls.write_call(self, replace(call, extras=replace(extras, signature=None)), w)
        doc[DATA] = {**(doc.get(DATA) or {}), SIGNED: signature.data}
        return doc


def without_fakes(doc: Json) -> Json:
    """The items without the ids that the SDK made up."""
    items = doc.get("input") if doc.__class__ is dict else doc
    if items.__class__ is not list:
        return doc
    own = [
        {k: v for k, v in item.items() if k != "id"}
        if item.__class__ is dict and item.get("id") == FAKE
        else item
        for item in items
    ]
    return {**doc, "input": own} if doc.__class__ is dict else own


def native(doc: dict[str, Json]) -> tuple[str, Signature | None] | None:
    """What Claude's block of reasoning says, if there is one; several are kept as they are."""
    data = doc.get(DATA)
    listed = data.get(BLOCKS) if data.__class__ is dict else None
    if listed.__class__ is not list or len(listed) != 1 or listed[0].__class__ is not dict:
        return None
    block = listed[0]
    if block.get("type") == "redacted_thinking" and block.keys() == {"type", "data"}:
        if block["data"].__class__ is str:
            return "", Signature(block["data"], "anthropic", "encrypted")
    if block.get("type") != "thinking" or not block.keys() <= {"type", "thinking", "signature"}:
        return None
    text, data = block.get("thinking"), block.get("signature")
    if text.__class__ is not str or (data is not None and data.__class__ is not str):
        return None
    return text, Signature(data, "anthropic") if data and not is_blank(data) else None


def repeats(block: Reasoning, text: str, signature: Signature | None) -> bool:
    """Whether an item says nothing but what the block of another model says."""
    signed = block.signature is None or (signature and block.signature.data == signature.data)
    return bool(signed) and all(words == text for words in (*block.content, *block.summary))


def without(extras: Extras, key: str) -> tuple[dict[str, Json], tuple[str, ...]]:
    """What is kept of an item beside one key of its ``provider_data``."""
    fields = dict(extras.fields)
    left = {k: v for k, v in (fields.pop(DATA, None) or {}).items() if k != key}
    if not left:
        return fields, extras.inner
    return {**fields, DATA: left}, (*extras.inner, DATA)


def signs(doc: Json) -> dict[str, float]:
    found: dict[str, float] = {}
    items = doc if doc.__class__ is list else doc.get("input") if doc.__class__ is dict else None
    for item in objects(items):
        if item.get("id") == FAKE:
            found["an id that the SDK made up"] = 0.97
        if item.get(DATA).__class__ is dict:
            found["'provider_data'"] = 0.9
    return found


DIALECT = OpenAIAgents()
