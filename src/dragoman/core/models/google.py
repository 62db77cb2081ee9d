"""Gemini and Gemma after Gemini's API, and what others' models take there."""

from __future__ import annotations

from . import Facts, Vendor, row

DOCS = "https://ai.google.dev/gemini-api/docs"
LEVELS = f"{DOCS}/thinking#levels-budgets"
VERTEX = "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thinking"
THOUGHTS = (
    "400: Unable to submit request because thinking is not supported by this model: "
    "https://github.com/googleapis/js-genai/issues/681; Thinking is not enabled for this model "
    "(gemini-2.5-flash-image): https://github.com/anomalyco/models.dev/issues/576"
)
OFF = "400: Budget 0 is invalid. This model only works in thinking mode."
SCHEMAS = "older GCP models (model < 2.5) do not support the ParametersJsonSchema: google-genai"
BOTH = (
    "400: Function calling with a response mime type: 'application/json' is unsupported. Gemini 3 "
    f"is the first to take both: {DOCS}/gemini-3#structured_outputs_with_tools"
)
SIGNED = (
    "400: Function call is missing a thought_signature in functionCall parts: "
    f"{DOCS}/thought-signatures"
)
RESULTS = f"multimodal function responses come with Gemini 3: {DOCS}/function-calling#multimodal"
GEMMA = (
    "recorded 400 (gemma-3n-e4b-it): Developer instruction is not enabled for "
    "models/gemma-3n-e4b-it"
)
NO_TOOLS = (
    "400: Function calling is not enabled for models/gemma-3-27b-it: "
    "https://github.com/BerriAI/litellm/issues/10313"
)
GEMMA_4 = (
    "400 (gemma-4-31b-it): Thinking budget is not supported for this model: "
    "https://github.com/aduermael/herm/issues/23"
)

EARLY = Facts(
    thinking=("on", "adaptive", "off"), efforts=(), tools_with_output=False, media_in_results=False,
    signatures=False,
)  # fmt: skip
OLD = Facts(
    max_tokens=8192, thinking=(), thinks="never", efforts=(), tools_with_output=False,
    media_in_results=False, signatures=False, schemas="own",
)  # fmt: skip
THREE = Facts(
    max_tokens=65_536, thinking=("on", "adaptive"), thinks="always",
    efforts=("low", "medium", "high"), signatures=True,
)  # fmt: skip
SAID = {
    "max_tokens": f"{DOCS}/models",
    "thinking": OFF,
    "thinks": LEVELS,
    "budgets": LEVELS,
    "efforts": f"{LEVELS}; {VERTEX}",
    "tools_with_output": BOTH,
    "media_in_results": RESULTS,
    "signatures": SIGNED,
    "schemas": SCHEMAS,
}

NO_THOUGHTS = SAID | {"thinking": THOUGHTS, "thinks": THOUGHTS}

VENDOR = Vendor(
    "google",
    "Google",
    ("gemini*", "gemma*", "functiongemma*", "learnlm*", "paligemma*", "medgemma*"),
    (
        row(
            "claude-*",
            schemas="own",
            sources={"schemas": "models of others in this API support `parameters` alone"},
        ),
        row("gemini-1*", "gemini-pro*", "gemini-2.0*", "gemini-2-*", base=OLD, sources=NO_THOUGHTS),
        row(
            "gemini-2.5-flash-image*",
            base=EARLY, tools=False, output=False, thinking=(), thinks="never",
            sources=NO_THOUGHTS | {
                "output": "recorded 400: JSON mode is not enabled for "
                "models/gemini-2.5-flash-image",
                "tools": f"{DOCS}/models/gemini-2.5-flash-image",
            },
        ),
        row("gemini-2.5-pro*", base=EARLY, max_tokens=65_536, thinking=("on", "adaptive"),
            thinks="always", budgets=(128, 32_768), sources=SAID),
        row("gemini-2.5-flash-lite*", base=EARLY, max_tokens=65_536, thinks="off",
            budgets=(512, 24_576), sources=SAID),
        row("gemini-2.5-flash*", base=EARLY, max_tokens=65_536, thinks="on", budgets=(1, 24_576),
            sources=SAID),
        row("gemini-2*", base=EARLY, sources=SAID),
        row("gemini-3-pro*", base=THREE, efforts=("low", "high"), sources=SAID),
        row("gemini-3.7-flash*", "gemini-3.8-flash*", base=THREE, sources=SAID),
        row("gemini-3-flash*", "gemini-3.?-flash*", base=THREE,
            efforts=("minimal", "low", "medium", "high"), sources=SAID),
        row(
            "gemma-3*", "gemma3*", "gemma-2*", "gemma2*", "gemma-1*",
            system_prompt=False, tools=False, output=False, thinking=(), thinks="never", efforts=(),
            sources={
                "system_prompt": GEMMA,
                "tools": NO_TOOLS,
                "output": "400: JSON mode is not enabled for models/gemma-3-27b-it",
                "thinking": LEVELS, "thinks": LEVELS, "efforts": LEVELS,
            },
        ),
        row("gemma-4*", "gemma4*", thinking=(), sources={"thinking": GEMMA_4}),
        row("gemma*", "functiongemma*", "learnlm*", "paligemma*", "medgemma*"),
        row("*", base=THREE, sources=SAID),
    ),
)  # fmt: skip
