"""The passes of ``repair``: each mends one thing in a conversation, and notes what it did.

A pass takes a tree and gives the same tree if there is nothing to mend, so that it may run twice.
Where messages move, spelling that spoke of the old neighbours is forgotten (``resettle``): it says
how a document was written, not what it means.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from msgspec.structs import replace

from .checking import Ruled
from .dialect import Dialect
from .errors import Malformed
from .ledger import Ledger
from .mending import mend_object
from .model import (
    Block,
    Cache,
    Extras,
    History,
    Hosted,
    Json,
    Media,
    Message,
    Node,
    Passage,
    Raw,
    Reasoning,
    Refusal,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)
from .reading import escape, parse
from .writing import Names, is_blank

Conversation: TypeAlias = Request | History
Messages: TypeAlias = tuple[Message, ...]
N = TypeVar("N", bound=Node)

NO_RESULT = "[no result: the call was not answered]"
ORPHAN = "[{what} of {call}]"
"""What introduces a result without its call, in the user's words."""
MARKS = 4
"""How many cache marks a request may have."""
ID_LIMIT = 40
"""How long a new id may be: the shortest limit of all APIs."""


class Bench:
    """One repair under way: the ledger, and what the dialect's API wants."""

    def __init__(self, dialect: Dialect, log: Ledger) -> None:
        rules: Any = dialect if isinstance(dialect, Ruled) else Ruled
        self.log = log
        self.issuer = dialect.issuer
        self.adjacent: bool = rules.adjacent
        self.merges: bool = rules.merges
        self.silent_results: bool = rules.silent_results
        self.call_ids: tuple[str, int] = rules.call_ids
        self.tool_names: tuple[str, int] = rules.tool_names
        self.item_prefixes: Mapping[str, str] = rules.item_prefixes


# -- what several passes need ---------------------------------------------------------------------


def with_messages(tree: Conversation, messages: Sequence[Message]) -> Conversation:
    """The tree with other messages; the same tree if they are the same."""
    new = tuple(messages)
    if len(new) == len(tree.messages) and all(
        a is b for a, b in zip(new, tree.messages, strict=True)
    ):
        return tree
    return replace(tree, messages=new)


def with_content(message: Message, content: Sequence[Block]) -> Message:
    new = tuple(content)
    if len(new) == len(message.content) and all(
        a is b for a, b in zip(new, message.content, strict=True)
    ):
        return message
    return replace(message, content=new)


def resettle(old: Sequence[Message], new: Sequence[Message]) -> list[Message]:
    """The new order, where a message that has another neighbour before it forgets its spelling.

    Among the results of one turn the neighbour does not matter.
    """
    before = {id(m): old[i - 1] if i else None for i, m in enumerate(old)}
    out: list[Message] = []
    run: set[int] = set()
    last: Message | None = None
    for message in new:
        known = before.get(id(message), message)
        settled = known is last or id(known) in run
        out.append(message if settled or id(message) not in before else unspell(message))
        run = run | {id(message)} if message.role == "tool" else set()
        last = message
    return out


def unspell(node: N) -> N:
    """The node without the spelling of its document; what it says beyond the tree stays."""
    extras = node.extras
    if extras is None or not extras.spelling:
        return node
    kept = Extras(extras.dialect, extras.fields, extras.blanks)
    return replace(node, extras=kept if kept.fields or kept.blanks else None)


def lose_extras(node: Node, why: str, log: Ledger) -> None:
    """What a node that goes said beyond the tree goes with it."""
    for key in node.extras.fields if node.extras is not None else ():
        log.dropped("extras", f"{node.at}/{escape(key)}", why)


def lose_text(block: Block, why: str, log: Ledger) -> None:
    """A text that goes, with all that hangs on it."""
    log.dropped("text.empty", block.at, why)
    lose_extras(block, why, log)
    if isinstance(block, Text):
        if block.cache is not None:
            log.dropped("cache", block.cache.at, why)
        for cite in block.citations:
            log.dropped("text.citations", cite.at, why)


def calls_in(message: Message) -> list[ToolCall]:
    return [b for b in message.content if isinstance(b, ToolCall)]


def result_in(message: Message) -> ToolResult | None:
    block = message.content[0] if message.role == "tool" and message.content else None
    return block if isinstance(block, ToolResult) else None


def turn_ends(messages: Sequence[Message], bench: Bench) -> Iterator[tuple[int, list[ToolCall]]]:
    """Where an assistant turn with calls ends, and its calls."""
    calls: list[ToolCall] = []
    for index, message in enumerate(messages):
        if message.role != "assistant":
            continue
        calls += calls_in(message)
        after = messages[index + 1].role if index + 1 < len(messages) else None
        if bench.merges and after == "assistant":
            continue
        if calls:
            yield index, calls
        calls = []


def is_stored(tree: Conversation) -> bool:
    """Whether a part of the conversation is at the server, where no pass can see it."""
    if isinstance(tree, Request):
        if tree.params.previous_id is not None or tree.params.conversation_id is not None:
            return True
        if tree.extras is not None and "thread" in tree.extras.fields:
            return True
    return any(
        isinstance(block, Raw)
        and block.payload.__class__ is dict
        and block.payload.get("type") in ("item_reference", "compaction")
        for message in tree.messages
        for block in message.content
    )


# -- arguments and identifiers --------------------------------------------------------------------


def fix_arguments(tree: Conversation, bench: Bench) -> Conversation:
    def fix(block: Block) -> Block:
        return fixed_call(block, bench.log) if isinstance(block, ToolCall) else block

    return each_block(tree, fix)


def fixed_call(call: ToolCall, log: Ledger) -> ToolCall:
    if call.kind != "function":
        return call
    spelled = call.extras.spelling.get("arguments", "text") if call.extras is not None else "text"
    if (
        is_blank(call.arguments)
        or spelled is None
        or (spelled.__class__ is str and is_blank(spelled))
    ):
        log.approximated("tool_call.arguments", call.at, "no arguments are an empty object")
        return unspell(replace(call, arguments="{}"))
    try:
        if parse(call.arguments).__class__ is dict:
            return call
    except Malformed:
        pass
    mended = mend_object(call.arguments)
    if mended is None:
        return call
    log.approximated("tool_call.arguments", call.at, "broken JSON was mended")
    return replace(call, arguments=mended)


def each_block(tree: Conversation, change: Callable[[Block], Block]) -> Conversation:
    """The tree with every block of its messages changed in place."""
    out = [with_content(m, [change(block) for block in m.content]) for m in tree.messages]
    return with_messages(tree, out)


def dedupe_tool_ids(tree: Conversation, bench: Bench) -> Conversation:
    """A call whose id was used before gets another; so does its result, which is found by place.

    A result belongs to the latest call of its id that is still open; among the calls of one
    message, to the first.
    """
    taken = {call.id for m in tree.messages for call in calls_in(m)}
    seen: set[str | None] = {None}
    waiting: dict[str, list[deque[str]]] = {}
    out: list[Message] = []
    for message in tree.messages:
        if message.role == "assistant":
            fresh: dict[str, deque[str]] = {}
            content = [
                unique_call(block, seen, taken, fresh, bench.log)
                if isinstance(block, ToolCall)
                else block
                for block in message.content
            ]
            for old, ids in fresh.items():
                waiting.setdefault(old, []).append(ids)
            message = with_content(message, content)
        elif (result := result_in(message)) is not None and result.call_id in waiting:
            message = with_content(message, [paired(result, waiting, bench.log)])
        out.append(message)
    return with_messages(tree, out)


def unique_call(
    call: ToolCall,
    seen: set[str | None],
    taken: set[str | None],
    fresh: dict[str, deque[str]],
    log: Ledger,
) -> ToolCall:
    if call.id is None:
        return call
    new = call.id
    if new in seen:
        number = 2
        while new in taken:
            new = f"{call.id[: ID_LIMIT - len(str(number)) - 1]}_{number}"
            number += 1
        taken.add(new)
        log.renamed("tool_call.id", call.at, f"{call.id!r} was used before; this call is {new!r}")
    fresh.setdefault(call.id, deque()).append(new)
    seen.add(new)
    return call if new == call.id else replace(call, id=new)


def paired(result: ToolResult, waiting: dict[str, list[deque[str]]], log: Ledger) -> ToolResult:
    assert result.call_id is not None
    for ids in reversed(waiting[result.call_id]):
        if ids:
            new = ids.popleft()
            if new == result.call_id:
                return result
            log.renamed("tool_call.id", result.at, f"answers the call that is now {new!r}")
            return replace(result, call_id=new)
    return result


def pair_results(tree: Conversation, bench: Bench) -> Conversation:
    """A result that names no call answers the first open one of its turn, by tool name if it can.

    Where calls have no ids either, there is nothing to name.
    """
    out: list[Message] = []
    waiting: list[ToolCall] = []
    for message in tree.messages:
        result = result_in(message)
        if message.role == "assistant":
            waiting = [call for call in calls_in(message) if call.id is not None]
        elif result is not None and result.call_id is not None:
            waiting = [call for call in waiting if call.id != result.call_id]
        elif result is not None and waiting:
            named = [call for call in waiting if call.name == result.name]
            call = (named or waiting)[0]
            waiting = [other for other in waiting if other is not call]
            bench.log.invented("tool_call.id", result.at, f"answers {call.id!r}, by its place")
            message = with_content(message, [replace(result, call_id=call.id)])
        out.append(message)
    return with_messages(tree, out)


def legal_tool_ids(tree: Conversation, bench: Bench) -> Conversation:
    names = Names(*bench.call_ids, "tool_call.id")
    reserve(names, (c.id for m in tree.messages for c in calls_in(m)))

    def change(block: Block) -> Block:
        if isinstance(block, ToolCall) and block.id is not None:
            new = names(block.id, block.at, bench.log)
            return block if new == block.id else replace(block, id=new)
        if isinstance(block, ToolResult) and block.call_id is not None:
            new = names(block.call_id, block.at, bench.log)
            return block if new == block.call_id else replace(block, call_id=new)
        return block

    return each_block(tree, change)


def reserve(names: Names, used: Iterator[str | None]) -> None:
    """Legal names stay whose they are, even if an illegal one that comes earlier would fit."""
    for name in used:
        if name is not None and names.fits(name):
            names.given[name] = name
            names.taken.add(name)


def drop_item_ids(tree: Conversation, bench: Bench) -> Conversation:
    """Ids of items that the API cannot have given. They may be absent; they may not be wrong."""

    def change(block: Block) -> Block:
        match block:
            case ToolCall():
                if is_wrong(block.item_id, bench.item_prefixes.get(block.kind)):
                    bench.log.dropped("tool_call.item_id", block.at, "not an id of this API")
                    return replace(block, item_id=None)
            case Reasoning():
                if is_wrong(block.id, bench.item_prefixes.get("reasoning")):
                    bench.log.dropped("reasoning.id", block.at, "not an id of this API")
                    return replace(block, id=None)
            case Text() | Refusal() if block.extras is not None:
                fields = block.extras.fields
                if is_wrong(fields.get("id"), bench.item_prefixes.get("message")):
                    bench.log.dropped("extras", f"{block.at}/id", "not an id of this API")
                    kept = {key: value for key, value in fields.items() if key != "id"}
                    return replace(block, extras=replace(block.extras, fields=kept))
        return block

    return each_block(tree, change)


def is_wrong(name: Json, prefix: str | None) -> bool:
    return prefix is not None and isinstance(name, str) and not name.startswith(prefix)


def legal_tool_names(tree: Conversation, bench: Bench) -> Conversation:
    names = Names(*bench.tool_names, "tool.name")
    tools = tree.tools or () if isinstance(tree, Request) else ()
    reserve(names, (tool.name for tool in tools))

    def change(block: Block) -> Block:
        if isinstance(block, ToolCall):
            new = names(block.name, block.at, bench.log)
            return block if new == block.name else replace(block, name=new)
        if isinstance(block, ToolResult) and block.name is not None:
            new = names(block.name, block.at, bench.log)
            return block if new == block.name else replace(block, name=new)
        return block

    if isinstance(tree, Request) and tree.tools:
        tree = with_tools(tree, [legal_tool(tool, names, bench.log) for tool in tree.tools])
        choice = tree.tool_choice
        if choice is not None and choice.name is not None and choice.kind != "hosted":
            new = names(choice.name, choice.at, bench.log)
            if new != choice.name:
                tree = replace(tree, tool_choice=replace(choice, name=new))
        choice = tree.tool_choice
        if choice is not None and choice.allowed is not None:
            allowed = tuple(names(name, choice.at, bench.log) for name in choice.allowed)
            if allowed != choice.allowed:
                tree = replace(tree, tool_choice=replace(choice, allowed=allowed))
    return each_block(tree, change)


def legal_tool(tool: Tool, names: Names, log: Ledger) -> Tool:
    if tool.kind == "hosted":
        return tool
    new = names(tool.name, tool.at, log)
    return tool if new == tool.name else replace(tool, name=new)


def with_tools(tree: Request, tools: Sequence[Tool]) -> Request:
    old = tree.tools or ()
    if all(a is b for a, b in zip(tools, old, strict=True)):
        return tree
    return replace(tree, tools=tuple(tools))


# -- calls and results ----------------------------------------------------------------------------


def calls_last(tree: Conversation, bench: Bench) -> Conversation:
    """Text behind a call goes before the calls; where turns merge, the whole turn counts."""
    out: list[Message] = []
    for run in runs(tree.messages, bench):
        message = run[0]
        if message.role == "assistant" and speaks_after_call(run):
            for other in run[1:]:
                message = merged(message, other, bench.log)
            out.append(with_content(message, before_calls(message.content, bench.log)))
        else:
            out += run
    return with_messages(tree, resettle(tree.messages, out))


def runs(messages: Messages, bench: Bench) -> list[list[Message]]:
    """Messages that the API takes for one turn."""
    out: list[list[Message]] = []
    for message in messages:
        if bench.merges and out and out[-1][0].role == message.role == "assistant":
            out[-1].append(message)
        else:
            out.append([message])
    return out


def speaks_after_call(run: list[Message]) -> bool:
    called = False
    for block in (block for message in run for block in message.content):
        if isinstance(block, ToolCall):
            called = True
        elif called and isinstance(block, Text):
            return True
    return False


def before_calls(content: Sequence[Block], log: Ledger) -> list[Block]:
    first = next(i for i, block in enumerate(content) if isinstance(block, ToolCall))
    late = [block for block in content[first:] if isinstance(block, Text)]
    for block in late:
        log.moved("content.order", block.at, "nothing may be said behind a call")
    rest = [block for block in content[first:] if not isinstance(block, Text)]
    return [*content[:first], *late, *rest]


def results_first(tree: Conversation, bench: Bench) -> Conversation:
    """Results stand right behind their calls. A group that does already is left in its order."""
    messages = tree.messages
    found = answers(messages)
    used: set[int] = set()
    groups: dict[int, list[int]] = {}
    for end, calls in turn_ends(messages, bench):
        group = [i for call in calls if (i := found.get(id(call))) is not None]
        behind = end + 1
        while behind < len(messages) and messages[behind].role == "tool":
            behind += 1
        if any(i >= behind for i in group):
            groups[end] = group
            used.update(group)
    out: list[Message] = []
    for index, message in enumerate(messages):
        if index not in used:
            out.append(message)
        for place in groups.get(index, ()):
            out.append(brought(messages[place], place > index + 1, bench.log))
    return with_messages(tree, resettle(messages, out))


def brought(message: Message, far: bool, log: Ledger) -> Message:
    """A result that is brought to its call; what its old message said of itself stays behind."""
    if far:
        log.moved("message.position", message.at, "a result stands right behind its call")
    lose_extras(message, "the result left its message", log)
    return message if message.extras is None else replace(message, extras=None)


def answers(messages: Messages) -> dict[int, int]:
    """Which message answers which call, by id and place; a call is known by ``id(call)``."""
    waiting: dict[str, list[deque[ToolCall]]] = {}
    found: dict[int, int] = {}
    for index, message in enumerate(messages):
        if message.role == "assistant":
            fresh: dict[str, deque[ToolCall]] = {}
            for call in calls_in(message):
                if call.id is not None:
                    fresh.setdefault(call.id, deque()).append(call)
            for name, calls in fresh.items():
                waiting.setdefault(name, []).append(calls)
        elif (result := result_in(message)) is not None:
            for calls in reversed(waiting.get(result.call_id or "", [])):
                if calls:
                    found[id(calls.popleft())] = index
                    break
    return found


def drop_orphan_results(tree: Conversation, bench: Bench) -> Conversation:
    orphans = find_orphans(tree, bench)
    out: list[Message] = []
    for message in tree.messages:
        if id(message) in orphans:
            bench.log.dropped("tool_result", message.at, "a result without its call")
            lose_extras(message, "a result without its call", bench.log)
        else:
            out.append(message)
    return with_messages(tree, resettle(tree.messages, out))


def demote_orphan_results(tree: Conversation, bench: Bench) -> Conversation:
    """A result without its call becomes the user's words, behind the results that have theirs."""
    orphans = find_orphans(tree, bench)
    out: list[Message] = []
    held: list[Message] = []
    for message in tree.messages:
        if message.role != "tool":
            out += held
            held = []
        if id(message) in orphans:
            held.append(demoted(message, bench.log))
        else:
            out.append(message)
    return with_messages(tree, resettle(tree.messages, [*out, *held]))


def demoted(message: Message, log: Ledger) -> Message:
    result = result_in(message)
    assert result is not None
    why = "a result without its call is said by the user"
    log.approximated("message.role", message.at, why)
    lose_extras(result, why, log)
    if result.cache is not None:
        log.dropped("cache", result.cache.at, why)
    what = "error" if result.is_error else "result"
    call = "a tool call" if result.call_id is None else f"the tool call {result.call_id}"
    mark = Text(ORPHAN.format(what=what, call=call), at=result.at)
    return unspell(replace(message, role="user", content=(mark, *result.content)))


def find_orphans(tree: Conversation, bench: Bench) -> set[int]:
    """The results that answer no call: of the last assistant turn, or of any where that will do.

    A result that names no call answers one without a name, or any that is open.
    """
    if is_stored(tree):
        return set()
    orphans: set[int] = set()
    waiting: Counter[str | None] = Counter()
    before = ""
    for message in tree.messages:
        if message.role == "assistant":
            if bench.adjacent and before != "assistant":
                waiting.clear()
            waiting.update(call.id for call in calls_in(message))
        elif (result := result_in(message)) is not None:
            if waiting[result.call_id] > 0:
                waiting[result.call_id] -= 1
            elif result.call_id is not None or not any(waiting.values()):
                orphans.add(id(message))
        before = message.role
    return orphans


def answer_orphan_calls(tree: Conversation, bench: Bench) -> Conversation:
    """A call without a result gets one, which says that there is none."""
    if is_stored(tree):
        return tree
    messages = tree.messages
    found = answers(messages)
    made: dict[int, list[Message]] = {}
    for end, calls in turn_ends(messages, bench):
        missing = [c for c in calls if c.id is not None and id(c) not in found]
        if missing:
            place = end
            while place + 1 < len(messages) and messages[place + 1].role == "tool":
                place += 1
            made.setdefault(place, []).extend(no_answer(call, bench.log) for call in missing)
    out: list[Message] = []
    for index, message in enumerate(messages):
        out.append(message)
        out += made.get(index, ())
    return with_messages(tree, resettle(messages, out))


def no_answer(call: ToolCall, log: Ledger) -> Message:
    log.invented("tool_result", call.at, f"the call {call.id!r} was not answered")
    text = Text(NO_RESULT, at=call.at)
    result = ToolResult(call.id, (text,), is_error=True, kind=call.kind, at=call.at)
    return Message("tool", (result,), at=call.at)


# -- what says nothing, and what is said twice ----------------------------------------------------


def drop_empty_text(tree: Conversation, bench: Bench) -> Conversation:
    """Blank texts beside something else. A message that is all blank is a message to drop."""
    out: list[Message] = []
    for message in tree.messages:
        content = [without_blanks(block, bench) for block in message.content]
        spoken = [b for b in content if not is_blank_text(b)]
        if spoken and len(spoken) < len(content):
            for block in content:
                if is_blank_text(block):
                    lose_text(block, "empty text says nothing", bench.log)
            content = spoken
        out.append(with_content(message, content))
    return with_messages(tree, out)


def is_blank_text(block: Block) -> bool:
    return isinstance(block, Text) and is_blank(block.text)


def without_blanks(block: Block, bench: Bench) -> Block:
    """A tool result without its blank texts; all of it may go where a result may be silent."""
    if not isinstance(block, ToolResult) or not any(map(is_blank_text, block.content)):
        return block
    kept = tuple(b for b in block.content if not is_blank_text(b))
    if not kept and not bench.silent_results:
        return block
    for inner in block.content:
        if is_blank_text(inner):
            lose_text(inner, "empty text says nothing", bench.log)
    return replace(block, content=kept)


def drop_empty_messages(tree: Conversation, bench: Bench) -> Conversation:
    """Messages that say nothing; but if that is all there is, it is not for a pass to drop it."""
    rest = [m for m in tree.messages if m.role not in ("system", "developer")]
    if all(m.role != "tool" and all(map(is_blank_text, m.content)) for m in rest):
        return tree
    out: list[Message] = []
    for message in tree.messages:
        if message.role == "tool" or not all(map(is_blank_text, message.content)):
            out.append(message)
            continue
        why = "a message that says nothing"
        bench.log.dropped("message.empty", message.at, why)
        lose_extras(message, why, bench.log)
        for block in message.content:
            if isinstance(block, Text) and block.cache is not None:
                bench.log.dropped("cache", block.cache.at, why)
    return with_messages(tree, resettle(tree.messages, out))


def trim_final_text(tree: Conversation, bench: Bench) -> Conversation:
    """The last words of a final assistant turn lose the white space behind them."""
    last = tree.messages[-1] if tree.messages else None
    block = last.content[-1] if last is not None and last.content else None
    if last is None or last.role != "assistant" or not isinstance(block, Text):
        return tree
    text = block.text.rstrip()
    if text == block.text or not text:
        return tree
    bench.log.approximated("text.space", block.at, "a final text cannot end in white space")
    content = (*last.content[:-1], replace(block, text=text))
    return with_messages(tree, [*tree.messages[:-1], replace(last, content=content)])


def merge_same_role(tree: Conversation, bench: Bench) -> Conversation:
    out: list[Message] = []
    for message in tree.messages:
        last = out[-1] if out else None
        if (
            last is not None
            and last.role == message.role
            and message.role in ("user", "assistant")
            and last.name == message.name
        ):
            out[-1] = merged(last, message, bench.log)
        else:
            out.append(message)
    return with_messages(tree, resettle(tree.messages, out))


def merged(first: Message, second: Message, log: Ledger) -> Message:
    """Two messages as one. Of two extra fields of one name, the first stays."""
    log.approximated("message.boundary", second.at, "merged with the message before it")
    mine, more = unspell(first).extras, unspell(second).extras
    if mine is not None and more is not None:
        for key in mine.fields.keys() & more.fields.keys():
            if mine.fields[key] != more.fields[key]:
                log.dropped("extras", f"{second.at}/{escape(key)}", "the message before it says it")
        fields, blanks = more.fields | mine.fields, more.blanks | mine.blanks
        mine = Extras(mine.dialect, fields, blanks)
    content = (*first.content, *second.content)
    return replace(first, content=content, extras=mine or more)


# -- reasoning and caches -------------------------------------------------------------------------


def strip_foreign_reasoning(tree: Conversation, bench: Bench) -> Conversation:
    """Thoughts that the API did not seal itself. One that it stored is known by its id."""
    out: list[Message] = []
    for message in tree.messages:
        kept: list[Block] = []
        for block in message.content:
            if isinstance(block, Reasoning) and is_foreign(block, bench.issuer):
                why = f"{bench.issuer or 'the API'} did not seal this thought"
                bench.log.dropped("reasoning", block.at, why)
                lose_extras(block, why, bench.log)
            else:
                kept.append(block)
        out.append(with_content(message, kept))
    return with_messages(tree, out)


def is_foreign(block: Reasoning, issuer: str) -> bool:
    if block.seal is None:
        return block.id is None
    return block.seal.issuer != issuer


def complete_reasoning(tree: Conversation, bench: Bench) -> Conversation:
    """A thought without a list of summaries gets an empty one."""

    def change(block: Block) -> Block:
        extras = block.extras if isinstance(block, Reasoning) else None
        if extras is None or "summary" not in extras.spelling:
            return block
        bench.log.invented("reasoning.summary", block.at, "a thought lists its summaries: none")
        spelling = {key: value for key, value in extras.spelling.items() if key != "summary"}
        return replace(block, extras=replace(extras, spelling=spelling))

    return each_block(tree, change)


def drop_lone_reasoning(tree: Conversation, bench: Bench) -> Conversation:
    """Stored thoughts at the end of a turn, which led to nothing that is there."""
    why = "a thought without what it led to"
    out: list[Message] = []
    for message in tree.messages:
        end = len(message.content)
        while (
            message.role == "assistant" and end and isinstance(message.content[end - 1], Reasoning)
        ):
            end -= 1
        lone = [block for block in message.content[end:] if is_stored_thought(block)]
        for block in lone:
            bench.log.dropped("reasoning", block.at, why)
            lose_extras(block, why, bench.log)
        content = [b for b in message.content if not any(b is gone for gone in lone)]
        if content or not lone:
            out.append(with_content(message, content))
    return with_messages(tree, resettle(tree.messages, out))


def is_stored_thought(block: Block) -> bool:
    return isinstance(block, Reasoning) and block.id is not None


def limit_cache_marks(tree: Conversation, bench: Bench) -> Conversation:
    """At most four cache marks.

    Marks in the messages go first, the oldest first, but for the newest of them, which is what a
    growing conversation lives on. Then marks on tools and system prompt go, the oldest first.
    The automatic mark of a request counts, and never goes.
    """
    marks = marks_in(tree)
    room = MARKS - is_automatic(tree, marks)
    spare = len(marks) - room
    if spare <= 0:
        return tree
    late = [mark for mark in marks if mark.in_messages]
    early = [mark for mark in marks if not mark.in_messages]
    doomed = {id(mark.node) for mark in [*late[:-1], *early, *late[-1:]][:spare]}
    return unmarked(tree, doomed, bench.log)


def is_automatic(tree: Conversation, marks: list[Mark]) -> bool:
    """Whether the API sets a mark of its own: on the last block, if that has none yet."""
    if not isinstance(tree, Request) or tree.params.cache is None:
        return False
    content = tree.messages[-1].content if tree.messages else ()
    return not (marks and content and marks[-1].node is content[-1])


class Mark:
    """A cache mark: the node that bears it, and whether that is in the conversation proper."""

    __slots__ = ("in_messages", "node")

    def __init__(self, node: Node, in_messages: bool) -> None:
        self.node = node
        self.in_messages = in_messages


def marks_in(tree: Conversation) -> list[Mark]:
    """All marks, in the order of the prefix: tools, system prompt, messages."""
    out: list[Mark] = []
    for tool in (tree.tools or ()) if isinstance(tree, Request) else ():
        if is_marked(tool):
            out.append(Mark(tool, False))
    talk = False
    for message in tree.messages:
        talk = talk or message.role not in ("system", "developer")
        for block in message.content:
            inner = block.content if isinstance(block, ToolResult) else ()
            out += [Mark(b, talk) for b in (*inner, block) if is_marked(b)]
    return out


def is_marked(node: Node) -> bool:
    if isinstance(node, Hosted | Raw) or (isinstance(node, Tool) and node.kind == "hosted"):
        payload: Json = node.payload
        return payload.__class__ is dict and payload.get("cache_control") is not None
    return getattr(node, "cache", None) is not None


def unmarked(tree: Conversation, doomed: set[int], log: Ledger) -> Conversation:
    def change(block: Block) -> Block:
        if isinstance(block, ToolResult):
            inner = tuple(change(b) for b in block.content)
            new = unmark(block, log) if id(block) in doomed else block
            if all(a is b for a, b in zip(inner, block.content, strict=True)):
                return new
            return replace(new, content=inner)
        return unmark(block, log) if id(block) in doomed else block

    if isinstance(tree, Request) and tree.tools:
        tools = [unmark(t, log) if id(t) in doomed else t for t in tree.tools]
        tree = with_tools(tree, tools)
    return each_block(tree, change)


B = TypeVar("B", Text, Media, Passage, ToolCall, ToolResult, Tool, Block)


def unmark(node: B, log: Ledger) -> B:
    why = f"there may be {MARKS} marks; others matter more"
    if isinstance(node, Hosted | Raw) or (isinstance(node, Tool) and node.kind == "hosted"):
        log.dropped("cache", f"{node.at}/cache_control", why)
        payload = {k: v for k, v in node.payload.items() if k != "cache_control"}
        return replace(node, payload=payload)
    cache: Cache | None = getattr(node, "cache", None)
    log.dropped("cache", cache.at if cache is not None else node.at, why)
    return replace(node, cache=None)
