"""Gemini: generateContent and streamGenerateContent, at Google AI and at Vertex AI.

What it does differently from its neighbours: the model and whether to stream stand in the address;
contents are made of parts, and what a part is says the key it has; the assistant is the ``model``;
results are parts of a user's turn and name their tool; ids of calls are optional; arguments and
results are objects; any part may be signed, and a signature must go back on that very part; keys
are camelCase or snake_case; everything about sampling stands in ``generationConfig``; thoughts do
not count as output tokens.
"""

from __future__ import annotations

from .response import Responses


class Gemini(Responses):
    name = "gemini"
    spec = "https://ai.google.dev/api/generate-content"
    aliases = ("google", "vertex")


DIALECT = Gemini()
