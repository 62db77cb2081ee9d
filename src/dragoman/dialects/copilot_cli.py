"""GitHub Copilot CLI: the events of a session, ``~/.copilot/session-state/<id>/events.jsonl``.

What it does differently from its neighbours: each line is an event with a type and data; what is
said, what the model replies and what a tool returns are events of their own, and all others tell
how it came about. A compaction stands for all that came before it, and a rewind takes events back;
events of subagents name their agent. Reasoning that a provider has encrypted is of no use once the
session has ended. The system prompt is that of the agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.lines import values_of
from ..core.models import DEFAULT, Models
from ..core.reading import as_dict, encode, maybe_dict, maybe_list, maybe_str, need_str
from ..core.turns import SILENCE
from ..core.writing import Writing, json_of
from ..dialect import Problem
from ..ledger import Ledger
from ..model import (
    Block,
    History,
    Json,
    Message,
    Passage,
    Reasoning,
    Request,
    Text,
    ToolCall,
    ToolResult,
)
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
)

VERSION = "1.0.102"
"""The newest version whose files are known."""
USER, REPLY, RESULT = "user.message", "assistant.message", "tool.execution_complete"
SUMMARY = "session.compaction_complete"
SPOKEN = (USER, REPLY, RESULT, SUMMARY)
NOBODY = "00000000-0000-4000-8000-000000000000"
"""The id of a session that nobody has named; the outer layer, which writes files, has another."""
FREE = (r"[\s\S]", 1 << 20)


class CopilotCLI(SessionFile):
    name = "copilot-cli"
    spec = "https://docs.github.com/en/copilot/concepts/agents/about-copilot-cli"
    aliases: ClassVar[tuple[str, ...]] = ()
    issuer = ""
    version: ClassVar[str] = VERSION
    windows = False  # a result stands in a line of its own
    can = cap.Capabilities(
        names=cap.NOWHERE,
        developer=False,
        item_ids=cap.NOWHERE,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        citations=cap.NO_CITATIONS,
        result_names=False,
        texts=cap.Texts(needed=frozenset({"result", "error"})),
        results=cap.Results(joint="\n\n"),
        reasoning=cap.ReasoningForm(),
        caching=cap.NO_MARKS,
        media=cap.NO_MEDIA,
        order={"assistant": {"reasoning": 0, "text": 1, "call": 2}},
        prefill="never",
        unfit={
            "system": cap.NOT_TEXT | {Passage},
            "developer": cap.NOT_TEXT | {Passage},
            "user": frozenset({Reasoning, ToolCall, ToolResult}),
            "assistant": frozenset({ToolResult}),
        },
    )

    def sniff(self, doc: Json) -> Iterator[tuple[str, float, tuple[str, ...]]]:
        if doc.__class__ is not list:
            return
        seen, newer = 0, ""
        for _, line in objects(doc):
            data = line.get("data")
            if data.__class__ is not dict or line.get("type").__class__ is not str:
                return
            seen += "parentId" in line and (line["type"] in SPOKEN or "copilotVersion" in data)
            if is_newer(data.get("copilotVersion"), VERSION):
                newer = str(data["copilotVersion"])[:20]
        if seen:
            signs = ["events with a type and data"]
            signs += [f"written by {newer}, newer than {VERSION}"] if newer else []
            yield "request", 0.98, tuple(signs)
            yield "messages", 0.95, tuple(signs)

    def find(self, doc: Json, facet: str) -> Found:
        docs = values_of(doc)
        active, whys = active_events(docs)
        kept, out = Kept(self.name), list[Message]()
        model_at = model_line(docs, active) if facet == "request" else -1
        for number, line in enumerate(docs):
            if number not in active:
                kept.line(number, line, whys.get(number, ""))
                continue
            data = as_dict(line["data"], f"/{number}/data")
            message, rest = READERS[line["type"]](data, f"/{number}/data")
            out.append(message)
            if number == model_at:
                rest = rest_of(rest, "model")
            kept.rest(number, {**rest_of(line, "data"), "data": rest}, "data")
            if not is_sent(data.get("content"), rest):
                kept.parts.append(f"{number}/data/{SENT}")  # it was another text all along
        if model_at < 0:
            return Found(out, kept)
        return Found(out, kept, docs[model_at]["data"]["model"], f"/{model_at}/data/model")

    # -- writing ----------------------------------------------------------------------------

    def rewrite_lines(self, tree: Request | History, log: Ledger) -> list[Json]:
        w = Writing(log, FREE, FREE, True)
        rows, stamps = Rows(tree.extras, self.name), Stamps(log)
        model = tree.model if isinstance(tree, Request) else None
        model_at = number_of(tree.params.where("model")) if isinstance(tree, Request) else -1
        for group in groups_of(tree.messages, line_of):
            for message in apart(group):
                rest = rows.rest(group.number)
                fits = rest is not None and rest.get("type") == kind_of(message, rest)
                for kind, data in self.events(message, w, None if fits else model):
                    if rest is None or not fits:
                        rows.add(self.event(kind, data, stamps))
                        self.note_made(log)
                        continue
                    own = rest.get("data", {})
                    if rest["type"] == SUMMARY:
                        data = {"summaryContent": data["content"]}
                    whole = with_rest(data, own)
                    inner = tree.extras.inner if tree.extras is not None else ()
                    if f"{group.number}/data/{SENT}" not in inner:
                        if "content" in data and not is_sent(data["content"], own):
                            del whole[SENT]  # it was edited: what it was sent as was another
                    if model is not None and group.number == model_at:
                        whole["model"] = model
                    rows.put(group.number, {**rest, "data": whole})
        lines = rows.lines()
        return chained(lines, rows.added, ids_of(rows.parts.values()) - ids_of(lines))

    def write_lines(self, tree: Request | History, log: Ledger) -> list[Json]:
        w = Writing(log, FREE, FREE, False)
        stamps = Stamps(log)
        model = tree.model if isinstance(tree, Request) else None
        head = {
            "sessionId": NOBODY,
            "version": 1,
            "producer": "copilot-agent",
            "copilotVersion": VERSION,
            "startTime": stamps.time,
            "context": {"cwd": "/"},
        }
        out: list[Json] = [self.event("session.start", head, stamps)]
        for message in tree.messages:
            events = self.events(message, w, model)
            out += [self.event(kind, data, stamps) for kind, data in events]
        if len(out) == 1:  # a file without a message cannot be read
            self.add_user_turn(tree.at, log)
            out.append(self.event(USER, {"content": SILENCE}, stamps))
        if model is not None and not any(event["type"] == REPLY for event in out):
            why = f"{self.name} names the model in its replies, and there is none"
            log.dropped("model", tree.at, why)
        self.note_made(log)
        return chained(out, out, set())

    def events(self, message: Message, w: Writing, model: str | None) -> list[tuple[str, Line]]:
        """A message as events: a result is one, and so is anything else."""
        self.lose(message.extras, message.at, w.log)
        if message.role == "tool":
            found: list[tuple[str, Line]] = []
            for block in message.content:
                if isinstance(block, ToolResult):
                    found.append((RESULT, self.write_result(block, w)))
                else:
                    self.omit(block, w.log)
            return found
        said: list[str] = []
        thought: list[str] = []
        calls: list[Json] = []
        for index, block in enumerate(message.content):
            self.lose(block.extras, block.at, w.log)
            match block:
                case Text():
                    if message.role == "assistant" and not block.text:
                        self.omit_text(block.at, w.log)
                        continue
                    if said:
                        self.join_text(block.at, w.log)
                    said.append(block.text)
                case Reasoning():
                    if thought and index:
                        why = f"{self.name} has one reasoning text per reply"
                        w.log.approximated("text.boundary", block.at, why)
                    thought.append("\n\n".join(block.words))
                case ToolCall():
                    calls.append(self.write_call(block, w))
                case _:
                    self.omit(block, w.log)
        if message.role != "assistant":
            if not said and not w.same:
                self.omit_message(message, w.log)
                return []
            return [(USER, {"content": "\n\n".join(said)})]
        if not said and not thought and not calls and not w.same:
            self.omit_message(message, w.log)
            return []
        data: Line = {"content": "\n\n".join(said), "toolRequests": calls}
        if thought:
            data["reasoningText"] = "\n\n".join(thought)
        if model is not None:
            data["model"] = model
        return [(REPLY, data)]

    def write_call(self, call: ToolCall, w: Writing) -> Json:
        custom = call.kind == "custom"
        return {
            "toolCallId": w.call_id(call),
            "name": w.tool_name(call.name, call.at),
            "arguments": call.arguments if custom else json_of(call, w.log),
            "type": "custom" if custom else "function",
        }

    def write_result(self, result: ToolResult, w: Writing) -> Line:
        self.lose(result.extras, result.at, w.log)
        said: list[str] = []
        for block in result.content:
            if isinstance(block, Text):
                self.lose(block.extras, block.at, w.log)
                said.append(block.text)
            else:
                self.omit(block, w.log)
        out: Line = {"toolCallId": w.result_id(result), "success": not result.is_error}
        if result.is_error:
            return {**out, "error": {"message": "\n\n".join(said)}}
        return {**out, "result": {"content": "\n\n".join(said)}}

    def event(self, kind: str, data: Line, stamps: Stamps) -> Line:
        """A new line; what stands before it is not known yet."""
        if kind == REPLY:
            data = {"messageId": stamps.uuid(), **data}
        return {
            "type": kind,
            "data": data,
            "id": stamps.uuid(),
            "timestamp": stamps.time,
            "parentId": None,
        }

    def note_made(self, log: Ledger) -> None:
        why = f"{self.name} requires a head, and an id and a time in each event"
        if not any(loss.what == "session.line" and not loss.path for loss in log.losses):
            log.invented("session.line", "", why)

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        return iter(())


# -- events -----------------------------------------------------------------------------------


def active_events(docs: list[Json]) -> tuple[set[int], dict[int, str]]:
    """The numbers of the events that are the conversation, and why others are not."""
    active: dict[int, str] = {}
    whys: dict[int, str] = {}
    for number, line in objects(docs):
        kind, data = line.get("type"), line.get("data")
        if kind.__class__ is not str or data.__class__ is not dict:
            continue
        if "agentId" in line or "parentToolCallId" in data:
            whys[number] = "an event of a subagent, not of this conversation"
        elif kind == "session.snapshot_rewind":
            gone = taken_back(active, data)
            whys |= dict.fromkeys(gone, "an event that was taken back")
            whys[number] = "copilot-cli takes events back"
            active = {place: id for place, id in active.items() if place not in gone}
        elif is_spoken(kind, data):
            if kind == SUMMARY:
                whys |= dict.fromkeys(active, "compacted: a summary stands for it")
                active.clear()
            active[number] = line["id"] if line.get("id").__class__ is str else ""
        else:
            whys[number] = f"copilot-cli notes how it came about: {kind[:60]!r}"
    return {*active}, {number: why for number, why in whys.items() if number not in active}


def is_spoken(kind: str, data: Line) -> bool:
    """Whether an event is a part of the conversation."""
    if kind == RESULT:
        return data.get("toolCallId").__class__ is str and said_by(data) is not None
    if kind == SUMMARY:
        summary = data.get("summaryContent")
        return data.get("success") is True and summary.__class__ is str and bool(summary)
    return kind in (USER, REPLY) and data.get("content").__class__ is str


def said_by(data: Line) -> tuple[str, str] | None:
    """What a tool returns, and where that stands."""
    for holder, key in (("result", "content"), ("error", "message")):
        inner = data.get(holder)
        said = inner.get(key) if inner.__class__ is dict else None
        if said.__class__ is str:
            return said, f"{holder}/{key}"
    return None


def taken_back(active: dict[int, str], data: Line) -> set[int]:
    """ "Without `eventIds`, it and every event after it were removed"."""
    named = data.get("eventIds")
    if named.__class__ is list:
        return {place for place, id in active.items() if id and id in named}
    first = data.get("upToEventId")
    places = [place for place, id in active.items() if id and id == first]
    return {place for place in active if places and place >= places[0]}


def model_line(docs: list[Json], active: set[int]) -> int:
    """The last reply that names its model; -1: there is none."""
    for number in sorted(active, reverse=True):
        model = docs[number]["data"].get("model")
        if docs[number]["type"] == REPLY and model.__class__ is str and model.strip():
            return number
    return -1


def read_user(data: Line, at: str) -> tuple[Message, Line]:
    text = Text(need_str(data, "content", at), at=f"{at}/content")
    return Message("user", (text,), at=at), rest_of(data, "content")


def read_summary(data: Line, at: str) -> tuple[Message, Line]:
    text = Text(need_str(data, "summaryContent", at), at=f"{at}/summaryContent")
    return Message("user", (text,), at=at), rest_of(data, "summaryContent")


def read_reply(data: Line, at: str) -> tuple[Message, Line]:
    blocks: list[Block] = []
    rest = rest_of(data, "content")
    if thought := maybe_str(data, "reasoningText", at):
        blocks.append(Reasoning((thought,), at=f"{at}/reasoningText"))
        del rest["reasoningText"]
    if data["content"]:
        blocks.append(Text(data["content"], at=f"{at}/content"))
    left: list[Json] = []
    for index, item in enumerate(maybe_list(data, "toolRequests", at) or []):
        where = f"{at}/toolRequests/{index}"
        call = as_dict(item, where)
        given, custom = call.get("arguments"), call.get("type") == "custom"
        if given.__class__ is str:
            text, kind = given, "custom" if custom else "function"
        else:
            told = maybe_dict(call, "arguments", where)
            text, kind = encode({} if told is None else told).decode(), "function"
        named, name = need_str(call, "toolCallId", where), need_str(call, "name", where)
        whole = ToolCall(named, name, text, at=where)
        blocks.append(replace(whole, kind="custom") if kind == "custom" else whole)
        left.append(rest_of(call, "toolCallId", "name", "arguments", "type"))
    if any(left):
        rest["toolRequests"] = left
    else:
        rest.pop("toolRequests", None)
    return Message("assistant", tuple(blocks), at=at), rest


def read_result(data: Line, at: str) -> tuple[Message, Line]:
    found = said_by(data)
    assert found is not None
    said, place = found
    holder, _, key = place.partition("/")
    failed = True if holder == "error" or data.get("success") is False else None
    text = Text(said, at=f"{at}/{place}")
    result = ToolResult(data["toolCallId"], (text,), failed, at=at)
    rest = rest_of(data, "toolCallId", "success", holder)
    if inner := rest_of(data[holder], key):
        rest[holder] = inner
    return Message("tool", (result,), at=at), rest


def line_of(at: str) -> str:
    """The place of the line in which a place is; empty: it is in none."""
    number = number_of(at)
    return f"/{number}" if number >= 0 else ""


READERS = {USER: read_user, REPLY: read_reply, RESULT: read_result, SUMMARY: read_summary}


# -- what is written again --------------------------------------------------------------------


def apart(group: Group) -> Iterator[Message]:
    """The blocks of a line as a message; each result is one of its own."""
    message = group.message
    if message.role != "tool":
        yield replace(message, content=tuple(group.blocks))
        return
    for block in group.blocks:
        yield replace(message, content=(block,))


def kind_of(message: Message, rest: Line) -> str:
    """The type of event that a message would be, in the place of another one."""
    if message.role == "user":
        return SUMMARY if rest.get("type") == SUMMARY else USER
    return REPLY if message.role == "assistant" else RESULT


def with_rest(data: Line, own: Line) -> Line:
    """What was written, with the rest of what stood there."""
    out = {key: value for key, value in data.items() if key not in own}
    for key, value in own.items():
        written: Any = data.get(key)
        if written.__class__ is dict and value.__class__ is dict:
            out[key] = {**written, **value}
        elif written.__class__ is list and value.__class__ is list and len(written) == len(value):
            out[key] = [{**a, **b} for a, b in zip(written, value, strict=True)]
        else:
            out[key] = data.get(key, value)
    return out


SENT = "transformedContent"


def is_sent(content: Json, own: Line) -> bool:
    """Whether a text is a part of what it was sent as, if that is told."""
    sent = own.get(SENT)
    return sent.__class__ is not str or content.__class__ is not str or content in sent


def ids_of(lines: Iterable[Json]) -> set[str]:
    found = (line.get("id") for line in lines if line.__class__ is dict)
    return {id for id in found if id.__class__ is str}


def chained(lines: list[Json], new: Sequence[Json], gone: set[str]) -> list[Json]:
    """New events, and those whose parent is gone, follow the event before them."""
    made = set(map(id, new))
    before: Json = None
    out: list[Json] = []
    for line in lines:
        if line.__class__ is dict and line.get("id").__class__ is str:
            parent = line.get("parentId")
            if id(line) in made or (parent.__class__ is str and parent in gone):
                line = {**line, "parentId": before}
            before = line["id"]
        out.append(line)
    return out


DIALECT = CopilotCLI()
