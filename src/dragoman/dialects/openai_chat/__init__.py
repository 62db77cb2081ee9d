"""OpenAI Chat Completions.

What it does differently from its neighbours: the system prompt is a message; each tool result is
a message with role ``tool`` and holds only text; arguments are text; there is no flag for a failed
tool, so its text begins with a mark; there is no place for reasoning; several answers may come at
once; cached tokens count as prompt tokens.
"""

from typing import ClassVar

from .response import Responses
from .rules import Rules
from .sniff import Sniff


class OpenAIChat(Sniff, Rules, Responses):
    spec = "https://platform.openai.com/docs/api-reference/chat"
    aliases = ("chat",)
    blank = frozenset({"annotations", "tool_calls", "reasoning_content", "reasoning", "stop"})
    shared: ClassVar[dict[str, frozenset[str]]] = {
        "openai-responses": frozenset({"prompt_cache_retention", "moderation", "user"})
    }


DIALECT = OpenAIChat()
