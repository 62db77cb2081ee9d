"""Together's chat completions, a variant of OpenAI Chat.

What it does differently: the model's reasoning stands beside the reply as ``reasoning``, and is
turned on and off by an object of that name; how many alternatives of each token are told is the
number that ``logprobs`` is; a reply may end with ``eos``; there is top-k sampling; audio and
videos have addresses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.fields import Field, number, strings, whole
from ..core.reading import maybe_bool, maybe_int
from ..core.writing import Writing
from ..lint.evidence import Verdict, told_by
from ..model import Block, Json, Message, Params, Request, Text, Thinking
from .openai_chat import messages as chat_messages
from .openai_chat.parts import PLAIN_TEXT
from .openai_chat.request import OLD_LIMIT
from .openai_chat.response import STOPS
from .openai_chat.sniff import Marks
from .openai_chat.variant import MORE_MEDIA, Compatible, compatible

SWITCH = "reasoning"
MARKS = Marks(
    request={
        "context_length_exceeded_behavior": 0.4, "safety_model": 0.7, "compliance": 0.4,
        "chat_template_kwargs": 0.1,
    },
    response={"warnings": 0.3, "prompt": 0.3},
)  # fmt: skip


def told(doc: Mapping[str, Json], key: str, at: str) -> bool | None:
    """Whether there shall be token probabilities: a number says of how many tokens."""
    value = doc.get(key)
    return maybe_bool(doc, key, at) if value.__class__ is not int else True


class Together(Compatible):
    name = "together"
    spec = "https://docs.together.ai/reference/chat-completions-1"
    issuer = "together"
    # together 2 (PyPI), _client.py
    endpoints = compatible(
        "https://api.together.ai", "TOGETHER_API_KEY", prefix="/v1",
        url_variable="TOGETHER_BASE_URL",
    )  # fmt: skip
    thinking_key = "reasoning"
    # There, types/chat: completion_create_params.py, chat_completion_user_message_param.py
    can = replace(
        Compatible.can,
        developer=False,
        strict=False,
        results=replace(Compatible.can.results, joint="\n\n"),
        choices=replace(Compatible.can.choices, parallel=cap.NO_MODE),
        thinking=replace(
            cap.BY_EFFORT, modes=frozenset({"on", "off"}), efforts=("low", "medium", "high")
        ),
        media=cap.MediaForms(kinds=MORE_MEDIA, texts=cap.WORDS),
    )
    media_urls: ClassVar[dict[str, str]] = {"video": "video_url", "audio": "audio_url"}
    any_audio = True
    numbers_calls = True  # types/tool_choice.py: `index: float`
    fields = Compatible.fields.but(
        OLD_LIMIT,
        Field("top_k", whole),
        Field("frequency_penalty", number, least=-2, most=2),
        Field("presence_penalty", number, least=-2, most=2),
        Field("logprobs", told),
        Field("top_logprobs", whole, least=0, most=20),
        Field("stop", strings, single=True),
        methods={"thinking": ("reasoning_effort", SWITCH)},
    ).refusing("verbosity", "store", "metadata", "cache_key", "user_id")
    # types/chat/chat_completion.py: 'stop', 'eos', 'length', 'tool_calls', 'function_call'
    stops = STOPS.but({"eos": "end"}, {"filter": "stop"})

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        found = MARKS.signs(doc)
        if doc.__class__ is dict and doc.get("logprobs").__class__ is int:
            found["a number of token probabilities"] = 0.4
        return told_by(found, super().sniff(doc))

    # -- messages ---------------------------------------------------------------------------

    def write_history(self, messages: Sequence[Message], w: Writing) -> list[Json]:
        """The content of all turns but the user's is a string (types/chat: `content: str`)."""
        if not w.same and messages is not w.log.plain:
            messages = [self.in_one_text(message, w) for message in messages]
        docs = chat_messages.write_history(self, messages, w)
        if not w.same:
            for doc in docs:
                parts = doc["content"]
                if doc["role"] != "user" and parts.__class__ is list and len(parts) == 1:
                    doc["content"] = parts[0]["text"] if PLAIN_TEXT(parts[0]) else parts
        return docs

    def in_one_text(self, message: Message, w: Writing) -> Message:
        texts = [block for block in message.content if isinstance(block, Text)]
        if message.role not in ("system", "assistant") or len(texts) < 2:
            return message
        content: list[Block] = []
        for block in message.content:
            if not isinstance(block, Text):
                content.append(block)
            elif block is texts[0]:
                content.append(replace(block, text="\n\n".join(text.text for text in texts)))
            else:
                self.join_text(block.at, w.log)
                self.lose(block.extras, block.at, w.log)
        return replace(message, content=tuple(content))

    def write_assistant(self, message: Message, w: Writing) -> Json | None:
        """Calls are numbered (types/tool_choice_param.py)."""
        doc = super().write_assistant(message, w)
        if doc is not None and not w.same:
            for number, call in enumerate(doc.get("tool_calls", ())):
                call["index"] = number
        return doc

    # -- parameters -------------------------------------------------------------------------

    def read_params(
        self, doc: dict[str, Json], taken: set[str], spelling: dict[str, Json]
    ) -> Params:
        params = super().read_params(doc, taken, spelling)
        number = doc.get("logprobs")
        if number.__class__ is not int or not number or params.top_logprobs is not None:
            return params
        ats = {**params.ats, "top_logprobs": "/logprobs"}
        return replace(params, top_logprobs=maybe_int(doc, "logprobs", ""), ats=ats)

    def write_params(self, out: dict[str, Json], tree: Request, w: Writing) -> None:
        super().write_params(out, tree, w)
        if out.get("logprobs") is True and not w.same:
            out["logprobs"] = out.pop("top_logprobs", 0)
        elif w.same and out.get("logprobs") is True and "top_logprobs" in out:
            out["logprobs"] = out.pop("top_logprobs")

    def read_effort(self, doc: dict[str, Json], taken: set[str]) -> Thinking | None:
        given = super().read_effort(doc, taken)
        config = doc.get(SWITCH)
        if config.__class__ is not dict or config.get("enabled").__class__ is not bool:
            return given
        taken.add(SWITCH)
        extras = self.keep(config, ("enabled",))
        effort = None if given is None else given.effort
        return Thinking(
            "on" if config["enabled"] else "off", effort, at=f"/{SWITCH}", extras=extras
        )

    def write_effort(self, out: dict[str, Json], config: Thinking, w: Writing) -> None:
        if config.mode is not None:
            written: dict[str, Json] = {"enabled": config.mode != "off"}
            out[SWITCH] = self.emit(written, config, w.log) if w.same else written
        super().write_effort(out, replace(config, mode=None), w)


DIALECT = Together()
