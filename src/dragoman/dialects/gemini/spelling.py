"""Keys in camelCase or in snake_case: the API takes both, also mixed in one document."""

from __future__ import annotations

import re

from ...core.reading import as_dict, expected
from ...errors import Malformed
from ...model import Json

_HUMP = re.compile("([A-Z])")


def snake(key: str) -> str:
    """``functionCall`` as ``function_call``."""
    return _HUMP.sub(r"_\1", key).lower()


# What the reader looks for; everything else is kept as it came, however it was spelled.
SNAKE = {
    key: snake(key)
    for key in (
        "systemInstruction", "toolConfig", "generationConfig", "serviceTier",
        "functionCall", "functionResponse", "inlineData", "fileData", "executableCode",
        "codeExecutionResult", "toolCall", "toolResponse", "toolType", "thoughtSignature",
        "mimeType", "fileUri", "displayName",
        "functionDeclarations", "parametersJsonSchema", "functionCallingConfig",
        "allowedFunctionNames",
        "maxOutputTokens", "topP", "topK", "stopSequences", "candidateCount",
        "frequencyPenalty", "presencePenalty", "responseLogprobs", "responseMimeType",
        "responseSchema", "responseJsonSchema", "thinkingConfig", "thinkingBudget",
        "thinkingLevel", "includeThoughts",
        "usageMetadata", "modelVersion", "responseId", "createTime", "promptFeedback",
        "blockReason", "finishReason", "finishMessage", "promptTokenCount",
        "candidatesTokenCount", "totalTokenCount", "cachedContentTokenCount",
        "thoughtsTokenCount", "toolUsePromptTokenCount",
    )
}  # fmt: skip


CAMEL = {other: key for key, other in SNAKE.items()}
is_camel = frozenset(CAMEL).isdisjoint
"""Whether no key of an object is in snake_case, as in all that the API writes."""


def pick(doc: dict[str, Json], key: str) -> tuple[Json, str]:
    """The value of a key in either spelling, and the key as it is spelled."""
    other = SNAKE.get(key, key)
    if key in doc:
        if other in doc and other != key:
            raise Malformed(
                f"given twice, as {key!r} and as {other!r}; remove one of them"
            )  # nor does the API choose
        return doc[key], key
    return (doc[other], other) if other in doc else (None, key)


def pick_str(doc: dict[str, Json], key: str, at: str) -> str | None:
    """A string, or nothing, under a key in either spelling."""
    value, key = pick(doc, key)
    if value is not None and value.__class__ is not str:
        expected("a string", value, f"{at}/{key}")
    return value


def pick_dict(doc: dict[str, Json], key: str, at: str) -> tuple[dict[str, Json] | None, str]:
    """An object, or nothing, under a key in either spelling, and where it stands."""
    value, key = pick(doc, key)
    where = f"{at}/{key}"
    return None if value is None else as_dict(value, where), where


def both(*keys: str) -> frozenset[str]:
    """Keys in both spellings."""
    return frozenset(keys) | {SNAKE[key] for key in keys if key in SNAKE}


def look(doc: Json, key: str, at: str) -> tuple[Json, str]:
    """What stands under a key in either spelling, and where."""
    if doc.__class__ is not dict:
        return None, f"{at}/{key}"
    other = SNAKE.get(key, key)
    key = other if key not in doc and other in doc else key
    return doc.get(key), f"{at}/{key}"
