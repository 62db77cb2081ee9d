"""What Groq says of the models that it serves. It makes none itself, so no name is its own."""

from __future__ import annotations

from . import Vendor, row

DOCS = "https://console.groq.com/docs/reasoning"

VENDOR = Vendor(
    "groq",
    "Groq",
    (),
    (
        row("llama-guard*", tools=False, sources={
            "tools": "recorded 400 (meta-llama/llama-guard-4-12b): `tool calling` is not supported "
            "with this model"}),
        row("gpt-oss*", efforts=("low", "medium", "high"), sources={"efforts": DOCS}),
        row("llama*", thinks="never", efforts=(), sources={"thinks": DOCS, "efforts": DOCS}),
        row("qwen3*", efforts=("none", "default"), sources={"efforts": DOCS}),
    ),
)  # fmt: skip
