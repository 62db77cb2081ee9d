"""What is said about a request of Bedrock's Converse API, both ways.

What all models share has its place (``inferenceConfig``, ``outputConfig``). What only some know is
among ``additionalModelRequestFields``, in the words of the model's maker; of these, Claude's are
understood here, and they are the ones that are written.
"""

from __future__ import annotations

import re

from ... import schemas
from ...errors import Malformed
from ...model import Json, OutputFormat, Params, Request, Thinking
from ...reading import (
    as_str,
    compact,
    maybe_dict,
    maybe_int,
    maybe_list,
    maybe_number,
    maybe_str,
    parse,
)
from ...writing import leave_out
from .turns import Turns
from .write_blocks import Said

MORE = "additionalModelRequestFields"
INFERENCE = {
    "max_tokens": "maxTokens",
    "temperature": "temperature",
    "top_p": "topP",
    "stop": "stopSequences",
}
EFFORTS = ("low", "medium", "high", "xhigh", "max")
TIERS = ("priority", "default", "flex", "reserved")
THINKING = {
    "enabled": "on",
    "adaptive": "adaptive",
    "disabled": "off",
    "between_tools": "between-tools",
}
THINKING_TYPES = {mode: kind for kind, mode in THINKING.items()}
THINKING_KEYS = frozenset({"type", "budget_tokens", "display"})
# What the tree can say and this API cannot.
UNSAID = {
    "seed": "there is no seed here",
    "frequency_penalty": "there are no penalties here",
    "presence_penalty": "there are no penalties here",
    "logit_bias": "there are no token biases here",
    "logprobs": "there are no token probabilities here",
    "top_logprobs": "there are no token probabilities here",
    "candidates": "there is one answer here",
    "verbosity": "there is no verbosity here",
    "stream": "a streamed answer is another operation here: ConverseStream",
    "user_id": "there is no end user here",
    "cache_key": "caches are marked in the content here",
    "cache": "caches are marked in the content here",
    "store": "nothing is stored here",
    "previous_id": "nothing is stored here; send the whole conversation",
    "conversation_id": "nothing is stored here; send the whole conversation",
    "truncation": "a conversation that is too long is rejected here",
}
# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
_is_label = re.compile(r"[a-zA-Z0-9\s:_@$#=/+,.-]{0,256}").fullmatch
MOST_LABELS = 16


class ParamFields(Turns):
    """Reading and writing parameters."""

    # -- reading ----------------------------------------------------------------------------

    def read_params(self, doc: dict[str, Json]) -> tuple[Params, dict[str, tuple[str, ...]]]:
        """The parameters, and the objects of which they are a part."""
        partly: dict[str, tuple[str, ...]] = {}
        ats: dict[str, str] = {"model": "/modelId"}
        said = maybe_dict(doc, "inferenceConfig", "")
        if said is not None:
            partly["inferenceConfig"] = tuple(INFERENCE.values())
            for name, key in INFERENCE.items():
                ats[name] = f"/inferenceConfig/{key}"
        said, where = said or {}, "/inferenceConfig"
        stop = maybe_list(said, "stopSequences", where) or None
        tier = maybe_dict(doc, "serviceTier", "")
        if tier is not None:
            partly["serviceTier"] = ("type",)
            ats["service_tier"] = "/serviceTier/type"
        metadata = maybe_dict(doc, "requestMetadata", "")
        if metadata is not None:
            ats["metadata"] = "/requestMetadata"
        top_k = self.read_top_k(doc, partly, ats)
        thinking = self.read_thinking(doc, partly)
        params = Params(
            max_tokens=maybe_int(said, "maxTokens", where),
            temperature=maybe_number(said, "temperature", where),
            top_p=maybe_number(said, "topP", where),
            top_k=top_k,
            stop=None if stop is None else tuple(as_str(s, f"{where}/stopSequences") for s in stop),
            output=self.read_output(doc, partly),
            thinking=thinking,
            metadata=metadata,
            service_tier=None if tier is None else maybe_str(tier, "type", "/serviceTier"),
            ats=ats,
        )
        return params, partly

    def read_top_k(
        self, doc: dict[str, Json], partly: dict[str, tuple[str, ...]], ats: dict[str, str]
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
        self, doc: dict[str, Json], partly: dict[str, tuple[str, ...]]
    ) -> Thinking | None:
        config = maybe_dict(doc, "outputConfig", "")
        effort = None
        if config is not None:
            effort = maybe_str(config, "effort", "/outputConfig")
            partly["outputConfig"] = ("effort",)
        said = doc[MORE].get("thinking") if MORE in partly else None
        mode = THINKING.get(str(said.get("type"))) if isinstance(said, dict) else None
        if mode is None or said is None or not said.keys() <= THINKING_KEYS:
            return None if effort is None else Thinking(effort=effort, at="/outputConfig/effort")
        at = f"/{MORE}/thinking"
        partly[MORE] += ("thinking",)
        return Thinking(
            mode,  # type: ignore[arg-type]
            effort,
            maybe_int(said, "budget_tokens", at),
            maybe_str(said, "display", at),
            at=at,
            extras=self.keep(said, THINKING_KEYS),
        )

    def read_output(
        self, doc: dict[str, Json], partly: dict[str, tuple[str, ...]]
    ) -> OutputFormat | None:
        """The schema of the answer, which is JSON text here."""
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
        text = found["schema"]
        spelling = None if compact(schema) == text else {"schema": text}
        where = f"{at}/structure/jsonSchema"
        return OutputFormat(
            "schema",
            maybe_str(found, "name", where),
            maybe_str(found, "description", where),
            schema,
            at=at,
            extras=self.keep(found, found.keys(), spelling),
        )

    # -- writing ----------------------------------------------------------------------------

    def write_params(self, out: dict[str, Json], tree: Request, w: Said) -> None:
        params = leave_out(tree.params, UNSAID, w.log)
        self.write_inference(out, params, w)
        more: dict[str, Json] = {}
        if params.top_k is not None:
            more["top_k"] = params.top_k
            w.moved("top_k", params.where("top_k"), "in Claude's words, for the model alone")
        if params.thinking is not None:
            self.write_thinking(out, more, params.thinking, w)
        if more:
            out[MORE] = more
        if params.output is not None:
            self.write_output(out, params.output, w)
        if params.metadata is not None:
            self.write_metadata(out, params, w)
        if params.service_tier is not None:
            if w.home or params.service_tier in TIERS:
                out["serviceTier"] = {"type": params.service_tier}
            else:
                why = f"{params.service_tier!r} is a tier of another provider"
                w.log.dropped("service_tier", params.where("service_tier"), why)
        self.lose(params.extras, params.at, w.log)

    def write_inference(self, out: dict[str, Json], params: Params, w: Said) -> None:
        said: dict[str, Json] = {}
        if params.max_tokens is not None:
            said["maxTokens"] = params.max_tokens
        if params.temperature is not None:
            said["temperature"] = params.temperature
            if params.temperature > 1 and not w.home:
                said["temperature"] = 1.0
                why = "1 is the highest here"
                w.log.approximated("temperature", params.where("temperature"), why)
        if params.top_p is not None:
            said["topP"] = params.top_p
        stops = [stop for stop in params.stop or () if w.home or stop.strip()]
        if params.stop is not None and len(stops) != len(params.stop):
            w.log.dropped("stop", params.where("stop"), "white space cannot stop an answer here")
        if stops:
            said["stopSequences"] = stops
        elif params.stop == ():
            w.log.dropped("stop", params.where("stop"), "no stop strings are not said here")
        if said:
            out["inferenceConfig"] = said

    def write_thinking(
        self, out: dict[str, Json], more: dict[str, Json], config: Thinking, w: Said
    ) -> None:
        mode, said = config.mode, dict[str, Json]()
        if mode is not None:
            said["type"] = THINKING_TYPES[mode]
            if config.budget is not None and (mode == "on" or w.home):
                said["budget_tokens"] = config.budget
            elif config.budget is not None:
                w.log.dropped("thinking.budget", config.at, f"{mode} thinking has no budget here")
            elif mode == "on" and not w.home:
                said["type"] = "adaptive"
                w.log.approximated("thinking", config.at, "thinking without a budget is adaptive")
        elif config.budget is not None:
            said = {"type": "enabled", "budget_tokens": config.budget}
            w.log.approximated("thinking", config.at, "with a budget, thinking is on")
        if config.display is not None and said:
            said["display"] = config.display
            if config.display not in ("summarized", "omitted") and not w.home:
                said["display"] = "summarized"
                w.log.approximated("thinking.display", config.at, "shown in summary")
        elif config.display is not None:
            why = "what is seen of the thinking can only be said with thinking itself"
            w.log.dropped("thinking.display", config.at, why)
        if said:
            w.moved("thinking", config.at, "in Claude's words, for the model alone")
            more["thinking"] = self.emit(said, config, w.log)
        else:
            self.lose(config.extras, config.at, w.log)
        if config.effort is not None:
            effort = config.effort
            if effort not in EFFORTS and not w.home:
                w.log.approximated("thinking.effort", config.at, f"{effort!r} becomes 'low'")
                effort = "low"
            out["outputConfig"] = {"effort": effort}

    def write_output(self, out: dict[str, Json], form: OutputFormat, w: Said) -> None:
        if form.kind != "schema" or form.schema is None:
            if form.kind != "text":  # which needs no saying
                w.log.dropped("output", form.at, "JSON can be demanded only with a schema here")
            self.lose(form.extras, form.at, w.log)
            return
        schema = form.schema
        if not w.home:
            schema = schemas.trimmed(schema, schemas.CLAUDE).told(form, w.log)
        found: dict[str, Json] = {"schema": self.spelling(form).get("schema", compact(schema))}
        for key in ("name", "description"):
            if (value := getattr(form, key)) is not None:
                found[key] = value
        if form.strict is not None:
            w.log.dropped("output.strict", form.at, "a schema is always enforced here")
        found = self.emit(found, form, w.log)
        said = {"type": "json_schema", "structure": {"jsonSchema": found}}
        out["outputConfig"] = out.get("outputConfig", {}) | {"textFormat": said}

    def write_metadata(self, out: dict[str, Json], params: Params, w: Said) -> None:
        labels = params.metadata or {}
        if not w.home:
            fit = {k: v for k, v in labels.items() if k and _is_label(k) and is_label(v)}
            fit = dict(list(fit.items())[:MOST_LABELS])
            if len(fit) != len(labels) or not fit:
                why = f"up to {MOST_LABELS} short texts of plain letters are taken here"
                w.log.dropped("metadata", params.where("metadata"), why)
            labels = fit
        if labels or w.home:
            out["requestMetadata"] = labels


def is_label(value: Json) -> bool:
    return isinstance(value, str) and _is_label(value) is not None
