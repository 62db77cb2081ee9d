"""The normal form of the tree: what several readers must do alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from ..ledger import Ledger
from ..model import (
    Block,
    Extras,
    Failure,
    Json,
    Media,
    Message,
    Response,
    Text,
    ToolCall,
    ToolResult,
)
from . import media
from .reading import escape
from .writing import is_plain_text

SILENCE = "."
"""What somebody says who must speak and has written nothing: blank texts are rejected."""
HOISTED = "[content of tool result {id}]"
"""What introduces the images of a tool result, in the user turn after the results."""
_HOIST = re.compile(r"\[content of tool result (.+)\]", re.DOTALL)


def mark_custom_results(messages: list[Message]) -> list[Message]:
    """Results of freeform calls are freeform results."""
    custom: set[str | None] = set()
    out: list[Message] = []
    for message in messages:
        if message.role == "assistant":
            calls = (b for b in message.content if isinstance(b, ToolCall))
            custom |= {call.id for call in calls if call.kind == "custom"}
        elif message.role == "tool" and custom:
            block = message.content[0]
            if isinstance(block, ToolResult) and block.call_id in custom:
                message = replace(message, content=(replace(block, kind="custom"),))
        out.append(message)
    return out


def results_in_place(
    messages: Sequence[Message], log: Ledger, *, apart: bool = False
) -> Sequence[Message]:
    """Tool results right after their calls, for APIs that take them nowhere else.

    ``apart``: messages of the assistant that follow each other are not one turn there, so that
    the calls of each are answered before the next.
    """
    before = ""
    for message in messages:
        role = message.role
        if role == "tool" and before != "assistant" and before != "tool":
            return _moved_up(messages, log, apart)
        if apart and role == before == "assistant":
            return _moved_up(messages, log, apart)
        before = role
    return messages


def _moved_up(messages: Sequence[Message], log: Ledger, apart: bool) -> list[Message]:
    turns: list[list[Message]] = []  # each message with the results after it
    callers: dict[str | None, int] = {}  # id of a call -> the number of its turn
    for message in messages:
        if message.role != "tool" or not turns:
            turns.append([message])
            ids = [block.id for block in message.content if isinstance(block, ToolCall)]
            callers |= dict.fromkeys(filter(None, ids), len(turns) - 1)
            continue
        replied = (block.call_id for block in message.content if isinstance(block, ToolResult))
        last = len(turns) - 1
        place = callers.get(next(replied, None), last)
        if place == last or (turns[last][0].role == "assistant" and not apart):
            turns[last].append(message)
        else:
            turns[place].append(message)
            log.moved("message.position", message.at, "a tool result must directly follow its call")
    return [message for turn in turns for message in turn]


def note_empty_result(texts: Sequence[Block], log: Ledger) -> None:
    """An empty text beside media that are hoisted: it is what is written where there is none."""
    if len(texts) == 1 and isinstance(texts[0], Text) and texts[0].text == "":
        log.dropped("text.empty", texts[0].at, "empty text beside an image omitted")


def more_results(docs: list[Json], index: int) -> bool:
    """Whether a result stands right after a message: then that has no media of all before it."""
    after = docs[index + 1] if index + 1 < len(docs) else None
    return after.__class__ is dict and after.get("role") in ("tool", "function")


def unhoist(message: Message, out: list[Message], holds_all: Callable[[ToolResult], bool]) -> bool:
    """Images that were hoisted out of tool results go back into them, if that is what these are.

    ``out`` is what was read so far. A result that ``holds_all`` held its images itself.
    """
    groups: dict[str, list[Block]] = {}
    current: list[Block] | None = None
    for block in message.content:
        found = _HOIST.fullmatch(block.text) if is_plain_text(block) else None
        if found:
            if found[1] in groups:
                return False
            current = groups.setdefault(found[1], [])
        elif current is None or not isinstance(block, Media):
            return False
        else:
            current.append(block)
    places: dict[str, int] = {}
    for index in range(len(out) - 1, -1, -1):
        result = out[index].content[0] if out[index].content else None
        if out[index].role != "tool" or not isinstance(result, ToolResult):
            break
        if result.call_id is not None and not holds_all(result):
            if result.call_id in places and result.call_id in groups:
                return False  # of which of both they were, nobody can tell
            places[result.call_id] = index
    order = [places.get(call_id, -1) for call_id in groups]
    if not groups or -1 in order or order != sorted(order) or not all(groups.values()):
        return False
    for call_id, blocks in groups.items():
        index = places[call_id]
        result = out[index].content[0]
        assert isinstance(result, ToolResult)
        content = result.content
        only = content[0] if len(content) == 1 and not result.is_error else None
        if only is not None and is_plain_text(only) and only.text == "":
            content = ()  # it had nothing but these; an empty text was written for it
        result = replace(result, content=(*content, *blocks))
        out[index] = replace(out[index], content=(result,))
    return True


ENDINGS = media.endings_of(media.ENDINGS["document"]) | {"application/json": "json"}


def with_extension(name: str, media_type: str | None) -> str:
    """A title as a file name: data need one, and its ending tells the API what they are."""
    ending = ENDINGS.get(media_type or "application/pdf")
    return name if "." in name or ending is None else f"{name}.{ending}"


# How many tokens of reasoning each effort stands for, about. No vendor says; these are the budgets
# that clients commonly send for the three words.
EFFORT_BUDGETS = ((4096, "low"), (16384, "medium"))

BUDGETS = {
    "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576, "xhigh": 32768, "max": 32768,
}  # fmt: skip
"""The other way about: the budget that an effort becomes, where there are only budgets."""


def effort_of(budget: int) -> str:
    """The effort that a thinking budget comes nearest to."""
    for limit, effort in EFFORT_BUDGETS:
        if budget < limit:
            return effort
    return "high"


def lose_fields(extras: Extras | None, at: str, log: Ledger) -> None:
    """Each field that only another dialect knows is lost; of an object taken in part, the rest."""
    if extras is None:
        return
    if extras.records:
        lose_records(extras, at, log)
        return
    for key, value in extras.fields.items():
        if key in extras.inner and value.__class__ is dict:
            _lose_rest(value, key, f"{at}/{key}", extras, log)
        else:
            why = f"only {extras.dialect} knows {key}"
            log.dropped("extras", f"{at}/{escape(key)}", why)


def lose_records(extras: Extras, at: str, log: Ledger) -> None:
    """What stands in the lines of a session beside the conversation: one loss for each line."""
    parts = set(extras.inner)
    if not all(map(str.isdecimal, extras.fields)):  # what is left of one message
        names = _named(extras.fields, "", {f"/{part}" for part in parts})
        log.dropped("session.line", at, f"only {extras.dialect} knows {names}")
        return
    for key, value in extras.fields.items():
        if key in extras.spelling:
            why = str(extras.spelling[key])
        elif value.__class__ is dict:
            if key in parts:
                why = f"only {extras.dialect} knows {_named(value, key, parts)}"
            else:
                kind = value.get("type")
                named = f" of type {kind!r}" if kind.__class__ is str and len(kind) < 60 else ""
                why = f"only {extras.dialect} knows a line{named}"
        elif value == "":
            continue  # an empty line says nothing
        else:
            number = int(key) + 1 if key.isdecimal() else key
            why = f"line {number} is not a JSON object"
        log.dropped("session.line", f"{at}/{key}", why)


NAMED = 40
"""How many keys of a line a loss names."""


def _named(rest: dict[str, Json], at: str, parts: set[str]) -> str:
    """The keys that are left of a line, and of the objects of it that were taken in part."""
    names = list(_left(rest, at, "", parts))
    short = [name for name in names if len(name) <= 80][:NAMED]
    more = len(names) - len(short)
    return ", ".join(short) + (f" and {more} more" if more else "")


def _left(rest: dict[str, Json], at: str, before: str, parts: set[str]) -> Iterator[str]:
    for key, value in rest.items():
        if f"{at}/{key}" in parts and value.__class__ is dict:
            yield from _left(value, f"{at}/{key}", f"{before}{escape(key)}/", parts)
        else:
            yield before + escape(key)


def _lose_rest(rest: dict[str, Json], path: str, at: str, extras: Extras, log: Ledger) -> None:
    for name, value in rest.items():
        inner, where = f"{path}/{name}", f"{at}/{escape(name)}"
        if inner in extras.inner and value.__class__ is dict:
            _lose_rest(value, inner, where, extras, log)
        else:
            log.dropped("extras", where, f"only {extras.dialect} knows {name!r}")


def note_error_type(tree: Failure, word: str, log: Ledger) -> None:
    """A type that an error must have, and that the source did not say or that is not known."""
    if tree.type is None and tree.kind == "other":
        log.invented("error.type", tree.at, f"the error has no type; {word!r} is written")
    else:
        why = f"{log.target} has no error type {tree.type or tree.kind!r}; {word!r} is written"
        log.approximated("error.type", tree.at, why)


def note_error_code(tree: Failure, code: str, log: Ledger) -> None:
    """A code that an error must have, where the source has none or another one."""
    if tree.code is None:
        log.invented("error.code", tree.at, f"the error has no code; {code!r} is written")
    elif tree.code != code:
        log.approximated("error.code", tree.at, f"{tree.code!r} written as {code!r}")


def lose_reply(tree: Response, log: Ledger) -> None:
    """What a failed reply says beside its error, where only the error is written."""
    for code, value in (
        ("response.id", tree.id),
        ("response.model", tree.model),
        ("service_tier", tree.service_tier),
        ("response.echo", tree.echo and tree.echo.fields),
    ):
        if value is not None and value != {}:
            log.dropped(code, tree.at, "a failed response is written as its error only")
    if tree.created is not None:
        log.dropped("response.created", tree.at, "a failed response is written as its error only")
    if tree.usage is not None:
        log.dropped("usage", tree.usage.at, "a failed response is written as its error only")
    lose_fields(tree.extras, tree.at, log)
    for candidate in tree.candidates:
        if candidate.message.content:
            log.dropped("candidates", candidate.at, "content before the failure is not written")
        else:
            lose_fields(candidate.message.extras, candidate.message.at, log)
            lose_fields(candidate.extras, candidate.at, log)
        if candidate.logprobs is not None:
            log.dropped("logprobs", candidate.at, "a failed response is written as its error only")
        if candidate.stop is not None:
            log.dropped(
                "stop.reason", candidate.at, "a failed response is written as its error only"
            )


def place_of(block: Block, at: str, extras: Extras | None) -> str:
    """Where a result stands; if it has what its turn says beyond the tree, where that stands."""
    return at if extras is not None and extras.fields else block.at


def split_results(
    blocks: list[Block],
    at: str,
    extras: Extras | None,
    out: list[Message],
    joined: Extras | None = None,
) -> None:
    """Tool results leave the user turn; ``joined`` tells how they shared it, if that is noted."""
    first = True
    after_result = bool(out) and out[-1].role == "tool"
    run: list[Block] = []

    def flush() -> None:
        nonlocal first, after_result
        if run:
            out.append(Message("user", tuple(run), at=at, extras=extras if first else joined))
            run.clear()
            first = after_result = False

    for block in blocks:
        if block.__class__ is not ToolResult:
            run.append(block)
            continue
        flush()
        note: Extras | None
        if first:
            note = extras
            if after_result and joined is not None:
                note = extras or Extras(joined.dialect)
                note = replace(note, spelling=note.spelling | {"joined": False})
        else:
            note = None if after_result else joined
        out.append(Message("tool", (block,), at=place_of(block, at, note), extras=note))
        first, after_result = False, True
    flush()
