"""What the formats of the AI SDK have in common: what providers signed, counts and stop reasons.

What providers signed is metadata under the name of the provider:
https://ai-sdk.dev/providers/ai-sdk-providers/anthropic#reasoning and the pages beside it.
"""

from __future__ import annotations

from ..core.counts import ALL, INPUT, OUTPUT
from ..core.reading import only
from ..core.signers import SIGNERS as SIGNERS_OF
from ..core.words import Stops
from ..model import Json

# issuer -> kind of signature -> key
SIGNATURES: dict[str, dict[str, str]] = {
    "anthropic": {"signature": "signature", "encrypted": "redactedData"},
    "bedrock": {"signature": "signature", "encrypted": "redactedData"},
    "google": {"signature": "thoughtSignature"},
    "openai": {"encrypted": "reasoningEncryptedContent"},
}
KEPT = frozenset(
    (SIGNERS_OF.get(issuer, issuer) if kind == "signature" else issuer, kind)
    for issuer, kinds in SIGNATURES.items()
    for kind in kinds
)
"""what is kept: (who signed or encrypted it, how)"""
SIGNER = "google"
"""who signs parts that are no reasoning"""
SIGNATURE = SIGNATURES[SIGNER]["signature"]
PLAIN_SIGNATURE = only(SIGNATURE)
SIGNERS = (SIGNER, "vertex", "googleVertex")
"""what it is called, where the reply came by Vertex AI: its provider reads all of these"""


def signature_in(metadata: Json) -> tuple[str, str] | None:
    """Under which name Google signed a part, and how; None if it did not, or said more."""
    if metadata.__class__ is not dict:
        return None
    for name in SIGNERS:
        written = metadata.get(name)
        if written.__class__ is dict and PLAIN_SIGNATURE(written):
            signature = written.get(SIGNATURE)
            if signature.__class__ is str and signature:
                return name, signature
    return None


# https://ai-sdk.dev/docs/reference/ai-sdk-core/generate-text#usage
COUNTED = {
    "inputTokens": INPUT,
    "outputTokens": OUTPUT,
    "totalTokens": ALL,
    "reasoningTokens": ("reasoning",),
    "cachedInputTokens": ("cache_read",),
}
# https://ai-sdk.dev/docs/reference/ai-sdk-core/generate-text#finish-reason
STOPS = Stops(
    {
        "stop": "end",
        "length": "length",
        "content-filter": "filter",
        "tool-calls": "tool-call",
        "error": "error",
        "interrupted": "cancelled",
        "other": "other",
        "unknown": "other",
    },
    {"stop-sequence": "stop", "context": "length"},
    rest="other",
)
