"""Vocabularies of a dialect, both ways: why a response ended, and what an error is.

A table has each word with its meaning. The first word of a meaning is the one that is written;
``written`` has words for other meanings, ``rest`` stands for all that have none:

    STOPS = Stops(
        {"stop": "end", "length": "length", "tool_calls": "tool-call"},
        written={"stop-sequence": "stop"},
        rest="length",
    )
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Generic, TypeVar

from ..model import Message, Refusal, StopReason, ToolCall

T = TypeVar("T", bound=str)


class Words(Generic[T]):
    """Words for one kind of meanings."""

    def __init__(
        self,
        meanings: Mapping[str, T],
        written: Mapping[T, str] | None = None,
        *,
        rest: str | None = None,
    ) -> None:
        self.meanings = dict(meanings)
        """word -> what it means"""
        first = {meaning: word for word, meaning in reversed(self.meanings.items())}
        self.written = first | dict(written or {})
        """meaning -> what is written for it"""
        self.rest = rest
        """What is written for any other; None: nothing."""

    def __contains__(self, word: object) -> bool:
        return word in self.meanings

    def word(self, meaning: T) -> str | None:
        """What is written for a meaning; None: there is no word for it."""
        return self.written.get(meaning, self.rest)


class Stops(Words[StopReason]):
    """Words for the reasons to stop."""

    def __init__(
        self,
        meanings: Mapping[str, StopReason],
        written: Mapping[StopReason, str] | None = None,
        *,
        rest: str | None = None,
        unended: str | None = None,
        vague: Collection[str] = (),
        calls: bool = False,
    ) -> None:
        super().__init__(meanings, written, rest=rest)
        self.unended = unended or rest
        """What is written where the source has no reason, and one is required; None: nothing."""
        self.vague = frozenset(vague)
        """Words of an end with which responses end in calls or in a refusal as well."""
        self.calls = calls
        """Whether whole calls before an end that has no word are written as an end in calls."""

    def but(
        self, meanings: Mapping[str, StopReason], written: Mapping[StopReason, str] | None = None
    ) -> Stops:
        """The table of a variant that has more words."""
        return Stops(
            {**self.meanings, **meanings},
            {**self.written, **(written or {})},
            rest=self.rest,
            unended=self.unended,
            vague=self.vague,
            calls=self.calls,
        )

    def reason(self, word: str, message: Message) -> StopReason:
        """Why a response ended; its content knows better than a vague word."""
        if word in self.vague:
            for block in message.content:
                if block.__class__ is ToolCall:
                    return "tool-call"
                if block.__class__ is Refusal:
                    return "filter"
        return self.meanings.get(word, "other")


NO_STOPS = Stops({})
TELLING = frozenset(
    {
        # https://ai.google.dev/api/generate-content#FinishReason
        *("RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "IMAGE_SAFETY"),
        *("IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MALFORMED_FUNCTION_CALL"),
        *("UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"),
        # https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
        *("guardrail_intervened", "malformed_tool_use"),
    }
)
"""Words that say more than the reason they stand for: why it was filtered, or what failed."""
