"""Requests, histories, tools and answers of llxprt, both ways.

A request is what llxprt hands to a provider, ``GenerateChatOptions``: the contents, the tools, the
system prompt, and under ``resolved`` the few settings that all providers share.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ...core import dates, heads
from ...core.counts import ALL, INPUT, OUTPUT, Counts
from ...core.fields import Field, Fields, flag
from ...core.reading import (
    as_dict,
    as_list,
    maybe_dict,
    maybe_int,
    maybe_number,
    maybe_str,
    need_list,
    need_str,
)
from ...core.words import Stops
from ...core.writing import Writing
from ...errors import Malformed
from ...ledger import Ledger
from ...model import (
    Candidate,
    Extras,
    History,
    Json,
    Message,
    Params,
    Request,
    Response,
    Stop,
    Text,
    Tool,
    Toolbox,
    Usage,
)
from ...tools import freeform
from .._errors import ClientErrors
from .read import Known
from .write import ContentWriting, Write

FIELDS = Fields(
    Field("max_tokens", maybe_int, "resolved/maxTokens"),
    Field("temperature", maybe_number, "resolved/temperature"),
    Field("stream", flag, "resolved/streaming"),
    keys=("contents", "tools", "systemInstruction"),
)
SCHEMAS = ("parametersJsonSchema", "parameters")

# Providers say it in their own words, under stopReason or (as OpenAI's do) under finishReason.
STOPS = Stops(
    {
        "end_turn": "end",
        "stop_sequence": "stop-sequence",
        "max_tokens": "length",
        "model_context_window_exceeded": "context",
        "tool_use": "tool-call",
        "refusal": "filter",
        "pause_turn": "pause",
        "compaction": "compaction",
        "cancelled": "cancelled",
        "error": "error",
        "unfinished": "unfinished",
        "stop": "end",
        "length": "length",
        "tool_calls": "tool-call",
        "function_call": "tool-call",
        "content_filter": "filter",
        "STOP": "end",
        "MAX_TOKENS": "length",
        "SAFETY": "filter",
        "completed": "end",
        "max_output_tokens": "length",
    },
    vague=("stop", "STOP", "completed"),
)
ANSWER = ("usage", "stopReason", "model", "id", "timestamp")
# Cached tokens are counted as prompt tokens, reasoning as completion tokens.
COUNTS = Counts(
    {
        "promptTokens": INPUT,
        "completionTokens": OUTPUT,
        "totalTokens": ALL,
        "cachedTokens": ("cache_read",),
        "cacheCreationTokens": ("cache_write",),
        "reasoningTokens": ("reasoning",),
    }
)
# What an older version of the type called them.
ALIASES = {
    "cachedTokens": "cache_read_input_tokens",
    "cacheCreationTokens": "cache_creation_input_tokens",
}


class Requests(ClientErrors, Write):
    """Reading and writing what goes to a provider and what comes from it."""

    stops = STOPS
    counts = COUNTS

    has_instruction = True
    """whether the system prompt of a request stands beside its contents"""

    def writing(self, log: Ledger, dialect: str | None, *, answer: bool = False) -> ContentWriting:
        return ContentWriting(log, self.is_home(dialect), answer)

    # -- requests ---------------------------------------------------------------------------

    def read_request(self, doc: Json) -> Request:
        doc = as_dict(doc, "")
        tools = None if doc.get("tools") is None else self.read_groups(doc["tools"], "/tools")
        custom = frozenset(t.name for t in tools or () if t.kind == "custom")
        messages = self.read_history(need_list(doc, "contents", ""), "/contents", custom)
        prompt = maybe_str(doc, "systemInstruction", "")
        if prompt is not None:
            at = "/systemInstruction"
            spelling = Extras(self.name, spelling={"place": "instruction"})
            messages.insert(0, Message("system", (Text(prompt, at=at),), at=at, extras=spelling))
        ats, partly = {"model": "/resolved/model"}, {"resolved": ("model",)}
        params = Params(**FIELDS.read(doc, ats, {}, set(), partly), ats=ats)
        return Request(
            maybe_str(doc.get("resolved") or {}, "model", "/resolved"),
            tuple(messages),
            tools,
            params=params,
            dialect=self.name,
            extras=self.keep(doc, FIELDS.taken, partly=partly),
        )

    def write_request(self, tree: Request, log: Ledger) -> Json:
        w = self.writing(log, tree.dialect)
        out: dict[str, Json] = {}
        messages = tree.messages
        if count := self.count_instructions(messages, w):
            self.write_instruction(out, messages[:count], w)
        out["contents"] = self.write_history(messages[count:], w)
        if tree.tools is not None and (groups := self.write_groups(tree.tools, w) or w.home):
            out["tools"] = [] if groups is True else groups
        if tree.model is not None:
            out["resolved"] = {"model": tree.model}
        FIELDS.write(out, tree.params, w, self.name)
        self.lose(tree.params.extras, tree.params.at, log)
        return self.emit(out, tree, log)

    def count_instructions(self, messages: Sequence[Message], w: ContentWriting) -> int:
        """How many of the first messages are the system prompt that stands beside the contents."""
        if w.home:
            first = messages[0] if messages else None
            return int(first is not None and self.spelling(first).get("place") == "instruction")
        count = 0
        if self.has_instruction:
            for message in messages:
                if message.role != "system":
                    break
                count += 1
        return count

    def write_instruction(
        self, out: dict[str, Json], messages: Sequence[Message], w: ContentWriting
    ) -> None:
        texts: list[Text] = []
        for index, message in enumerate(messages):
            if index:
                self.merge_prompt(message, w.log)
            self.lose(message.extras, message.at, w.log)
            for block in message.content:
                if not isinstance(block, Text):
                    self.omit(block, w.log)
                    continue
                self.lose(block.extras, block.at, w.log)
                if texts:
                    self.join_text(block.at, w.log)
                texts.append(block)
        if texts:
            out["systemInstruction"] = "\n".join(text.text for text in texts)
        else:
            self.omit_message(messages[0], w.log)

    # -- histories --------------------------------------------------------------------------

    def read_messages(self, doc: Json) -> History:
        return History(tuple(self.read_history(as_list(doc, ""), "")), dialect=self.name)

    def write_messages(self, tree: History, log: Ledger) -> Json:
        self.lose(tree.extras, tree.at, log)
        return self.write_history(tree.messages, self.writing(log, tree.dialect))

    # -- tools ------------------------------------------------------------------------------

    def read_tools(self, doc: Json) -> Toolbox:
        return Toolbox(self.read_groups(doc, ""), dialect=self.name)

    def read_groups(self, docs: Json, at: str) -> tuple[Tool, ...]:
        """Tools come in groups; what else stands in a group is a tool of the provider."""
        tools: list[Tool] = []
        for index, group in enumerate(as_list(docs, at)):
            where = f"{at}/{index}"
            group = as_dict(group, where)
            functions = as_list(group.get("functionDeclarations", []), where)
            rest = {k: v for k, v in group.items() if k != "functionDeclarations" or not functions}
            if rest or not functions:
                name = next(iter(rest), "")
                tools.append(
                    Tool(
                        name, kind="hosted", service=name, dialect=self.name, payload=rest, at=where
                    )
                )
            for number, doc in enumerate(functions):
                place = f"{where}/functionDeclarations/{number}"
                new = bool(index) and not number and not rest
                tools.append(self.read_function(as_dict(doc, place), place, new))
        return tuple(tools)

    def read_function(self, doc: dict[str, Json], at: str, new: bool) -> Tool:
        spelling: dict[str, Json] = {"group": "new"} if new else {}
        key = next((key for key in SCHEMAS if doc.get(key) is not None), SCHEMAS[0])
        if key != SCHEMAS[0]:
            spelling["schema"] = key
        name, description = need_str(doc, "name", at), maybe_str(doc, "description", at)
        schema = doc.get(key)
        extras = self.keep(doc, ("name", "description", key), spelling)
        if (found := freeform.unwrap(description, schema)) is not None:
            description, grammar = found
            return Tool(name, description, kind="custom", grammar=grammar, at=at, extras=extras)
        return Tool(name, description, schema, at=at, extras=extras)

    def write_tools(self, tree: Toolbox, log: Ledger) -> Json:
        self.lose(tree.extras, tree.at, log)
        return self.write_groups(tree.tools, self.writing(log, tree.dialect))

    def write_groups(self, tools: Sequence[Tool], w: ContentWriting) -> list[Json]:
        groups: list[dict[str, Json]] = []
        for tool in tools:
            if tool.kind == "hosted":
                groups.append(dict(tool.payload))
                continue
            function = self.write_function(tool, w)
            if not groups or self.spelling(tool).get("group") == "new":
                groups.append({})
            groups[-1].setdefault("functionDeclarations", []).append(function)
        return list(groups)

    def write_function(self, tool: Tool, w: ContentWriting) -> Json:
        tool = freeform.as_function(tool)
        out: dict[str, Json] = {"name": tool.name}
        if tool.description is not None:
            out["description"] = tool.description
        if tool.schema is not None:
            out[self.spelling(tool).get("schema", SCHEMAS[0])] = tool.schema
        return self.emit(out, tool, w.log)

    # -- answers ----------------------------------------------------------------------------

    def read_response(self, doc: Json) -> Response:
        """One content of the ai; what is counted and why it ended stand in its metadata."""
        doc = as_dict(doc, "")
        if "speaker" not in doc and doc.get("error") is not None:
            return Response(None, None, (), failure=self.read_error(doc), dialect=self.name)
        if doc.get("speaker") != "ai":
            raise Malformed("the speaker of a response is 'ai'", "/speaker")
        found: list[Message] = []
        self.read_content(doc, "", Known(), found)
        if len(found) != 1 or found[0].role != "assistant":
            raise Malformed("tool results are not allowed in a response", "/blocks")
        message = Message("assistant", found[0].content, at="")
        metadata = maybe_dict(doc, "metadata", "") or {}
        at = "/metadata"
        taken = list(ANSWER)
        spelling: dict[str, Json] = {}
        stop = self.read_stop(metadata, message, taken, spelling)
        usage = maybe_dict(metadata, "usage", at)
        time = maybe_number(metadata, "timestamp", at)
        return Response(
            maybe_str(metadata, "id", at),
            maybe_str(metadata, "model", at),
            (Candidate(message, stop, at=""),),
            None if usage is None else self.read_usage(usage, f"{at}/usage"),
            None if time is None else whole(time / 1000),
            dialect=self.name,
            extras=self.keep(doc, ("speaker", "blocks"), spelling, partly={"metadata": taken}),
        )

    def read_stop(
        self,
        metadata: dict[str, Json],
        message: Message,
        taken: list[str],
        spelling: dict[str, Json],
    ) -> Stop | None:
        word = maybe_str(metadata, "stopReason", "/metadata")
        other = maybe_str(metadata, "finishReason", "/metadata")
        if other is not None and (
            word is None or STOPS.meanings.get(word) == STOPS.meanings.get(other)
        ):
            taken.append("finishReason")
            spelling["finishReason"] = other
        if word is None and other is None:
            return None
        said = word or other or ""
        if word is None:
            spelling["stopReason"] = None
        return self.stop_of(said, message)

    def read_usage(self, doc: dict[str, Json], at: str) -> Usage:
        old = {
            alias: doc[alias]
            for key, alias in ALIASES.items()
            if doc.get(alias) is not None and doc.get(key) in (None, doc[alias])
        }  # what says another number than the newer name is a field that nobody knows
        if not old:
            return super().read_usage(doc, at)
        said = {k: alias for k, alias in ALIASES.items() if alias in old and doc.get(k) is None}
        usage = self.counts.read(self, doc, at, old, spelled=said)
        old |= {key: doc[key] for key in ALIASES if doc.get(key) is not None}  # both may be there
        extras = usage.extras or Extras(self.name)
        return replace(usage, extras=replace(extras, blanks=extras.blanks | old))

    def write_response(self, tree: Response, log: Ledger) -> Json:
        w = self.writing(log, tree.dialect, answer=True)
        out: dict[str, Json] = {"speaker": "ai", "blocks": []}
        metadata: dict[str, Json] = {}
        if tree.id is not None:
            metadata["id"] = tree.id
        if tree.model is not None:
            metadata["model"] = tree.model
        if tree.created is not None and not (w.home or dates.has_year(tree.created)):
            self.lack("response.created", tree.at, log)  # a year of five digits
        elif tree.created is not None:
            metadata["timestamp"] = whole(tree.created * 1000)
            time = tree.created
            if not w.home and isinstance(time, float) and time * 1000 / 1000 != time:
                heads.round_date("milliseconds", tree, self, log)
        if tree.candidates:
            candidate = tree.candidates[0]
            out["blocks"] = self.write_message(candidate.message, w)["blocks"]
            self.write_stop(metadata, candidate, self.spelling(tree), w)
            self.lose(candidate.extras, candidate.at, log)
        if tree.usage is not None:
            metadata["usage"] = self.write_usage(tree.usage, w)
        if metadata:
            out["metadata"] = metadata
        return self.emit(out, tree, log)

    def write_stop(
        self,
        metadata: dict[str, Json],
        candidate: Candidate,
        spelling: dict[str, Json],
        w: ContentWriting,
    ) -> None:
        stop = candidate.stop
        if stop is None:
            return
        if stop.native is not None and self.is_home(stop.dialect):
            if "stopReason" not in spelling:
                metadata["stopReason"] = stop.native
            if "finishReason" in spelling:
                metadata["finishReason"] = spelling["finishReason"]
            return
        own = stop.native if stop.native and stop.native not in STOPS else "other"
        metadata["stopReason"] = STOPS.word(stop.reason) or own

    def write_usage(self, usage: Usage, w: Writing) -> dict[str, Json]:
        out, extras = self.counts.write(self, usage, w), usage.extras
        if w.home and extras is not None:
            for key, alias in ALIASES.items():
                if alias in extras.blanks and key not in extras.blanks:
                    out.pop(key, None)
        return self.emit(out, usage, w.log)


def whole(number: float) -> float:
    """A number, whole where it is."""
    return int(number) if number == int(number) else number
