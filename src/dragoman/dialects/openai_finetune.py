"""Training files of OpenAI, which most hosted tuners read: SFT examples and preference pairs.

What it does differently from Chat Completions: a line is a conversation with its tools, and names
neither a model nor a setting but ``parallel_tool_calls``; ``weight`` 0 leaves a reply out of the
loss; nothing is null; there is no reasoning. A preference pair is an ``input`` with a
``preferred_output`` and a ``non_preferred_output``, one reply each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.reading import as_dict, maybe_bool, maybe_str, need_dict, need_list, need_str
from ..core.writing import Writing, data_uri, split_data_uri
from ..errors import Unsayable
from ..ledger import Ledger
from ..lint.evidence import Evidence, Verdict, objects
from ..model import (
    Block,
    History,
    Json,
    Media,
    Message,
    Request,
    Source,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    Training,
)
from ..tools import freeform, schemas
from ._chatlike import Chatlike

PREFERRED, OTHER = "preferred_output", "non_preferred_output"
TOP = ("messages", "tools", "functions", "parallel_tool_calls")
IDS = (".", 40)
NAMES = ("[a-zA-Z0-9_-]", 64)
ONE = "a preference pair of {} has one reply on each side"
FUNCTION_KEYS = ("name", "description", "parameters", "strict")


class OpenAIFinetune(Chatlike):
    name = "openai-finetune"
    spec = "https://platform.openai.com/docs/guides/supervised-fine-tuning"
    aliases: ClassVar[tuple[str, ...]] = (
        "azure-finetune",
        "together-finetune",
        "fireworks-finetune",
    )
    windows = False  # a pair has its messages in several places
    kin = frozenset({"mistral-finetune"})
    can = replace(
        Chatlike.can,
        strict=True,
        names=cap.HISTORY,
        reasoning=cap.ReasoningForm(places=cap.NOWHERE),
        choices=cap.Choices(
            modes=frozenset(),
            alone=cap.NO_MODE,
            subsets=cap.NO_MODE,
            beside=frozenset({"parallel"}),
        ),
        media=cap.MediaForms(
            kinds={
                "image": cap.Form(
                    sources=frozenset({"url", "base64"}),
                    labels=frozenset({"detail"}),
                    usual="image/png",
                )
            },
            roles=frozenset({"user"}),
            texts=cap.WORDS,
        ),
        order={"assistant": {"text": 0, "call": 1}},
        result_names=False,
        training=frozenset({"rejected"}),
    )

    def writing(self, log: Ledger, dialect: str | None) -> Writing:
        return Writing(log, IDS, NAMES, self.is_same(dialect))

    # -- reading ----------------------------------------------------------------------------

    def read_request(self, doc: Json) -> Request:
        doc = as_dict(doc, "")
        if PREFERRED in doc:
            tree = self.read_pair(doc)
        else:
            tree = self.read_input(doc, "", TOP)
        return freeform.unwrap_calls(tree)

    def read_input(self, doc: dict[str, Json], at: str, known: Sequence[str]) -> Request:
        """The conversation of a line, with its tools."""
        messages = self.read_turns(need_list(doc, "messages", at), f"{at}/messages")
        key = "functions" if doc.get("tools") is None and doc.get("functions") else "tools"
        tools = self.read_toolbox(doc.get(key), f"{at}/{key}")
        parallel = maybe_bool(doc, "parallel_tool_calls", at)
        where = f"{at}/parallel_tool_calls"
        choice = None
        if parallel is not None:
            choice = ToolChoice(parallel=parallel, dialect=self.name, at=where)
        extras = self.keep(doc, [k for k in known if k != "functions" or key == k])
        return Request(None, messages, tools, choice, dialect=self.name, extras=extras)

    def read_pair(self, doc: dict[str, Json]) -> Request:
        tree = self.read_input(need_dict(doc, "input", ""), "/input", TOP)
        chosen = self.read_turns(need_list(doc, PREFERRED, ""), f"/{PREFERRED}")
        rejected = self.read_turns(need_list(doc, OTHER, ""), f"/{OTHER}")
        told = Training(len(chosen), rejected, at=f"/{OTHER}")
        extras = self.keep(doc, (PREFERRED, OTHER), partly={"input": TOP})
        messages = (*tree.messages, *chosen)
        return replace(tree, messages=messages, training=told, extras=extras)

    def read_messages(self, doc: Json) -> History:
        if doc.__class__ is list:
            return History(self.read_turns(doc, ""), dialect=self.name)
        doc = as_dict(doc, "")
        messages = self.read_turns(need_list(doc, "messages", ""), "/messages")
        return History(messages, dialect=self.name, extras=self.keep(doc, ("messages",)))

    def read_turn(self, doc: dict[str, Json], at: str) -> Message:
        """A message; ``function_call`` and ``function`` are from before there were tools."""
        if doc.get("role") == "function":
            doc = {**doc, "role": "tool"}
        message = super().read_turn(doc, at)
        legacy = doc.get("function_call")
        if message.role != "assistant" or legacy.__class__ is not dict:
            return message
        where = f"{at}/function_call"
        call = ToolCall(
            None,
            need_str(legacy, "name", where),
            maybe_str(legacy, "arguments", where) or "",
            at=where,
            extras=self.keep(legacy, ("name", "arguments")),
        )
        known = ("role", "content", "name", "tool_calls", "function_call")
        extras = self.keep(doc, known)
        content = tuple(b for b in message.content if getattr(b, "text", "x"))
        return replace(message, content=(*content, call), extras=extras)

    def read_part(self, doc: dict[str, Json], at: str) -> Block:
        inner = doc.get("image_url")
        if doc.get("type") != "image_url" or inner.__class__ is not dict:
            return super().read_part(doc, at)
        url, found = need_str(inner, "url", f"{at}/image_url"), None
        found = split_data_uri(url)
        source = Source("url", url) if found is None else Source("base64", found[1], found[0])
        detail = maybe_str(inner, "detail", f"{at}/image_url")
        extras = self.keep(doc, ("type",), partly={"image_url": ("url", "detail")})
        return Media("image", source, detail, at=at, extras=extras)

    def read_tool(self, doc: dict[str, Json], at: str) -> Tool:
        tool = super().read_tool(doc, at)
        inner = doc["function"] if doc.get("function").__class__ is dict else doc
        strict = maybe_bool(inner, "strict", at)
        if strict is None:
            return tool
        if inner is doc:
            extras = self.keep(doc, FUNCTION_KEYS)
        else:
            extras = self.keep(doc, ("type",), partly={"function": FUNCTION_KEYS})
        return replace(tool, strict=strict, extras=extras)

    # -- writing ----------------------------------------------------------------------------

    def write_request(self, tree: Request, log: Ledger) -> Json:
        w = self.writing(log, tree.dialect)
        self.lose_settings(tree, w)
        messages = tree.messages if w.same else self.results_in_order(tree.messages, log)
        told = tree.training
        chosen = messages[len(messages) :]
        if told is not None and told.rejected is not None:
            cut = max(len(messages) - (told.completion or 0), 0)
            messages, chosen = messages[:cut], messages[cut:]
        out: dict[str, Json] = {"messages": self.write_turns(messages, w)}
        if tree.tools or (tree.tools is not None and w.same):
            out["tools"] = self.write_toolbox(tree.tools or (), w)
        choice = tree.tool_choice
        if choice is not None:
            self.lose(choice.extras, choice.at, log)
            if choice.parallel is not None and (w.same or not choice.parallel):
                out["parallel_tool_calls"] = choice.parallel
        if told is not None and told.rejected is not None:
            out = {"input": out, **self.write_replies(chosen, told.rejected, told.at, w)}
        return self.emit(out, tree, log)

    def write_replies(
        self, chosen: Sequence[Message], rejected: Sequence[Message], at: str, w: Writing
    ) -> dict[str, Json]:
        for side in (chosen, rejected):
            if not w.same and (len(side) != 1 or side[0].role != "assistant"):
                raise Unsayable(ONE.format(self.name), side[0].at if side else at)
        return {PREFERRED: self.write_turns(chosen, w), OTHER: self.write_turns(rejected, w)}

    def write_messages(self, tree: History, log: Ledger) -> Json:
        w = self.writing(log, tree.dialect)
        messages = tree.messages if w.same else self.results_in_order(tree.messages, log)
        written = self.write_turns(messages, w)
        if tree.extras is not None and self.is_same(tree.extras.dialect):
            return self.emit({"messages": written}, tree, log)
        self.lose(tree.extras, tree.at, log)
        return written

    def put_content(self, doc: dict[str, Json], parts: list[Json], calls: bool, w: Writing) -> None:
        if parts or not calls:
            super().put_content(doc, parts, calls, w)

    def write_part(self, block: Block, w: Writing) -> list[Json]:
        if not isinstance(block, Media):
            return super().write_part(block, w)
        source = block.source
        url = source.value
        if source.kind == "base64":
            url = data_uri(source.media_type or "image/png", source.value)
        image: dict[str, Json] = {"url": url}
        if block.detail is not None and (w.same or block.detail != "auto"):
            image["detail"] = block.detail
        return [self.emit({"type": "image_url", "image_url": image}, block, w.log)]

    def write_call(self, call: ToolCall, names: dict[str, str], w: Writing) -> Json:
        call = freeform.as_function(call, w.same)
        arguments = call.arguments if w.same else call.arguments or "{}"
        function = {"name": w.tool_name(call.name, call.at), "arguments": arguments}
        out: dict[str, Json] = {"type": "function", "function": function}
        if not w.same or call.id is not None:
            out = {"id": self.id_of(call, w), **out}
            names[out["id"]] = function["name"]
        return self.emit(out, call, w.log)

    def write_result(self, result: ToolResult, names: dict[str, str], w: Writing) -> Json:
        out: dict[str, Json] = {"role": "tool"}
        if not w.same or result.call_id is not None:
            out["tool_call_id"] = self.id_of(result, w)
        elif result.name is not None:
            out["role"] = "function"
        if result.name is not None and w.same:
            out["name"] = result.name
        parts = [part for block in result.content for part in self.write_part(block, w)]
        self.put_content(out, parts, False, w)
        return self.emit(out, result, w.log)

    def id_of(self, block: ToolCall | ToolResult, w: Writing) -> str:
        return w.call_id(block) if isinstance(block, ToolCall) else w.result_id(block)

    def write_tool(self, tool: Tool, w: Writing) -> Json:
        out: dict[str, Json] = super().write_tool(tool, w)
        inner, strict = out["function"], tool.strict
        if strict and not w.same and "parameters" in inner:
            schema = inner["parameters"]
            inner["parameters"], strict = schemas.strictly(tool, schema, schemas.OPENAI, w.log)
        if strict is not None:
            inner["strict"] = strict
        return out

    # -- detection --------------------------------------------------------------------------

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        if doc.__class__ is not dict:
            return
        e = Evidence("request")
        if doc.get("input").__class__ is dict and PREFERRED in doc:
            e.speaks_for(f"an 'input' with {PREFERRED!r}", 0.99)
        elif doc.get("messages").__class__ is list and not doc.keys() - {*TOP}:
            for message in objects(doc["messages"]):
                if message.get("role") == "assistant" and message.get("weight") in (0, 1):
                    e.speaks_for("a message with a weight, and no model", 0.98)
        if e.signs:
            yield e.verdict()


DIALECT = OpenAIFinetune()
