"""ShareGPT records, as LLaMA-Factory reads them.

What it does differently from its neighbours: a turn is ``from`` and ``value``; turns of ``human``
and ``observation`` alternate with those of ``gpt`` and ``function_call``, and a record that breaks
this is skipped with a warning; calls are JSON text, several of one turn a list, and nothing stands
beside them but reasoning; results have neither an id nor a name, and several are one turn;
reasoning is a prefix, ``<think>``; the system prompt and the tools stand beside the conversation.
``chosen`` and ``rejected`` are single turns, and ``kto_tag`` judges the last one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from msgspec import MsgspecError
from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.models import DEFAULT, Models
from ..core.reading import (
    as_dict,
    as_list,
    compact,
    decode,
    maybe_bool,
    maybe_str,
    need_list,
    need_str,
)
from ..core.writing import Writing, object_of, parameters
from ..dialect import Problem
from ..errors import Malformed, Unsayable
from ..ledger import Ledger
from ..lint.evidence import Evidence, Verdict
from ..model import (
    Block,
    History,
    Json,
    Message,
    Raw,
    Reasoning,
    Request,
    Role,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    Training,
    Tree,
)
from ..tools import freeform
from ..tools.tool_errors import unmark_error
from ._training import NO_REPLY, Records, read_json

USER, RESULT, REPLY, CALL, SYSTEM = "human", "observation", "gpt", "function_call", "system"
WORDS = {
    "human": USER, "user": USER, "observation": RESULT, "tool": RESULT, "gpt": REPLY,
    "assistant": REPLY, "function_call": CALL, "system": SYSTEM,
}  # fmt: skip
"""The first of each are LLaMA-Factory's, the others are those of older files."""
ASKING, REPLYING = (USER, RESULT), (REPLY, CALL)
TURN = ("from", "value")
TOP = ("conversations", "system", "tools")
# What LLaMA-Factory itself puts between the results of parallel calls.
BETWEEN = "\n</tool_response>\n<tool_response>\n"
THINK = re.compile(r"\s*<think>\n?(.*?)\n?</think>\s*", re.DOTALL)
INLINE = re.compile(r"\s*<tool_call>\s*(.*?)\s*</tool_call>\s*", re.DOTALL)
CONTROL = re.compile(r"<(?=/?(?:think|tool_call|tool_response)>)")
ANY = (r"[\s\S]", 1 << 20)


class Turn(NamedTuple):
    """One turn as it is written: who speaks, the words, and where they stood."""

    who: str
    text: str
    node: Message | ToolResult
    places: tuple[str, ...] = ()
    calls: tuple[Json, ...] = ()
    reasoning: str = ""
    results: tuple[str, ...] = ()
    """Where the results in it stood."""

    @property
    def at(self) -> str:
        return self.node.at

    @property
    def is_empty(self) -> bool:
        return not (self.text or self.calls or self.reasoning)


class ShareGPT(Records):
    name = "sharegpt"
    spec = "https://llamafactory.readthedocs.io/en/latest/getting_started/data_preparation.html"
    aliases: ClassVar[tuple[str, ...]] = ("llama-factory",)
    history = None  # turns alternate, so that each depends on those before it
    can = replace(
        Records.can,
        developer=False,
        systems="first",
        texts=cap.Texts(empty=cap.NOWHERE, needed=frozenset({"result"})),
        emptied=False,
        unfit={**cap.RESULTS_APART, "system": frozenset({Reasoning, ToolCall, ToolResult}),
               "user": frozenset({Reasoning, ToolCall, ToolResult})},
        result_names=False,
        training=frozenset({"rejected", "label"}),
    )  # fmt: skip

    def writing(self, log: Ledger, dialect: str | None) -> Writing:
        return Writing(log, ANY, ANY, self.is_same(dialect))

    # -- reading ----------------------------------------------------------------------------

    def read_request(self, doc: Json) -> Request:
        doc = as_dict(doc, "")
        messages = self.read_system(doc)
        docs = need_list(doc, "conversations", "")
        messages += self.read_turns(docs, "/conversations")
        taken = list(TOP)
        training = None
        if doc.get("chosen").__class__ is dict and doc.get("rejected").__class__ is dict:
            taken += ("chosen", "rejected")
            chosen = self.read_turn(doc["chosen"], "/chosen")
            told = tuple(self.read_turn(doc["rejected"], "/rejected"))
            training = Training(len(chosen), told, at="/rejected")
            messages += chosen
        elif (label := maybe_bool(doc, "kto_tag", "")) is not None:
            taken.append("kto_tag")
            training = Training(1, label=label, at="/kto_tag")
        tree = Request(
            None,
            tuple(messages),
            self.read_toolbox(doc),
            training=training,
            dialect=self.name,
            extras=self.keep(doc, taken),
        )
        return freeform.unwrap_calls(tree)

    def read_messages(self, doc: Json) -> History:
        doc = as_dict(doc, "")
        messages = self.read_system(doc)
        messages += self.read_turns(need_list(doc, "conversations", ""), "/conversations")
        if doc.get("tools"):
            raise Malformed("a history has no tools; this is a request", "/tools")
        extras = self.keep(doc, TOP)
        return History(tuple(messages), dialect=self.name, extras=extras)

    def read_system(self, doc: dict[str, Json]) -> list[Message]:
        system = maybe_str(doc, "system", "")
        return [Message("system", (Text(system, at="/system"),), at="/system")] if system else []

    def read_toolbox(self, doc: dict[str, Json]) -> tuple[Tool, ...] | None:
        """Tools as JSON text; an empty text is none."""
        value = doc.get("tools")
        if value is None or value == "":
            return None
        found = read_json(value, "/tools") if value.__class__ is str else value
        tools = [self.read_tool(as_dict(doc, "/tools")) for doc in as_list(found, "/tools")]
        return tuple(freeform.unwrap_tool(tool, self.name) for tool in tools)

    def read_tool(self, doc: dict[str, Json]) -> Tool:
        inner = doc["function"] if doc.get("function").__class__ is dict else doc
        known = ("name", "description", "parameters")
        name = need_str(inner, "name", "/tools")
        description = maybe_str(inner, "description", "/tools")
        extras = self.keep(doc, ("type",), partly={"function": known}) if inner is not doc else (
            self.keep(doc, known)
        )  # fmt: skip
        return Tool(name, description, inner.get("parameters"), at="/tools", extras=extras)

    def read_turns(self, docs: list[Json], at: str) -> list[Message]:
        out: list[Message] = []
        for index, doc in enumerate(docs):
            turns = self.read_turn(doc, f"{at}/{index}")
            if out and turns and turns[0].role == out[-1].role == "tool":
                turns[0] = self.set_apart(turns[0])
            out += turns
        return out

    def set_apart(self, message: Message) -> Message:
        """A turn of results that follows another one, though turns alternate."""
        (result,) = message.content
        result = replace(result, extras=self.respell(result.extras, apart=True))
        return replace(message, content=(result,))

    def read_turn(self, doc: Json, at: str) -> list[Message]:
        doc = as_dict(doc, at)
        word, value = need_str(doc, "from", at), need_str(doc, "value", at)
        if (who := WORDS.get(word)) is None:
            raise Malformed(f"unknown speaker {word!r}; there are: {', '.join(WORDS)}", at)
        extras = self.keep(doc, TURN)
        where = f"{at}/value"
        if who == RESULT:
            return self.read_results(value, at, doc)
        if who in (USER, SYSTEM):
            role: Role = "user" if who == USER else "system"
            if who == SYSTEM:  # LLaMA-Factory's stands beside the turns
                extras = self.respell(extras, place="turn")
            content = (Text(value, at=where),) if value else ()
            return [Message(role, content, at=at, extras=extras)]
        blocks: list[Block] = []
        if (found := THINK.match(value)) is not None:
            blocks.append(Reasoning((found[1],), at=where))
            value = value[found.end() :]
        blocks += read_calls(value, where) if who == CALL else read_words(value, where)
        return [Message("assistant", tuple(blocks), at=at, extras=extras)]

    def read_results(self, value: str, at: str, doc: dict[str, Json]) -> list[Message]:
        out: list[Message] = []
        for index, words in enumerate(value.split(BETWEEN)):
            failed, text = unmark_error(words)
            content = () if text is None else (Text(text, at=f"{at}/value"),)
            extras = None if index else self.keep(doc, TURN)
            result = ToolResult(None, content, failed, at=at, extras=extras)
            out.append(Message("tool", (result,), at=at))
        return out

    # -- writing ----------------------------------------------------------------------------

    def write(self, tree: Tree, log: Ledger) -> Json:
        """What no reply follows goes first, so that nothing of it is lowered."""
        if isinstance(tree, Request | History) and not self.is_same(tree.dialect):
            log.target = self.name
            told = tree.training if isinstance(tree, Request) else None
            silent = tuple(message for message in tree.messages if is_silent(message))
            messages: Sequence[Message] = tree.messages
            if silent:
                messages = tuple(message for message in messages if not is_silent(message))
            if told is None or told.rejected is None:
                messages = self.results_in_order(messages, log)
                messages = messages if log.restores else self.answered(messages, log)
                if messages is not tree.messages:
                    tree = replace(tree, messages=(*messages, *silent))
        return super().write(tree, log)

    def write_request(self, tree: Request, log: Ledger) -> Json:
        w = self.writing(log, tree.dialect)
        self.lose_settings(tree, w)
        told = tree.training
        pair = told is not None and told.rejected is not None
        messages, chosen = tree.messages, tree.messages[len(tree.messages) :]
        if told is not None and pair:
            cut = max(len(messages) - (told.completion or 0), 0)
            messages, chosen = messages[:cut], messages[cut:]
        out = self.write_conversation(messages, w, asked=pair)
        if tree.tools or (tree.tools is not None and w.same):
            tools = [self.write_tool(tool, w) for tool in tree.tools or ()]
            out["tools"] = compact(tools)
        if told is not None and told.rejected is not None:
            out["chosen"] = self.write_one(chosen, told.at, w)
            out["rejected"] = self.write_one(told.rejected, told.at, w)
        elif told is not None and told.label is not None:
            out["kto_tag"] = told.label
            if told.completion not in (None, 1):
                why = f"{self.name} judges the last turn alone"
                log.approximated("training.completion", told.at, why)
        return self.emit(out, tree, log)

    def write_messages(self, tree: History, log: Ledger) -> Json:
        out = self.write_conversation(tree.messages, self.writing(log, tree.dialect))
        return self.emit(out, tree, log)

    def write_conversation(
        self, messages: Sequence[Message], w: Writing, asked: bool = False
    ) -> dict[str, Json]:
        """The system prompt, and turns that alternate; ``asked``: the reply stands elsewhere."""
        if asked and not w.same:
            messages = self.results_in_order(messages, w.log)
        elif not (w.same or w.log.restores):
            messages = self.answered(messages, w.log)  # of the last reply nothing may be left
        count = 0
        while count < len(messages) and messages[count].role == "system":
            if w.same and self.spelling(messages[count]):
                break  # it stood among the turns
            count += 1
        texts: list[tuple[str, str]] = []
        for message in messages[:count]:
            self.lose(message.extras, message.at, w.log)
            words = self.words(message, w)
            if not w.same:
                self.note_prompt(message, bool(texts), bool(words), w.log)
            texts += words
        out: dict[str, Json] = {}
        turns = [self.write_turn(message, w) for message in messages[count:]]
        turns = joined_results(turns) if w.same else self.alternating(turns, w.log)
        out["conversations"] = [self.spell(turn, w) for turn in turns]
        if texts:
            out["system"] = self.join_texts(texts, w.log)
        return out

    def write_one(self, messages: Sequence[Message], at: str, w: Writing) -> Json:
        """One side of a preference pair, which is one turn."""
        turns = [self.write_turn(message, w) for message in messages]
        if len(turns) != 1 or turns[0].who not in REPLYING:
            raise Unsayable(f"a preference pair of {self.name} has one reply on each side", at)
        if not w.same:
            self.note_joined(turns[0], w.log)
        return self.spell(turns[0], w)

    def words(self, message: Message, w: Writing) -> list[tuple[str, str]]:
        return [
            (text, block.at)
            for block in message.content
            if (text := self.plain(block, w.log)) is not None
        ]

    def is_lost(self, text: str, at: str, log: Ledger) -> bool:
        return False  # what is empty was lowered, and white space stays

    def write_turn(self, message: Message, w: Writing) -> Turn:
        if message.role == "tool":
            return self.write_result(message, w)
        if message.role != "assistant":
            self.lose(message.extras, message.at, w.log)
            spoken = self.words(message, w)
            who = SYSTEM if message.role == "system" else USER
            places = tuple(at for _, at in spoken)
            if w.same:
                return Turn(who, self.join_texts(spoken, w.log), message, places)
            return Turn(who, "\n".join(text for text, _ in spoken), message, places)
        self.lose(message.extras, message.at, w.log)
        calls: list[Json] = []
        texts: list[tuple[str, str]] = []
        reasoning: list[str] = []
        for block in message.content:
            if isinstance(block, ToolCall):
                calls.append(self.write_call(block, w))
            elif isinstance(block, Reasoning):
                self.lose(block.extras, block.at, w.log)
                if reasoning:
                    self.join_text(block.at, w.log)
                words = "\n\n".join(filter(None, block.words))
                reasoning.append(self.defused(words, block.at, w))
            elif (text := self.plain(block, w.log)) is not None:
                texts.append((self.defused(text, block.at, w), block.at))
        if w.same:
            words = self.join_texts(texts, w.log)
        else:  # noted when the turns are made, where nothing of it is left out
            words = "\n".join(text for text, _ in texts)
        if calls and texts and not w.same:
            self.lose_texts([at for _, at in texts], w.log)
            words, texts = "", []
        reasoned = "\n\n".join(filter(None, reasoning))
        places = tuple(at for _, at in texts)
        return Turn(CALL if calls else REPLY, words, message, places, tuple(calls), reasoned)

    def lose_texts(self, ats: Sequence[str], log: Ledger) -> None:
        for at in ats:
            why = f"{self.name} has no field for text beside tool calls"
            log.dropped("content.role", at, why)

    def defused(self, text: str, at: str, w: Writing) -> str:
        """A reply that is not read as reasoning or as a call."""
        if w.same or "<" not in text:
            return text
        safe, count = CONTROL.subn("< ", text)
        if count:
            why = f"a space is inserted into a tag of {self.name} in the text"
            w.log.approximated("text.control", at, why)
        return safe

    def write_call(self, call: ToolCall, w: Writing) -> Json:
        self.lose_call(call, w)
        call = freeform.as_function(call, w.same)
        return {"name": call.name, "arguments": object_of(call, w.log)}

    def write_result(self, message: Message, w: Writing) -> Turn:
        result = message.content[0] if message.content else None
        if not isinstance(result, ToolResult):
            raise Malformed("only tool results are allowed in a tool message", message.at)
        self.lose(message.extras, message.at, w.log)
        self.lose(result.extras, result.at, w.log)
        if result.call_id is not None:
            why = f"{self.name} has no field for call ids; results match calls by order"
            w.log.dropped("tool_call.id", result.at, why)
        parts = ((self.plain(block, w.log), block.at) for block in result.content)
        text = self.join_texts([(part, at) for part, at in parts if part is not None], w.log)
        if not w.same and BETWEEN in text:
            text = self.defused(text, result.at, w)
        return Turn(RESULT, text, result, (result.at,), results=(result.at,))

    def write_tool(self, tool: Tool, w: Writing) -> Json:
        tool = freeform.as_function(tool, w.same)
        out: dict[str, Json] = {"name": tool.name}
        if tool.description is not None:
            out["description"] = tool.description
        if tool.schema is not None:
            out["parameters"] = tool.schema if w.same else parameters(tool, w.log)
        return self.emit(out, tool, w.log)

    def alternating(self, turns: Sequence[Turn], log: Ledger) -> list[Turn]:
        """Turns of both sides by turns; two of one side become one."""
        out: list[Turn] = []
        for turn in joined_results(turns):
            last = out[-1] if out else None
            if last is None and turn.who in REPLYING:
                self.add_user_turn(turn.at, log)
                out.append(Turn(USER, "", Message("user", at=turn.at)))
            if last is None or (last.who in ASKING) != (turn.who in ASKING):
                out.append(turn)
            else:
                out[-1] = self.merged(last, turn, log)
        for turn in out:
            self.note_joined(turn, log)
        return out

    def note_joined(self, turn: Turn, log: Ledger) -> None:
        for at in turn.places[1:] if turn.who != RESULT else ():
            self.join_text(at, log)

    def answered(self, messages: Sequence[Message], log: Ledger) -> Sequence[Message]:
        """Messages up to the last reply: LLaMA-Factory skips a record that does not end in one."""
        end = len(messages)
        while end and messages[end - 1].role != "assistant":
            end -= 1
        if not end:
            spoken = [message.at for message in messages if message.role != "system"]
            raise Unsayable(NO_REPLY, spoken[0] if spoken else "")
        why = f"a record of {self.name} ends in a reply"
        for message in messages[end:]:
            if not message.content:
                log.dropped("training.unanswered", message.at, why)
            for block in message.content:
                log.dropped("training.unanswered", block.at, why)
                self.lose(block.extras, block.at, log)
            self.lose(message.extras, message.at, log)
        return messages[:end]

    def merged(self, first: Turn, second: Turn, log: Ledger) -> Turn:
        """Two turns of one side as one: a result that the user comments, or two replies."""
        if first.who != second.who and first.who in ASKING:
            return self.commented(first, second, log)
        if isinstance(first.node, Message) and not first.node.content:
            self.omit_message(first.node, log)
            return second
        why = f"turns alternate in {self.name}; merged with the turn before it"
        places = (*first.places, *second.places)
        calls = (*first.calls, *second.calls)
        words, gone = joined(first.text, second.text), False
        if calls and words:
            spoken = [at for turn in (first, second) if turn.text for at in turn.places]
            self.lose_texts(spoken, log)
            first, second = first._replace(text=""), second._replace(text="")
            words, places = "", ()
            gone = first.is_empty or second.is_empty
        if not gone:
            log.approximated("message.boundary", second.at, why)
        if second.reasoning and not first.is_empty:
            log.approximated("content.order", second.at, f"reasoning comes first in {self.name}")
        reasoning = joined(first.reasoning, second.reasoning)
        return Turn(CALL if calls else first.who, words, first.node, places, calls, reasoning)

    def commented(self, first: Turn, second: Turn, log: Ledger) -> Turn:
        """What the user says beside results, which is written in their turn."""
        said, results = (second, first.results) if second.who == USER else (first, second.results)
        if said.text:
            why = f"turns alternate in {self.name}; written in the turn of the results"
            for at in said.places:
                log.approximated("content.role", at, why)
            beside = results[-1] if said is second else results[0]
            why = f"turns alternate in {self.name}; the words of the user stand beside it"
            log.approximated("tool_result", beside, why)
        else:
            log.dropped("message.empty", said.at, f"turns alternate in {self.name}")
        words, places = joined(first.text, second.text), (*first.places, *second.places)
        return Turn(RESULT, words, first.node, places, results=results)

    def spell(self, turn: Turn, w: Writing) -> Json:
        reasoning = f"<think>\n{turn.reasoning}\n</think>\n\n" if turn.reasoning else ""
        value = turn.text
        who = turn.who
        if turn.calls and turn.text:  # of an older file: the calls are tags in the text
            tags = [f"<tool_call>\n{compact(call)}\n</tool_call>" for call in turn.calls]
            who, value = REPLY, "\n".join([turn.text, *tags])
        elif turn.calls:
            value = compact(turn.calls[0] if len(turn.calls) == 1 else list(turn.calls))
        out: dict[str, Json] = {"from": who, "value": reasoning + value}
        return self.emit(out, turn.node, w.log) if w.same else out

    # -- rules and detection ----------------------------------------------------------------

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        """What LLaMA-Factory skips: turns that do not alternate, and a record without a reply."""
        docs = doc.get("conversations") if doc.__class__ is dict else None
        if docs.__class__ is not list or facet not in ("request", "messages"):
            return
        words = [turn.get("from") if turn.__class__ is dict else None for turn in docs]
        begin = 1 if words[:1] == ["system"] else 0
        for index, word in enumerate(words[begin:], begin):
            wanted = REPLYING if (index - begin) % 2 else ASKING
            if WORDS.get(str(word)) not in wanted:
                what = f"expected {' or '.join(wanted)}, got {word!r}: the record is skipped"
                yield Problem("alternation", f"/conversations/{index}/from", what)
                return
        paired = "chosen" in doc and "rejected" in doc
        if (len(words) - begin) % 2 != int(paired):
            side = "a question" if paired else "a reply"
            yield Problem("alternation", "/conversations", f"the record does not end in {side}")

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        docs = doc.get("conversations") if doc.__class__ is dict else None
        if docs.__class__ is not list or not docs:
            return
        e = Evidence("request")
        if all(turn.__class__ is dict and turn.keys() >= {*TURN} for turn in docs[:20]):
            e.speaks_for("'conversations' with 'from' and 'value'", 0.97)
            yield e.verdict()


def read_calls(text: str, at: str) -> list[Block]:
    """The calls of a turn: one object, or a list of them."""
    value = read_json(text, at)
    calls = value if value.__class__ is list else [value]
    return [read_call(as_dict(call, at), at) for call in calls]


def read_call(doc: dict[str, Json], at: str) -> ToolCall:
    value = doc.get("arguments")
    text = value if value.__class__ is str else compact({} if value is None else value)
    return ToolCall(None, need_str(doc, "name", at), text, at=at)


def read_words(text: str, at: str) -> list[Block]:
    """A reply: words, and calls in tags, as older files have them."""
    out: list[Block] = []
    words = text
    if "<tool_call>" in text:
        for found in INLINE.finditer(text):
            try:
                value = decode(found[1])
                out.append(read_call(as_dict(value, at), at))
            except (MsgspecError, Malformed, RecursionError):
                return [Text(text, at=at)]
        words = INLINE.sub("", text)
    return [Text(words, at=at), *out] if words else out


def joined_results(turns: Sequence[Turn]) -> list[Turn]:
    """Turns in which results that follow each other are one, but for those that stood apart."""
    out: list[Turn] = []
    for turn in turns:
        last = out[-1] if out else turn
        apart = turn.node.extras is not None and "apart" in turn.node.extras.spelling
        if out and turn.who == last.who == RESULT and not apart:
            text, places = f"{last.text}{BETWEEN}{turn.text}", (*last.places, *turn.places)
            results = (*last.results, *turn.results)
            out[-1] = last._replace(text=text, places=places, results=results)
        else:
            out.append(turn)
    return out


def joined(first: str, second: str) -> str:
    return f"{first}\n\n{second}" if first and second else first or second


def is_silent(message: Message) -> bool:
    """Whether a message holds nothing but blocks that no other dialect can be told of: whatever
    stands around it follows each other, and it is reported on its own."""
    return bool(message.content) and all(
        isinstance(block, Raw) and block.text is None and not block.tools
        for block in message.content
    )


DIALECT = ShareGPT()
