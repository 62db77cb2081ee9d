"""watsonx.ai's text chat, a variant of OpenAI Chat.

What it does differently: the model is ``model_id``, and a stream has another address; a mode of the
tool choice is ``tool_choice_option``, a name ``tool_choice``; a project or a space is named beside
the messages; a reply may end because of the time limit; errors are a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...core.endpoint import Endpoint
from ...core.fields import Field, number, strings, whole
from ...core.reading import as_dict
from ...core.turns import note_error_code, note_error_type
from ...ledger import Ledger
from ...lint.evidence import Verdict, told_by
from ...model import ErrorKind, Failure, Json, Request, Response
from .._openai import ERRORS
from ..openai_chat.response import STOPS
from ..openai_chat.sniff import Marks
from ..openai_chat.variant import OMITTED, Compatible, without_fields

if TYPE_CHECKING:
    from ...streams.base import StreamReader, StreamWriter

OPTION, MODEL = "tool_choice_option", "model_id"
OPTIONS = ("none", "auto", "required")
MARKS = Marks(
    request={OPTION: 0.9, "project_id": 0.6, "space_id": 0.5, "time_limit": 0.5, MODEL: 0.4},
    response={"model_version": 0.6, MODEL: 0.6, "created_at": 0.2},
)


# https://cloud.ibm.com/apidocs/watsonx-ai#error-handling
CODES: dict[str, ErrorKind] = {
    "invalid_request_entity": "invalid-request",
    "invalid_input_argument": "invalid-request",
    "json_type_error": "invalid-request",
    "json_validation_error": "invalid-request",
    "authentication_token_not_valid": "authentication",
    "authentication_token_expired": "authentication",
    "authorization_rejected": "permission",
    "token_quota_reached": "billing",
    "not_found": "not-found",
    "model_not_supported": "not-found",
    "rate_limit_reached_requests": "rate-limit",
    "downstream_request_failed": "server",
    "service_unavailable": "overloaded",
}
CODE_OF = {kind: code for code, kind in reversed(CODES.items())}


class Watsonx(Compatible):
    name = "watsonx"
    spec = "https://cloud.ibm.com/apidocs/watsonx-ai#text-chat"
    issuer = "watsonx"
    model_key = MODEL
    # ibm-watsonx-ai 1.8 (PyPI), href_definitions.py, foundation_models/inference
    endpoints: ClassVar[tuple[Endpoint, ...]] = (
        Endpoint(
            "/text/chat",
            None,  # each region and each installation has another
            "/ml/v1",
            stream_path="/text/chat_stream",
            stream={},
            query={"version": "{api_version}"},
            url_variables=("WATSONX_URL",),
            key_variables=("WATSONX_TOKEN",),
            settings={"api_version": ("WATSONX_API_VERSION",)},
            defaults={"api_version": "2024-10-10"},
        ),
    )
    # There, foundation_models/schema/_api.py: TextChatParameters
    hiding: ClassVar[dict[str, Json]] = {"include_reasoning": False}
    can = replace(
        Compatible.can,
        developer=False,
        lacks=Compatible.can.lacks - {"error.request_id"} | {"error.param"},
        choices=replace(Compatible.can.choices, parallel=cap.NO_MODE),
        thinking=replace(
            cap.BY_EFFORT,
            modes=frozenset(),
            efforts=("low", "medium", "high"),
            displays=(OMITTED,),
        ),
    )
    asks_for_usage = False
    fields = Compatible.fields.but(
        Field("temperature", number, least=0, most=2),
        Field("top_logprobs", whole, least=0, most=20),
        Field("stop", strings, count=4),
        methods={"thinking": ("reasoning_effort", *hiding)},
    ).refusing("verbosity", "store", "metadata", "cache_key", "user_id", "stream")
    # https://ibm.github.io/watsonx-ai-node-sdk: TextChatResultChoice
    stops = STOPS.but({"time_limit": "length", "cancelled": "cancelled"})
    error_is_a_stop = True
    errors: ClassVar[dict[str, ErrorKind]] = {**ERRORS, **CODES}

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        if are_errors(doc):
            yield "error", 0.8, ("a list of errors with a trace",)
        known = renamed(doc, MODEL, "model") if doc.__class__ is dict else doc
        yield from told_by(MARKS.signs(doc), super().sniff(known))

    # -- requests ---------------------------------------------------------------------------

    def read_request(self, doc: Json) -> Request:
        doc = as_dict(doc, "")
        given = renamed(doc, MODEL, "model")
        option = doc.get(OPTION)
        if option in OPTIONS and doc.get("tool_choice") is None:
            given = renamed(given, OPTION, "tool_choice")
        tree = super().read_request(given)
        ats = dict(tree.params.ats)
        if MODEL in doc:
            ats["model"] = f"/{MODEL}"
        choice = tree.tool_choice
        if choice is not None and given.get("tool_choice").__class__ is str:
            choice = replace(choice, at=f"/{OPTION}")
        return replace(tree, params=replace(tree.params, ats=ats), tool_choice=choice)

    def write_request(self, tree: Request, log: Ledger) -> Json:
        out: Json = super().write_request(tree, log)
        out = renamed(out, "model", MODEL)
        if out.get("tool_choice").__class__ is str:
            out = renamed(out, "tool_choice", OPTION)
        return out

    # -- replies ----------------------------------------------------------------------------

    def read_response(self, doc: Json) -> Response:
        return super().read_response(renamed(as_dict(doc, ""), MODEL, "model"))

    def write_response(self, tree: Response, log: Ledger) -> Json:
        return renamed(super().write_response(tree, log), "model", MODEL)

    def is_failure(self, doc: dict[str, Json]) -> bool:
        return super().is_failure(doc) or are_errors(doc)

    def read_error(self, doc: Json) -> Failure:
        if not are_errors(doc):
            return super().read_error(doc)
        first, trace = doc["errors"][0], doc.get("trace")
        code = first["code"] if first.get("code").__class__ is str else None
        rest = {k: v for k, v in first.items() if k != "message" and (k != "code" or code is None)}
        kept = {k: v for k, v in doc.items() if k != "errors"}
        if rest or len(doc["errors"]) > 1:
            kept["errors"] = [rest, *doc["errors"][1:]]
        taken = ("trace",) if trace.__class__ is str else ()
        return Failure(
            self.errors.get(code or "", "other"),
            first["message"],
            code=code,
            dialect=self.name,
            extras=self.keep(kept, taken, {"list": True}),
            request_id=trace if taken else None,
        )

    def write_error(self, tree: Failure, log: Ledger) -> Json:
        same = self.is_same(tree.dialect)
        if same and "list" not in self.spelling(tree):
            return super().write_error(tree, log)
        code = tree.code
        if not same:
            code = CODE_OF.get(tree.kind, CODE_OF["server"])
            if tree.kind not in CODE_OF:
                note_error_type(tree, code, log)
            note_error_code(tree, code, log)
            self.note_error(tree, log)
        first: dict[str, Json] = {"message": tree.message}
        if code is not None:
            first = {"code": code, **first}
        kept = tree.extras.fields.get("errors") if same and tree.extras is not None else None
        rest, *others = kept if kept.__class__ is list and kept else ({},)
        tree = without_fields(tree, "errors") if same else tree
        out: dict[str, Json] = {"errors": [first | rest, *others]}
        if tree.request_id is not None:
            out["trace"] = tree.request_id
        return self.emit(out, tree, log)

    # -- streams ----------------------------------------------------------------------------

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import WatsonxReader

        return WatsonxReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        from .stream import WatsonxWriter

        return WatsonxWriter(self, log, same)


def renamed(doc: dict[str, Json], old: str, new: str) -> dict[str, Json]:
    """An object with another key in the place of one, unless it has both."""
    if old not in doc or new in doc:
        return doc
    return {new if key == old else key: value for key, value in doc.items()}


def are_errors(doc: Json) -> bool:
    """``{"errors": [{"code": "not_found", "message": "..."}], "trace": "...", ...}``"""
    if doc.__class__ is not dict or doc.get("errors").__class__ is not list:
        return False
    errors = doc["errors"]
    return bool(errors) and all(
        e.__class__ is dict and e.get("message").__class__ is str for e in errors
    )


DIALECT = Watsonx()
