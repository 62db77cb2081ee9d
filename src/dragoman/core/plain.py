"""Conversations as agents send them, from one API to another without nodes between.

Most requests hold nothing but a prompt, what the user says, what the model says and calls, and what
its tools return, in the order in which it happened. Nothing of that needs to be paired, lowered,
renamed or put in order, and no target loses anything of it. To make nodes of every text and every
call, and to look through them again in each pass, is most of what its conversion costs; so such a
conversation is read as *plain turns*, tuples of three values, and written from these.

- ``Dialect.read_plain`` gives the request without its messages, and the turns; None if anything in
  the conversation is not plain. All else of the request (tools, choice, parameters, unknown keys)
  is read, lowered and written as always.
- ``Dialect.write_plain`` writes it. What a target does not take as it is (another form of id, the
  name of a tool, arguments that are no object) raises ``Unusual``.
- In both cases ``convert`` begins anew with nodes and an empty ledger. So a plain conversation has
  no loss of its own, ever, and this is no second place where losses are decided.

A response goes the same way, as a ``Reply``: a text, what the model reasoned before it, and calls
after it. Of a response something is lost nearly always (signatures, ids of items, dates); that is
found out with nodes when somebody asks for the losses, as it is the same for the same bytes.

Bytes and ledger are the same with plain turns as without: ``tests/core/test_plain.py`` and the
fuzzer compare them. Readers must not accept a key that they do not know (``only``), and leave
what is said about the order of turns to ``is_plain``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import MsgspecError, Raw, Struct

from ..model import Request, StopReason, Usage
from ..tools.tool_errors import MARK
from .models import UNKNOWN, Facts
from .reading import compact, decode, encode
from .writing import SHORT, Writing, squeezed

if TYPE_CHECKING:
    from ..ledger import Ledger

Turn: TypeAlias = tuple[Any, Any, Any]
"""Who speaks, the words, and what is beside them: the calls of a model (a list), the id of the call
that a result replies (a string), else None."""
Call: TypeAlias = tuple[str, str, Any]
"""The id, the name, and the arguments: JSON text, or an object."""

FIRST = ("system", "user")
MODEL = ("assistant",)
RESULTS = ("tool",)
REPLYING = ("assistant", "model")
NEXT = {"system": ("user",), "user": MODEL, "assistant": ("user",), "tool": ()}
"""Who speaks after whom, where they take turns; a result without a call is followed by nobody."""


class Unusual(Exception):
    """A conversation that cannot be written from plain turns."""


def is_asked(docs: Any) -> bool:
    """Whether a list of messages can be plain: it is the model's turn after the last one."""
    if docs.__class__ is not list or not docs or (last := docs[-1]).__class__ is not dict:
        return False
    return last.get("role") not in REPLYING


def is_plain(turns: list[Turn]) -> bool:
    """Whether turns are in their order, with words in each, and it is the model's turn.

    A prompt at most, then the user and the model; after calls the results of all of them, in the
    same order.
    """
    expected: tuple[str, ...] = FIRST
    waiting: list[str] = []  # the calls without a result so far, the last one first
    for role, text, beside in turns:
        if role not in expected:
            return False
        if beside.__class__ is list:
            if role != "assistant" or not beside:
                return False
            if text is not None and (not text or text.isspace()):
                return False
            waiting = [call[0] for call in beside]
            if len(waiting) > 1:
                if len(waiting) != len(set(waiting)):
                    return False
                waiting.reverse()
            expected = RESULTS
            continue
        if not text or text.isspace():
            return False
        if beside is None:
            expected = NEXT[role]
        elif role != "tool" or beside != waiting.pop() or text.startswith(MARK):
            return False
        else:
            expected = RESULTS if waiting else MODEL
    return expected is MODEL


class Reply(Struct, gc=False):
    """A response that is plain."""

    name: Any
    model: Any
    created: Any
    reasoning: Any
    text: Any
    calls: list[Call]
    ended: StopReason
    """``end``, ``tool-call`` or ``length``"""
    usage: Usage
    tier: Any = None
    signed: dict[int, str] | None = None
    """what Google signed: by the places of the calls"""


def is_plain_reply(reply: Reply) -> bool:
    """Whether a response has a name, a model and words or calls, and ended as it should."""
    if not (reply.name.__class__ is reply.model.__class__ is str) or not reply.name:
        return False
    if reply.created is not None and reply.created.__class__ is not int:
        return False
    text, reasoning, tier = reply.text, reply.reasoning, reply.tier
    if text is None:
        if not reply.calls:
            return False
    elif text.__class__ is not str or not text or text.isspace():
        return False
    if reasoning is not None and (
        reasoning.__class__ is not str or not reasoning or reasoning.isspace()
    ):
        return False
    if tier is not None and tier.__class__ is not str:
        return False
    return (reply.ended == "tool-call") is bool(reply.calls)


def is_fit(tree: Request) -> bool:
    """Whether what is beside the conversation does not depend on it, in any target."""
    params = tree.params
    if params.output is not None or params.thinking is not None or params.cache is not None:
        return False
    for tool in tree.tools or ():
        if tool.kind != "function" or tool.namespace is not None or tool.deferred:
            return False
        if tool.cache is not None:
            return False
    return True


def is_free(facts: Facts) -> bool:
    """Whether a model takes any plain conversation."""
    if facts is UNKNOWN:
        return True
    return facts.system_prompt is not False and facts.tools is not False and not facts.signatures


def named(calls: list[Call], w: Writing) -> list[Call]:
    """These calls, if their ids and names stay as they are; none has got another so far."""
    ids, names = w.ids, w.names
    staying, known, limit = ids.staying, names.staying, ids.rule[1]
    for call_id, name, _ in calls:
        if call_id.isidentifier() and call_id.isascii() and len(call_id) <= limit:
            staying[call_id] = None  # as in ``Names.stays``
        elif not ids.stays(call_id):
            raise Unusual
        if name not in known and not names.stays(name):
            raise Unusual
    return calls


def text_of(given: Any) -> str:
    """The arguments of a call as text."""
    return given if given.__class__ is str else compact(given)


def object_in(given: Any, log: Ledger) -> Any:
    """The arguments of a call as an object, or as its JSON text, if no key is in it twice.

    That is as certain as in ``writing.object_of``: where there are no more colons than entries, or
    where the text is as long as what is written without the space between its parts.
    """
    if given.__class__ is dict:
        return given
    try:
        value = decode(given)
        if value.__class__ is not dict:
            raise Unusual
        if len(given) < SHORT and given.count(":") == len(value):
            return value
        data, written = encode(value), given.encode()
    except (MsgspecError, UnicodeError) as problem:
        raise Unusual from problem
    if data == written:  # it is spelled as we would spell it
        log.embedded = True
        return Raw(data)
    if data == squeezed(written):
        return value
    raise Unusual
