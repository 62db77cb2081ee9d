"""GitHub Copilot's ``/responses``, as Copilot's own clients use it.

What it does differently from OpenAI Responses, of which it is a variant: the system prompt is an
item, never ``instructions``; a message always holds a list of parts, and an assistant message has
the form of a response, with a dummy id; an output holds only text, so the images of a tool
follow in a message of the user's; few parameters are sent, and nothing is ever stored, so signed
reasoning is asked for, and only Copilot's own is sent back.

What OpenAI's items say beyond the tree (``phase``, ``status``) is written in the same way. The
reverse does not hold: OpenAI refuses fields it does not know, so what only Copilot knows
(``copilot_usage``) is lost there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.endpoint import Endpoint
from ..core.lowering import SEARCH
from ..core.turns import HOISTED, unhoist
from ..ledger import Ledger
from ..model import (
    Block,
    Extras,
    Hosted,
    Json,
    Media,
    Message,
    Node,
    Raw,
    Request,
    Text,
    Tool,
    ToolChoice,
    ToolResult,
)
from .openai_responses import REASONING, OpenAIResponses, items
from .openai_responses.calls import RESULTS, found_in
from .openai_responses.parts import INPUT, ItemWriting, is_item, item_of, write_part
from .openai_responses.request import FIELDS

# https://github.com/microsoft/vscode-copilot-chat, src/platform/endpoint/node/responsesApi.ts
SENT = frozenset({"include"})
"""Fields that the tree has no name for and Copilot's clients send."""
ENCRYPTED = "reasoning.encrypted_content"
DUMMY = re.compile(r"msg_\d{1,9}")
"""The id of a message that was made up. Copilot's own client says ``msg_123`` of all of them."""


class Copilot(OpenAIResponses):
    name = "copilot"
    spec = "https://github.com/microsoft/vscode-copilot-chat"
    vendor = ""
    serves: ClassVar[tuple[str, ...]] = ()
    issuer = "copilot"
    # The token is a short-lived one that GitHub gives for an account: there is no variable for it.
    endpoints: ClassVar[tuple[Endpoint, ...]] = (
        Endpoint("/responses", "https://api.githubcopilot.com"),
    )
    aliases = ("github-copilot",)
    kin = frozenset({"openai-responses"})
    shared: ClassVar[dict[str, frozenset[str]]] = {}
    listed = True
    windows = False  # the images of a result follow in a message of the user
    can = replace(
        OpenAIResponses.can,
        choices=replace(OpenAIResponses.can.choices, parallel=cap.NO_MODE),
        outputs=cap.ANY_OUTPUT,
        refusals=cap.EVERYWHERE,
        order={"tool": {"text": 0, "image": 1, "document": 1, "refusal": 1}},
        citations=replace(OpenAIResponses.can.citations, places=cap.EVERYWHERE),
        reasoning=replace(REASONING, signatures=frozenset({("copilot", "encrypted")}), by_id=False),
        caching=cap.NO_MARKS,
    )
    fields = FIELDS.refusing(
        "temperature", "top_p", "output", "metadata", "user_id", "service_tier", "cache_key",
        "store", "conversation_id",
        why="clients of {target} never send {name}",
    )  # fmt: skip

    def accepts(self, block: Raw) -> bool:
        # OpenAI's own items mean nothing here; what a search for tools found is no such thing.
        return self.is_same(block.dialect) or block.code == SEARCH

    # -- reading ----------------------------------------------------------------------------

    def read_items(self, docs: list[Json], at: str, out: list[Message]) -> None:
        start = len(out)
        super().read_items(docs, at, out)
        read = out[start:]
        del out[start:]
        for index, message in enumerate(read):
            between = index + 1 < len(read) and read[index + 1].role == "tool"
            plain = message.extras is None or not message.extras.fields
            after_results = message.role == "user" and plain and out and out[-1].role == "tool"
            if between or not after_results or not unhoist(message, out, self.holds_all):
                out.append(message)

    def holds_all(self, result: ToolResult) -> bool:
        """Whether the output of a tool is a list of parts, which holds its images, as at OpenAI."""
        return any(isinstance(block, Media) for block in result.content)

    def read_message_item(
        self, doc: dict[str, Json], at: str, run: list[Block], reply: bool
    ) -> None:
        """A message of the assistant; a dummy id in a history says nothing."""
        start = len(run)
        super().read_message_item(doc, at, run, reply)
        made, first = doc.get("id"), run[start]
        if reply or made.__class__ is not str or not DUMMY.fullmatch(made):
            return
        if (extras := first.extras) is not None and "id" in extras.fields:
            fields = {k: v for k, v in extras.fields.items() if k != "id"}
            run[start] = replace(first, extras=replace(extras, fields=fields))

    # -- requests ---------------------------------------------------------------------------

    def write_request(self, tree: Request, log: Ledger) -> Json:
        if self.is_same(tree.dialect):
            return super().write_request(tree, log)
        out = super().write_request(self.only_sent(tree, log), log)
        if out.get("reasoning", {}).get("effort", "none") != "none" and "include" not in out:
            # Nothing is stored, so reasoning that does not come back signed is lost to the model.
            out["include"] = [ENCRYPTED]
            thinking = tree.params.thinking
            at = "" if thinking is None else thinking.at
            log.invented(
                "thinking.display",
                at,
                f"{self.name} returns encrypted reasoning only if `include` asks for it",
            )
        return out

    def only_sent(self, tree: Request, log: Ledger) -> Request:
        """The request without what Copilot's clients never send."""
        extras = tree.extras
        if extras is not None and self.knows(extras.dialect):
            unsent = {k: v for k, v in extras.fields.items() if k not in SENT}
            self.lose(replace(extras, fields=unsent), tree.at, log)
            extras = replace(
                extras, fields={k: v for k, v in extras.fields.items() if k in SENT}, inner=()
            )
        return replace(tree, extras=extras)

    def write_prompt(
        self, out: dict[str, Json], messages: Sequence[Message], w: ItemWriting
    ) -> Sequence[Message]:
        return super().write_prompt(out, messages, w) if w.same else messages

    def has_tool(self, node: Tool | ToolChoice) -> bool:
        return self.is_same(node.dialect)

    # -- items ------------------------------------------------------------------------------

    def write_items(self, messages: Sequence[Message], w: ItemWriting) -> list[Json]:
        out: list[Json] = []
        run: list[Message] = []  # what came since the last images of tools
        hoisted: list[list[Json]] = []  # of each result of these, what its output cannot hold
        for message in messages:
            content = message.content if w.same else self.sendable(message.content, w)
            if message.content and not content:
                self.lose(message.extras, message.at, w.log)
                continue
            if message.role != "tool" and any(hoisted):
                out += self.write_run(run, hoisted, w)
                run.clear()
                hoisted.clear()
            if message.role == "tool":
                content = tuple(self.only_text(block, hoisted, w) for block in content)
            run.append(message if content is message.content else replace(message, content=content))
        return out + self.write_run(run, hoisted, w)

    def write_run(
        self, run: Sequence[Message], hoisted: Sequence[list[Json]], w: ItemWriting
    ) -> list[Json]:
        """Messages as items; then one of the user's with what the outputs among them cannot hold.

        Each part of it names the id that its output has: it may have been made up for the call.
        """
        out = super().write_items(run, w)
        if any(hoisted):
            content: list[Json] = []
            for doc, parts in zip(outputs_in(out), hoisted, strict=True):
                if parts:
                    mark = HOISTED.format(id=doc.get("call_id"))
                    content += [{"type": INPUT, "text": mark}, *parts]
            out.append({"role": "user", "content": content})
        return out

    def write_turn(self, content: Sequence[Block], out: list[Json], w: ItemWriting) -> None:
        if w.reply and not w.same:
            content = self.sendable(tuple(content), w)
        super().write_turn(content, out, w)

    def sendable(self, content: tuple[Block, ...], w: ItemWriting) -> tuple[Block, ...]:
        """Blocks without what only another API knows.

        Work of OpenAI's tools, and items that refer to what OpenAI stored, mean nothing here.
        """
        kept: list[Block] = []
        for block in content:
            if isinstance(block, Hosted | Raw):
                searched = isinstance(block, Raw) and self.accepts(block)
                if not searched and not self.is_same(block.dialect):
                    self.omit(block, w.log)
                    continue
            elif isinstance(block, ToolResult):
                inner = self.sendable(block.content, w)
                block = block if inner is block.content else replace(block, content=inner)
            kept.append(block)
        same = len(kept) == len(content) and all(a is b for a, b in zip(kept, content, strict=True))
        return content if same else tuple(kept)

    def only_text(self, block: Block, hoisted: list[list[Json]], w: ItemWriting) -> Block:
        """A result as one text; its images go to a message of the user's after the results."""
        if not isinstance(block, ToolResult) or found_in(block) is not None:
            return block  # definitions of tools
        parts: list[Json] = []
        hoisted.append(parts)
        if not block.content or block.kind == "search":
            return block
        first, *rest = block.content
        if isinstance(first, Text) and not rest:
            return block
        if w.same and not (isinstance(first, Text) and all(isinstance(b, Media) for b in rest)):
            return block  # texts that cannot become one without a loss
        texts: list[Text] = []
        for part in block.content:
            if isinstance(part, Text):
                texts.append(part)
                continue
            before = len(parts)
            write_part(self, part, parts, w)
            if len(parts) > before:
                why = f"{self.name} allows only text in a tool result; written in a user turn"
                w.moved("tool_result.content", part.at, why)
        return replace(block, content=self.joined_texts(texts, block, w))

    def joined_texts(
        self, texts: Sequence[Text], result: ToolResult, w: ItemWriting
    ) -> tuple[Block, ...]:
        """The texts of a result as one, as Copilot's client joins them."""
        if len(texts) == 1:
            return tuple(texts)
        for text in texts[1:]:
            self.join_text(text.at, w.log)
        for text in texts:
            self.lose(text.extras, text.at, w.log)
        if not texts and result.is_error:
            return ()
        return (Text("".join(text.text for text in texts), at=result.at),)

    def begins_item(self, extras: Extras | None) -> bool:
        """OpenAI's items stay apart too: each has a phase of its own."""
        return extras is not None and is_item(extras) and self.knows(extras.dialect)

    def write_new_item(self, blocks: Sequence[Block], w: ItemWriting) -> Json:
        """What the assistant said, in the form of a response; in a history its id is a dummy."""
        first = blocks[0]
        # What OpenAI's item says beyond the tree.
        item = item_of(first) if self.begins_item(first.extras) else Node()
        named = item.extras is not None and "id" in item.extras.fields
        if w.reply and not named:
            out: dict[str, Json] = super().write_new_item(blocks, w)
            return self.emit(out, item, w.log)
        out = {"type": "message", "id": "", "status": "completed", "role": "assistant"}
        out = self.emit(out | {"content": items.write_spoken(self, blocks, w)}, item, w.log)
        if not w.reply:
            w.count["msg"] = w.count.get("msg", 0) + 1
            out["id"] = f"msg_{w.count['msg']}"
            if named:
                w.log.dropped("extras", f"{first.at}/id", "the id was given by another API")
        return out


def outputs_in(docs: Sequence[Json]) -> Iterator[dict[str, Json]]:
    """What tools returned, as items or in messages of the user."""
    for doc in docs:
        if doc.get("type") in RESULTS:
            yield doc
        elif doc.get("content").__class__ is list:
            yield from (part for part in doc["content"] if part.get("type") in RESULTS)


DIALECT = Copilot()
