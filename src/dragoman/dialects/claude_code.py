"""Claude Code: the file of a session, ``~/.claude/projects/<folder>/<id>.jsonl``.

What it does differently from its neighbours: each block of a reply is a line of its own, and lines
with one ``message.id`` are one turn; lines are a tree by ``parentUuid``, of which the ancestors of
the last line are the conversation; other branches, subagents (``isSidechain``), what was compacted,
and errors of the API are kept, and never mixed into it; there is no system prompt, no tool and no
parameter: the agent has its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from msgspec.structs import replace

from ..core.lines import values_of
from ..core.models import DEFAULT, Models
from ..core.reading import need_dict
from ..core.turns import SILENCE
from ..dialect import Problem
from ..ledger import Ledger
from ..model import Block, History, Json, Message, Request, Text
from . import anthropic_messages as api
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
    linked,
    lose_prompt,
    number_of,
    objects,
    rest_of,
    stored,
)
from .anthropic_messages import AnthropicMessages, blocks, tools, turns

VERSION = "2.1.197"
"""The newest version whose files are known."""
SPEAKERS = ("user", "assistant")
CHAINED = frozenset({"user", "assistant", "attachment", "system"})
"""The types of lines that may be a parent of others."""
KINDS = CHAINED | {
    "summary", "queue-operation", "file-history-snapshot", "last-prompt", "progress",
    "custom-title", "ai-title", "agent-name", "tag", "mode", "pr-link",
}  # fmt: skip
SYNTHETIC = "<synthetic>"
"""The model of a reply that the agent wrote itself."""
NOBODY = frozenset[str]()


class ClaudeCode(SessionFile, AnthropicMessages):
    name = "claude-code"
    spec = "https://code.claude.com/docs/en/sessions"
    aliases: ClassVar[tuple[str, ...]] = ()
    kin = frozenset({"anthropic-messages"})
    can = stored(replace(AnthropicMessages.can, prefill="never"))
    version: ClassVar[str] = VERSION

    def sniff(self, doc: Json) -> Iterator[tuple[str, float, tuple[str, ...]]]:
        if doc.__class__ is not list:
            return
        seen, newer = 0, ""
        for _, line in objects(doc):
            if kind_of(line) in KINDS and ("sessionId" in line or "leafUuid" in line):
                seen += 1
                if is_newer(line.get("version"), VERSION):
                    newer = str(line["version"])[:20]
            elif not is_line(line):
                return
        if seen:
            signs = ["lines of a session"]
            signs += [f"written by {newer}, newer than {VERSION}"] if newer else []
            yield "request", 0.98, tuple(signs)
            yield "messages", 0.95, tuple(signs)

    def find(self, doc: Json, facet: str) -> Found:
        docs = values_of(doc)
        active = active_lines(docs)
        kept = Kept(self.name)
        out: list[Message] = []
        model_at = model_line(docs, active) if facet == "request" else -1
        last: Line = {}
        for number, line in enumerate(docs):
            if number not in active:
                kept.line(number, line, why_not(line))
                continue
            at = f"/{number}"
            message = need_dict(line, "message", at)
            read_turn(line, message, f"{at}/message", last, out)
            if message.get("role") == "assistant":
                last = line
            rest = rest_of(message, "role", "content")
            if number == model_at:
                del rest["model"]
            whole = rest_of(line, "message")
            if whole.get("type") == message.get("role"):
                del whole["type"]
            kept.rest(number, {**whole, **({"message": rest} if rest else {})}, "message")
        if model_at < 0:
            return Found(out, kept)
        model = docs[model_at]["message"]["model"]
        return Found(out, kept, model, f"/{model_at}/message/model")

    # -- writing ----------------------------------------------------------------------------

    def rewrite_lines(self, tree: Request | History, log: Ledger) -> list[Json]:
        w = tools.writing(api.DIALECT, log, api.DIALECT.name)
        model_at = -1
        if isinstance(tree, Request) and tree.model is not None:
            model_at = number_of(tree.params.where("model"))
        rows, stamps = Rows(tree.extras, self.name), Stamps(log)
        for group in groups_of(tree.messages, line_of):
            if group.message.role not in ("user", "assistant", "tool"):
                lose_prompt(self, group.message, log)
                continue
            message: Line = {
                "role": "assistant" if group.message.role == "assistant" else "user",
                "content": content_of(group, blocks.write_blocks(api.DIALECT, group.blocks, w)),
            }
            number, rest = group.number, rows.rest(group.number)
            if rest is None:
                model = tree.model if isinstance(tree, Request) else None
                rows.add(self.line(message, stamps, model))
                continue
            own = rest.get("message")
            message |= own if own.__class__ is dict else {}
            if number == model_at:
                assert isinstance(tree, Request)
                message["model"] = tree.model
            rows.put(number, {"type": message["role"], **rest, "message": message})
        if rows.added:
            self.note_made(log)
        return linked(rows, is_named)

    def write_lines(self, tree: Request | History, log: Ledger) -> list[Json]:
        w = tools.writing(self, log, None)
        doc: dict[str, Json] = {}
        turns.write_conversation(self, doc, tree.messages, w)
        stamps = Stamps(log)
        model = tree.model if isinstance(tree, Request) else None
        rows = Rows(None, self.name)
        for turn in doc["messages"]:
            rows.add(self.line(turn, stamps, model))
        if not rows.added:  # a file without a message cannot be read
            self.add_user_turn(tree.at, log)
            rows.add(self.line({"role": "user", "content": SILENCE}, stamps, model))
        if model is not None and not any(turn["role"] == "assistant" for turn in doc["messages"]):
            why = f"{self.name} names the model in the lines of the assistant, and there is none"
            assert isinstance(tree, Request)
            log.dropped("model", tree.at, why)
        self.note_made(log)
        return linked(rows, is_named)

    def line(self, turn: Line, stamps: Stamps, model: str | None) -> Line:
        """A new line for a turn; what stands before it is not known yet."""
        message = turn
        if turn["role"] == "assistant":
            content = turn["content"]
            if content.__class__ is str:
                content = [{"type": "text", "text": content}]
            calls = any(part.get("type") == "tool_use" for part in content)
            message = {
                "id": f"msg_{stamps.uuid().replace('-', '')}",
                "type": "message",
                "role": "assistant",
                "model": model or SYNTHETIC,
                "content": content,
                "stop_reason": "tool_use" if calls else "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            }
        return {
            "parentUuid": None,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/",
            "sessionId": NOWHERE,
            "version": VERSION,
            "gitBranch": "",
            "type": turn["role"],
            "message": message,
            "uuid": stamps.uuid(),
            "timestamp": stamps.time,
        }

    def note_made(self, log: Ledger) -> None:
        why = f"{self.name} requires an id, a time, a folder and a version in each line"
        log.invented("session.line", "", why)

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        return iter(())


NOWHERE = "00000000-0000-4000-8000-000000000000"
"""The id of a session that nobody has named; the outer layer, which writes files, has another."""


def kind_of(line: Line) -> str:
    kind = line.get("type")
    return kind if kind.__class__ is str else ""


def is_line(line: Line) -> bool:
    """Whether an object may be a line of a session, of whatever type."""
    return line.get("type").__class__ is str and "payload" not in line


def why_not(line: Json) -> str:
    """Why a line that somebody speaks in is no part of the conversation."""
    if line.__class__ is not dict or line.get("type") not in SPEAKERS:
        return ""
    if line.get("isSidechain") is True:
        return "a subagent's line, not of this conversation"
    if is_aside(line):
        return "an error of the API, which claude-code shows and does not send"
    return "not of the active branch: left, or compacted"


# -- the tree of lines ------------------------------------------------------------------------


def active_lines(docs: list[Json]) -> set[int]:
    """The numbers of the lines that are the conversation."""
    by_uuid: dict[str, int] = {}
    ends: list[int] = []
    for number, line in objects(docs):
        uuid = line.get("uuid")
        if line.get("isSidechain") is True:
            continue
        if uuid.__class__ is str and line.get("type").__class__ is str:
            by_uuid[uuid] = number
        if line.get("type") in SPEAKERS and line.get("message").__class__ is dict:
            ends.append(number)
    if not by_uuid:  # a file without a tree is a list
        return {number for number in ends if not is_aside(docs[number])}
    chain: set[int] = set()
    place: int | None = max(ends, default=None)
    while place is not None and place not in chain:
        chain.add(place)
        parent = docs[place].get("parentUuid")
        place = by_uuid.get(parent) if parent.__class__ is str else None
    spoken = set(ends)
    active = {n for n in chain if n in spoken and not is_aside(docs[n])}
    return active | beside(docs, active, spoken)


def is_aside(line: Line) -> bool:
    """An error of the API, which the agent shows and does not send."""
    return line.get("isApiErrorMessage") is True


def beside(docs: list[Json], active: set[int], spoken: set[int]) -> set[int]:
    """Calls and results that stand beside the chain.

    Parallel calls are a line each, and each result has its own call as its parent: all but one of
    the results are no ancestors of what follows.
    """
    turns_of = {turn for n in active if (turn := turn_of(docs[n])) is not None}
    more = {n for n in spoken - active if turn_of(docs[n]) in turns_of and not is_aside(docs[n])}
    called = {call for n in active | more for call in ids_in(docs[n], "tool_use", "id")}
    replied = {call for n in active for call in ids_in(docs[n], "tool_result", "tool_use_id")}
    waiting = called - replied
    for n in sorted(spoken - active - more):
        found = set(ids_in(docs[n], "tool_result", "tool_use_id"))
        if found and found <= waiting:
            more.add(n)
            waiting -= found
    return more


def turn_of(line: Line) -> tuple[str, str] | None:
    """What lines of one reply have alike: the id of the message, and that of the request."""
    message = line["message"]
    named, request = message.get("id"), line.get("requestId")
    if line.get("type") != "assistant" or named.__class__ is not str:
        return None
    return named, request if request.__class__ is str else ""


def ids_in(line: Line, kind: str, key: str) -> list[str]:
    content = line["message"].get("content")
    if content.__class__ is not list:
        return []
    found = (b.get(key) for b in content if b.__class__ is dict and b.get("type") == kind)
    return [name for name in found if name.__class__ is str]


def model_line(docs: list[Json], active: set[int]) -> int:
    """The last line of the conversation that names a model; -1: there is none."""
    for number in sorted(active, reverse=True):
        model = docs[number]["message"].get("model")
        if docs[number].get("type") == "assistant" and model.__class__ is str:
            if model.strip() and model != SYNTHETIC:
                return number
    return -1


def read_turn(line: Line, message: Line, at: str, last: Line, out: list[Message]) -> None:
    """One line; what goes on with the reply of the line before it joins that."""
    doc: Line = {key: value for key, value in message.items() if key in ("role", "content")}
    if doc.get("role") != "assistant" or not last or turn_of(line) != turn_of(last):
        turns.read_message(api.DIALECT, doc, at, out, NOBODY)
        return
    place = len(out) - 1
    while place >= 0 and out[place].role == "tool":
        place -= 1
    if turn_of(line) is None or place < 0 or out[place].role != "assistant":
        turns.read_message(api.DIALECT, doc, at, out, NOBODY)
        return
    found: list[Message] = []
    turns.read_message(api.DIALECT, doc, at, found, NOBODY)
    before = out[place]
    content = before.content + tuple(block for each in found for block in each.content)
    out[place] = Message("assistant", content, at=before.at, extras=before.extras)


def line_of(at: str) -> str:
    number = number_of(at)
    return "" if number < 0 else f"/{number}"


def content_of(group: Group, written: Sequence[Json]) -> Json:
    """The content of a line: a string, where it was one."""
    first: Block | None = group.blocks[0] if len(group.blocks) == 1 else None
    if isinstance(first, Text) and len(written) == 1 and written[0].keys() == {"type", "text"}:
        if group.message.role == "user" and not first.at[-1:].isdecimal():
            return first.text
    return list(written)


def is_named(line: Line) -> bool:
    aside = line.get("isSidechain") is True
    return line.get("uuid").__class__ is str and kind_of(line) in CHAINED and not aside


DIALECT = ClaudeCode()
