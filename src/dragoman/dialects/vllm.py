"""vLLM's chat completions, a variant of OpenAI Chat.

What it does differently: the model's reasoning stands beside the reply as ``reasoning`` (older
servers: ``reasoning_content``), unless ``include_reasoning`` hides them, and may have a budget; a
schema may be demanded as ``structured_outputs`` (older: ``guided_json``); the model goes on with
the last turn where ``continue_final_message`` says so; ``stop_reason`` tells which stop string it
was; there is top-k sampling; an error has its status, and words of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.fields import Field, strings, whole
from ..core.lowering.outputs import name_schema
from ..core.writing import Writing
from ..lint.evidence import Verdict, told_by
from ..model import Candidate, ErrorKind, Json, OutputFormat, Request
from ._openai import ERROR_TYPES, ERRORS
from .openai_chat.response import COUNTS, STOPS
from .openai_chat.sniff import Marks
from .openai_chat.variant import CONTINUE, MORE_MEDIA, OMITTED, Continuing, compatible

STRUCTURED, GUIDED = "structured_outputs", "guided_json"
MARKS = Marks(
    request={
        STRUCTURED: 0.8, GUIDED: 0.8, "guided_choice": 0.8, "guided_regex": 0.8,
        "guided_grammar": 0.8, CONTINUE: 0.6, "kv_transfer_params": 0.8, "stop_token_ids": 0.5,
        "thinking_token_budget": 0.8,
    },
    response={"prompt_logprobs": 0.6, "kv_transfer_params": 0.8, "prompt_token_ids": 0.6},
    choice={"token_ids": 0.6},
    even_null=True,
)  # fmt: skip


class VLLM(Continuing):
    name = "vllm"
    can = replace(
        Continuing.can,
        lacks=Continuing.can.lacks - {"stop.sequence"},
        prefill="told",
        thinking=replace(cap.BY_EFFORT, budgets=True, displays=(OMITTED,)),
        outputs=cap.Outputs(named="labelled"),
        media=cap.MediaForms(kinds=MORE_MEDIA, texts=cap.WORDS),
    )
    spec = "https://docs.vllm.ai/en/latest/serving/openai_compatible_server"
    issuer = "vllm"
    # `vllm serve` listens there, and its --api-key may be this variable
    endpoints = compatible("http://localhost:8000/v1", "VLLM_API_KEY", needs_key=False)
    kin = frozenset({"openai-chat"})
    thinking_key = "reasoning"
    # vllm 0.32, vllm/renderers/chat_utils.py: MM_PARSER_MAP is all that a message may hold, of a
    # recording the format is not looked at, of an image the detail is not.
    media_urls: ClassVar[dict[str, str]] = {"video": "video_url", "audio": "audio_url"}
    any_audio = True
    # vllm/entrypoints/openai/chat_completion/protocol.py: ChatCompletionRequest
    budget_key = "thinking_token_budget"
    hiding: ClassVar[dict[str, Json]] = {"include_reasoning": False}
    says_status = True
    fields = Continuing.fields.but(
        Field("stop", strings, single=True),
        Field("top_k", whole),
        methods={
            "output": ("response_format", STRUCTURED, GUIDED),
            "thinking": ("reasoning_effort", budget_key, *hiding),
        },
    ).refusing("verbosity", "store", "metadata", "cache_key")
    # vllm/v1/engine/__init__.py: FINISH_REASON_STRINGS
    stops = STOPS.but({"abort": "cancelled", "repetition": "error"})
    errors: ClassVar[dict[str, ErrorKind]] = {
        **ERRORS,
        # vllm/entrypoints/serve/exception_handling/error_response.py, middleware/authenticate.py
        "BadRequestError": "invalid-request",
        "UnprocessableEntityError": "invalid-request",
        "NotImplementedError": "invalid-request",
        "NotFoundError": "not-found",
        "InternalServerError": "server",
        "ServiceUnavailableError": "overloaded",
        "Unauthorized": "authentication",
    }
    error_types: ClassVar[dict[ErrorKind, str]] = {
        **ERROR_TYPES,
        "invalid-request": "BadRequestError",
        "not-found": "NotFoundError",
        "server": "InternalServerError",
        "overloaded": "ServiceUnavailableError",
    }
    # vllm/entrypoints/serve/engine/protocol.py
    counts = COUNTS.but({"prompt_tokens_details/created_cache_tokens": ("cache_write",)})

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return told_by(MARKS.signs(doc), super().sniff(doc))

    # -- requests ---------------------------------------------------------------------------

    def read_output(self, doc: dict[str, Json], taken: set[str]) -> OutputFormat | None:
        if (given := super().read_output(doc, taken)) is not None:
            return given
        schema, config = doc.get(GUIDED), doc.get(STRUCTURED)
        if schema.__class__ is dict:
            key = GUIDED
        elif (
            config.__class__ is dict
            and config.keys() == {"json"}
            and config["json"].__class__ is dict
        ):
            key, schema = STRUCTURED, config["json"]
        else:
            return None
        taken.add(key)
        return OutputFormat("schema", schema=schema, at=f"/{key}")

    def write_params(self, out: dict[str, Json], tree: Request, w: Writing) -> None:
        form = tree.params.output
        # "You can only either use constraints for structured outputs or tools, not both."
        named = tree.tool_choice is not None and tree.tool_choice.mode == "named"
        bare = form is not None and self.is_bare(form, w)
        if form is not None and bare and named:
            named_form = name_schema(form, self, w.log)
            tree = replace(tree, params=replace(tree.params, output=named_form))
        if form is None or not bare or named:
            return super().write_params(out, tree, w)
        super().write_params(out, replace(tree, params=replace(tree.params, output=None)), w)
        out[STRUCTURED] = {"json": form.schema}
        self.lose(form.extras, form.at, w.log)
        return None

    # -- replies ----------------------------------------------------------------------------

    def read_choice_of_reply(self, doc: dict[str, Json], index: int) -> Candidate:
        sequence = doc.get("stop_reason")
        if sequence.__class__ is not str or doc.get("finish_reason") != "stop":
            return super().read_choice_of_reply(doc, index)
        rest = {k: v for k, v in doc.items() if k != "stop_reason"}
        candidate = super().read_choice_of_reply(rest, index)
        assert candidate.stop is not None
        stop = replace(candidate.stop, reason="stop-sequence", sequence=sequence)
        return replace(candidate, stop=stop)

    def write_candidate(self, candidate: Candidate, index: int, w: Writing) -> Json:
        stop = candidate.stop
        if stop is None or stop.reason != "stop-sequence" or stop.sequence is None:
            return super().write_candidate(candidate, index, w)
        ended = replace(candidate, stop=replace(stop, reason="end", sequence=None))
        return {**super().write_candidate(ended, index, w), "stop_reason": stop.sequence}


DIALECT = VLLM()
