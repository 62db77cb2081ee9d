"""Which dialects are variants of which, by their classes: nobody has to list them."""

from __future__ import annotations

from dragoman import dialects
from dragoman.dialects.openai_chat import OpenAIChat
from dragoman.dialects.openai_chat.variant import Compatible
from dragoman.dialects.openai_responses import OpenAIResponses


def family(kind: type, *without: str) -> tuple[str, ...]:
    """The names of the dialects of a class, less those that are named."""
    spoken = {name: dialects.get(name) for name in dialects.names()}
    apis = (name for name, d in spoken.items() if not d.lines and "request" in d.facets())
    names = (name for name in apis if isinstance(dialects.get(name), kind))
    return tuple(name for name in names if name not in without)


# Mistral shares code with Chat Completions, but it is an API of its own.
CHAT = family(OpenAIChat, "mistral")
COMPATIBLE = family(Compatible)
RESPONSES = family(OpenAIResponses)
