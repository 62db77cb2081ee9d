"""Messages as OpenTelemetry's attributes have them, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.reading import as_dict, as_list, compact, maybe_str, need_list, need_str, parse
from ...core.turns import split_results
from ...core.writing import Writing
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Block, Extras, History, Json, Message, Role, ToolCall, ToolResult
from .. import _stored
from . import parts

if TYPE_CHECKING:
    from . import OtelGenAI

INPUT = "gen_ai.input.messages"
OUTPUT = "gen_ai.output.messages"
SYSTEM = "gen_ai.system_instructions"
WHERE = "attribute"
"""The spelling of a message that stood in another attribute than that of the input."""
ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "model": "assistant",  # as some instrumentations have it
    "function": "tool",
}
KEYS = ("role", "parts", "name")


def writing(d: OtelGenAI, log: Ledger, dialect: str | None) -> Writing:
    return Writing(log, _stored.FREE, _stored.FREE, d.is_same(dialect))


# -- reading --------------------------------------------------------------------------------


def read_messages(d: OtelGenAI, doc: Json) -> History:
    """A list of messages, or the attributes of a span or an event."""
    if doc.__class__ is list:
        return History(tuple(read_history(d, doc, "", None)), dialect=d.name)
    doc = as_dict(doc, "")
    texts: dict[str, Json] = {
        key: True for key in (SYSTEM, INPUT, OUTPUT) if doc.get(key).__class__ is str
    }
    out: list[Message] = []
    if (said := attribute(doc, SYSTEM)) is not None:
        blocks = parts.read_parts(d, said, f"/{SYSTEM}")
        note = Extras(d.name, spelling={WHERE: SYSTEM})
        out.append(Message("system", tuple(blocks), at=f"/{SYSTEM}", extras=note))
    given, replied = attribute(doc, INPUT), attribute(doc, OUTPUT)
    if given is None and replied is None and not out:
        need_list(doc, INPUT, "")
    out += read_history(d, given or [], f"/{INPUT}", None)
    out += read_history(d, replied or [], f"/{OUTPUT}", OUTPUT)
    kept = d.keep(doc, (SYSTEM, INPUT, OUTPUT), {"texts": texts})
    return History(tuple(out), dialect=d.name, extras=kept)


def attribute(doc: dict[str, Json], key: str) -> list[Json] | None:
    """The list that an attribute is, or that its text is in JSON."""
    value = doc.get(key)
    if value.__class__ is str:
        value = parse(value, f"/{key}")
    return None if value is None else as_list(value, f"/{key}")


def read_history(d: OtelGenAI, docs: list[Json], at: str, where: str | None) -> list[Message]:
    out: list[Message] = []
    for index, item in enumerate(docs):
        place = f"{at}/{index}"
        read_message(d, as_dict(item, place), place, where, out)
    return out


def read_message(
    d: OtelGenAI, doc: dict[str, Json], at: str, where: str | None, out: list[Message]
) -> None:
    given = need_str(doc, "role", at)
    role = ROLES.get(given)
    if role is None:
        raise Malformed(f"unknown role {given!r}; there are: {', '.join(ROLES)}", at)
    content = parts.read_parts(d, need_list(doc, "parts", at), f"{at}/parts")
    notes: dict[str, Json] = {} if where is None else {WHERE: where}
    if given != role:
        notes["role"] = given
    taken: set[str] = {*KEYS}
    if doc.get("finish_reason") == usual_end(content):
        taken.add("finish_reason")
    extras = d.keep(doc, taken, notes)
    name = maybe_str(doc, "name", at)
    if any(isinstance(block, ToolResult) for block in content) and role != "assistant":
        if name is not None:
            extras = d.keep(doc, taken - {"name"}, notes)
        split_results(content, at, extras, out)
    elif role == "tool":  # its parts are what the tool returned, of which nobody knows the call
        result = ToolResult(None, tuple(content), at=at)
        out.append(Message("tool", (result,), at=at, extras=d.keep(doc, taken - {"name"}, notes)))
    else:
        out.append(Message(role, tuple(content), name, at=at, extras=extras))


def usual_end(content: Sequence[Block]) -> str:
    """Why a reply ended, as its content tells."""
    return "tool_call" if any(isinstance(block, ToolCall) for block in content) else "stop"


# -- writing --------------------------------------------------------------------------------


def write_messages(d: OtelGenAI, tree: History, log: Ledger) -> Json:
    w = writing(d, log, tree.dialect)
    if tree.extras is None or not d.is_same(tree.extras.dialect):
        d.lose(tree.extras, tree.at, log)
        return write_history(d, tree.messages, w)
    places: dict[str, list[Message]] = {SYSTEM: [], INPUT: [], OUTPUT: []}
    for message in tree.messages:
        places[d.spelling(message).get(WHERE, INPUT)].append(message)
    out: dict[str, Json] = {}
    if places[SYSTEM]:
        out[SYSTEM] = [p for m in places[SYSTEM] for p in parts.write_parts(d, m.content, w)]
    out[INPUT] = write_history(d, places[INPUT], w)
    if places[OUTPUT]:
        out[OUTPUT] = write_history(d, places[OUTPUT], w)
    for key in d.spelling(tree).get("texts", ()):
        if key in out:
            out[key] = compact(out[key])
    return d.emit(out, tree, log)


def write_history(d: OtelGenAI, messages: Sequence[Message], w: Writing) -> list[Json]:
    out: list[Json] = []
    before: Any = None
    for message in messages:
        spelled = d.spelling(message)
        own = bool(spelled) or (message.extras is not None and bool(message.extras.fields))
        if message.role == "tool" and before == "tool" and not (own and w.same):
            d.lose(message.extras, message.at, w.log)
            out[-1]["parts"] += parts.write_parts(d, message.content, w)
            continue
        doc: dict[str, Json] = {"role": spelled.get("role", message.role)}
        doc["parts"] = parts.write_parts(d, message.content, w)
        if message.name is not None:
            doc["name"] = message.name
        if spelled.get(WHERE) == OUTPUT:
            doc["finish_reason"] = usual_end(message.content)
        out.append(d.emit(doc, message, w.log))
        before = message.role
    return out
