"""qwen-code: the file of a session, ``~/.qwen/projects/<folder>/chats/<id>.jsonl``.

What it does differently from its neighbours: each line holds a turn as Gemini's API has it,
whichever API the agent spoke; lines are a tree by ``parentUuid``: the ancestors of the last one are
the conversation; results have a type of line of their own; what was compressed stands in
a line of the system, which replaces all that came before; there is no system prompt, no tool and
no parameter: the agent has its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec.structs import replace

from ..core.lines import values_of
from ..core.models import DEFAULT, Models
from ..core.turns import SILENCE
from ..dialect import Problem
from ..ledger import Ledger
from ..model import History, Json, Message, Request
from . import gemini as api
from ._sessions import (
    Found,
    Kept,
    Line,
    Rows,
    SessionFile,
    Stamps,
    groups_of,
    is_newer,
    linked,
    number_of,
    objects,
    rest_of,
    stored,
)
from .gemini import Gemini, parts, turns

VERSION = "0.15.10"
"""The newest version whose files are known."""
SPEAKERS = ("user", "assistant", "tool_result")
KINDS = ("user", "assistant", "tool_result", "system")
HISTORY = "compressedHistory"
NOBODY = "00000000-0000-4000-8000-000000000000"
"""The id of a session that nobody has named; the outer layer, which writes files, has another."""
CUSTOM = frozenset[str]()


class QwenCode(SessionFile, Gemini):
    name = "qwen-code"
    spec = "https://github.com/QwenLM/qwen-code"
    aliases: ClassVar[tuple[str, ...]] = ()
    issuer = "google"
    kin = frozenset({"gemini"})
    can = stored(replace(Gemini.can, prefill="never"))
    version: ClassVar[str] = VERSION

    def sniff(self, doc: Json) -> Iterator[tuple[str, float, tuple[str, ...]]]:
        if doc.__class__ is not list:
            return
        seen, newer = 0, ""
        for _, line in objects(doc):
            if line.get("type") not in KINDS or "uuid" not in line or "sessionId" not in line:
                return
            message = line.get("message")
            seen += message.__class__ is dict and message.get("parts").__class__ is list
            if is_newer(line.get("version"), VERSION):
                newer = str(line["version"])[:20]
        if seen:
            signs = ["lines of a session whose messages have parts"]
            signs += [f"written by {newer}, newer than {VERSION}"] if newer else []
            yield "request", 0.995, tuple(signs)
            yield "messages", 0.97, tuple(signs)

    def find(self, doc: Json, facet: str) -> Found:
        docs = values_of(doc)
        active, summary = active_lines(docs)
        kept, out, called = Kept(self.name), list[Message](), dict[str, str]()
        model_at = model_line(docs, active) if facet == "request" else -1
        odd = False
        for number, line in enumerate(docs):
            if number == summary:
                payload = line["systemPayload"]
                at = f"/{number}/systemPayload/{HISTORY}"
                for index, each in enumerate(payload[HISTORY]):
                    odd = turns.read_turn(
                        api.DIALECT, each, f"{at}/{index}", called, CUSTOM, out
                    ) or odd  # fmt: skip
                left = {**line, "systemPayload": rest_of(payload, HISTORY)}
                kept.rest(number, left, "systemPayload")
            elif number not in active:
                kept.line(number, line, why_not(line))
            else:
                message = line["message"]
                turn = {key: value for key, value in message.items() if key in ("role", "parts")}
                at = f"/{number}/message"
                odd = turns.read_turn(api.DIALECT, turn, at, called, CUSTOM, out) or odd
                whole = rest_of(line, "message", *(["model"] if number == model_at else []))
                if rest := rest_of(message, "role", "parts"):
                    whole["message"] = rest
                kept.rest(number, whole, "message")
        messages = turns.paired(out) if odd else out
        if model_at < 0:
            return Found(messages, kept)
        return Found(messages, kept, docs[model_at]["model"], f"/{model_at}/model")

    # -- writing ----------------------------------------------------------------------------

    def rewrite_lines(self, tree: Request | History, log: Ledger) -> list[Json]:
        d = api.DIALECT
        w, called = turns.writing(d, log, d.name), dict[str, str]()
        rows, stamps = Rows(tree.extras, self.name), Stamps(log)
        replaced: dict[int, list[Json]] = {}
        for group in groups_of(tree.messages, turn_of):
            role = group.message.role
            if role not in ("user", "assistant", "tool"):
                continue
            written = parts.write_parts(d, group.blocks, w, called)
            turn: Line = {"role": "model" if role == "assistant" else "user", "parts": written}
            extras = group.message.extras
            if extras is not None and d.is_same(extras.dialect):
                turn |= extras.fields
            rest = rows.rest(group.number)
            if rest is None:
                model = tree.model if isinstance(tree, Request) else None
                rows.add(self.line(turn, stamps, model, role == "tool"))
            elif f"/{HISTORY}/" in group.at:
                replaced.setdefault(group.number, []).append(turn)
            else:
                own = rest.get("message")
                turn |= own if own.__class__ is dict else {}
                line = {**rest, "message": turn}
                if isinstance(tree, Request) and tree.model is not None:
                    if group.number == number_of(tree.params.where("model")):
                        line["model"] = tree.model
                rows.put(group.number, line)
        for number, rest in rows.parts.items():
            if rest.get("type") == "system" and rest.get("systemPayload").__class__ is dict:
                payload = {**rest["systemPayload"], HISTORY: replaced.get(number, [])}
                rows.put(number, {**rest, "systemPayload": payload})
        if rows.added:
            self.note_made(log)
        return linked(rows, is_named)

    def write_lines(self, tree: Request | History, log: Ledger) -> list[Json]:
        w = turns.writing(self, log, None)
        w.hoists = False
        stamps, rows = Stamps(log), Rows(None, self.name)
        model = tree.model if isinstance(tree, Request) else None
        for turn in turns.write_conversation(self, tree.messages, w)[1]:
            is_result = any("functionResponse" in part for part in turn["parts"])
            rows.add(self.line(turn, stamps, model, is_result))
        if not rows.added:  # a file without a message cannot be read
            self.add_user_turn(tree.at, log)
            turn = {"role": "user", "parts": [{"text": SILENCE}]}
            rows.add(self.line(turn, stamps, model, False))
        if model is not None and not any(line["type"] == "assistant" for line in rows.added):
            why = f"{self.name} names the model in the lines of the assistant, and there is none"
            log.dropped("model", tree.at, why)
        self.note_made(log)
        return linked(rows, is_named)

    def line(self, turn: Line, stamps: Stamps, model: str | None, is_result: bool) -> Line:
        kind = "assistant" if turn["role"] == "model" else "tool_result" if is_result else "user"
        line = {
            "uuid": stamps.uuid(),
            "parentUuid": None,
            "sessionId": NOBODY,
            "timestamp": stamps.time,
            "type": kind,
            "cwd": "/",
            "version": VERSION,
            "message": turn,
        }
        return {**line, "model": model} if kind == "assistant" and model else line

    def note_made(self, log: Ledger) -> None:
        why = f"{self.name} requires an id, a time, a folder and a version in each line"
        log.invented("session.line", "", why)

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        return iter(())


def active_lines(docs: list[Json]) -> tuple[set[int], int]:
    """The numbers of the lines that are the conversation; and of the one that stands for more."""
    by_uuid: dict[str, int] = {}
    last: int | None = None
    for number, line in objects(docs):
        if line.get("uuid").__class__ is str:
            by_uuid[line["uuid"]] = number
            if speaks(line) or summarises(line):
                last = number
    active: set[int] = set()
    seen: set[int] = set()
    while last is not None and last not in seen:
        seen.add(last)
        line = docs[last]
        if summarises(line):
            return active, last
        if speaks(line):
            active.add(last)
        parent = line.get("parentUuid")
        last = by_uuid.get(parent) if parent.__class__ is str else None
    return active, -1


def speaks(line: Json) -> bool:
    return line.get("type") in SPEAKERS and line.get("message").__class__ is dict


def summarises(line: Json) -> bool:
    """Whether a line stands for all that came before it."""
    if line.get("type") != "system" or line.get("subtype") != "chat_compression":
        return False
    payload = line.get("systemPayload")
    return payload.__class__ is dict and payload.get(HISTORY).__class__ is list


def why_not(line: Json) -> str:
    """Why a line that somebody speaks in is no part of the conversation."""
    if line.__class__ is dict and line.get("type") in SPEAKERS:
        return "not of the active branch: left, or compressed"
    return ""


def model_line(docs: list[Json], active: set[int]) -> int:
    """The last line of the conversation that names a model; -1: there is none."""
    for number in sorted(active, reverse=True):
        model = docs[number].get("model")
        if model.__class__ is str and model.strip():
            return number
    return -1


def is_named(line: Line) -> bool:
    return line.get("uuid").__class__ is str


def turn_of(at: str) -> str:
    """The place of the turn in which a place is."""
    number = number_of(at)
    if number < 0:
        return ""
    head, found, tail = at.partition(f"/{HISTORY}/")
    return f"{head}{found}{tail.partition('/')[0]}" if found else f"/{number}"


DIALECT = QwenCode()
