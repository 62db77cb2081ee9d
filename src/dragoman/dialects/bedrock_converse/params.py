"""What is written about a request of Bedrock's Converse API, both ways.

What all models share has its place (``inferenceConfig``, ``outputConfig``). What only some know is
among ``additionalModelRequestFields``, in the words of the model's maker; of these, Claude's are
understood here, and they are the ones that are written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...core.fields import Field, Fields, mapping, number, strings, text, whole
from ...core.reading import compact, maybe_dict, maybe_str, parse
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Json, OutputFormat, Params, Request, Thinking
from ...tools import schemas
from .. import _claude
from .blocks import BedrockWriting

if TYPE_CHECKING:
    from . import BedrockConverse


MORE = "additionalModelRequestFields"
TIERS = ("priority", "default", "flex", "reserved")
THINKING_KEYS = frozenset({"type", "budget_tokens", "display"})
# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
_is_label = re.compile(r"[a-zA-Z0-9\s:_@$#=/+,.-]{0,256}").fullmatch
MOST_LABELS = 16


def is_label(value: Json) -> bool:
    return isinstance(value, str) and _is_label(value) is not None


def short_labels(given: dict[str, Json], at: str, log: Ledger, target: str) -> Json:
    kept = {key: value for key, value in given.items() if key and is_label(key) and is_label(value)}
    kept = dict(list(kept.items())[:MOST_LABELS])
    if len(kept) != len(given) or not kept:
        why = f"{target} accepts up to {MOST_LABELS} short labels of plain letters"
        log.dropped("metadata", at, why)
    return kept or None


FIELDS = Fields(
    Field("max_tokens", whole, "inferenceConfig/maxTokens"),
    Field("temperature", number, "inferenceConfig/temperature", most=1.0),
    Field("top_p", number, "inferenceConfig/topP"),
    Field(
        "stop", strings, "inferenceConfig/stopSequences", only=str.strip,
        why="{target} accepts no stop string of white space alone",
    ),
    Field("metadata", mapping, "requestMetadata", fit=short_labels),
    Field("service_tier", text, "serviceTier/type", among=TIERS),
    methods=dict.fromkeys(("top_k", "thinking", "output"), ()),
    keys=("modelId", "messages", "system"),
)  # fmt: skip


def read_params(
    d: BedrockConverse, doc: dict[str, Json]
) -> tuple[Params, dict[str, tuple[str, ...]]]:
    """The parameters, and the objects of which they are a part."""
    partly: dict[str, tuple[str, ...]] = {}
    ats: dict[str, str] = {"model": "/modelId"}
    given = FIELDS.read(doc, ats, {}, set(), partly)
    given["top_k"] = read_top_k(doc, partly, ats)
    given["thinking"] = read_thinking(d, doc, partly)
    given["output"] = read_output(d, doc, partly)
    return Params(**given, ats=ats), partly


def write_params(
    d: BedrockConverse, out: dict[str, Json], tree: Request, w: BedrockWriting
) -> None:
    params = FIELDS.write(out, tree.params, w, d.name)
    if params is None:
        return
    more: dict[str, Json] = {}
    if params.top_k is not None:
        more["top_k"] = params.top_k
        w.moved("top_k", params.where("top_k"), f"{d.name} has top_k in {MORE} only")
    if params.thinking is not None:
        write_thinking(d, out, more, params.thinking, w)
    if more:
        out[MORE] = more
    if params.output is not None:
        write_output(d, out, params.output, w)
    d.lose(params.extras, params.at, w.log)


def read_top_k(
    doc: dict[str, Json], partly: dict[str, tuple[str, ...]], ats: dict[str, str]
) -> int | None:
    more = doc.get(MORE)
    if more.__class__ is not dict:
        return None
    partly[MORE] = ()
    if more.get("top_k").__class__ is not int:
        return None
    partly[MORE] = ("top_k",)
    ats["top_k"] = f"/{MORE}/top_k"
    return int(more["top_k"])


def read_thinking(
    d: BedrockConverse, doc: dict[str, Json], partly: dict[str, tuple[str, ...]]
) -> Thinking | None:
    config = maybe_dict(doc, "outputConfig", "")
    effort = None
    if config is not None:
        effort = maybe_str(config, "effort", "/outputConfig")
        partly["outputConfig"] = ("effort",)
    stated = doc[MORE].get("thinking") if MORE in partly else None
    if isinstance(stated, dict) and stated.keys() <= THINKING_KEYS:
        asked = _claude.read_thinking(stated, effort, f"/{MORE}/thinking")
        if asked is not None:
            partly[MORE] += ("thinking",)
            return asked
    return None if effort is None else Thinking(effort=effort, at="/outputConfig/effort")


def write_thinking(
    d: BedrockConverse,
    out: dict[str, Json],
    more: dict[str, Json],
    config: Thinking,
    w: BedrockWriting,
) -> None:
    if (written := _claude.write_thinking(config)) is not None:
        w.moved("thinking", config.at, f"{d.name} has thinking in {MORE} only")
        more["thinking"] = written
    d.lose(config.extras, config.at, w.log)
    if config.effort is not None:
        out["outputConfig"] = {"effort": config.effort}


def read_output(
    d: BedrockConverse, doc: dict[str, Json], partly: dict[str, tuple[str, ...]]
) -> OutputFormat | None:
    """The schema of the reply, which is JSON text here."""
    form: Json = (doc.get("outputConfig") or {}).get("textFormat")
    try:
        found = form["structure"]["jsonSchema"]
        schema = parse(found["schema"])
    except (KeyError, TypeError, Malformed):
        return None
    usual = {"type": "json_schema", "structure": {"jsonSchema": found}}
    if form != usual or not found.keys() <= {"schema", "name", "description"}:
        return None
    at = "/outputConfig/textFormat"
    partly["outputConfig"] += ("textFormat",)
    where = f"{at}/structure/jsonSchema"
    return OutputFormat(
        "schema",
        maybe_str(found, "name", where),
        maybe_str(found, "description", where),
        schema,
        at=at,
    )


def write_output(
    d: BedrockConverse, out: dict[str, Json], form: OutputFormat, w: BedrockWriting
) -> None:
    if form.kind == "text":
        d.lose(form.extras, form.at, w.log)
        return
    schema = form.schema
    if not w.same:
        schema = schemas.trimmed(schema, schemas.CLAUDE).told(form, w.log)
    found: dict[str, Json] = {"schema": compact(schema)}
    for key in ("name", "description"):
        if (value := getattr(form, key)) is not None:
            found[key] = value
    found = d.emit(found, form, w.log)
    written = {"type": "json_schema", "structure": {"jsonSchema": found}}
    out["outputConfig"] = out.get("outputConfig", {}) | {"textFormat": written}
