"""What every writer needs: identifiers the target accepts, arguments as an object, plain text."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeGuard

from msgspec import MsgspecError, Raw, Struct
from msgspec.json import format as squeeze
from msgspec.structs import replace

from ..ledger import Ledger
from ..model import (
    Block,
    Cache,
    Candidate,
    Json,
    Media,
    Message,
    Refusal,
    Signature,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)
from ..tools.pairing import Waiting
from .lazy import Lazy
from .models import UNKNOWN, Facts
from .reading import decode, encode, name_of
from .signers import SIGNERS, signer

if TYPE_CHECKING:
    from ..dialect import Dialect


@cache
def _fits(pattern: str, limit: int) -> Callable[[str], object]:
    return re.compile(rf"(?:{pattern}){{1,{limit}}}").fullmatch


Rule: TypeAlias = tuple[str, int]
"""What an identifier may be: a pattern for each character, and how many there may be."""


class Names(Struct, eq=False):
    """Identifiers as the target accepts them: deterministic, collision-free, both ends alike.

    An identifier that fits stays. Another gets a legal spelling and a digest of the original, so
    that equal stays equal, different stays different, and appending to a conversation never
    changes what was written before.
    """

    rule: Rule
    what: str
    staying: dict[str, None] = {}  # in this order: a session cuts them to what they were
    given: dict[str, str] = {}
    made: dict[str, None] = {}  # those that were made up, also for what had none

    @property
    def limit(self) -> int:
        return self.rule[1]

    def knows(self, name: str) -> bool:
        """Whether somebody is called so here."""
        return name in self.staying or name in self.made

    def stays(self, name: str) -> bool:
        """Whether an identifier is legal here, and nobody else's."""
        staying = self.staying
        if name in staying:
            return True
        # Nearly all identifiers are ASCII words, which every pattern allows.
        if not (name.isidentifier() and name.isascii() and len(name) <= self.rule[1]):
            if not self.fits(name):
                return False
        if name in self.made or name in self.given:
            return False
        staying[name] = None
        return True

    def fits(self, name: str) -> bool:
        """Whether an identifier is legal here."""
        return _fits(*self.rule)(name) is not None

    def __call__(self, name: str, at: str, log: Ledger) -> str:
        if self.stays(name):
            return name
        given = self.given.get(name)
        if given is None:
            given = self.given[name] = self.rename(name)
            self.made[given] = None
        if self.what == "tool.name":
            log.tool_names[given] = log.tool_names.get(name, (None, name))
        target = log.target or "the target"
        why = f"{name!r} is not a legal identifier in {target}; renamed to {given!r}"
        if self.what == "user_id":  # the ledger is kept and shown: it never repeats who somebody is
            why = f"the user id is not legal in {target}; its start and a digest of it are written"
        elif self.fits(name):
            why = f"{name!r} is already used; renamed to {given!r}"
        log.renamed(self.what, at, why)
        return given

    def rename(self, name: str) -> str:
        import hashlib  # slow to import, and rarely needed

        pattern, limit = self.rule
        stem = re.sub(f"(?s)(?!{pattern}).", "_", name)[: limit - 11]
        for salt in range(1000):
            seed = name if not salt else f"{name}\0{salt}"
            new = f"{stem}_{hashlib.sha256(seed.encode()).hexdigest()[:10]}"
            if not self.knows(new):
                return new
        raise AssertionError("a thousand digests collided")


class Writing:
    """One conversion under way: the ledger, and the identifiers given so far."""

    counters: ClassVar[tuple[str, ...]] = ()
    """What else a writer counts in dicts of its own, message by message."""
    custom: frozenset[str] = frozenset()
    """the freeform tools that are defined"""
    signed = True
    """what others signed may be written: it is kept, or sent to its issuer"""
    unnamed = 0
    """how many calls had no id"""
    waiting: Waiting | None = None
    """calls that got an id, if there are such"""
    model: str | None = None
    """to whom the request goes"""
    facts: Facts = UNKNOWN
    """what is known of that model"""

    results = 0
    """how many results of tools there were"""

    ids = Lazy[Names](lambda w: Names(w.id_rule, "tool_call.id"))
    names = Lazy[Names](lambda w: Names(w.name_rule, "tool.name"))
    marks = Lazy[list[tuple[dict[str, Json], Cache]]](lambda _: [])
    """cache marks, in writing order"""
    called = Lazy[dict[str, tuple[int, str]]](lambda _: {})
    """where each id of a call may occur only once: how many results had come before a call, and
    where it stands"""
    again = Lazy[dict[str, deque[str]]](lambda _: {})
    """of ids that occurred again, those of the calls that still wait"""
    times = Lazy[dict[str, int]](lambda _: {})
    """how often each of these did"""

    def __init__(
        self, log: Ledger, id_rule: Rule, name_rule: Rule, same: bool, reply: bool = False
    ) -> None:
        self.log = log
        self.id_rule = id_rule
        self.name_rule = name_rule
        self.same = same  # the tree was read from this dialect: all is written again as it was
        self.reply = reply  # a reply for a client, not a request for the API

    def address(self, vendor: str, model: str | None) -> Facts:
        """To which model the request goes; in the same dialect nothing depends on it."""
        self.model = model
        if not self.same:
            self.facts = self.log.models.facts(vendor, model)
        return self.facts

    def takes(self, block: Media) -> bool:
        """Whether the model takes media of that kind; if not, so is noted."""
        kinds = self.facts.media
        if kinds is None or block.kind in kinds:
            return True
        self.log.dropped("media", block.at, f"{block.kind} input is not supported by {self.model}")
        return False

    def moved(self, what: str, at: str, why: str) -> None:
        """Carried whole, elsewhere; in the same dialect that is simply how it is written."""
        if not self.same:
            self.log.moved(what, at, why)

    def call_id(self, call: ToolCall) -> str:
        """The id of a call; one is made up where the source has none."""
        name = call.id
        if name is not None:
            if self.same or self.ids.stays(name):
                return name
            return self.ids(name, call.at, self.log)
        made = self.fresh()
        self.waiting = self.waiting or Waiting()
        self.waiting.add(call, made)
        self.log.invented("tool_call.id", call.at, f"the call has no id; it gets {made!r}")
        return made

    def fresh(self) -> str:
        """An id that no call has, and that none will have."""
        ids = self.ids
        while True:
            self.unnamed += 1
            made = self.made(self.log.ids("call") if self.log.ids else f"call_{self.unnamed}")
            if self.log.ids or not (ids.knows(made) or made in self.log.taken):
                ids.made[made] = None
                return made

    def made(self, call_id: str) -> str:
        """An id that was made up, as the target accepts it."""
        return call_id

    def calls(self, name: str, at: str) -> bool:
        """Whether a call may have its id, as nearly all may: ``call_once`` for these."""
        if name in self.called or not (self.same or self.ids.stays(name)):
            return False
        self.called[name] = self.results, at
        return True

    def call_once(self, call: ToolCall) -> str:
        """The id of a call, where ids must be unique in a conversation."""
        given = self.call_id(call)
        if given in self.called and not self.same:
            original = given
            number = self.times.get(original, 1)
            while given in self.called:
                number += 1
                given = self.made(f"{original[: self.ids.limit - 12]}_{number}")
            self.times[original] = number  # the next one need not try these again
            self.repeat(original, given, call.at)
            self.log.renamed("tool_call.id", call.at, f"{original!r} is the id of an earlier call")
        self.called[given] = self.results, call.at
        return given

    def repeat(self, original: str, given: str, at: str) -> None:
        """Another call of an id. Those of one turn are replied in their order; one that waits while
        another turn begins will not be replied.
        """
        waiting = self.again.setdefault(original, deque((original,)))
        results, place = self.called[waiting[-1]]
        if results != self.results or place.rpartition("/")[0] != at.rpartition("/")[0]:
            waiting.clear()
        waiting.append(given)

    def once(self, call_id: str, result: ToolResult) -> str:
        """The id of the call that a result replies, where that had been used before."""
        self.results += 1
        waiting = self.again.get(call_id)
        if waiting is None:
            return call_id
        given = waiting.popleft() if len(waiting) > 1 else waiting[0]
        if given != call_id:
            self.log.renamed("tool_call.id", result.at, f"{call_id!r} is the id of an earlier call")
        return given

    def tool_name(self, name: str, at: str) -> str:
        """The name of a tool as the target accepts it."""
        if self.same or self.names.stays(name) or name in self.log.own_names:
            return name
        return self.names(name, at, self.log)

    def result_id(self, result: ToolResult) -> str:
        """The id of the call a result replies; one is made up where it replies none."""
        found = self.replied_id(result)
        if found is not None:
            return found
        made = self.fresh()
        self.log.invented(
            "tool_call.id", result.at, f"the result has no id and no call; it gets {made!r}"
        )
        return made

    def replied_id(self, result: ToolResult) -> str | None:
        """The id of the call a result replies; by name, then by order, where it has none."""
        name = result.call_id
        if name is not None:
            if self.same or self.ids.stays(name):
                return name
            return self.ids(name, result.at, self.log)
        made = None if self.waiting is None else self.waiting.reply(result.name)
        if made is not None:
            self.log.invented(
                "tool_call.id",
                result.at,
                f"the result has no id; by position it belongs to {made!r}",
            )
        return made


def object_of(call: ToolCall, log: Ledger) -> dict[str, Json]:
    """The arguments of a call as an object, for dialects that want one.

    Text that is not a JSON object is not thrown away: it goes under ``arguments``, and the
    ledger says so. So do duplicate keys, which an object cannot hold.
    """
    known = log.objects
    if known is None:
        return _object_of(call, log)
    text, noted = call.arguments, len(log.losses)
    value = known.get(text)
    if value is None:
        value = known.last.get(text)
        if value is None:
            value = _object_of(call, log)
        if len(log.losses) == noted:  # else there is something to be noted each time
            known[text] = value
    return value


def json_of(call: ToolCall, log: Ledger) -> Json:
    """The same for writers that do not look into it: JSON text, where only bytes are wanted.

    Only text that is spelled as we would spell it is embedded, so that the bytes are the same.
    """
    if log.embeds:
        text = call.arguments
        try:
            value = decode(text)
            if value.__class__ is dict:
                if len(text) < SHORT and text.count(":") == len(value):
                    return value
                if (data := text.encode()) == encode(value):
                    log.embedded = True
                    return Raw(data)
        except (MsgspecError, UnicodeError, RecursionError):
            pass
    return object_of(call, log)


SHORT = 300
"""How long arguments are of which it is quicker to count the colons than to encode them."""


def _object_of(call: ToolCall, log: Ledger) -> dict[str, Json]:
    text = call.arguments
    try:
        value = decode(text)
    except (MsgspecError, UnicodeError, RecursionError):
        value = {} if is_blank(text) else _without_halves(text, call.at, log)
    if value.__class__ is not dict:
        why = (
            f"the arguments are not a JSON object: {fault_of(text)}; they are sent as text under "
            "'arguments', unless repair's 'fix-arguments' repairs them first"
        )
        log.approximated("tool_call.arguments", call.at, why)
        return {"arguments": text}
    # Each entry has a colon: where a text has no more of them than there are entries, none is
    # lost. To count is the quickest for a short text, to encode for a long one.
    if len(text) < SHORT and text.count(":") == len(value):
        return value
    data, written = encode(value), text.encode()
    # Most models write compact JSON, or compact but for white space: nothing is missing then.
    if data != written and data != squeezed(written) and repeats_a_key(text, value):
        log.approximated("tool_call.arguments", call.at, "duplicate key; the last value is written")
    return value


def object_or_text(call: ToolCall, w: Writing) -> Json:
    """The arguments of a call as an object; in the same dialect, text that is none stays text."""
    log = w.log.apart() if w.same else w.log
    value = object_of(call, log)
    return call.arguments if w.same and log.losses else value


def squeezed(written: bytes) -> bytes | None:
    """JSON without white space between its parts; None where half of a character is in it."""
    try:
        return squeeze(written, indent=-1)
    except MsgspecError:
        return None


def _without_halves(text: str, at: str, log: Ledger) -> Json:
    """Arguments in which a client has cut a character in half; None if something else is wrong."""
    from . import surrogates  # nearly no text has one

    found = surrogates.well_formed(text.encode())
    if found is None or found.value.__class__ is not dict:
        return None
    log.approximated("text.surrogate", at, surrogates.WHY)
    return found.value


def wants_calls_run(candidate: Candidate) -> bool:
    """Whether calls stand complete before an end that the dialect has no word for.

    An agent goes on where the reason is that of calls; nothing else tells it that these are whole.
    """
    if candidate.stop is None or candidate.stop.reason != "other":
        return False
    calls = [block for block in candidate.message.content if isinstance(block, ToolCall)]
    return bool(calls) and all(call.kind != "function" or is_whole(call) for call in calls)


def is_whole(call: ToolCall) -> bool:
    """Whether the arguments of a call are a JSON object; nothing at all stands for an empty one."""
    if not call.arguments.strip():
        return True
    try:
        return decode(call.arguments).__class__ is dict
    except (MsgspecError, UnicodeError, RecursionError):
        return False


def fault_of(text: str) -> str:
    """Why text is not a JSON object, and where it breaks; never a word of it, it may be secret."""
    import json  # most arguments are JSON objects, and nobody asks

    try:
        value = json.loads(text)
    except json.JSONDecodeError as problem:
        what = problem.msg[:1].lower() + problem.msg[1:].removesuffix(" at")
        return f"{what} at line {problem.lineno} column {problem.colno}"
    except RecursionError:
        return "it is nested too deeply"
    except ValueError:
        return "it has a number that is too long"
    if value.__class__ is not dict:
        return f"it is {name_of(value)}"
    return "it is not strict JSON, e.g. NaN or a lone surrogate"


def repeats_a_key(text: str, value: dict[str, Json]) -> bool:
    """Whether an object in JSON text has a key twice, given the value that was read from it."""
    if encode(value) == text.encode():  # compact already, as most models write
        return False
    # Each entry has a colon. Where the text has no more colons than the entries and the strings
    # that were read, there was none for an entry that got lost. (An escape could hide a colon.)
    if text.count(":") == _colons(value) and "\\u" not in text:
        return False
    repeated = False

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        found = dict(items)
        repeated = repeated or len(found) != len(items)
        return found

    import json  # few texts come so far

    try:
        json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return False
    return repeated


def _colons(value: Any) -> int:
    """The colons that the entries and the strings of a value take at least."""
    count = 0
    if value.__class__ is dict:
        count = len(value)
        value = value.values()
    for item in value:
        if item.__class__ is str:
            count += item.count(":")
        elif item.__class__ is dict or item.__class__ is list:
            count += _colons(item)
    return count


def is_plain(message: Message) -> bool:
    """Whether a message is one text with nothing to it, so that a bare string says it all."""
    content = message.content
    return len(content) == 1 and is_plain_text(content[0])


def is_plain_text(block: Block, same: bool = True) -> TypeGuard[Text]:
    """Whether a block is a text and nothing more; for another dialect, spellings do not count."""
    return (
        block.__class__ is Text
        and (block.extras is None or not (same or block.extras.fields or block.extras.signature))
        and block.cache is None
        and not block.citations
    )


def is_empty_text(block: Block) -> bool:
    """Whether a block is a text or a refusal without a word, and nothing is written about it."""
    if block.__class__ is Text:
        return not block.text and is_plain_text(block, same=False) and block.extras is None
    return block.__class__ is Refusal and not block.text and block.extras is None


def drop_empty_texts(message: Message, log: Ledger) -> Message:
    """The empty texts of a response are the same as none, and read as none."""
    empty = [block for block in message.content if is_empty_text(block)]
    if not empty:
        return message  # as most are
    for block in empty:
        log.dropped("text.empty", block.at, "empty text in a response omitted")
    content = (block for block in message.content if not is_empty_text(block))
    return replace(message, content=tuple(content))


GOES_ON = ",.;:!?)]}"
"""What a text begins with that goes on with the sentence before it."""


def joint(before: str, after: str, cited: bool) -> str:
    """What stands between two texts of a response that become one: a line break.

    Nothing stands where white space does already, and where a provider has cut a sentence in
    pieces to tell where each of them comes from: after a text that is cited, and before one that
    begins with a punctuation mark.
    """
    if not before or not after or cited or before[-1].isspace() or after[0].isspace():
        return ""
    return "" if after[0] in GOES_ON else "\n"


def joined(texts: Iterable[str]) -> str:
    """The parts of one reasoning as one text, apart by a blank line; empty parts say nothing."""
    return "\n\n".join(filter(None, texts))


def is_blank(text: str) -> bool:
    """Empty or only white space."""
    return not text or text.isspace()


def data_uri(media_type: str, data: str) -> str:
    return f"data:{media_type};base64,{data}"


def split_data_uri(url: str) -> tuple[str, str] | None:
    """``data:image/png;base64,AAAA`` as media type and data; None for any other address."""
    if not url.startswith("data:"):
        return None
    head, comma, data = url[5:].partition(",")
    if not comma or not head.endswith(";base64"):
        return None
    return head[:-7], data


def lose_labels(block: Media, what: str, log: Ledger) -> None:
    """What is written about a medium, where nothing can be expressed about such things."""
    for key in ("title", "context", "citable", "transcript", "filename"):
        if getattr(block, key) is not None:
            log.dropped(f"media.{key}", block.at, f"{what} no {key} in {log.target}")


def note_joined(block: Block, to: Dialect, w: Writing) -> None:
    """A text that is joined to another one: its boundary is lost, and an empty one is left out."""
    if isinstance(block, Text) and not block.text:
        w.log.dropped("text.empty", block.at, "empty text omitted")
    else:
        to.join_text(block.at, w.log)


def same_only(dialect: Dialect, issuer: str | None) -> bool:
    """Whether a signature or file id of that issuer may be sent to this dialect's API."""
    return issuer is None or issuer == dialect.issuer


def may_open(dialect: Dialect, signature: Signature) -> bool:
    """Whether what was signed may be sent to this dialect's API."""
    own = dialect.issuer
    if signature.kind == "encrypted":
        return signature.issuer == own
    return signer(signature) == SIGNERS.get(own, own)


UNIONS = frozenset({"oneOf", "allOf", "anyOf"})


NO_PARAMETERS: dict[str, Json] = {"type": "object", "properties": {}}
"""The schema of a tool that takes nothing."""
NEEDED = "a tool requires a schema; an empty one is written"
NO_OBJECT = "the parameters of a tool are an object"


def parameters(tool: Tool, log: Ledger, instead: Json = None) -> Json:
    """The schema of a tool, where it must be an object if there is one."""
    if tool.schema is None or tool.schema.__class__ is dict:
        return tool.schema
    log.approximated("tool.schema", tool.at, NO_OBJECT)
    return {"type": "object"} if instead is None else instead


def needed_parameters(tool: Tool, log: Ledger) -> Json:
    """The schema of a tool, where every tool has one, and it must be an object."""
    if tool.schema is None:
        log.invented("tool.schema", tool.at, NEEDED)
        return NO_PARAMETERS
    return parameters(tool, log, NO_PARAMETERS)


def object_schema(tool: Tool, log: Ledger) -> Json:
    """The schema of a tool, where only an object may stand at its top."""
    schema = tool.schema
    if schema.__class__ is dict and not UNIONS.isdisjoint(schema):
        # "input_schema does not support oneOf, allOf, or anyOf at the top level"
        why = "alternatives are not supported at the top of a schema"
        log.approximated("tool.schema", tool.at, why)
        schema = {k: v for k, v in schema.items() if k not in UNIONS}
    if schema.__class__ is dict and schema.get("type") == "object":
        return schema
    if schema is None:
        return needed_parameters(tool, log)
    if schema.__class__ is dict and "type" not in schema:
        # "tools.0.custom.input_schema.type: Field required", says Anthropic; Bedrock the same.
        log.invented(
            "tool.schema",
            tool.at,
            f"{log.target} requires the type of a schema; written as 'object'",
        )
        return {"type": "object", **schema}
    log.approximated("tool.schema", tool.at, "the type of a tool schema is 'object'")
    return {"type": "object", "properties": {}}
