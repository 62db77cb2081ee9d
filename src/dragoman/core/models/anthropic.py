"""Claude, whoever serves it.

Older generations first; the last row is what a newer name than these gets. A date is no part of a
name, so ``claude-opus-4`` is ``claude-opus-4-20250514``.
"""

from __future__ import annotations

from . import Facts, Vendor, row

DOCS = "https://platform.claude.com/docs/en"
THINKING = f"{DOCS}/build-with-claude/thinking-troubleshooting"
EFFORT = f"{DOCS}/build-with-claude/effort"
OVERVIEW = f"{DOCS}/about-claude/models/overview"
SYSTEM = f"{DOCS}/build-with-claude/mid-conversation-system-messages"
PREFILL = f"{DOCS}/api/errors#prefill-not-supported"
SAMPLING = (
    "400: `temperature` is deprecated for this model; at 1 it is taken, top_p and top_k are not at "
    f"any value: {DOCS}/about-claude/models/whats-new-claude-4-7#sampling-parameters-removed, "
    "tried at https://github.com/mnfst/modelparams.dev/pull/238"
)
ONE = (
    "400: `temperature` and `top_p` cannot both be specified for this model. Please use only one.: "
    "https://github.com/SalesforceAIResearch/MCP-Universe/issues/49"
)
WHILE = "400: `temperature` may only be set to 1 when thinking is enabled, and it always is"
FORCED = (
    "forced tool use returns an error on Opus 5.5, Fable 5.1 and Mythos 5.1: "
    f"{DOCS}/models/opus-5-5/whats-new-opus-5-5"
)
SONNET_5 = (
    "taken, says @langchain/anthropic 1.5.13 of October 2026; refused, says gproxy-transform 2.8.3"
)

ALL = ("low", "medium", "high", "xhigh", "max")
SEES = ("image", "document")
# "`temperature` may only be set to 1 when thinking is enabled", "`top_k` must be unset when
# thinking is enabled": these hold for all that think, so dialects/_claude.py has them.
OLDEST = Facts(
    thinking=(),
    thinks="never",
    efforts=(),
    prefill=True,
    system_turns=False,
    media=SEES,
    stored_media=("document",),
)
EXTENDED = Facts(
    thinking=("on", "off"),
    thinks="off",
    efforts=(),
    prefill=True,
    system_turns=False,
    media=SEES,
    stored_media=("document",),
)
BOTH = Facts(
    max_tokens=128_000,
    exclusive=("temperature", "top_p"),
    thinking=("on", "adaptive", "off"),
    thinks="off",
    efforts=("low", "medium", "high", "max"),
    prefill=False,
    system_turns=False,
    media=SEES,
    stored_media=("document",),
)
ADAPTIVE = Facts(
    max_tokens=128_000,
    refuses=("top_p", "top_k"),
    fixed={"temperature": 1},
    thinking=("adaptive", "off"),
    thinks="off",
    efforts=ALL,
    prefill=False,
    system_turns=True,
    media=SEES,
    stored_media=("document",),
)
ALWAYS = {"thinking": ("adaptive",), "thinks": "always"}

VIDEO = (
    "recorded 400 (Bedrock): This model doesn't support the video content block that you provided."
)
S3 = (
    "recorded 400 (Bedrock, an image): This model doesn't support the s3Uri field. A recorded "
    "document in the result of a tool was accepted."
)

OLD = {
    "max_tokens": OVERVIEW,
    "exclusive": ONE,
    "thinking": THINKING,
    "thinks": THINKING,
    "efforts": EFFORT,
    "prefill": PREFILL,
    "system_turns": SYSTEM,
    "media": f"{VIDEO} {DOCS}/build-with-claude/vision, {DOCS}/build-with-claude/pdf-support",
    "stored_media": S3,
}
NEW = OLD | {
    "refuses": SAMPLING,
    "fixed": SAMPLING,
    "efforts_off": "400: output_config.effort 'xhigh' is not supported when thinking is disabled "
    f"on this model: {THINKING}, which names Opus 5 alone",
    "forced_tools": FORCED,
}

VENDOR = Vendor(
    "anthropic",
    "Anthropic",
    ("claude*",),
    (
        row(
            "claude-instant*",
            "claude-1*",
            "claude-2*",
            base=OLDEST,
            max_tokens=4096,
            media=(),
            sources=OLD,
        ),
        row("claude-3-5-*", base=OLDEST, max_tokens=8192, sources=OLD),
        row(
            "claude-3-7-*",
            base=EXTENDED,
            max_tokens=128_000,
            sources=OLD
            | {"max_tokens": f"64000, or 128000 with the beta output-128k-2025-02-19: {OVERVIEW}"},
        ),
        row("claude-3-*", base=OLDEST, max_tokens=4096, sources=OLD),
        row(
            "claude-opus-4",
            "claude-opus-4-0",
            "claude-4-opus",
            base=EXTENDED,
            max_tokens=32_000,
            sources=OLD,
        ),
        row(
            "claude-opus-4-1",
            base=EXTENDED,
            max_tokens=32_000,
            exclusive=("temperature", "top_p"),
            sources=OLD,
        ),
        row(
            "claude-sonnet-4",
            "claude-sonnet-4-0",
            "claude-4-sonnet",
            base=EXTENDED,
            max_tokens=64_000,
            sources=OLD,
        ),
        row(
            "claude-sonnet-4-5",
            "claude-haiku-4-5",
            base=EXTENDED,
            max_tokens=64_000,
            exclusive=("temperature", "top_p"),
            sources=OLD,
        ),
        row(
            "claude-opus-4-5",
            base=EXTENDED,
            max_tokens=64_000,
            exclusive=("temperature", "top_p"),
            efforts=("low", "medium", "high"),
            sources=OLD,
        ),
        row("claude-opus-4-6", "claude-sonnet-4-6", base=BOTH, sources=OLD),
        row(
            "claude-mythos-preview",
            base=BOTH,
            thinking=("on", "adaptive"),
            thinks="always",
            refuses=("top_k",),
            fixed={"temperature": 1},
            sources=OLD | {"refuses": WHILE, "fixed": WHILE},
        ),
        row("claude-opus-4-7", base=ADAPTIVE, system_turns=False, sources=NEW),
        row("claude-opus-4-8", base=ADAPTIVE, sources=NEW),
        row(
            "claude-opus-5",
            base=ADAPTIVE,
            thinks="on",
            efforts_off=("low", "medium", "high"),
            sources=NEW,
        ),
        row(
            "claude-sonnet-5", base=ADAPTIVE, thinks="on", sources=NEW | {"system_turns": SONNET_5}
        ),
        row("claude-haiku-5-5", base=ADAPTIVE, thinks="on", sources=NEW),
        row(
            "claude-sonnet-5-5",
            base=ADAPTIVE,
            thinking=("adaptive", "between-tools"),
            thinks="on",
            sources=NEW,
        ),
        row("claude-fable-5", "claude-mythos-5", base=ADAPTIVE, **ALWAYS, sources=NEW),
        row("claude-opus-5-5", base=ADAPTIVE, **ALWAYS, forced_tools=False, sources=NEW),
        row(
            "claude-fable-*",
            "claude-mythos-*",
            base=ADAPTIVE,
            **ALWAYS,
            forced_tools=False,
            sources=NEW,
        ),
        row("*", base=ADAPTIVE, **ALWAYS, forced_tools=False, sources=NEW),
    ),
    named=r"[\s\S]*claude[\s\S]*",
)
