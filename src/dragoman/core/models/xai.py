"""Grok."""

from __future__ import annotations

from . import Vendor, row

DOCS = "https://docs.x.ai/developers/model-capabilities/text/reasoning"
REFUSED = "recorded 400: Model grok-code-fast-1 does not support parameter reasoningEffort."
PENALTIES = f"presencePenalty, frequencyPenalty and stop are an error for reasoning models: {DOCS}"
LEVELS = f"{DOCS}#effort-levels"
NO = ("frequency_penalty", "presence_penalty", "stop")
THINKS = {"refuses": PENALTIES, "efforts": LEVELS, "thinks": DOCS}

VENDOR = Vendor(
    "xai",
    "xAI",
    ("grok*",),
    (
        row("grok-3-mini*", refuses=NO, thinks="always", efforts=("low", "high"), sources=THINKS),
        row(
            "grok-*-non-reasoning", "grok-2*", "grok-3*", "grok-beta",
            thinks="never", efforts=(), sources={"thinks": DOCS, "efforts": REFUSED},
        ),
        row("grok-4.3*", refuses=NO, thinks="on", efforts=("none", "low", "medium", "high"),
            sources=THINKS),
        row(
            "grok-4", "grok-4-????", "grok-4-fast*", "grok-4-1-*", "grok-4.1-*", "grok-4.20*",
            "grok-code*",
            refuses=NO, thinks="always", efforts=(), sources=THINKS | {"efforts": REFUSED},
        ),
        row("grok-4.5*", refuses=NO, thinks="always", efforts=("low", "medium", "high"),
            sources=THINKS),
        row("*", refuses=NO, thinks="always", efforts=("low", "medium", "high", "xhigh"),
            sources=THINKS | {
                "refuses": "400: Model grok-4.6 does not support parameter presencePenalty",
                "efforts": f"ReasoningEffort of xai-sdk 1.21; {LEVELS}"}),
    ),
)  # fmt: skip
