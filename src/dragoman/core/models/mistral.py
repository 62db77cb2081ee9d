"""Mistral's models; the ids of their calls have nine characters wherever they are served."""

from __future__ import annotations

from . import Vendor, row

NINE = (
    "400: Tool call id was a but must be a-z, A-Z, 0-9, with a length of 9: on Bedrock too, "
    "https://github.com/anomalyco/opencode/pull/48843, https://github.com/vercel/ai/pull/11863"
)
LOGPROBS = "recorded 400 (ministral-3b-latest): Logprobs are not enabled for this model"

VENDOR = Vendor(
    "mistral",
    "Mistral AI",
    (
        "mistral*", "ministral*", "magistral*", "codestral*", "devstral*", "pixtral*", "voxtral*",
        "mixtral*", "open-mistral*", "open-mixtral*", "labs-*stral*",
    ),
    (
        row(
            "ministral-3b*",
            call_ids="nine",
            refuses=("logprobs", "top_logprobs"),
            sources={"call_ids": NINE, "refuses": LOGPROBS},
        ),
        row("*", call_ids="nine", sources={"call_ids": NINE}),
    ),
    named=r"(?:open-)?(?:mi[sx]tral|mini?stral|magistral|codestral|pixtral|voxtral|devstral)-"
    r"[a-z0-9.-]*(?:latest|[0-9]{4})",
)  # fmt: skip
