"""ChatML as the models of Nous Research were trained on it: Hermes 2 Pro and 3.

What it does differently from ``chatml``: the tools are a system turn of their own, before that of
the prompt, in the sentences of Hermes's template; results are a turn of the role ``tool``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ..core.reading import as_dict
from ..lint.evidence import Evidence, Verdict
from ..model import Json, Tool
from ._training import read_json
from .chatml import END, START, ChatML, turn

# The template `tool_use` of https://huggingface.co/NousResearch/Hermes-3-Llama-3.1-8B
TOOLS = (
    "You are a function calling AI model. You are provided with function signatures within "
    "<tools></tools> XML tags. You may call one or more functions to assist with the user query. "
    "Don't make assumptions about what values to plug into functions. Here are the available "
    "tools: <tools> "
)
SCHEMA = (
    '{"properties": {"arguments": {"title": "Arguments", "type": "object"}, "name": {"title": '
    '"Name", "type": "string"}}, "required": ["arguments", "name"], "title": "FunctionCall", '
    '"type": "object"}'
)
USE = f"Use the following pydantic model json schema for each tool call you will make: {SCHEMA}"
RETURN = (
    "For each function call return a json object with function name and arguments within "
    "<tool_call></tool_call> XML tags as follows:\n<tool_call>\n"
)
CALLING = (
    f" </tools>{USE}\n{RETURN}"
    '{"name": <function-name>, "arguments": <args-dict>}\n</tool_call>'
)  # fmt: skip
# So the model card has it, and templates that were made from it.
CARD = f'</tools> {USE} {RETURN}{{"arguments": <args-dict>, "name": <function-name>}}\n</tool_call>'
SIGNS = (f"{START}system\n{TOOLS}", f"{START}tool\n<tool_response>", f"{END}\n{START}tool\n")


class Hermes(ChatML):
    name = "hermes"
    spec = "https://huggingface.co/NousResearch/Hermes-3-Llama-3.1-8B"
    aliases: ClassVar[tuple[str, ...]] = ()
    results_role: ClassVar[str] = "tool"

    def head(self, words: str, tools: str) -> str:
        """The tools in a turn of their own, before the prompt."""
        listed = turn("system", TOOLS + tools.removeprefix("\n") + CALLING)
        return listed + (turn("system", words) if words else "")

    def read_head(self, body: str) -> tuple[tuple[Tool, ...], str]:
        begin, ends = TOOLS.rstrip(), (CALLING.lstrip(), CARD)
        end = next((end for end in ends if body.endswith(end)), None)
        if end is None or not body.startswith(begin):
            return (), body
        listed = body[len(begin) : -len(end)]
        docs = (read_json(line, "/text") for line in listed.split("\n") if line.strip())
        return tuple(self.read_tool(as_dict(doc, "/text")) for doc in docs), ""

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        text = doc.get("text") if doc.__class__ is dict else None
        if text.__class__ is not str or START not in text[:200]:
            return
        e = Evidence("request")
        if any(sign in text for sign in SIGNS):
            e.speaks_for("the text is ChatML with the tools of Hermes, or a turn of a tool", 0.97)
            yield e.verdict()


DIALECT = Hermes()
