"""goose: a session as ``goose session export --format json`` writes it, and ``import`` reads it.

What it does differently from its neighbours: sessions lie in an SQLite file, which the outer layer
opens; a message has blocks of MCP (a call and a result may each be a failure of their own), and two
marks that tell who sees it: what the model does not see is no part of the conversation. Signatures
of reasoning are Anthropic's, those of calls Google's. There is no system prompt and no tool: the
agent has its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.media import standard
from ..core.models import DEFAULT, Models
from ..core.reading import as_dict, encode, maybe_dict, maybe_str, need_dict, need_list, need_str
from ..core.turns import SILENCE, split_results
from ..core.writing import Writing, json_of
from ..dialect import Problem
from ..errors import Malformed
from ..ledger import Ledger
from ..lint.evidence import Evidence, Verdict, objects
from ..model import (
    Block,
    Extras,
    History,
    Json,
    Media,
    Message,
    Params,
    Passage,
    Raw,
    Reasoning,
    Request,
    Role,
    Signature,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from . import _stored
from ._sessions import Line, SessionFile, Stamps

WHOLE = "raw"
"""The code of a block that is a whole message which the model does not see."""
NOBODY = "00000000_0"
"""The id of a session that nobody has named; goose gives it one of its own when it imports it."""
JOINED = {"joined": True}
IMAGE = cap.Form(sources=frozenset({"base64"}), typed=True, usual="image/png", any_data=False)


class Goose(SessionFile):
    name = "goose"
    spec = "https://github.com/block/goose/blob/main/crates/goose/src/conversation/message.rs"
    aliases: ClassVar[tuple[str, ...]] = ()
    issuer = ""
    lines = False
    history: ClassVar[str | None] = "conversation"
    windows = False  # results share a message with what follows them
    can = cap.Capabilities(
        freeform="function",
        names=cap.NOWHERE,
        developer=False,
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        citations=cap.NO_CITATIONS,
        result_names=False,
        reasoning=cap.ReasoningForm(
            signatures=frozenset({("anthropic", "signature"), ("anthropic", "encrypted")}),
            redacted=frozenset({("anthropic", "encrypted")}),
        ),
        caching=cap.NO_MARKS,
        media=cap.MediaForms(kinds={"image": IMAGE}),
        prefill="never",
        unfit={
            "system": cap.NOT_TEXT | {Passage},
            "developer": cap.NOT_TEXT | {Passage},
            "user": frozenset({Reasoning, ToolCall}),
            "assistant": frozenset({Media, ToolResult}),
        },
    )

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        docs = doc.get("conversation") if doc.__class__ is dict else doc
        if docs.__class__ is not list:
            return
        e = Evidence("request" if doc.__class__ is dict else "messages")
        for each in objects(docs):
            seen = each.get("metadata")
            if seen.__class__ is dict and "agentVisible" in seen and "content" in each:
                e.speaks_for("a message with 'agentVisible'", 0.97)
        if doc.__class__ is dict and "working_dir" in doc:
            e.speaks_for("'conversation' beside 'working_dir'", 0.9)
        if e.signs:
            yield e.verdict()

    # -- reading ------------------------------------------------------------------------------

    def read_request(self, doc: Json) -> Request:
        doc = as_dict(doc, "")
        messages = self.read_all(need_list(doc, "conversation", ""), "/conversation")
        told = maybe_dict(doc, "model_config", "") or {}
        model = told.get("model_name")
        if model.__class__ is not str or not model.strip():
            return Request(
                None, tuple(messages), dialect=self.name, extras=self.keep(doc, {"conversation"})
            )
        partly = {"model_config": ("model_name",)}
        return Request(
            model,
            tuple(messages),
            params=Params(ats={"model": "/model_config/model_name"}),
            dialect=self.name,
            extras=self.keep(doc, {"conversation"}, partly=partly),
        )

    def read_messages(self, doc: Json) -> History:
        return _stored.read_list(self, doc, lambda docs, at: self.read_all(docs, at))

    def read_all(self, docs: list[Json], at: str) -> list[Message]:
        out: list[Message] = []
        for index, each in enumerate(docs):
            self.read_message(as_dict(each, f"{at}/{index}"), f"{at}/{index}", out)
        return out

    def read_message(self, doc: Line, at: str, out: list[Message]) -> None:
        role = need_str(doc, "role", at)
        if role not in ("user", "assistant"):
            raise Malformed(f"unknown role {role!r}; there are: user, assistant", f"{at}/role")
        seen = maybe_dict(doc, "metadata", at) or {}
        if seen.get("agentVisible") is False:
            out.append(Message("user", (Raw(self.name, doc, code=WHOLE, at=at),), at=at))
            return
        blocks = [
            self.read_block(as_dict(each, f"{at}/content/{i}"), f"{at}/content/{i}")
            for i, each in enumerate(need_list(doc, "content", at))
        ]
        extras = self.keep(doc, {"role", "content"})
        if extras is not None:
            extras = replace(extras, records=True)
        if role == "user" and any(isinstance(block, ToolResult) for block in blocks):
            split_results(blocks, at, extras, out, Extras(self.name, spelling=JOINED))
        else:
            speaker: Role = "user" if role == "user" else "assistant"
            out.append(Message(speaker, tuple(blocks), at=at, extras=extras))

    def read_block(self, doc: Line, at: str) -> Block:
        kind = need_str(doc, "type", at)
        if kind == "text" and doc.get("text").__class__ is str:
            return Text(doc["text"], at=at, extras=self.keep(doc, {"type", "text"}))
        if kind == "image" and doc.get("data").__class__ is str:
            source = Source("base64", standard(doc["data"]), maybe_str(doc, "mimeType", at))
            return Media("image", source, at=at, extras=self.keep(doc, IMAGE_KEYS))
        if kind == "toolRequest":
            return self.read_call(doc, at)
        if kind == "toolResponse":
            return self.read_result(doc, at)
        if kind == "thinking" and doc.get("thinking").__class__ is str:
            signed = doc.get("signature")
            mark = Signature(signed, "anthropic") if signed and signed.__class__ is str else None
            taken = {"type", "thinking"} | ({"signature"} if mark or signed == "" else set())
            words = (doc["thinking"],)
            return Reasoning(words, signature=mark, at=at, extras=self.keep(doc, taken))
        if kind == "redactedThinking" and doc.get("data").__class__ is str:
            mark = Signature(doc["data"], "anthropic", "encrypted")
            return Reasoning((), signature=mark, at=at, extras=self.keep(doc, {"type", "data"}))
        return Raw(self.name, doc, at=at)

    def read_call(self, doc: Line, at: str) -> Block:
        told = maybe_dict(doc, "toolCall", at) or {}
        value = told.get("value")
        if told.get("status") != "success" or value.__class__ is not dict:
            return Raw(self.name, doc, at=at)  # a call that goose could not read
        where = f"{at}/toolCall/value"
        given = maybe_dict(value, "arguments", where)
        rest = {"value": ("name", "arguments"), "status": ()}
        return ToolCall(
            need_str(doc, "id", at),
            need_str(value, "name", where),
            encode({} if given is None else given).decode(),
            at=at,
            extras=self.kept_of(doc, {"toolCall": rest}),
        )

    def read_result(self, doc: Line, at: str) -> Block:
        told = need_dict(doc, "toolResult", at)
        where, named = f"{at}/toolResult", need_str(doc, "id", at)
        value = told.get("value")
        if value.__class__ is dict and value.get("content").__class__ is list:
            content = [
                self.read_block(as_dict(each, f"{where}/value/content/{i}"),
                                f"{where}/value/content/{i}")
                for i, each in enumerate(value["content"])
            ]  # fmt: skip
            failed = value.get("isError")
            rest = {"value": ("content", "isError"), "status": ()}
            return ToolResult(
                named,
                tuple(content),
                failed if failed.__class__ is bool else None,
                at=at,
                extras=self.kept_of(doc, {"toolResult": rest}),
            )
        if told.get("error").__class__ is str:
            text = Text(told["error"], at=f"{where}/error")
            rest = {"error": (), "status": ()}
            extras = self.kept_of(doc, {"toolResult": rest}, {"thrown": True})
            return ToolResult(named, (text,), True, at=at, extras=extras)
        return Raw(self.name, doc, at=at)

    def kept_of(
        self, doc: Line, partly: dict[str, Json], spelling: Line | None = None
    ) -> Extras | None:
        """What else a call or a result has; Gemini's signature of it is one."""
        more = doc.get("metadata")
        signed = more.get("thoughtSignature") if more.__class__ is dict else None
        if signed.__class__ is not str or not signed or "toolResult" in doc:  # there, a copy
            return self.keep(doc, {"type", "id"}, spelling, partly=partly)
        parts = {**partly, "metadata": ("thoughtSignature",)}
        extras = self.keep(doc, {"type", "id"}, spelling, partly=parts)
        return _stored.sign(self, extras, Signature(signed, "google"))

    # -- writing ----------------------------------------------------------------------------

    def write_request(self, tree: Request, log: Ledger) -> Json:
        w = Writing(log, _stored.FREE, _stored.FREE, self.is_same(tree.dialect))
        doc: Line = {"conversation": self.write_all(tree.messages, w)}
        if w.same:
            if tree.model is not None:
                doc["model_config"] = {"model_name": tree.model}
            return self.emit(doc, tree, log)
        self.lose(tree.extras, tree.at, log)
        if not doc["conversation"]:
            self.add_user_turn(tree.at, log)
            self.note_made(log)
            message = Message("user", (Text(SILENCE),))
            doc["conversation"] = [self.made(message, [{"type": "text", "text": SILENCE}], w)]
        if tree.model is not None:
            why = f"{self.name} goes on with the model of its own settings"
            log.dropped("model", tree.params.where("model"), why)
        stamp = Stamps(log).time
        return {
            "id": NOBODY,
            "working_dir": "/",
            "name": "",
            "user_set_name": False,
            "session_type": "user",
            "created_at": stamp,
            "updated_at": stamp,
            "extension_data": {},
            **doc,
            "message_count": 0,  # which goose counts itself
        }

    def write_messages(self, tree: History, log: Ledger) -> Json:
        w = Writing(log, _stored.FREE, _stored.FREE, self.is_same(tree.dialect))
        return _stored.write_list(self, tree, lambda messages: self.write_all(messages, w), log)

    def write_all(self, messages: Sequence[Message], w: Writing) -> list[Json]:
        out: list[Json] = []
        shared = False  # the last message ends in results
        for message in messages:
            first = message.content[0] if len(message.content) == 1 else None
            if isinstance(first, Raw) and first.code == WHOLE and self.is_same(first.dialect):
                out.append(first.payload)
                shared = False
                continue
            blocks = [doc for block in message.content for doc in self.write_block(block, w)]
            if not blocks and not w.same:
                self.lose(message.extras, message.at, w.log)
                self.omit_message(message, w.log)
                continue
            if out and self.joins(message, shared, w):
                self.lose(message.extras, message.at, w.log)
                out[-1]["content"] += blocks
            else:
                out.append(self.made(message, blocks, w))
            shared = message.role == "tool"
        if out and not w.same:
            self.note_made(w.log)
        return out

    def note_made(self, log: Ledger) -> None:
        why = f"{self.name} requires an id, a folder and a name, and a time in each message"
        log.invented("session.line", "", why)

    def joins(self, message: Message, shared: bool, w: Writing) -> bool:
        """Whether a message goes on with the one before it: as it did, or two results do."""
        extras = message.extras
        if extras is not None and self.is_same(extras.dialect):
            joined = extras.spelling.get("joined")
            return joined is True or (shared and joined is None and not extras.fields)
        return shared and message.role == "tool"

    def made(self, message: Message, blocks: list[Json], w: Writing) -> Line:
        doc: Line = {"role": "assistant" if message.role == "assistant" else "user"}
        extras = message.extras
        if extras is None or not self.is_same(extras.dialect):
            doc["created"] = int(w.log.now or 0)
            doc["metadata"] = {"userVisible": True, "agentVisible": True}
        return self.emit({**doc, "content": blocks}, message, w.log)

    def write_block(self, block: Block, w: Writing) -> list[Json]:
        match block:
            case Text():
                return [self.emit({"type": "text", "text": block.text}, block, w.log)]
            case Media():
                out: Line = {"type": "image", "data": block.source.value}
                if block.source.media_type is not None:
                    out["mimeType"] = block.source.media_type
                return [self.emit(out, block, w.log)]
            case Reasoning():
                return [self.write_reasoning(block, w)]
            case ToolCall():
                return [self.write_call(block, w)]
            case ToolResult():
                return [self.write_result(block, w)]
            case Raw() if self.is_same(block.dialect):
                return [block.payload]
            case _:
                self.omit(block, w.log)
                return []

    def write_reasoning(self, block: Reasoning, w: Writing) -> Json:
        mark = block.signature
        if mark is not None and mark.kind == "encrypted":
            return self.emit({"type": "redactedThinking", "data": mark.data}, block, w.log)
        signed = "" if mark is None else mark.data
        said = "\n\n".join(block.words)
        return self.emit({"type": "thinking", "thinking": said, "signature": signed}, block, w.log)

    def write_call(self, call: ToolCall, w: Writing) -> Json:
        value = {"name": w.tool_name(call.name, call.at), "arguments": json_of(call, w.log)}
        out: Line = {
            "type": "toolRequest",
            "id": w.call_id(call),
            "toolCall": {"status": "success", "value": value},
        }
        extras = call.extras
        if (
            extras is not None
            and extras.signature is not None
            and extras.signature.issuer == "google"
        ):
            out["metadata"] = {"thoughtSignature": extras.signature.data}
            call = replace(call, extras=replace(extras, signature=None))
        return self.emit(out, call, w.log)

    def write_result(self, result: ToolResult, w: Writing) -> Json:
        extras, out = result.extras, dict[str, Json]()
        out = {"type": "toolResponse", "id": w.result_id(result)}
        thrown = extras is not None and self.is_same(extras.dialect) and extras.spelling
        text = result.content[0] if len(result.content) == 1 else None
        if thrown and isinstance(text, Text) and result.is_error:
            out["toolResult"] = {"status": "error", "error": text.text}
        else:
            content = [doc for block in result.content for doc in self.write_block(block, w)]
            value: Line = {"content": content}
            if result.is_error is not None or not w.same:
                value["isError"] = bool(result.is_error)
            out["toolResult"] = {"status": "success", "value": value}
        return self.emit(out, result, w.log)

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        return iter(())


IMAGE_KEYS = frozenset({"type", "data", "mimeType"})


DIALECT = Goose()
