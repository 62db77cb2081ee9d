"""Amazon's own models on Bedrock."""

from __future__ import annotations

from . import Vendor, row

CARDS = "https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-supported-models-features.html"

VENDOR = Vendor(
    "amazon",
    "Amazon",
    ("nova*", "titan*"),
    (
        row("titan*", system_prompt=False, tools=False, media=("document",),
            sources={"system_prompt": CARDS, "tools": CARDS, "media": CARDS}),
        row("nova-micro*", media=(), sources={"media": CARDS}),
        row("*"),
    ),
)  # fmt: skip
