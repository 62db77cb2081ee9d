"""The chat completions of llama.cpp's server, a variant of OpenAI Chat.

What it does differently: the model's reasoning stands beside the reply as ``reasoning_content``; a
schema may be demanded as ``json_schema``, or beside ``json_object``; a tool cannot be chosen by its
name; results bear the name of their tool; reasoning may have a budget; the model goes on with a
last turn of the assistant, whether ``continue_final_message`` says so or not; there are grammars,
top-k sampling and any number of stop strings; how long it took is told in ``timings``; an error has
its status.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.fields import Field, Fields, strings, whole
from ..core.writing import Writing
from ..lint.evidence import Verdict, told_by
from ..model import ErrorKind, Json, OutputFormat, Request
from ._openai import ERRORS
from .openai_chat.request import OLD_LIMIT
from .openai_chat.sniff import Marks
from .openai_chat.variant import MORE_MEDIA, Continuing, compatible

MARKS = Marks(
    request={
        "grammar": 0.5, "cache_prompt": 0.6, "id_slot": 0.7, "n_predict": 0.5, "samplers": 0.5,
        "json_schema": 0.4, "reasoning_budget_tokens": 0.8,
    },
    response={"timings": 0.9, "__verbose": 0.9},
    error={"n_ctx": 0.7, "n_prompt_tokens": 0.7},
)  # fmt: skip

FORMATS = ("none", "auto", "deepseek", "deepseek-legacy")  # common/chat.cpp


class LlamaCpp(Continuing):
    name = "llama-cpp"
    # A choice is a word; an object is taken for "auto" (server-common.h: json_value).
    spec = "https://github.com/ggml-org/llama.cpp/tree/master/tools/server"
    issuer = "llama-cpp"
    # llama-server listens there, and its --api-key may be this variable
    endpoints = compatible("http://localhost:8080/v1", "LLAMA_API_KEY", needs_key=False)
    aliases = ("llama.cpp", "llama-server")
    kin = frozenset({"openai-chat"})
    # tools/server/server-common.cpp: oaicompat_content_load_media; a format or detail is not read.
    can = replace(
        Continuing.can,
        prefill="told",
        choices=replace(Continuing.can.choices, modes=cap.MODES - {"named"}),
        outputs=cap.Outputs(named="labelled"),
        media=cap.MediaForms(kinds=MORE_MEDIA, texts=cap.WORDS),
        thinking=replace(cap.BY_EFFORT, budgets=True),
        result_names=True,  # common/chat.cpp, common_chat_msgs_parse_oaicompat
    )
    media_urls: ClassVar[dict[str, str]] = {"video": "video_url", "audio": "input_audio"}
    any_audio = True
    # there, oaicompat_chat_params_parse; the server may be told not to: --no-prefill-assistant
    budget_key = "reasoning_budget_tokens"
    goes_on = True
    says_status = True
    fields = Continuing.fields.but(
        OLD_LIMIT,
        Field("stop", strings, single=True),
        Field("top_k", whole),
        methods={
            "output": ("response_format", "json_schema"),
            "thinking": ("reasoning_effort", budget_key),
        },
    ).refusing("verbosity", "store", "metadata", "cache_key", "user_id")
    # "logprobs is not supported with tools + stream"
    calling_fields = fields.refusing(
        "logprobs", "top_logprobs", why="{name} is not supported by {target} with tools and stream"
    )
    errors: ClassVar[dict[str, ErrorKind]] = {
        **ERRORS,
        "exceed_context_size_error": "too-large",
        "unavailable_error": "overloaded",
        "not_supported_error": "invalid-request",
    }

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        found = MARKS.signs(doc)
        if doc.__class__ is dict and doc.get("reasoning_format") in FORMATS:
            found["a format of reasoning"] = 0.6
        return told_by(found, super().sniff(doc))

    def read_output(self, doc: dict[str, Json], taken: set[str]) -> OutputFormat | None:
        form, schema = doc.get("response_format"), doc.get("json_schema")
        if form.__class__ is dict and form.get("type") == "json_object":
            if form.get("schema").__class__ is dict and form["schema"]:
                taken.add("response_format")
                extras = self.keep(form, ("type", "schema"))
                return OutputFormat(
                    "schema", schema=form["schema"], at="/response_format", extras=extras
                )
        elif form is None and schema.__class__ is dict:
            taken.add("json_schema")
            return OutputFormat("schema", schema=schema, at="/json_schema")
        return super().read_output(doc, taken)

    def table(self, tree: Request, w: Writing) -> Fields:
        given = tree.params
        return (
            self.calling_fields if tree.tools and given.stream and given.logprobs else self.fields
        )

    def write_params(self, out: dict[str, Json], tree: Request, w: Writing) -> None:
        form = tree.params.output
        if form is None or not self.is_bare(form, w):
            return super().write_params(out, tree, w)
        super().write_params(out, replace(tree, params=replace(tree.params, output=None)), w)
        out["json_schema"] = form.schema
        self.lose(form.extras, form.at, w.log)
        return None


DIALECT = LlamaCpp()
