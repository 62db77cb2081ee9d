"""Codex: the file of a session, ``~/.codex/sessions/Y/M/D/rollout-<time>-<id>.jsonl``.

What it does differently from its neighbours: each line has a type and a payload; payloads of
``response_item`` are items of the Responses API; ``event_msg`` repeats them for the screen; the
system prompt stands in ``session_meta``, the model in ``turn_context``; ``compacted`` replaces all
that came before it, and a rollback takes turns back; there are no tools and no parameters: the
agent has its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from ..core.lines import values_of
from ..core.models import DEFAULT, Models
from ..core.reading import maybe_str, need_dict
from ..dialect import Problem
from ..ledger import Ledger
from ..model import Block, History, Json, Message, Request, Text
from . import openai_responses as api
from ._sessions import (
    Found,
    Group,
    Kept,
    Line,
    Rows,
    SessionFile,
    Stamps,
    groups_of,
    is_newer,
    number_of,
    objects,
    rest_of,
    stored,
)
from .openai_responses import OpenAIResponses, items

VERSION = "0.169.0"
"""The newest version whose files are known."""
KINDS = frozenset(
    {
        "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state",
        "token_usage_record", "inter_agent_communication",
    }
)  # fmt: skip
PASSED = frozenset({"internal_chat_message_metadata_passthrough"})
"""Keys of items that Codex adds to those of the API."""
NAMED = frozenset({"message", "function_call_output", "custom_tool_call_output"})
"""Types of items whose ids Codex makes up where the API gives none."""
HISTORY = "replacement_history"
ITEM = re.compile(r"/\d+/payload(?:/replacement_history/\d+)?(?=/|$)")
CONTEXT = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<permissions")
"""What messages begin with that Codex writes in the name of the user."""
PARTS = {"assistant": "output_text"}
NOBODY = "00000000-0000-4000-8000-000000000000"
"""The id of a session that nobody has named; the outer layer, which writes files, has another."""


class ActiveItem(NamedTuple):
    """An item, and where it stands."""

    number: int
    at: str
    doc: Json


class Codex(SessionFile, OpenAIResponses):
    name = "codex"
    spec = "https://github.com/openai/codex/blob/main/codex-rs/protocol/src/protocol.rs"
    aliases: ClassVar[tuple[str, ...]] = ()
    kin = frozenset({"openai-responses"})
    can = stored(OpenAIResponses.can)
    listed = True
    prompts = True
    version: ClassVar[str] = VERSION

    def sniff(self, doc: Json) -> Iterator[tuple[str, float, tuple[str, ...]]]:
        if doc.__class__ is not list:
            return
        seen, newer = 0, ""
        for _, line in objects(doc):
            payload = line.get("payload")
            if payload.__class__ is not dict or line.get("type").__class__ is not str:
                return
            seen += line["type"] in KINDS
            if line["type"] == "session_meta" and is_newer(payload.get("cli_version"), VERSION):
                newer = str(payload["cli_version"])[:20]
        if seen:
            signs = ["lines with a type and a payload"]
            signs += [f"written by {newer}, newer than {VERSION}"] if newer else []
            yield "request", 0.98, tuple(signs)
            yield "messages", 0.95, tuple(signs)

    def find(self, doc: Json, facet: str) -> Found:
        docs = values_of(doc)
        kept, out = Kept(self.name), list[Message]()
        places, whys = active_items(docs)
        active = {place.number for place in places}
        model_at = model_line(docs) if facet == "request" else -1
        meta = next((n for n, line in objects(docs) if line.get("type") == "session_meta"), -1)
        for number, line in enumerate(docs):
            if number == meta:
                keep_meta(line, number, kept, out)
            elif number == model_at:
                kept.rest(number, without(line, "model"), "payload")
            elif number not in active:
                kept.line(number, line, whys.get(number, ""))
            elif line["type"] == "compacted":
                key = HISTORY if line["payload"].get(HISTORY).__class__ is list else "message"
                kept.rest(number, without(line, key), "payload")
        run: list[Block] = []
        start = ""
        for number, at, item in places:
            line = docs[number]
            if line["type"] == "response_item":
                item, rest = own_item(need_dict(line, "payload", f"/{number}"))
                left = rest_of(line, "payload", "type")
                kept.rest(number, {**left, "payload": rest} if rest else left, "payload")
            if at.endswith("/message"):  # the words of a summary
                out.append(Message("user", (Text(item["content"], at=at),), at=at))
                continue
            start = items.read_item(api.DIALECT, item, at, run, start, out)
        if run:
            out.append(Message("assistant", tuple(run), at=start))
        if model_at < 0:
            return Found(out, kept)
        return Found(out, kept, docs[model_at]["payload"]["model"], f"/{model_at}/payload/model")

    # -- writing ----------------------------------------------------------------------------

    def rewrite_lines(self, tree: Request | History, log: Ledger) -> list[Json]:
        d = api.DIALECT
        w = d.writing(log, d.name)
        rows, stamps = Rows(tree.extras, self.name), Stamps(log)
        replaced: dict[int, list[Json]] = {}
        for group in groups_of(tree.messages, item_of):
            number = group.number
            rest = rows.parts.get(number)
            if rest is not None and is_prompt(group):
                rows.put(number, with_prompt(rest, group))
                continue
            docs: list[Json] = []
            message = Message(group.message.role, tuple(group.blocks), at=group.message.at,
                              extras=group.message.extras)  # fmt: skip
            if message.role == "assistant":
                d.write_turn(message.content, docs, w)
            elif message.role == "tool":
                d.write_results(message, docs, w)
            else:
                d.write_message(message, docs, w)
            rest = rows.rest(number)
            if rest is not None and is_summary(rest, group):
                rows.put(number, with_summary(rest, group))
                continue
            for doc in map(full, docs):
                rest = rows.rest(number)
                if rest is not None and f"/{HISTORY}/" in group.at:
                    replaced.setdefault(number, []).append(doc)
                    rows.last = number
                elif rest is not None and group.at.endswith("/payload"):
                    inner = rest.get("payload", {})
                    rows.put(number, {"type": "response_item", **rest, "payload": {**doc, **inner}})
                else:
                    rows.add(stamped("response_item", doc, stamps))
                    self.note_made(log)
        for number, rest in rows.parts.items():
            if (number, 0) not in rows.rows and rest.get("type").__class__ is str:
                rows.put(number, self.completed(rest, number, tree, replaced.get(number, [])))
        return rows.lines()

    def completed(
        self, rest: Line, number: int, tree: Request | History, history: list[Json]
    ) -> Line:
        """A line of another type, with what was read of it."""
        payload = rest.get("payload", {})
        if rest["type"] == "turn_context" and isinstance(tree, Request):
            if tree.model is not None and number == number_of(tree.params.where("model")):
                payload = {**payload, "model": tree.model}
        elif rest["type"] == "compacted" and HISTORY not in payload:
            payload = {**payload, HISTORY: history}
        return {**rest, "payload": payload}

    def write_lines(self, tree: Request | History, log: Ledger) -> list[Json]:
        w = self.writing(log, None)
        stamps = Stamps(log)
        prompt: dict[str, Json] = {}
        left = self.write_prompt(prompt, tree.messages, w)
        docs = [full(doc) for doc in self.write_items(left, w)]
        meta: Line = {
            "id": NOBODY,
            "timestamp": stamps.time,
            "cwd": "/",
            "originator": "codex_cli_rs",
            "cli_version": VERSION,
            "source": "cli",
        }
        if "instructions" in prompt:
            meta["base_instructions"] = {"text": prompt["instructions"]}
        out = [stamped("session_meta", meta, stamps)]
        if isinstance(tree, Request) and self.names(tree, log):
            context = {
                "cwd": "/",
                "approval_policy": "on-request",
                "sandbox_policy": {"type": "read-only"},
                "model": tree.model,
                "summary": "auto",
            }
            out.append(stamped("turn_context", context, stamps))
        for doc in docs:
            out.append(stamped("response_item", doc, stamps))
            out += (stamped("event_msg", event, stamps) for event in shown(doc))
        self.note_made(log)
        return out

    def names(self, tree: Request, log: Ledger) -> bool:
        """Whether the model is named: Codex says that it goes on with another one, and how."""
        if tree.model is None:
            return False
        maker = log.models.vendor_of(tree.model)
        if maker in (None, *self.serves):
            return True
        why = f"{tree.model!r} is a model of {maker}; codex goes on with its own"
        log.dropped("model", tree.at, why)
        return False

    def note_made(self, log: Ledger) -> None:
        why = f"{self.name} requires a head, a time in each line, and events to show messages"
        if not any(loss.what == "session.line" and not loss.path for loss in log.losses):
            log.invented("session.line", "", why)

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        return iter(())


# -- lines ------------------------------------------------------------------------------------


def active_items(docs: list[Json]) -> tuple[list[ActiveItem], dict[int, str]]:
    """The items that are the conversation, and why others are not."""
    places: list[ActiveItem] = []
    whys: dict[int, str] = {}
    for number, line in objects(docs):
        kind, payload = line.get("type"), line.get("payload")
        if payload.__class__ is not dict:
            continue
        at = f"/{number}/payload"
        if kind == "response_item":
            places.append(ActiveItem(number, at, payload))
        elif kind == "compacted":
            whys |= {place.number: "compacted: a summary stands for it" for place in places}
            places = replacement(number, at, payload)
        elif kind == "event_msg":
            if payload.get("type") == "thread_rolled_back":
                gone = rolled_back(places, payload.get("num_turns"))
                whys[number] = "codex takes turns back"
                whys |= {place.number: "a turn that was taken back" for place in places[gone:]}
                del places[gone:]
            else:
                whys[number] = f"codex shows it: {named(payload.get('type'))}"
    active = {place.number for place in places}
    return places, {number: why for number, why in whys.items() if number not in active}


def named(kind: Json) -> str:
    return f"an event {kind!r}" if kind.__class__ is str and len(kind) < 60 else "an event"


def replacement(number: int, at: str, payload: Line) -> list[ActiveItem]:
    """What stands for all that was compacted."""
    history = payload.get(HISTORY)
    if history.__class__ is list:
        return [ActiveItem(number, f"{at}/{HISTORY}/{i}", doc) for i, doc in enumerate(history)]
    summary = maybe_str(payload, "message", at)
    if not summary:
        return []
    return [ActiveItem(number, f"{at}/message", {"role": "user", "content": summary})]


def rolled_back(places: list[ActiveItem], turns: Json) -> int:
    """Which item is the first of the last so many turns of the user."""
    left = turns if turns.__class__ is int else 0
    at = len(places)
    for index in range(len(places) - 1, -1, -1):
        if left <= 0:
            break
        if is_asked(places[index].doc):
            left -= 1
            at = index
    return at


def is_asked(doc: Json) -> bool:
    """Whether an item is what the user said, and not what Codex says in the user's name."""
    if doc.__class__ is not dict or doc.get("role") != "user":
        return False
    content = doc.get("content")
    parts: list[Any] = content if content.__class__ is list else []
    texts = [part.get("text") for part in parts if part.__class__ is dict]
    return not any(text.__class__ is str and text.startswith(CONTEXT) for text in texts)


def model_line(docs: list[Json]) -> int:
    """The last line that names the model; -1: there is none."""
    found = -1
    for number, line in objects(docs):
        payload = line.get("payload")
        if line.get("type") == "turn_context" and payload.__class__ is dict:
            model = payload.get("model")
            if model.__class__ is str and model.strip():
                found = number
    return found


def without(line: Line, key: str) -> Line:
    return {**line, "payload": rest_of(line["payload"], key)}


def own_item(doc: Line) -> tuple[Line, Line]:
    """An item as the API has it, and what Codex adds to it."""
    kind = doc.get("type")
    named = kind.__class__ is str and kind in NAMED and "id" in doc
    added = PASSED | {"id"} if named else PASSED
    if added.isdisjoint(doc):
        return doc, {}
    item = {key: value for key, value in doc.items() if key not in added}
    return item, {key: value for key, value in doc.items() if key in added}


def keep_meta(line: Line, number: int, kept: Kept, out: list[Message]) -> None:
    """The head of a file. The system prompt was a string once."""
    payload = need_dict(line, "payload", f"/{number}")
    prompt, at = payload.get("base_instructions"), f"/{number}/payload/base_instructions"
    left: Line = rest_of(payload, "base_instructions")
    if prompt.__class__ is dict and prompt.get("text").__class__ is str:
        text, at = prompt["text"], f"{at}/text"
        if rest := rest_of(prompt, "text"):
            left["base_instructions"] = rest
    elif prompt.__class__ is str:
        text = prompt
    else:
        kept.line(number, line)
        return
    out.append(Message("system", (Text(text, at=at),), at=at))
    kept.rest(number, {**line, "payload": left}, "payload", "payload/base_instructions")


def item_of(at: str) -> str:
    """The place of the item in which a place is."""
    if "/base_instructions" in at:
        return at
    found = ITEM.match(at)
    return found[0] if found else ""


def is_prompt(group: Group) -> bool:
    return group.message.role == "system" and "/base_instructions" in group.at


def with_prompt(rest: Line, group: Group) -> Line:
    """The head of a file, with its system prompt."""
    text = "".join(block.text for block in group.blocks if isinstance(block, Text))
    inner = rest["payload"].get("base_instructions", {})
    prompt = {**inner, "text": text} if group.at.endswith("/text") else text
    return {**rest, "payload": {**rest["payload"], "base_instructions": prompt}}


def is_summary(rest: Line, group: Group) -> bool:
    """Whether a group is the summary in a line that says nothing else of what was compacted."""
    if rest.get("type") != "compacted" or f"/{HISTORY}" in group.at or HISTORY in rest["payload"]:
        return False
    return group.message.role == "user" and all(isinstance(b, Text) for b in group.blocks)


def with_summary(rest: Line, group: Group) -> Line:
    text = "\n".join(block.text for block in group.blocks if isinstance(block, Text))
    return {**rest, "payload": {**rest["payload"], "message": text}}


# -- what is new --------------------------------------------------------------------------------


def stamped(kind: str, payload: Line, stamps: Stamps) -> Line:
    return {"timestamp": stamps.time, "type": kind, "payload": payload}


def full(doc: Line) -> Line:
    """An item in the one form that Codex reads: its type is said, and its content is a list."""
    if "type" not in doc and "role" in doc:
        doc = {"type": "message", **doc}
    content = doc.get("content")
    if doc.get("type") == "message" and content.__class__ is str:
        kind = PARTS.get(doc["role"], "input_text")
        doc = {**doc, "content": [{"type": kind, "text": content}]}
    return doc


def words_of(doc: Line) -> str:
    """The words of a message."""
    content = doc.get("content")
    parts: list[Any] = content if content.__class__ is list else []
    return "\n".join(part["text"] for part in parts if part.get("text").__class__ is str)


def shown(doc: Line) -> Iterator[Line]:
    """The event by which Codex shows a message."""
    if doc.get("type") != "message" or doc["role"] not in ("user", "assistant"):
        return
    if doc["role"] == "user" and not is_asked(doc):
        return
    content = doc.get("content")
    parts: list[Any] = content if content.__class__ is list else []
    if any(part.get("text").__class__ is str for part in parts):
        kind = "user_message" if doc["role"] == "user" else "agent_message"
        yield {"type": kind, "message": words_of(doc)}


DIALECT = Codex()
