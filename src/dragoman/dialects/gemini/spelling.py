"""Keys in camelCase or in snake_case: the API takes both, also mixed in one document."""

from __future__ import annotations

import re

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


def pick(doc: dict[str, Json], key: str, said: dict[str, str]) -> Json:
    """The value of a key in either spelling; ``said`` notes the one that is not usual."""
    other = SNAKE.get(key)
    if key in doc:
        if other is not None and other in doc and other != key:
            raise Malformed(f"said twice, as {key!r} and as {other!r}")  # nor does the API choose
        return doc[key]
    if other is not None and other in doc:
        said[key] = other
        return doc[other]
    return None


def both(*keys: str) -> frozenset[str]:
    """Keys in both spellings."""
    return frozenset(keys) | {SNAKE[key] for key in keys if key in SNAKE}


def spelled(out: dict[str, Json], said: dict[str, str]) -> dict[str, Json]:
    """An object with its keys as they were spelled."""
    return {said.get(key, key): value for key, value in out.items()} if said else out


def look(doc: Json, key: str, at: str) -> tuple[Json, str]:
    """What stands under a key in either spelling, and where."""
    if doc.__class__ is not dict:
        return None, f"{at}/{key}"
    other = SNAKE.get(key, key)
    key = other if key not in doc and other in doc else key
    return doc.get(key), f"{at}/{key}"
