"""Vendors of whose models no fact is known: a name tells whose model it is, and nothing else."""

from __future__ import annotations

from . import Vendor

VENDORS = (
    Vendor("meta", "Meta", ("llama*", "meta-llama*", "codellama*", "muse-*")),
    Vendor("alibaba", "Alibaba", ("qwen*", "qwq*", "qvq*")),
    Vendor("moonshot", "Moonshot AI", ("kimi*", "moonshot*")),
    Vendor("zai", "Z.ai", ("glm*", "chatglm*")),
    Vendor("minimax", "MiniMax", ("minimax*", "abab*")),
    Vendor("ai21", "AI21", ("jamba*", "j2-*")),
    Vendor("microsoft", "Microsoft", ("phi-*", "phi3*", "phi4*", "mai-*")),
    Vendor("nvidia", "NVIDIA", ("nemotron*", "llama-nemotron*")),
    Vendor("ibm", "IBM", ("granite*",)),
    Vendor("perplexity", "Perplexity", ("sonar*",)),
)
