"""opencode: a session as ``opencode export`` writes it, and ``opencode import`` reads it.

What it does differently from its neighbours: sessions lie in an SQLite file, which the outer layer
opens; a message has parts, and a part of a tool is both the call and, once there is one, its
result. Parts that say where a step begins, or what has changed on the disk, are no part of the
conversation; neither is what was compacted. Signatures stand in ``metadata`` under their provider.
There is no system prompt and no tool: the agent has its own.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.media import kind_of, standard
from ..core.models import DEFAULT, Models
from ..core.reading import as_dict, encode, maybe_dict, maybe_str, need_dict, need_list, need_str
from ..core.signers import signer
from ..core.turns import SILENCE
from ..core.writing import Writing, data_uri, json_of, split_data_uri
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
    Signature,
    Source,
    Text,
    ToolCall,
    ToolResult,
    Tree,
)
from ..tools.pairing import Waiting
from . import _stored
from ._sessions import Line, SessionFile, is_newer, rest_of

VERSION = "1.18.33"
"""The newest version whose exports are known."""
WHOLE = "raw"
"""The code of a block that is a whole message which is not sent."""
SIGNED = {
    ("anthropic", "signature"): ("anthropic", "signature"),
    ("anthropic", "redactedData"): ("anthropic", "encrypted"),
    ("openai", "reasoningEncryptedContent"): ("openai", "encrypted"),
    ("google", "thoughtSignature"): ("google", "signature"),
}
"""Where the AI SDK keeps a signature: by provider and key, whose it is and of what kind."""
KEYS = {signature: place for place, signature in SIGNED.items()}
ASIDE = frozenset({"step-start", "step-finish", "snapshot", "patch", "agent", "retry"})
"""Parts that are not sent."""
UNSENT = frozenset({"text/plain", "application/x-directory"})
"""Files that are not sent: what is in them is a text of its own."""
PART = re.compile(r"(.*/parts/(\d{1,9}))(?:/|$)")
NOBODY = "ses_" + "0" * 26
"""The id of a session that nobody has named; the outer layer, which writes files, has another."""
ANY = cap.Form(
    sources=frozenset({"base64", "url"}), typed=True, labels=frozenset({"filename"}),
    schemes=("http", "https"),  # other files are those of the machine
)  # fmt: skip
USUAL = {
    "image": "image/png", "audio": "audio/wav", "video": "video/mp4", "document": "application/pdf",
}  # fmt: skip
FORMS = {kind: replace(ANY, usual=mime, pointed={"url": mime}) for kind, mime in USUAL.items()}


class Opencode(SessionFile):
    name = "opencode"
    spec = "https://opencode.ai/docs/cli/#export"
    aliases: ClassVar[tuple[str, ...]] = ()
    issuer = ""
    lines = False
    history: ClassVar[str | None] = "messages"
    windows = False  # a result stands in its call
    version: ClassVar[str] = VERSION
    can = cap.Capabilities(
        freeform="function",
        names=cap.NOWHERE,
        developer=False,
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        citations=cap.NO_CITATIONS,
        texts=cap.Texts(needed=frozenset({"result"})),
        result_names=False,
        results=cap.Results(joint="\n\n"),
        reasoning=cap.ReasoningForm(
            signatures=frozenset(KEYS), redacted=frozenset({("anthropic", "encrypted")})
        ),
        caching=cap.NO_MARKS,
        # A file of text is not sent: opencode puts what is in it into a text beside it.
        media=cap.MediaForms(kinds=FORMS, texts=cap.WORDS),
        order={"tool": {"text": 0, "image": 1, "audio": 1, "video": 1, "document": 1}},
        prefill="never",
        unfit={
            "system": cap.NOT_TEXT | {Passage},
            "developer": cap.NOT_TEXT | {Passage},
            "user": frozenset({Reasoning, ToolCall, ToolResult}),
            "assistant": frozenset({Media, ToolResult}),
        },
    )

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        docs = doc.get("messages") if doc.__class__ is dict else doc
        if docs.__class__ is not list:
            return
        e = Evidence("request" if doc.__class__ is dict else "messages")
        for each in objects(docs):
            info = each.get("info")
            if info.__class__ is not dict or each.get("parts").__class__ is not list:
                e.speaks_against("a message without 'info' and 'parts'", 0.9)
            elif "sessionID" in info:
                e.speaks_for("a message with 'info' and 'parts'", 0.97)
        head = doc.get("info") if doc.__class__ is dict else None
        if head.__class__ is dict and "projectID" in head:
            e.speaks_for("'info' with 'projectID'", 0.9)
            if is_newer(head.get("version"), VERSION):
                named = str(head["version"])[:20]
                e.speaks_for(f"written by {named}, newer than {VERSION}", 0.5)
        if e.signs:
            yield e.verdict()

    # -- reading ------------------------------------------------------------------------------

    def read_request(self, doc: Json) -> Request:
        doc = as_dict(doc, "")
        messages = self.read_all(need_list(doc, "messages", ""), "/messages")
        head = maybe_dict(doc, "info", "") or {}
        told = maybe_dict(head, "model", "/info") or {}
        model = told.get("id")
        if model.__class__ is not str or not model.strip():
            extras = self.keep(doc, {"messages"})
            return Request(None, tuple(messages), dialect=self.name, extras=extras)
        return Request(
            model,
            tuple(messages),
            params=Params(ats={"model": "/info/model/id"}),
            dialect=self.name,
            extras=self.keep(doc, {"messages"}, partly={"info": {"model": ("id",)}}),
        )

    def read_messages(self, doc: Json) -> History:
        return _stored.read_list(self, doc, self.read_all)

    def read_all(self, docs: list[Json], at: str) -> list[Message]:
        out: list[Message] = []
        first = begin(docs)
        for index, each in enumerate(docs):
            where = f"{at}/{index}"
            doc = as_dict(each, where)
            info = need_dict(doc, "info", where)
            role = need_str(info, "role", f"{where}/info")
            if role not in ("user", "assistant"):
                why = f"unknown role {role!r}; there are: user, assistant"
                raise Malformed(why, f"{where}/info/role")
            listed = need_list(doc, "parts", where)
            if index < first or is_failed(info, listed):
                raw = Raw(self.name, doc, code=WHOLE, at=where)
                out.append(Message("user", (raw,), at=where))
            else:
                out += self.read_message(doc, role == "assistant", listed, where)
        return out

    def read_message(self, doc: Line, by_model: bool, listed: list[Json], at: str) -> list[Message]:
        blocks: list[Block] = []
        results: list[Message] = []
        left: dict[str, Json] = {}
        inner = ["info", "parts"]
        for index, each in enumerate(listed):
            where = f"{at}/parts/{index}"
            part = as_dict(each, where)
            if part.get("type").__class__ is str and part["type"] in ASIDE:
                left[str(index)] = part
                continue
            block, result, taken = self.read_part(part, where, by_model)
            if isinstance(block, Raw):
                blocks.append(block)
                continue
            if rest := without(part, taken):
                left[str(index)] = rest
                inner.append(f"parts/{index}")
            blocks.append(block)
            if result is not None:
                results.append(Message("tool", (result,), at=result.at))
        info = rest_of(doc["info"], "role")
        fields = {**({"info": info} if info else {}), **({"parts": left} if left else {})}
        fields |= rest_of(doc, "info", "parts")
        extras = Extras(self.name, fields, inner=tuple(inner), records=True)
        said = Message("assistant" if by_model else "user", tuple(blocks), at=at, extras=extras)
        return [said, *results]

    def read_part(
        self, part: Line, at: str, by_model: bool
    ) -> tuple[Block, ToolResult | None, Json]:
        """The block of a part, the result in it, and what was taken of it."""
        kind = need_str(part, "type", at)
        if kind == "text" and part.get("text").__class__ is str and not part.get("ignored"):
            return Text(part["text"], at=at), None, {"type": (), "text": ()}
        if kind == "reasoning" and by_model and part.get("text").__class__ is str:
            mark, place = signature_of(part)
            words = (part["text"],) if part["text"] or mark is None else ()
            taken = {"type": (), "text": (), **({"metadata": place} if mark else {})}
            return Reasoning(words, signature=mark, at=at), None, taken
        if kind == "tool" and by_model and part.get("state").__class__ is dict:
            return self.read_tool(part, at)
        if kind == "file" and (media := self.read_file(part, at)) is not None:
            return media, None, FILE_TAKEN
        return Raw(self.name, part, at=at), None, {}

    def read_file(self, part: Line, at: str) -> Media | None:
        mime, url = part.get("mime"), part.get("url")
        if mime.__class__ is not str or url.__class__ is not str or mime in UNSENT:
            return None
        found = split_data_uri(url)
        if found is not None:
            source = Source("base64", standard(found[1]), mime)
        elif url.startswith(("http://", "https://")):
            source = Source("url", url, mime)
        else:
            return None
        return Media(kind_of(mime), source, filename=maybe_str(part, "filename", at), at=at)

    def read_tool(self, part: Line, at: str) -> tuple[Block, ToolResult | None, Json]:
        state, where = part["state"], f"{at}/state"
        named, name = need_str(part, "callID", at), need_str(part, "tool", at)
        given = maybe_dict(state, "input", where)
        mark, place = signature_of(part)
        signed = mark is not None and mark.issuer == "google"
        extras = Extras(self.name, signature=mark) if signed else None
        call = ToolCall(named, name, encode({} if given is None else given).decode(), at=at,
                        extras=extras)  # fmt: skip
        taken: dict[str, Json] = {"type": (), "tool": (), "callID": ()}
        if signed:
            taken["metadata"] = place
        inner: dict[str, Json] = {"input": ()}
        result = None
        status = state.get("status")
        if status == "completed" and state.get("output").__class__ is str:
            inner |= {"status": (), "output": ()}
            content: list[Block] = []
            files = state.get("attachments")
            if state["output"] or not files:  # beside media, an empty text says nothing
                content.append(Text(state["output"], at=f"{where}/output"))
            if files.__class__ is list and files:
                read = [
                    self.read_file(as_dict(each, f"{where}/attachments/{i}"),
                                   f"{where}/attachments/{i}")
                    for i, each in enumerate(files)
                ]  # fmt: skip
                if all(media is not None for media in read):
                    content += [media for media in read if media is not None]
                    inner["attachments"] = FILE_TAKEN
            result = ToolResult(named, tuple(content), at=where)
        elif status == "error" and state.get("error").__class__ is str:
            inner |= {"status": (), "error": ()}
            text = Text(state["error"], at=f"{where}/error")
            result = ToolResult(named, (text,) if text.text else (), True, at=where)
        return call, result, {**taken, "state": inner}

    # -- writing ----------------------------------------------------------------------------

    def write(self, tree: Tree, log: Ledger) -> Json:
        if isinstance(tree, Request | History) and not self.is_same(tree.dialect):
            log.target = self.name
            tree = replace(tree, messages=self.with_calls(tree.messages, log))
        return super().write(tree, log)

    def with_calls(self, messages: tuple[Message, ...], log: Ledger) -> tuple[Message, ...]:
        """Messages without results that no call waits for, of which nothing is to be lowered."""
        if not any(message.role == "tool" for message in messages):
            return messages
        out: list[Message] = []
        waiting = Waiting()
        count: dict[str, int] = {}  # how many calls of the last turn with an id wait
        for message in messages:
            kept: list[Block] = []
            if message.role == "assistant":
                count |= dict.fromkeys([b.id for b in calls_of(message) if b.id is not None], 0)
            for block in message.content:
                if isinstance(block, ToolCall):
                    if block.id is None:
                        waiting.add(block, "")
                    else:
                        count[block.id] = count.get(block.id, 0) + 1
                elif isinstance(block, ToolResult) and message.role == "tool":
                    name = block.call_id
                    left = count.get(name, 0) if name is not None \
                        else waiting.reply(block.name) is not None  # fmt: skip
                    if not left:
                        self.lose_result(block, name in count, log)
                        continue
                    if name is not None:
                        count[name] -= 1
                kept.append(block)
            if len(kept) == len(message.content):
                out.append(message)
            elif kept:
                out.append(replace(message, content=tuple(kept)))
            else:
                self.lose(message.extras, message.at, log)
        return tuple(out)

    def lose_result(self, result: ToolResult, again: bool, log: Ledger) -> None:
        why = f"{self.name} stores a result with its call, and there is none"
        if again:
            why = f"{self.name} stores one result for each call"
        self.lose(result.extras, result.at, log)
        log.dropped("tool_result", result.at, why)

    def write_request(self, tree: Request, log: Ledger) -> Json:
        w = Writing(log, _stored.FREE, _stored.FREE, self.is_same(tree.dialect))
        maker = None if tree.model is None else log.models.vendor_of(tree.model)
        provider = PROVIDERS.get(maker or "", "unknown")
        docs = Writer(self, w, tree.model, provider).write(tree.messages)
        doc: Line = {"messages": docs}
        if w.same:
            if tree.model is not None:
                doc["info"] = {"model": {"id": tree.model}}
            return self.emit(doc, tree, log)
        self.lose(tree.extras, tree.at, log)
        if not docs:
            self.add_user_turn(tree.at, log)
            silence = Message("user", (Text(SILENCE),))
            doc["messages"] = Writer(self, w, tree.model, provider).write((silence,))
        when = millis(log)
        head: Line = {
            "id": NOBODY,
            "slug": "moved",
            "projectID": "global",
            "directory": "/",
            "title": "",
            "version": VERSION,
            "time": {"created": when, "updated": when},
        }
        if tree.model is not None:
            head["model"] = {"id": tree.model, "providerID": provider}
        return {"info": head, **doc}

    def write_messages(self, tree: History, log: Ledger) -> Json:
        w = Writing(log, _stored.FREE, _stored.FREE, self.is_same(tree.dialect))
        return _stored.write_list(
            self, tree, lambda messages: Writer(self, w, None, "unknown").write(messages), log
        )

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        return iter(())


PROVIDERS = {"anthropic": "anthropic", "openai": "openai", "google": "google", "xai": "xai"}
FILE_TAKEN: dict[str, Json] = {"type": (), "mime": (), "url": (), "filename": ()}


def calls_of(message: Message) -> Iterator[ToolCall]:
    return (block for block in message.content if isinstance(block, ToolCall))


# -- what is sent -------------------------------------------------------------------------------


def begin(docs: list[Json]) -> int:
    """The first message that is still sent: a summary stands for all before it.

    "filterCompacted": the user's message with a part ``compaction`` that a finished summary
    replies to; ``tail_start_id`` names the first of the messages before it that stay.
    """
    done: set[str] = set()
    for index in range(len(docs) - 1, -1, -1):
        info, parts = shape_of(docs[index])
        if info.get("role") == "assistant" and info.get("summary") and info.get("finish"):
            if not info.get("error") and info.get("parentID").__class__ is str:
                done.add(info["parentID"])
        elif info.get("role") == "user" and info.get("id").__class__ is str:
            marks = [part for part in parts if part.get("type") == "compaction"]
            if info["id"] not in done or not marks:
                continue
            tail = marks[0].get("tail_start_id")
            for place in range(index if tail else 0):
                if shape_of(docs[place])[0].get("id") == tail:
                    return place
            return index
    return 0


def shape_of(doc: Json) -> tuple[Line, list[Line]]:
    info, parts = (doc.get("info"), doc.get("parts")) if doc.__class__ is dict else (None, None)
    listed = [part for part in parts if part.__class__ is dict] if parts.__class__ is list else []
    return (info if info.__class__ is dict else {}), listed


def is_failed(info: Line, parts: list[Json]) -> bool:
    """Whether a reply failed, so that it is not sent; what was aborted is, as far as it came."""
    error = info.get("error")
    if info.get("role") != "assistant" or error.__class__ is not dict or not error:
        return False
    kinds = [part.get("type") for part in parts if part.__class__ is dict]
    said = any(kind not in ("step-start", "reasoning") for kind in kinds)
    return not (error.get("name") == "MessageAbortedError" and said)


def signature_of(part: Line) -> tuple[Signature | None, Json]:
    """What a provider signed of a part, and where that stands in its metadata."""
    more = part.get("metadata")
    if more.__class__ is not dict:
        return None, {}
    for (provider, key), (issuer, kind) in SIGNED.items():
        assert isinstance(more, dict)
        told = more.get(provider)
        data = told.get(key) if told.__class__ is dict else None
        if data.__class__ is str and data:
            mark = Signature(data, issuer, "signature" if kind == "signature" else "encrypted")
            return mark, {provider: {key: ()}}
    return None, {}


def without(doc: Json, taken: Json) -> Json:
    """What is left of an object; of a list, what is left of each of its objects."""
    if doc.__class__ is list:
        rests = [without(each, taken) for each in doc]
        return rests if any(rests) else []
    left: Line = {}
    for key, value in doc.items():
        if key not in taken:
            left[key] = value
        elif taken[key] and value.__class__ in (dict, list):
            if rest := without(value, taken[key]):
                left[key] = rest
    return left


# -- messages -----------------------------------------------------------------------------------


class PartEntry(NamedTuple):
    """A part that is written: its place in the order, itself, and whether it is a call."""

    place: tuple[int, int]
    doc: Line
    called: bool = False


class Writer:
    """Messages with their parts; a result goes into the part of its call."""

    def __init__(self, d: Opencode, w: Writing, model: str | None, provider: str) -> None:
        self.d, self.w = d, w
        self.model, self.provider = model or "unknown", provider
        self.out: list[Line] = []
        self.calls: dict[str, tuple[int, list[Line]]] = {}
        """calls by their ids: the last message that has some, and those that wait there"""
        self.count = 0
        self.asked = ""
        self.time = millis(w.log)
        self.made = False
        self.replied = (-1, -1)  # the last call that has a result: its message, and its part

    def write(self, messages: Sequence[Message]) -> list[Json]:
        d, w = self.d, self.w
        for message in messages:
            first = message.content[0] if len(message.content) == 1 else None
            if isinstance(first, Raw) and first.code == WHOLE and d.is_same(first.dialect):
                self.out.append(first.payload)
            elif message.role == "tool":
                self.write_results(message)
            else:
                self.write_message(message)
        if self.made or (self.out and not w.same):
            why = f"{d.name} requires ids, a folder, a time, an agent, a provider and counts"
            w.log.invented("session.line", "", why)
        return list(self.out)

    def write_message(self, message: Message) -> None:
        d, w = self.d, self.w
        extras, own = message.extras, Extras(d.name)
        if extras is not None and d.is_same(extras.dialect):
            own = extras
        else:
            d.lose(extras, message.at, w.log)
        if message.role == "assistant" and not w.same and not self.out:
            d.add_user_turn(message.at, w.log)
            self.write_message(Message("user", (Text(SILENCE),)))
        info = self.info_of(message, own)
        entries = self.entries_of(message, own, info)
        if not entries and not w.same:
            d.omit_message(message, w.log)
            return
        if message.role == "user":
            self.asked = info["id"] if info.get("id").__class__ is str else ""
        for entry in entries:
            if entry.called:
                number, waiting = self.calls.get(entry.doc["callID"], (-1, []))
                waiting = [*waiting, entry.doc] if number == len(self.out) else [entry.doc]
                self.calls[entry.doc["callID"]] = len(self.out), waiting
        doc = {"info": info, "parts": [entry.doc for entry in sorted(entries, key=place_of)]}
        self.out.append({**doc, **rest_of(own.fields, "info", "parts")})

    def info_of(self, message: Message, own: Extras) -> Line:
        """What is told of a message: as it was, or made up."""
        by_model = message.role == "assistant"
        role = "assistant" if by_model else "user"
        if own is message.extras:
            return {"role": role, **own.fields.get("info", {})}
        self.made = True
        when = self.now()
        info: Line = {"role": role, "id": self.id("msg"), "sessionID": NOBODY}
        model = {"providerID": self.provider, "modelID": self.model}
        if not by_model:
            return {**info, "time": {"created": when}, "agent": "build", "model": model}
        return {
            **info,
            "parentID": self.asked,
            **model,
            "mode": "build",
            "agent": "build",
            "path": {"cwd": "/", "root": "/"},
            "cost": 0,
            "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}},
            "time": {"created": when, "completed": when},
            "finish": "stop",
        }

    def now(self) -> int:
        """The time of a new message: never before that of the message it follows."""
        before = 0
        for doc in self.out[-1:]:
            told = shape_of(doc)[0].get("time")
            made = told.get("created") if told.__class__ is dict else None
            before = made if made.__class__ is int else 0
        return max(self.time, before)

    def id(self, prefix: str) -> str:
        """An id that follows those before it: "timestamp * 0x1000 + counter", in 48 bits."""
        self.count += 1
        number = (self.now() * 0x1000 + self.count) & (2**48 - 1)
        ids = self.w.log.ids
        tail = f"{self.count:014d}" if ids is None else ids("uuid").replace("-", "")[:14]
        return f"{prefix}_{number:012x}{tail}"

    def entries_of(self, message: Message, own: Extras, info: Line) -> list[PartEntry]:
        """The parts of a message, those that are not sent among them, each in its place."""
        kept = own.fields.get("parts", {})
        rests = {f"parts/{token}" for token in kept} & set(own.inner)
        entries = [
            PartEntry((int(token), 0), part)
            for token, part in kept.items()
            if f"parts/{token}" not in rests
        ]
        last, new = -1, 0
        for block in message.content:
            found = PART.fullmatch(f"{block.at}/") if self.w.same else None
            token = found[2] if found is not None and found[1] == f"{message.at}/parts/{found[2]}" \
                else ""  # fmt: skip
            written = self.write_block(block)
            called = isinstance(block, ToolCall)
            if written is None:
                continue
            if isinstance(block, Raw):
                last = int(token) if token else last
                entries.append(PartEntry((last, new), written))
            elif token and own is message.extras:
                last = int(token)
                if "state" in written:  # what stood there beside the input has been kept
                    written["state"] = rest_of(written["state"], "status", "raw")
                entries.append(PartEntry((last, 0), merged(written, kept.get(token, {})), called))
            else:
                new += 1
                ids = {"id": self.id("prt"), "sessionID": info.get("sessionID", NOBODY)}
                self.made = True
                doc = {**written, **ids, "messageID": info.get("id", "")}
                entries.append(PartEntry((last, new), doc, called))
        return entries

    def write_block(self, block: Block) -> Line | None:
        d, w = self.d, self.w
        match block:
            case Text():
                d.lose(block.extras, block.at, w.log)
                return {"type": "text", "text": block.text}
            case Reasoning():
                d.lose(block.extras, block.at, w.log)
                out: Line = {"type": "reasoning", "text": "\n\n".join(block.words)}
                if not w.same:
                    out["time"] = {"start": self.time, "end": self.time}
                return with_mark(out, block.signature)
            case Media():
                d.lose(block.extras, block.at, w.log)
                if w.same or block.source.media_type not in UNSENT:
                    return file_of(block)
                written = self.worded(block)
                return None if written is None else {"type": "text", "text": written}
            case ToolCall():
                return self.write_call(block)
            case Raw() if d.is_same(block.dialect):
                return dict(block.payload)
            case _:
                d.omit(block, w.log)
                return None

    def worded(self, block: Media) -> str | None:
        """The words of a file that is not sent."""
        log, name = self.w.log, self.d.name
        written = text_in(block.source.value) if block.source.kind == "base64" else None
        if written is None:
            log.dropped("media", block.at, f"{name} does not send {block.source.media_type} files")
            return None
        log.approximated("media", block.at, f"{name} does not send text files; written as text")
        if block.filename is not None:
            log.dropped("media.filename", block.at, f"{name} has no file names of texts")
        return written

    def write_call(self, call: ToolCall) -> Line:
        d, w = self.d, self.w
        out: Line = {
            "type": "tool",
            "tool": w.tool_name(call.name, call.at),
            "callID": w.call_id(call),
            "state": {"status": "pending", "input": json_of(call, w.log), "raw": ""},
        }
        extras = call.extras
        if extras is not None and extras.signature is not None:
            if extras.signature.issuer == "google":
                out = with_mark(out, extras.signature)
                extras = replace(extras, signature=None)
        if extras is None or not d.is_same(extras.dialect):
            d.lose(extras, call.at, w.log)
        return out

    def write_results(self, message: Message) -> None:
        d, w = self.d, self.w
        d.lose(message.extras, message.at, w.log)
        for result in message.content:
            if not isinstance(result, ToolResult):
                d.omit(result, w.log)
                continue
            replied = w.replied_id(result)
            number, waiting = self.calls.get(replied or "", (-1, []))
            if not waiting:
                d.lose_result(result, number >= 0, w.log)
                continue
            part = waiting.pop(0)
            d.lose(result.extras, result.at, w.log)
            self.note_place(number, part, result, message)
            kept = rest_of(part["state"], "status", "raw")
            part["state"] = merged(self.state_of(result, not w.same), kept)

    def note_place(self, number: int, part: Line, result: ToolResult, message: Message) -> None:
        """A result stands with its call, wherever it stood."""
        if number != len(self.out) - 1:
            why = f"{self.d.name} stores results with their calls"
            self.w.log.moved("message.position", message.at, why)
        parts = self.out[number]["parts"]
        place = (number, next(n for n, each in enumerate(parts) if each is part))
        if place < self.replied and number == self.replied[0]:
            why = f"{self.d.name} requires results in the order of their calls"
            self.w.log.moved("message.position", message.at, why)
        self.replied = max(place, self.replied)

    def state_of(self, result: ToolResult, new: bool) -> Line:
        """What a result says, and what else opencode requires there."""
        when = {"time": {"start": self.time, "end": self.time}} if new else {}
        texts, files = list[str](), list[Line]()
        for block in result.content:
            written = self.write_block(block) if isinstance(block, Text | Media) else None
            if written is not None and written["type"] == "text":
                texts.append(written["text"])
            elif written is not None:
                files.append(written)
        said = "\n\n".join(texts)
        for block in result.content if files and not self.w.same else ():
            if isinstance(block, Text) and not block.text:
                self.d.omit_text(block.at, self.w.log)
        if result.is_error and files:
            why = f"{self.d.name} has attachments in the results of calls that succeeded only"
            self.w.log.dropped("tool_result.error", result.at, why)
        elif result.is_error:
            return {"status": "error", "error": said, **when}
        out: Line = {"status": "completed", "output": said}
        if new:
            out |= {"title": "", "metadata": {}}
        if files:
            ids = {"sessionID": NOBODY, "messageID": self.out[-1]["info"].get("id", "")}
            out["attachments"] = [
                {**file, **({"id": self.id("prt"), **ids} if new else {})} for file in files
            ]
        return {**out, **when}


def place_of(entry: PartEntry) -> tuple[int, int]:
    return entry.place


def merged(written: Line, kept: Line) -> Line:
    """What was written, with the rest of what stood there; lists, element by element."""
    out = {key: value for key, value in written.items() if key not in kept}
    for key, value in kept.items():
        own = written.get(key)
        if own.__class__ is dict and value.__class__ is dict:
            out[key] = merged(own, value)
        elif own.__class__ is list and value.__class__ is list and len(own) == len(value):
            out[key] = [merged(a, b) for a, b in zip(own, value, strict=True)]
        else:
            out[key] = value
    return out


def with_mark(out: Line, mark: Signature | None) -> Line:
    """A part with its signature, where the AI SDK has it."""
    if mark is None:
        return out
    place = KEYS.get((signer(mark), mark.kind))
    if place is None:  # lowering has reported it
        return out
    provider, key = place
    return {**out, "metadata": {provider: {key: mark.data}}}


def text_in(data: str) -> str | None:
    """The text that base64 holds; None where it holds none."""
    try:
        return base64.b64decode(data).decode()
    except ValueError:
        return None


def file_of(block: Media) -> Line:
    source = block.source
    mime = source.media_type or USUAL[block.kind]
    url = source.value if source.kind == "url" else data_uri(mime, source.value)
    out: Line = {"type": "file", "mime": mime, "url": url}
    return {**out, "filename": block.filename} if block.filename is not None else out


def millis(log: Ledger) -> int:
    return max(int((log.now or 0) * 1000), 0)


DIALECT = Opencode()
