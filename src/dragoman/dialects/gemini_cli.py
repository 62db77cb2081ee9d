"""gemini-cli: the file of a session, ``~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl``.

What it does differently from its neighbours: lines are records that change a list of messages. A
message with the id of an earlier one replaces it; ``$set`` replaces the whole list, and
``$rewindTo`` takes its end back. A message of the model has its thoughts and its calls beside its
content, unless the content holds them as parts; results stand in the user's message that follows,
and once more in the calls. What the agent says of the folder in the name of the user is not
sent again; there is no system prompt, no tool and no parameter: the agent has its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from msgspec.structs import replace

from ..core.lines import values_of
from ..core.models import DEFAULT, Models
from ..core.reading import as_dict, expected, maybe_list, need_str
from ..core.turns import SILENCE, split_results
from ..dialect import Problem
from ..ledger import Ledger
from ..model import Block, History, Json, Message, Reasoning, Request, Text, ToolCall, ToolResult
from . import gemini as api
from ._sessions import (
    Found,
    Group,
    Kept,
    Line,
    Rows,
    SessionFile,
    Stamps,
    groups_of,
    objects,
    rest_of,
)
from .gemini import Gemini, order, parts, turns
from .gemini.schema import Saying

SPEAKERS = {"user": "user", "gemini": "model"}
PLACE = re.compile(r"/\d+(?:/(?:\$set/)?messages/\d+)?(?=/|$)")
"""The place of a message: a line, or a message in one that sets them all."""
ASIDE = ("<session_context>", "<hook_context>", "/", "?")
"""What messages of the user begin with that gemini-cli does not send when it resumes."""
TITLE = re.compile(r"\*\*(?P<subject>[^*]+)\*\* (?P<description>[\s\S]*)")
NOBODY = "00000000-0000-4000-8000-000000000000"
"""The id of a session that nobody has named; the outer layer, which writes files, has another."""
NO_PROJECT = "0" * 64
"""The digest of a folder that nobody has named."""
CUSTOM = frozenset[str]()


class ActiveMessage(NamedTuple):
    """A message, the line that it stands in, and where."""

    number: int
    at: str
    doc: Line


class GeminiCLI(SessionFile, Gemini):
    name = "gemini-cli"
    spec = "https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/services/chatRecordingService.ts"
    aliases: ClassVar[tuple[str, ...]] = ()
    issuer = "google"
    kin = frozenset({"gemini"})
    can = replace(Gemini.can, prefill="never")

    def sniff(self, doc: Json) -> Iterator[tuple[str, float, tuple[str, ...]]]:
        if doc.__class__ is not list:
            return
        heads = said = 0
        for _, line in objects(doc):
            if "sessionId" in line and "projectHash" in line:
                heads += 1
            elif kind_of(line) in SPEAKERS and "id" in line and "uuid" not in line:
                said += 1
            elif "$set" not in line and "$rewindTo" not in line and "id" not in line:
                return
        if heads:
            signs = ("lines of a session, with the digest of its project",)
            yield "request", 0.995, signs
            yield "messages", 0.97, signs

    def find(self, doc: Json, facet: str) -> Found:
        docs = values_of(doc)
        places, whys = active_messages(docs)
        kept, out, called = Kept(self.name), list[Message](), dict[str, str]()
        replied = {name for place in places for name in results_in(place.doc)}
        left: dict[str, Line] = {}
        model_at, odd = "", False
        for place in places:
            rest, strange = read_message(place, called, replied, out)
            left[place.at] = rest
            odd = odd or strange
            if facet == "request" and is_named(place.doc.get("model")):
                model_at = place.at
        if model_at:
            model = left[model_at].pop("model")
        for number, line in enumerate(docs):
            keep_line(number, line, left, kept, whys.get(number, ""))
        messages = turns.paired(out) if odd else out
        if not model_at:
            return Found(messages, kept)
        return Found(messages, kept, model, f"{model_at}/model")

    # -- writing ----------------------------------------------------------------------------

    def rewrite_lines(self, tree: Request | History, log: Ledger) -> list[Json]:
        d = api.DIALECT
        w, called = turns.writing(d, log, d.name), dict[str, str]()
        rows, stamps = Rows(tree.extras, self.name), Stamps(log)
        inner: dict[int, dict[str, Line]] = {}
        model = tree.model if isinstance(tree, Request) else None
        model_at = tree.params.where("model") if isinstance(tree, Request) else ""
        for group in groups_of(tree.messages, place_of):
            if group.message.role not in ("user", "assistant", "tool"):
                continue
            number, at = group.number, group.at
            whole = rows.parts.get(number)
            own = None if whole is None else rest_at(whole, at)
            written = inner.setdefault(number, {})
            if at in written and give_results(group, written[at], w, called):
                continue
            by_model = group.message.role == "assistant"
            fits = own is not None and (own.get("type") == "gemini") == by_model
            if own is None or not fits or at in written:
                turn = parts.write_parts(d, group.blocks, w, called)
                rows.add(self.record(by_model, turn, stamps, model))
                continue
            message = {**own, **body_of(group, own, w, called)}
            if model is not None and model_at == f"{at}/model":
                message["model"] = model
            written[at] = message
            rows.last = number
        gone = {
            whole["id"]
            for number, whole in rows.parts.items()
            if whole.get("id").__class__ is str and not inner.get(number)
        }
        for place, line in list(rows.rows.items()):  # earlier forms of messages that are gone
            named = line.get("id") if line.__class__ is dict else None
            if named.__class__ is str and named in gone:
                del rows.rows[place]
        for number, whole in rows.parts.items():
            taken = {f"/{token}" for token in tree.extras.inner} if tree.extras else set()
            if (line := put_back(whole, number, inner.get(number, {}), taken)) is not None:
                rows.rows[number, 0] = line
        if rows.added:
            self.note_made(log)
        return rows.lines()

    def write_lines(self, tree: Request | History, log: Ledger) -> list[Json]:
        w = turns.writing(self, log, None)
        w.hoists = False
        stamps, out = Stamps(log), list[Json]()
        model = tree.model if isinstance(tree, Request) else None
        spoken = [m for m in tree.messages if not self.omits(m, log)]
        for turn in turns.write_conversation(self, tree_messages(tree, spoken), w)[1]:
            out.append(self.record(turn["role"] == "model", turn["parts"], stamps, model))
        if not out:  # a file without a message cannot be read
            self.add_user_turn(tree.at, log)
            out.append(self.record(False, [{"text": SILENCE}], stamps, None))
        if model is not None and not any("model" in record for record in out):
            why = f"{self.name} names the model in the messages of the model, and there is none"
            log.dropped("model", tree.at, why)
        head = {
            "sessionId": NOBODY,
            "projectHash": NO_PROJECT,
            "startTime": stamps.time,
            "lastUpdated": stamps.time,
            "kind": "main",
        }
        self.note_made(log)
        return [head, *out]

    def omits(self, message: Message, log: Ledger) -> bool:
        """Whether gemini-cli would pass a message over; that is a loss."""
        if message.role != "user" or not is_aside("".join(texts_of(message.content))):
            return False
        if any(not isinstance(block, Text) for block in message.content) or not message.content:
            return False
        why = f"{self.name} does not send again what the user began with '/', '?' or its own tags"
        for block in message.content:
            log.dropped("content.role", block.at, why)
            self.lose(block.extras, block.at, log)
        self.lose(message.extras, message.at, log)
        return True

    def record(
        self, by_model: bool, written: Sequence[Json], stamps: Stamps, model: str | None
    ) -> Line:
        """A new message."""
        record: Line = {
            "id": stamps.uuid(),
            "timestamp": stamps.time,
            "type": "gemini" if by_model else "user",
            "content": list(written),
        }
        return {**record, "model": model} if by_model and model is not None else record

    def note_made(self, log: Ledger) -> None:
        why = f"{self.name} requires a head, and an id and a time in each message"
        log.invented("session.line", "", why)

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        return iter(())


def tree_messages(tree: Request | History, spoken: list[Message]) -> tuple[Message, ...]:
    return tree.messages if len(spoken) == len(tree.messages) else tuple(spoken)


# -- lines ------------------------------------------------------------------------------------


def active_messages(docs: list[Json]) -> tuple[list[ActiveMessage], dict[int, str]]:
    """The messages as gemini-cli has them when it loads a file, and why others are not there.

    "messagesMap.set(id, record)": a message that is written again stays where it was.
    """
    found: dict[str, ActiveMessage] = {}
    whys: dict[int, str] = {}
    for number, line in objects(docs):
        named, change = line.get("id"), line.get("$set")
        if line.get("$rewindTo").__class__ is str:
            gone = list(found)
            for name in gone[gone.index(line["$rewindTo"]) if line["$rewindTo"] in found else 0 :]:
                whys[found.pop(name).number] = "a turn that was taken back"
            whys[number] = "gemini-cli takes turns back"
        elif named.__class__ is str:
            if named in found:
                whys[found[named].number] = "a later line has this message whole"
            found[named] = ActiveMessage(number, f"/{number}", line)
        elif change.__class__ is dict and change.get("messages").__class__ is list:
            whys |= {place.number: "a later line sets all messages" for place in found.values()}
            found = listed(number, f"/{number}/$set/messages", change["messages"])
        elif "sessionId" in line and "projectHash" in line:
            if line.get("messages").__class__ is list:
                found |= listed(number, f"/{number}/messages", line["messages"])
    places: list[ActiveMessage] = []
    for place in found.values():
        if (why := why_not(place.doc)) is None:
            places.append(place)
        else:
            whys[place.number] = why
    active = {place.number for place in places}
    return places, {number: why for number, why in whys.items() if number not in active}


def listed(number: int, at: str, docs: list[Json]) -> dict[str, ActiveMessage]:
    return {
        doc["id"]: ActiveMessage(number, f"{at}/{index}", doc)
        for index, doc in objects(docs)
        if doc.get("id").__class__ is str
    }


def why_not(doc: Line) -> str | None:
    """Why a message is not sent when the session goes on; None: it is."""
    kind = kind_of(doc)
    if kind not in SPEAKERS:
        named = repr(kind) if 0 < len(kind) < 60 else "a message"
        return f"gemini-cli shows it: {named}"
    if kind == "user" and is_aside("".join(spoken_in(doc.get("content")))):
        return "a context or a command, which gemini-cli does not send again"
    return None


def kind_of(doc: Line) -> str:
    kind = doc.get("type")
    return kind if kind.__class__ is str else ""


def is_aside(said: str) -> bool:
    said = said.strip()
    return not said or said.startswith(ASIDE)


def spoken_in(content: Json) -> Iterator[str]:
    """The texts of a content; for whatever else there is, a text that counts as said."""
    for part in content if content.__class__ is list else [content]:
        if part.__class__ is str:
            yield part
        elif part.__class__ is dict:
            yield part["text"] if part.get("text").__class__ is str else "[a part]"


def texts_of(blocks: Sequence[Block]) -> list[str]:
    return [block.text if isinstance(block, Text) else "[a part]" for block in blocks]


def results_in(doc: Line) -> Iterator[str]:
    """The ids of the results in a message."""
    content = doc.get("content")
    for part in content if content.__class__ is list else [content]:
        result = part.get("functionResponse") if part.__class__ is dict else None
        if result.__class__ is dict and result.get("id").__class__ is str:
            yield result["id"]


def is_named(model: Json) -> bool:
    return model.__class__ is str and bool(model.strip())


def place_of(at: str) -> str:
    """The place of the message in which a place is."""
    found = PLACE.match(at)
    return found[0] if found else ""


# -- messages -----------------------------------------------------------------------------------


def read_message(
    place: ActiveMessage, called: dict[str, str], replied: set[str], out: list[Message]
) -> tuple[Line, bool]:
    """One message; what is left of it, and whether its results are not as their calls are."""
    doc, at = place.doc, place.at
    blocks = read_content(doc.get("content"), f"{at}/content", called)
    if doc["type"] == "user":
        split_results(blocks, at, None, out)
        return rest_of(doc, "content"), any(order.is_odd(block, called) for block in blocks)
    rest = rest_of(doc, "content")
    results: list[Block] = []
    if not holds_all(doc.get("content")):
        thoughts = read_thoughts(rest, at)
        calls, results = read_calls(rest, at, called, replied)
        blocks = [*thoughts, *blocks, *calls]
    out.append(Message("assistant", tuple(blocks), at=at))
    if results:
        split_results(results, at, None, out)
    return rest, any(order.is_odd(block, called) for block in results)


def read_content(content: Json, at: str, called: dict[str, str]) -> list[Block]:
    if content is None:
        return []
    if content.__class__ is str:
        return [Text(content, at=at)] if content else []
    if content.__class__ is dict:
        return [parts.read_part(api.DIALECT, content, at, called, CUSTOM)]
    if content.__class__ is not list:
        expected("a string or a list", content, at)
    out: list[Block] = []
    for index, part in enumerate(content):
        where = f"{at}/{index}"
        if part.__class__ is str:
            out.append(Text(part, at=where))
        else:
            part = as_dict(part, where)
            out.append(parts.read_part(api.DIALECT, part, where, called, CUSTOM))
    return out


def holds_all(content: Json) -> bool:
    """ "hasCallsInContent || hasThoughtsInContent": what stands beside it is for the screen."""
    if content.__class__ is dict:
        content = [content]
    if content.__class__ is not list:
        return False
    return any(p.__class__ is dict and (p.get("functionCall") or p.get("thought")) for p in content)


def read_thoughts(rest: Line, at: str) -> list[Block]:
    """The thoughts of a message, which leave the rest of it."""
    out: list[Block] = []
    left: list[Json] = []
    for index, item in enumerate(maybe_list(rest, "thoughts", at) or []):
        thought = as_dict(item, f"{at}/thoughts/{index}")
        subject, said = thought.get("subject"), thought.get("description")
        left.append(rest_of(thought, "subject", "description"))
        words = said if said.__class__ is str else ""
        if subject.__class__ is str and subject:
            words = f"**{subject}** {words}"
        out.append(Reasoning((words,), at=f"{at}/thoughts/{index}"))
    if out:
        rest["thoughts"] = left
    return out


def read_calls(
    rest: Line, at: str, called: dict[str, str], replied: set[str]
) -> tuple[list[Block], list[Block]]:
    """The calls of a message, and the results that stand nowhere else."""
    calls: list[Block] = []
    results: list[Block] = []
    left: list[Json] = []
    for index, item in enumerate(maybe_list(rest, "toolCalls", at) or []):
        where = f"{at}/toolCalls/{index}"
        call = as_dict(item, where)
        need_str(call, "name", where)
        inner = {key: call[key] for key in parts.CALL_KEYS if key in call}
        calls.append(
            replace(
                parts.read_call(api.DIALECT, {"functionCall": inner}, where, called, CUSTOM),
                at=where,
            )
        )
        taken = {*inner}
        given = call.get("result")
        if given and not (call.get("id").__class__ is str and call["id"] in replied):
            taken.add("result")
            place = f"{where}/result"
            if given.__class__ is str:
                named = call.get("id") if call.get("id").__class__ is str else None
                results.append(ToolResult(named, (Text(given, at=place),), at=place))
            else:
                results += read_content(given, place, called)
        left.append(rest_of(call, *taken))
    if calls:
        rest["toolCalls"] = left
    return calls, results


def body_of(group: Group, own: Line, w: Saying, called: dict[str, str]) -> Line:
    """What a message says: beside its content, where it was so and still can be."""
    d, at = api.DIALECT, group.at
    if group.message.role != "assistant":
        return {"content": parts.write_parts(d, group.blocks, w, called)}
    thoughts: list[Json] = []
    calls: list[Json] = []
    said: list[Block] = []
    beside = {"thoughts": own.get("thoughts") or [], "toolCalls": own.get("toolCalls") or []}
    for block in group.blocks:
        key, _, token = block.at.removeprefix(f"{at}/").partition("/")
        index = int(token) if token.isdecimal() and len(token) < 9 else -1
        if isinstance(block, Reasoning) and key == "thoughts" and index == len(thoughts):
            thoughts.append({**thought_of(block), **beside["thoughts"][index]})
        elif isinstance(block, ToolCall) and key == "toolCalls" and index == len(calls):
            call = parts.write_call(d, block, w, called)["functionCall"]
            calls.append({**call, **beside["toolCalls"][index]})
        elif isinstance(block, Reasoning | ToolCall | ToolResult) or calls:
            return body_of_parts(group, beside, w, called)
        else:
            said.append(block)
    content: Json = parts.write_parts(d, said, w, called)
    if len(said) <= 1 and all(isinstance(b, Text) and b.at == f"{at}/content" for b in said):
        content = said[0].text if said and isinstance(said[0], Text) else ""
    body: Line = {"content": content}
    if beside["thoughts"] or thoughts:
        body["thoughts"] = thoughts
    if beside["toolCalls"] or calls:  # with its name, a call was read from the content
        body["toolCalls"] = calls or [call for call in beside["toolCalls"] if "name" in call]
    return body


def body_of_parts(
    group: Group, beside: dict[str, list[Json]], w: Saying, called: dict[str, str]
) -> Line:
    """What a message says, all of it in its content: what stood beside it told of other blocks."""
    if any(map(any, beside.values())):
        why = "what gemini-cli shows of calls and reasoning, which were edited"
        w.log.dropped("session.line", group.at, why)
    gone: Line = {key: [] for key, value in beside.items() if value}
    return {**gone, "content": parts.write_parts(api.DIALECT, group.blocks, w, called)}


def give_results(group: Group, message: Line, w: Saying, called: dict[str, str]) -> bool:
    """Results that stood in their calls go back there; whether all of them could."""
    calls, places = message.get("toolCalls"), list[int]()
    for block in group.blocks:
        key, _, tail = block.at.removeprefix(f"{group.at}/").partition("/")
        token, _, tail = tail.partition("/")
        if key != "toolCalls" or not tail.startswith("result") or not token.isdecimal():
            return False
        places.append(int(token))
    if calls.__class__ is not list or max(places, default=-1) >= len(calls):
        return False
    for index, block in zip(places, group.blocks, strict=True):
        result = calls[index].setdefault("result", [])
        result += parts.write_parts(api.DIALECT, [block], w, called)
    return True


def thought_of(block: Reasoning) -> Line:
    said = "\n\n".join(block.content)
    found = TITLE.fullmatch(said)
    return dict(found.groupdict()) if found else {"subject": "", "description": said}


# -- what is kept -------------------------------------------------------------------------------


def keep_line(number: int, line: Json, left: dict[str, Line], kept: Kept, why: str) -> None:
    """A line, without what was read of the messages in it."""
    if line.__class__ is dict and not why and "type" not in line:
        if "$set" in line or "projectHash" in line:
            why = "what gemini-cli notes of the session: its ids and times"
    if f"/{number}" in left:
        kept.rest(number, left[f"/{number}"], "thoughts", "toolCalls")
        return
    for at, key in ((f"/{number}/$set/messages", "$set"), (f"/{number}/messages", "messages")):
        inner = {place for place in left if place.startswith(f"{at}/")}
        if not inner:
            continue
        holder = line["$set"] if key == "$set" else line
        messages = [left.get(f"{at}/{i}", each) for i, each in enumerate(holder["messages"])]
        if key == "$set":
            whole = {**line, "$set": {**holder, "messages": messages}}
            kept.rest(number, whole, "$set")
        else:
            kept.rest(number, {**line, "messages": messages}, "messages")
        kept.parts += sorted(place[1:] for place in inner)
        return
    kept.line(number, line, why)


def rest_at(whole: Line, at: str) -> Line | None:
    """What was kept of the message at a place."""
    _, _, *steps = at.split("/")
    found: Json = whole
    for step in steps:
        if found.__class__ is list:
            found = found[int(step)] if int(step) < len(found) else None
        else:
            found = found.get(step) if found.__class__ is dict else None
    return found if found.__class__ is dict else None


def put_back(whole: Line, number: int, written: dict[str, Line], taken: set[str]) -> Line | None:
    """A line with its messages, without those that are gone; None: it was one of these."""
    if f"/{number}" in written:
        return written[f"/{number}"]
    holder = whole.get("$set", whole)
    at = f"/{number}/$set/messages" if "$set" in whole else f"/{number}/messages"
    if "messages" not in holder:
        return None
    messages = [
        written.get(f"{at}/{index}", each)
        for index, each in enumerate(holder["messages"])
        if f"{at}/{index}" in written or f"{at}/{index}" not in taken
    ]
    holder = {**holder, "messages": messages}
    return {**whole, "$set": holder} if "$set" in whole else holder


DIALECT = GeminiCLI()
