"""Messages and their blocks on their way to a target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, get_args

from msgspec import Struct
from msgspec.structs import replace

from ...ledger import Ledger
from ...model import (
    Block,
    Hosted,
    Media,
    Message,
    Passage,
    Raw,
    Reasoning,
    Refusal,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from ...tools.tool_errors import MARK
from ..capabilities import ALL_CITATIONS, ALL_MARKS, ALL_MEDIA, FLAGGED, Capabilities, Place
from ..lazy import Lazy
from ..models import UNKNOWN, Facts
from ..plain import FIRST, MODEL, NEXT, RESULTS, Turn
from ..resuming import Scan
from . import caching, citations, media, order, reasoning, results, roles, texts
from .caching import Marked
from .tools import SEARCH, Tools

if TYPE_CHECKING:
    from ...dialect import Dialect


ROLES: tuple[Role, ...] = get_args(Role)


def fit(
    messages: Sequence[Message], can: Capabilities, place: Place, scan: Scan | None = None
) -> bool:
    """Whether there is nothing to lower, as usual. This is all that most trees cost."""
    return unfit(messages, can, place, scan) is None


def unfit(
    messages: Sequence[Message], can: Capabilities, place: Place, scan: Scan | None = None
) -> int | None:
    """The first message of all that has something to lower, if there is one."""
    start, stop = (0, -1) if scan is None else scan.begin(messages)
    found = first_unfit(messages, plan_of(can, place), start)
    if scan is not None and stop > 0 and (found is None or found >= stop):
        scan.note(messages)
    return found


def plain_texts(messages: Sequence[Message], to: Dialect) -> list[Turn] | None:
    """The plain turns, if a conversation is texts and nothing else, as most short ones are.

    That is a system prompt at most, then the user and the model by turns, each with words. It can
    be written everywhere: there is nothing to pair, to lower or to put in order.
    """
    out: list[Turn] = []
    expected: tuple[str, ...] = FIRST
    add = out.append
    for message in messages:
        role, content = message.role, message.content
        if role not in expected or len(content) != 1 or content[0].__class__ is not Text:
            return None
        text: Text = content[0]
        words = text.text
        if not words or words.isspace() or text.cache is not None or text.citations:
            return None
        if message.name is not None:
            return None
        if text.extras is not None and not to.is_mute(text.extras):
            return None
        if message.extras is not None and not to.is_mute(message.extras):
            return None
        add((role, words, None))
        expected = NEXT[role]
    return out or None


MARKS = "marks"
"""What the pass depends on that lowers nothing else."""


def is_usual(messages: Sequence[Message], to: Dialect) -> bool:
    """Whether a conversation is as agents send it, and as everybody who has tools takes it.

    Texts, calls of functions and their results, with nothing to them; the user and the model by
    turns, and the results of all calls in their order. There is nothing to pair, to lower or to
    put in order, and one look at each block tells.
    """
    return usual_marks(messages, to) == []


def usual_marks(
    messages: Sequence[Message], to: Dialect, scan: Scan | None = None
) -> list[int] | None:
    """The messages with cache marks, if a conversation is usual but for these; None if not."""
    if not plan_of(to.can, "history").usual:
        return None
    marked: list[int] = []
    if scan is None:
        return marked if first_unusual(messages, to, marked) is None else None
    seeing = scan.stages.of(messages)
    if seeing.odd is not None:
        return None
    start, stop = scan.begin(messages)
    if start:
        marked += scan.state
    odd = seeing.odd = first_unusual(messages, to, marked, start)
    if stop > 0 and (odd is None or odd > stop):
        scan.note(messages, [place for place in marked if place < stop] if marked else ())
    return marked if odd is None else None


def first_unusual(
    messages: Sequence[Message], to: Dialect, marked: list[int], start: int = 0
) -> int | None:
    """The first message that is not as usual, from the beginning or a calm place on.

    Those with cache marks are noted.
    """
    waiting: list[str | None] = []  # the calls without a result so far, the last one first
    expected: tuple[str, ...] = MODEL if start else FIRST
    for index, message in enumerate(messages[start:] if start else messages, start):
        role, content = message.role, message.content
        if role not in expected or message.name is not None or not content:
            return index
        if role == "tool":
            result = content[0]
            if result.__class__ is not ToolResult or len(content) != 1:
                return index
            if result.call_id != waiting.pop() or result.kind != "function" or result.is_error:
                return index
            if result.name is not None or result.namespace is not None:
                return index
            if len(content := result.content) != 1 or (text := content[0]).__class__ is not Text:
                return index
            words = text.text
            if not words or words.isspace() or words.startswith(MARK):
                return index
            if text.citations:
                return index
            if text.cache is not None or result.cache is not None:
                marked.append(index)
            expected = RESULTS if waiting else MODEL
            continue
        for block in content:
            if block.__class__ is Text:
                words = block.text
                if not words or words.isspace() or waiting:
                    return index
                if block.citations:
                    return index
                if block.cache is not None:
                    marked.append(index)
                continue
            if block.__class__ is not ToolCall or block.id is None or block.kind != "function":
                return index
            if block.namespace is not None or block.item_id is not None:
                return index
            if block.cache is not None:
                marked.append(index)
            waiting.append(block.id)
        if not waiting:
            expected = NEXT[role]
        elif role == "assistant" and len(waiting) == len(set(waiting)):
            waiting.reverse()
            expected = RESULTS
        else:
            return index
    return len(messages) if waiting else None


def first_unfit(messages: Sequence[Message], plan: Plan, start: int = 0) -> int | None:
    """The first message that has something to lower, from a place on."""
    rares, all_ranks, free = plan.rare, plan.ranks, plan.free
    unnamed, developer, item_ids, cited, marked, worded, blank, needed, named, shaped, late = (
        plan.flags
    )
    for index in range(start, len(messages)):
        message = messages[index]
        role, content = message.role, message.content
        if unnamed and message.name is not None:
            return index
        if role == "developer" and not developer:
            return index
        if late and role == "system" and index:
            return index
        if len(content) == 1 and (text := content[0]).__class__ is Text:  # as most are
            if (cited and text.citations) or (marked and text.cache is not None):
                return index
            if worded and (not text.text or (not blank and text.text.isspace())):
                return index
            continue
        rare = rares[role]
        if (ranks := all_ranks[role]) and len(content) > 1:
            if not order.is_ordered(content, ranks):
                return index
        for block in content:
            if block.__class__ is Text:
                if (cited and block.citations) or (marked and block.cache is not None):
                    return index
                if worded and (not block.text or (not blank and block.text.isspace())):
                    return index
                continue
            if block.__class__ in rare:
                return index
            if block.__class__ is ToolCall:
                kind = block.kind
                if block.namespace is not None or (kind != "function" and kind != free):
                    return index
                if block.item_id is not None and not item_ids:
                    return index
                if marked and block.cache is not None:
                    return index
            elif block.__class__ is ToolResult:
                kind = block.kind
                if block.namespace is not None or (kind != "function" and kind != free):
                    return index
                if needed and not block.content:
                    return index
                if marked and block.cache is not None:
                    return index
                if block.name is not None and not named:
                    return index
                if shaped and (block.is_error or len(block.content) != 1):
                    return index
                for inner in block.content:
                    if inner.__class__ is Text:
                        if (cited and inner.citations) or (marked and inner.cache is not None):
                            return index
                        if worded and (not inner.text or (not blank and inner.text.isspace())):
                            return index
                        if shaped and inner.text.startswith(MARK):
                            return index
                        continue
                    return index
            elif block.__class__ in HOLDERS or (block.__class__ is Raw and is_known(block)):
                return index
    return None


class Plan(Struct, frozen=True):
    """What has to be looked at for a target in a place."""

    can: Capabilities
    flags: tuple[bool, ...]
    """What ``first_unfit`` asks: whether names of speakers go, whether there is a developer,
    whether calls have a second id, whether citations and cache marks are looked at, whether a text
    must not be empty, whether it may be of white space, whether a result needs one, may have a
    name, has its texts and errors in a form of its own, and whether a system message may be one
    too late."""
    free: str
    """The kind of freeform calls, where there are such."""
    rare: dict[str, frozenset[type]]
    """Classes of blocks that the target cannot hold as they are, by role."""
    ranks: dict[str, dict[type, int]]
    """The order of blocks, by role."""
    usual: bool
    """Whether it takes what ``is_usual`` accepts."""


def ranks_of(can: Capabilities, place: Place, role: Role) -> Mapping[str, int]:
    """The order of the blocks of a message."""
    if role == "tool":
        return NO_ORDER  # which has results, one after another
    return can.order.get("response" if place == "response" else role, NO_ORDER)


NO_ORDER: dict[str, int] = {}
PLANS: dict[Place, dict[int, Plan]] = {"history": {}, "response": {}}


def plan_of(can: Capabilities, place: Place) -> Plan:
    """What to look at, made once for each declaration; to hash one would take longer."""
    plan = PLANS[place].get(id(can))
    if plan is None:
        rare: list[type] = []
        if place not in can.refusals:
            rare.append(Refusal)
        if place not in can.passages:
            rare.append(Passage)
        if can.reasoning is not None:
            rare.append(Reasoning)
        rares: dict[str, frozenset[type]] = {
            role: can.unfit.get(role, frozenset()).union(rare) for role in ROLES
        }
        ranks: dict[str, dict[type, int]] = {
            role: order.by_class(ranks_of(can, place, role)) for role in ROLES
        }
        said = ranks["assistant"].get(Text, 0)
        plan = Plan(
            can,
            (
                place not in can.names,
                can.developer,
                place in can.item_ids,
                can.citations is not ALL_CITATIONS,
                can.caching is not ALL_MARKS,
                place not in can.texts.empty,
                place in can.texts.blank,
                bool(can.texts.needed),
                can.result_names,
                can.results is not FLAGGED,
                can.systems != "anywhere",
            ),
            "custom" if can.freeform == "native" else "function",
            rares,
            ranks,
            rares["assistant"].isdisjoint((Text, ToolCall))
            and ToolResult not in rares["tool"]
            and not any(Text in rares[role] for role in ROLES)
            and ranks["assistant"].get(ToolCall, said) >= said,
        )
        PLANS[place][id(can)] = plan  # which keeps the declaration, so that its id stays its own
    return plan


SPEAKERS = {"assistant": "reply", "tool": "result part"}
"""What the texts of a role are called in ``caching``."""

HOLDERS = frozenset({Media, Passage})
"""Blocks that may hold others."""


def is_known(block: Raw) -> bool:
    """Whether others can be told what a block of one dialect is."""
    return block.text is not None or bool(block.tools) or block.code is not None


def has_namespace(messages: Sequence[Message]) -> bool:
    """Whether a tool is called, or a result named, in a namespace."""
    for message in messages:
        for block in message.content:
            if block.__class__ is ToolCall or block.__class__ is ToolResult:
                if block.namespace is not None:
                    return True
    return False


def lose_item_id(target: str, at: str, log: Ledger) -> None:
    log.dropped("tool_call.item_id", at, f"a call has one id in {target}")


class Messages:
    """The messages of one tree on their way to one target."""

    tools = Lazy[Tools](lambda lowering: Tools(lowering.to, lowering.log))

    def __init__(self, to: Dialect, log: Ledger, place: Place, model: str | None = None) -> None:
        self.to = to
        self.log = log
        self.place = place
        self.model = model
        replies = to.can.replies if place == "response" else None
        self.form = replies or to.can.reasoning
        self.facts: Facts = UNKNOWN if model is None else to.facts_of(model, log)
        self.plain = False  # no tool has a namespace, so that a plain call may stay as it is
        self.passed = None if to.writes is None or place != "history" else to.writes.lowered
        self.calm = True  # no message brings tools, so that each is lowered for itself
        self.odd: int | None = -1  # the first message to be lowered, if it is known

    def begin(self, messages: Sequence[Message]) -> tuple[list[Message], int, int]:
        """What is lowered already, of how many messages, and which place to note."""
        passed, log = self.passed, self.log
        if passed is None or not self.calm or self.tools.spaces:
            self.plain = not self.tools.spaces and not has_namespace(messages)
            return [], 0, -1
        first = self.model, frozenset(self.tools.custom), self.tools.search
        note = passed.found(messages, first)
        start, stop = 0 if note is None else note.place, passed.seeing.stop
        self.plain = not has_namespace(messages[start:])
        if not self.plain:
            return [], 0, -1
        passed.begin(note, first, log)
        out: list[Message] = []
        if note is not None:
            out, count = note.state
            del out[count:]
        return out, start, stop if stop > start else -1

    def all(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        plan = plan_of(self.to.can, self.place)
        out, start, stop = self.begin(messages)
        odd = self.odd
        for index in range(start, len(messages)):
            message = messages[index]
            if index == stop:
                self.note(out)
            if self.plain:
                if odd is not None and odd < index:
                    odd = first_unfit(messages, plan, index)
                if odd != index:
                    out.append(message)  # as most do, if something is to be lowered at all
                    continue
            lowered = self.message(message)
            if lowered.role == "system" and out and self.to.can.systems != "anywhere":
                late = roles.lower_late(lowered, out[-1].role, self)
                if late is not lowered and not message.content:  # nobody says nothing
                    self.to.lose(message.extras, message.at, self.log)
                    roles.omit_message(lowered, self.to, self.log)
                    continue
                lowered = late
            if lowered.content or not message.content:
                out.append(lowered)
            elif not self.is_told(message):
                if self.to.can.emptied:
                    out.append(lowered)
                    continue
                self.to.lose(message.extras, message.at, self.log)
                roles.omit_message(message, self.to, self.log)
        if stop == len(messages):
            self.note(out)
        return tuple(out)

    def only_marks(self, messages: Sequence[Message], places: Sequence[int]) -> tuple[Message, ...]:
        """Usual messages but for the cache marks of some: nothing else is to be lowered."""
        passed, log, stop = self.passed, self.log, -1
        out: list[Message] = []
        if passed is not None:
            note = passed.found(messages, MARKS)
            passed.begin(note, MARKS, log)
            if note is not None:
                out, count = note.state
                del out[count:]
            stop = passed.seeing.stop if passed.seeing.stop > len(out) else -1
        self.plain = True
        for place in places:
            if place < len(out):
                continue
            if len(out) < stop <= place:
                out += messages[len(out) : stop]
                self.note(out)
            out += messages[len(out) : place]
            out.append(self.message(messages[place]))
        if len(out) <= stop:
            out += messages[len(out) : stop]
            self.note(out)
        out += messages[len(out) :]
        return tuple(out)

    def note(self, out: list[Message]) -> None:
        if self.passed is not None and not self.tools.called:
            self.passed.note((out, len(out)), self.log)

    def is_told(self, message: Message) -> bool:
        """Whether a message is nothing but blocks of another dialect that others can be told of."""
        return bool(message.content) and all(
            isinstance(block, Raw) and is_known(block) for block in message.content
        )

    def message(self, message: Message) -> Message:
        name, role = message.name, message.role
        content = self.content(message.content, role)
        if not content and self.is_told(message):
            return replace(message, content=content)  # nothing of it is left to be lowered
        if len(content) > 1 and (ranks := ranks_of(self.to.can, self.place, role)):
            content = order.lower(content, ranks, self.to, self.log)
        if content and name is None and role != "developer":  # as most are
            return message if content is message.content else replace(message, content=content)
        if role == "developer" and not self.to.can.developer:
            why = "`developer` role written as `system`"
            self.log.approximated("message.role", message.at, why)
            role = "system"
        if name is not None and self.place not in self.to.can.names:
            why = f"{self.to.name} has no field for the names of speakers"
            self.log.dropped("message.name", message.at, why)
            name = None
        if name is message.name and role is message.role and content is message.content:
            return message
        return replace(message, role=role, content=content, name=name)

    def content(self, blocks: tuple[Block, ...], role: Role) -> tuple[Block, ...]:
        out: list[Block] = []
        same = True
        form = self.form if role == "assistant" else None
        calls = self.plain and ToolCall not in self.to.can.unfit.get(role, ())
        for block in blocks:
            if calls and block.__class__ is ToolCall and block.cache is None:
                if block.kind == "function":  # as most are
                    if block.item_id is not None and self.place not in self.to.can.item_ids:
                        self.log.later(lose_item_id, self.to.name, block.at)
                        block, same = replace(block, item_id=None), False
                    out.append(block)
                    continue
            if block.__class__ is Text and block.cache is None and not block.citations:
                if block.text and not block.text.isspace():  # as most are
                    out.append(block)
                    continue
            if block.__class__ is Reasoning and form is not None:
                lowered: Sequence[Block] = reasoning.lower(block, form, self)
                if form.summed_by_id and lowered and out:
                    reasoning.note_same_id(out[-1], block, self)
            else:
                lowered = self.block(block, role)
            same = same and len(lowered) == 1 and lowered[0] is block
            out += lowered
        return blocks if same else tuple(out)

    def block(self, block: Block, role: Role) -> Sequence[Block]:
        """A block as those that the target can hold."""
        if block.__class__ is Raw and is_known(block) and not self.to.accepts(block):
            return self.raw(block)
        if block.__class__ in self.to.can.unfit.get(role, ()):
            return self.misplaced(block, role)
        if isinstance(block, Text):
            if role != "tool" and texts.is_rejected(block, self.to.can.texts, self.place):
                texts.drop(block, self.to, self.log)
                return ()
            return (self.text(block, role),)
        if isinstance(block, ToolCall):
            if self.plain and block.kind == "function" and block.item_id is None:
                return (self.marked(block, "call"),)  # as most are
            return (self.tools.freeform(self.call(self.marked(block, "call"))),)
        if isinstance(block, ToolResult):
            return (self.result(block),)
        if isinstance(block, Refusal) and self.place not in self.to.can.refusals:
            return self.block(self.refusal(block), role)
        if isinstance(block, Passage):
            return self.passage(block, role)
        if isinstance(block, Media):
            return self.media(block, role)
        return (block,)

    def marked(self, block: Marked, what: str) -> Marked:
        """A block with its cache mark, if it may have one."""
        if block.cache is None or self.to.can.caching is ALL_MARKS:
            return block
        return caching.lower(block, what, self.to, self.place, self.log)

    def misplaced(self, block: Block, role: Role) -> Sequence[Block]:
        if isinstance(block, Media) and block.transcript:
            return media.lower(block, role, self)  # which is written as text
        if isinstance(block, ToolResult) and role == "tool":
            why = f"{self.to.name} has no form for tool results"
            self.log.dropped("tool_result", block.at, why)
            for part in block.content:
                if isinstance(part, Raw) and part.tools:
                    self.tools.bring(part)
                if not part.at.startswith(block.at):  # it stood in a turn after it
                    self.log.dropped("tool_result.content", part.at, why)
            return ()
        why = f"a message of the role `{role}` cannot hold this in {self.to.name}"
        self.log.dropped("content.role", block.at, why)
        caching.omit(block, self.to, self.log)
        return ()

    def call(self, call: ToolCall) -> ToolCall:
        if call.item_id is not None and self.place not in self.to.can.item_ids:
            lose_item_id(self.to.name, call.at, self.log)
            call = replace(call, item_id=None)
        return self.tools.call(call)

    def refusal(self, block: Refusal) -> Text:
        if block.text:
            why = f"{self.to.name} has no form for refusals; written as text"
            self.log.approximated("refusal", block.at, why)
        self.to.lose(block.extras, block.at, self.log)
        return Text(block.text, at=block.at)

    def text(self, text: Text, role: Role) -> Text:
        if text.citations and self.to.can.citations is not ALL_CITATIONS:
            text = citations.lower(text, self.to, self.place, role == "assistant", self.log)
        return text if text.cache is None else self.marked(text, SPEAKERS.get(role, "text"))

    def media(self, block: Media, role: Role) -> Sequence[Block]:
        lowered = media.lower(block, role, self)
        if len(lowered) != 1 or not isinstance(found := lowered[0], Media):
            return lowered
        block = self.marked(found, "result part" if role == "tool" else "media")
        if block.source.blocks:
            blocks = caching.inside(block.source.blocks, self.to, self.place, self.log)
            blocks = self.content(blocks, "user")
            if blocks is not block.source.blocks:
                block = replace(block, source=replace(block.source, blocks=blocks))
        return (block,)

    def passage(self, block: Passage, role: Role) -> tuple[Block, ...]:
        """A passage, or what it holds; what is written about it is lost then."""
        if self.place in self.to.can.passages:
            block = self.marked(block, "passage")
            content = caching.inside(block.content, self.to, self.place, self.log)
            content = self.content(content, role)
            return (block if content is block.content else replace(block, content=content),)
        why = f"{self.to.name} has no form for retrieved passages; written as text"
        self.log.approximated("passage", block.at, why)
        if block.cache is not None:
            why = f"the passage that it marks is written as text for {self.to.name}"
            self.log.dropped("cache", block.cache.at, why)
        self.to.lose(block.extras, block.at, self.log)
        return self.content(block.content, role)

    def result(self, result: ToolResult) -> ToolResult:
        if result.cache is not None and self.to.can.caching is not ALL_MARKS:
            result = caching.result(result, self.to, self.log)
        content = self.told(self.worded(result))
        if content is not result.content:
            result = replace(result, content=content)
        result = self.tools.reply(self.tools.result(result))
        if self.to.can.results is not FLAGGED:
            result = results.lower(result, self.to, self.log)
        if result.name is None or self.to.can.result_names:
            return result
        why = f"a result names its call in {self.to.name}, and not its tool"
        self.log.dropped("tool_result.name", result.at, why)
        # without an id, a result is paired with its call by this name
        return result if result.call_id is None else replace(result, name=None)

    def worded(self, result: ToolResult) -> tuple[Block, ...]:
        """The content of a result with the texts that the target accepts."""
        content, rules = result.content, self.to.can.texts
        if not content:
            return texts.filled(result, self.to, self.log)
        alone, place = len(content) == 1, self.place
        out: list[Block] = []
        for block in content:
            if isinstance(block, Text) and texts.is_rejected_in_result(block, alone, rules, place):
                texts.drop(block, self.to, self.log)
            else:
                out.append(block)
        return content if len(out) == len(content) else tuple(out)

    def told(self, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        """The content of a result; what follows each other of another dialect is one text."""
        out: list[Block] = []
        run: list[Text] = []

        def flush() -> None:
            if run:
                out.append(replace(run[0], text="\n".join(text.text for text in run)))
                run.clear()

        for block in blocks:
            known = isinstance(block, Raw) and is_known(block) and not self.to.accepts(block)
            for told in self.block(block, "tool"):
                if not self.is_held(told):
                    why = f"a tool result of {self.to.name} cannot hold this block"
                    self.log.dropped("tool_result.content", told.at, why)
                    self.to.lose(told.extras, told.at, self.log)
                elif known and isinstance(told, Text):
                    if run:
                        self.log.approximated("text.boundary", told.at, "joined by a line break")
                    run.append(told)
                else:
                    flush()
                    out.append(told)
        flush()
        same = len(out) == len(blocks) and all(a is b for a, b in zip(out, blocks, strict=True))
        content = blocks if same else tuple(out)
        if len(content) > 1 and (ranks := self.to.can.order.get("tool")):
            content = order.lower(content, ranks, self.to, self.log)
        return content

    def is_held(self, block: Block) -> bool:
        """Whether a result may hold a block: text, media, passages, and what the target knows."""
        if isinstance(block, Raw):
            return self.to.accepts(block)
        if isinstance(block, Hosted):
            return self.to.is_same(block.dialect)
        if isinstance(block, Media):
            return self.to.can.media is ALL_MEDIA or "tool" in self.to.can.media.roles
        return isinstance(block, Text | Passage | Refusal)

    def raw(self, block: Raw) -> list[Block]:
        if block.code == SEARCH:
            return self.tools.found(block)
        if block.tools:
            self.tools.bring(block)
        code = block.code or "raw"
        if block.text is not None or block.tools:
            self.to.lose(block.extras, block.at, self.log)
        if block.text is not None:
            self.log.approximated(code, block.at, f"written as text for {self.to.name}")
            return [Text(block.text, at=block.at)]
        if code == "compaction":
            why = (
                f"the conversation before it was compacted and encrypted; {self.to.name} cannot "
                "read it, so that part of the history is missing"
            )
            self.log.dropped(code, block.at, why)
        elif not block.tools:
            what = "message" if block.code == "raw" else "block"
            self.log.dropped(code, block.at, f"a {what} that only {block.dialect} knows")
        return []

    def carriers(self, messages: Sequence[Message]) -> Iterator[Raw]:
        """The blocks that bring tools which the target takes only beside the conversation."""
        start = 0 if self.passed is None else self.passed.known(messages)  # which bring none
        for message in messages[start:]:
            for block in message.content:
                if block.__class__ is ToolResult:
                    inner = block.content
                elif block.__class__ is Raw:
                    inner = (block,)
                else:
                    continue
                for raw in inner:
                    if isinstance(raw, Raw) and raw.tools and not self.to.accepts(raw):
                        yield raw
