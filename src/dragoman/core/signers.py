"""Who signs reasoning: the vendor of the model, not the platform that serves it."""

from __future__ import annotations

from ..model import Signature

# Of the models that Bedrock serves, Claude alone signs its reasoning, and its signatures are the
# same everywhere: "`signature` values are compatible across platforms (Claude APIs, Amazon Bedrock,
# and Vertex AI). Values generated on one platform will be compatible with another."
# https://platform.claude.com/docs/en/build-with-claude/extended-thinking#thinking-encryption
SIGNERS = {"bedrock": "anthropic"}


def signer(signature: Signature) -> str:
    """The vendor of the model that signed, if known; who encrypts is always the platform."""
    issuer = signature.issuer
    return SIGNERS.get(issuer, issuer) if signature.kind == "signature" else issuer
