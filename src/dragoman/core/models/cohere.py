"""Cohere's models."""

from __future__ import annotations

from . import Vendor, row

VISION = (
    "https://docs.cohere.com/docs/models#command, https://docs.cohere.com/docs/command-a-vision"
)

VENDOR = Vendor(
    "cohere",
    "Cohere",
    ("command*", "c4ai-*", "aya-*", "north-*"),
    (
        row(
            "command-a-vision*", "c4ai-aya-vision*", "aya-vision*",
            media=("image", "document"), tools=False, sources={"media": VISION, "tools": VISION},
        ),
        row("command-r*", "command-a", "command-a-0*", "command-light*", "command",
            media=("document",), sources={"media": VISION}),
        row("*"),
    ),
    named=r"command(?:-[a-z0-9.-]+)?|c4ai-(?:aya|command)-[a-z0-9.-]+",
)  # fmt: skip
