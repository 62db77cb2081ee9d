"""OpenAI's models. Which efforts a model takes was tried against the Responses API by others.

A model that reasons takes no sampling parameters while it does. Since gpt-5.1 reasoning can be
turned off (effort ``none``), and some have it off unless they are asked.
"""

from __future__ import annotations

from . import Facts, Vendor, row

PAGES = "https://developers.openai.com/api/docs/models"
REASONING = "https://developers.openai.com/api/docs/guides/reasoning"
TRIED = (
    "tried against the Responses API in July 2026: https://github.com/pydantic/pydantic-ai "
    f"(profiles/openai.py); {REASONING}"
)
SAMPLING = (
    "recorded 400: Unsupported parameter: 'temperature' is not supported with this model. "
    "Recorded 400: Unsupported parameter: 'top_p' is not supported with this model. "
    f"{REASONING}"
)
LIMIT = (
    "recorded 400: Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead."
)
CACHE = (
    "prompt_cache_breakpoint exists since gpt-5.6: "
    "https://developers.openai.com/api/docs/guides/prompt-caching"
)
STOP = (
    "400: Unsupported parameter: 'stop' is not supported with this model: gpt-5, gpt-5.1, gpt-5.2 "
    "in https://github.com/huggingface/smolagents/issues/1893; o3 and o4-mini, says openai-python; "
    "taken with effort none, says https://github.com/BerriAI/litellm/pull/28662"
)
FEW = "recorded 400: Unsupported value: 'minimal' is not supported with the 'o4-mini' model. "
EFFORTS = f"{FEW}Supported values are: 'low', 'medium', and 'high'."
NEVER = (
    "recorded 400 (gpt-5-chat-latest): Unsupported parameter: 'reasoning.effort' is not supported "
    "with this model."
)

SAMPLED = (
    "temperature", "top_p", "frequency_penalty", "presence_penalty", "logit_bias", "logprobs",
    "top_logprobs",
)  # fmt: skip
KEY = "max_completion_tokens"
THREE = ("low", "medium", "high")
FIVE = ("low", "medium", "high", "xhigh", "max")

PLAIN = Facts(thinks="never", efforts=(), cache_marks=False)
O_SERIES = Facts(
    max_tokens=100_000, limit_key=KEY, refuses_thinking=SAMPLED, thinks="always", efforts=THREE,
    cache_marks=False,
)  # fmt: skip
GPT_5 = Facts(
    max_tokens=128_000, limit_key=KEY, refuses=("stop",), refuses_thinking=SAMPLED, thinks="always",
    efforts=("minimal", "low", "medium", "high"), cache_marks=False,
)  # fmt: skip

SAID = {
    "max_tokens": PAGES,
    "limit_key": LIMIT,
    "refuses_thinking": SAMPLING,
    "refuses": STOP,
    "thinks": TRIED,
    "efforts": TRIED,
    "cache_marks": CACHE,
    "media": PAGES,
}
OLD = {
    "max_tokens": PAGES, "thinks": NEVER, "efforts": NEVER, "cache_marks": CACHE, "media": PAGES,
}  # fmt: skip


VENDOR = Vendor(
    "openai",
    "OpenAI",
    (
        "gpt-*", "chatgpt-*", "o1", "o1-*", "o3", "o3-*", "o4-*", "codex-*", "computer-use-*",
        "davinci-*", "babbage-*",
    ),
    (
        row(
            "gpt-oss*",
            efforts=THREE,
            sources={"efforts": f"{PAGES}/gpt-oss-120b"},
        ),
        row("gpt-3.5*", base=PLAIN, max_tokens=4096, media=(), sources=OLD),
        row("gpt-4-turbo*", "gpt-4-*-preview", base=PLAIN, max_tokens=4096, sources=OLD),
        row("gpt-4", "gpt-4-0*", base=PLAIN, max_tokens=8192, media=(), sources=OLD),
        row("gpt-4-32k*", base=PLAIN, media=(), sources=OLD),
        row("gpt-4.1*", base=PLAIN, max_tokens=32_768, sources=OLD),
        row("gpt-4o*", "chatgpt-4o*", base=PLAIN, max_tokens=16_384, sources=OLD),
        row("gpt-4*", "davinci-*", "babbage-*", base=PLAIN, sources=OLD),
        row(
            "o1-mini", "o1-preview",
            base=O_SERIES, max_tokens=65_536, efforts=(), system_prompt=False, tools=False,
            media=(),
            sources=SAID | {
                "system_prompt": "recorded 400: Unsupported value: 'messages[0].role' does not "
                "support 'system' with this model. (nor 'developer')",
                "tools": f"{PAGES}/o1-mini",
                "efforts": REASONING,
            },
        ),
        row("o3-mini", base=O_SERIES, media=(), sources=SAID),
        row("o1-pro", base=O_SERIES, sources=SAID),
        row("o1", base=O_SERIES, sources=SAID),
        row("o3*", "o4*", "codex-mini*", base=O_SERIES, refuses=("stop",),
            sources=SAID | {"efforts": EFFORTS}),
        row(
            "gpt-5-chat",
            base=PLAIN, max_tokens=16_384, limit_key=KEY, tools=False,
            sources=OLD | {
                "limit_key": LIMIT,
                "tools": "recorded 400: tools is not supported in this model.",
            },
        ),
        row("gpt-5.1-chat", "gpt-5.2-chat", "gpt-5.3-chat", base=GPT_5, efforts=("medium",),
            sources=SAID),
        row("gpt-5-pro", base=GPT_5, efforts=("high",), sources=SAID | {
            "efforts": f"{PAGES}/gpt-5-pro"}),
        row("gpt-5-codex", "gpt-5.1-codex", "gpt-5.1-codex-mini", base=GPT_5, efforts=THREE,
            sources=SAID),
        row("gpt-5.1-codex-max", base=GPT_5, efforts=("low", "medium", "high", "xhigh"),
            sources=SAID),
        row("gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-5-image*", "gpt-5-search*", base=GPT_5,
            sources=SAID),
        row("gpt-5.1", base=GPT_5, thinks="off", efforts=("none", *THREE), sources=SAID),
        row("gpt-5.2-pro", "gpt-5.4-pro", "gpt-5.5-pro", base=GPT_5,
            efforts=("medium", "high", "xhigh"), sources=SAID),
        row("gpt-5.2*", "gpt-5.3*", "gpt-5.4*", base=GPT_5, thinks="off",
            efforts=("none", *THREE, "xhigh"), sources=SAID),
        row("gpt-5.5*", base=GPT_5, thinks="on", efforts=("none", *THREE, "xhigh"), sources=SAID),
        row("gpt-5.6*", "gpt-6-luna*", base=GPT_5, thinks="on", efforts=("none", *FIVE),
            cache_marks=True, sources=SAID),
        row("*", base=GPT_5, efforts=FIVE, cache_marks=True, sources=SAID | {
            "efforts": f"GPT-6 Astra and GPT-6.1 Sol do not take `none`: {PAGES}/gpt-6-astra"}),
    ),
    named=r"(?:gpt-|chatgpt-|o1|o3|o4|ft:gpt-|openai/)[\s\S]*",
)  # fmt: skip
