"""``providerOptions``: what a message, a part or a tool says to one provider alone.

Some of it has a name in the tree (cache marks, signatures, item ids, image detail) and is taken
out; the rest is kept, each provider's share a loss of its own elsewhere.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from ...core.writing import Writing
from ...dialect import Dialect
from ...model import Cache, Extras, Json, Node, Signature
from .._signatures import SIGNATURE, SIGNATURES, SIGNER, SIGNERS

KEY = "providerOptions"
Options = dict[str, dict[str, Json]]
"""provider -> its options"""


class Version(Dialect):
    """What differs from one major version of the SDK to the next. Here: 7."""

    name = "vercel-model"
    family: ClassVar[str] = "vercel-model"
    """the label of blocks that only this SDK knows, whatever its version"""
    issuer = ""
    kin = frozenset({"vercel-core", "vercel-model-v5", "vercel-model-v6"})

    media_type: ClassVar[str] = "mediaType"
    arguments: ClassVar[str] = "input"
    schema: ClassVar[str] = "inputSchema"
    system: ClassVar[str] = "instructions"
    active: ClassVar[str] = "activeTools"
    flat: ClassVar[bool] = False
    """whether a result is a value beside a flag, and reasoning bears its signature itself"""
    system_lists: ClassVar[bool] = True
    """whether the system prompt may be messages; else it is one string"""
    system_inside: ClassVar[bool] = False
    """whether a system message may stand among the messages without further ado"""
    image_parts: ClassVar[bool] = False
    """whether an image is written as a part of its own; else it is a file"""
    references: ClassVar[bool] = True
    """whether a file may be a reference, ``{provider: id}``"""
    file_ids: ClassVar[bool] = False
    """whether a file may be the id that OpenAI gave it, in the place of data"""
    said: ClassVar[dict[str, frozenset[str]]] = {
        "user": frozenset({"text", "image", "file"}),
        "assistant": frozenset(
            {
                "text", "file", "reasoning", "tool-call", "tool-result", "tool-approval-request",
                "reasoning-file", "custom",
            }
        ),
        "tool": frozenset({"tool-result", "tool-approval-response"}),
    }  # fmt: skip
    """the types of parts, by role"""
    outputs: ClassVar[frozenset[str]] = frozenset(
        {"text", "json", "error-text", "error-json", "content", "execution-denied"}
    )
    result_parts: ClassVar[frozenset[str]] = frozenset(
        {
            "text", "file", "file-data", "file-url", "file-id", "file-reference", "image-data",
            "image-url", "image-file-id", "image-file-reference", "custom",
        }
    )  # fmt: skip
    provider_tool: ClassVar[str] = "provider"

    def is_family(self, dialect: str | None) -> bool:
        """Whether a block that only one dialect knows is of this SDK."""
        return dialect == self.family


class Taker:
    """The options of one node, of which a reader takes what the tree has a name for."""

    __slots__ = ("at", "doc", "left", "nulls", "vendor")

    def __init__(self, doc: dict[str, Json], at: str) -> None:
        self.doc = doc
        self.at = f"{at}/{KEY}"
        self.left: dict[str, Json] | None = None
        self.nulls: Options = {}
        self.vendor = SIGNER  # what it is called here
        options = doc.get(KEY)
        if options.__class__ is dict:
            self.left = {k: dict(v) if v.__class__ is dict else v for k, v in options.items()}

    def take(self, provider: str, key: str, kind: type = str) -> Json:
        """An option, if it is of that kind; another value stays where it is."""
        options = None if self.left is None else self.left.get(provider)
        if options.__class__ is not dict or key not in options:
            return None
        value = options[key]
        if value is None:
            self.nulls.setdefault(provider, {})[key] = options.pop(key)
        elif value.__class__ is kind:
            return options.pop(key)
        return None

    def take_signature(self) -> str | None:
        """What Google signed, under any of the names that it has."""
        left = self.left or {}
        for name in SIGNERS:
            options = left.get(name)
            if options.__class__ is dict and options.get(SIGNATURE) != "":
                signature: str | None = self.take(name, SIGNATURE)
                if signature is not None:
                    self.vendor = name
                    return signature
        return None

    def rest(self) -> dict[str, Json]:
        """The document with only those options that were not taken."""
        if self.left is None:
            return self.doc
        said = self.doc[KEY]
        left = {k: v for k, v in self.left.items() if v != {} or said[k] == {}}
        rest = {k: v for k, v in self.doc.items() if k != KEY}
        return rest | {KEY: left} if left or not said else rest


class WithOptions(Version):
    """Reading and writing what is said to one provider alone."""

    def keep_options(
        self,
        options: Taker,
        taken: frozenset[str],
        spelling: dict[str, Json] | None = None,
        *,
        partly: dict[str, tuple[str, ...]] | None = None,
    ) -> Extras | None:
        """``keep`` for a node with options: each provider's share is kept by itself."""
        doc = options.rest()
        if options.vendor != SIGNER:
            spelling = (spelling or {}) | {"vendor": options.vendor}
        if options.nulls:
            spelling = (spelling or {}) | {"options": options.nulls}
        parts: dict[str, tuple[str, ...]] = dict(partly or {})
        if doc.get(KEY).__class__ is dict:
            parts[KEY] = ()
        return self.keep(doc, taken, spelling, partly=parts)

    def keep_part(
        self, options: Taker, taken: frozenset[str], spelling: dict[str, Json] | None = None
    ) -> Extras | None:
        """``keep_options`` for a part that Google may have signed: a text, a call, a file."""
        signature = options.take_signature()
        extras = self.keep_options(options, taken, spelling)
        if signature is None:
            return extras
        return replace(extras or Extras(self.name), signature=Signature(signature, SIGNER))

    def read_cache(self, options: Taker) -> Cache | None:
        if options.left is None:
            return None
        mark = options.take("anthropic", "cacheControl", dict)
        if mark is None:
            return None
        ttl = mark.get("ttl")
        if ttl is not None and ttl.__class__ is not str:
            options.left["anthropic"]["cacheControl"] = mark
            return None
        at = f"{options.at}/anthropic/cacheControl"
        spelling = None if mark.get("type") == "ephemeral" else {"type": mark.get("type")}
        return Cache(ttl, at=at, extras=self.keep(mark, ("type", "ttl"), spelling))

    def write_cache(self, cache: Cache | None, w: Writing) -> Options:
        if cache is None:
            return {}
        mark: dict[str, Json] = {"type": "ephemeral"}
        if cache.ttl is not None:
            mark["ttl"] = cache.ttl
        spelling = self.spelling(cache)
        if "type" in spelling:
            mark["type"] = spelling["type"]
            if mark["type"] is None:
                del mark["type"]
        return {"anthropic": {"cacheControl": self.emit(mark, cache, w.log)}}

    def read_signature(self, options: Taker) -> Signature | None:
        """A signature or encrypted reasoning, under the name of their issuer."""
        for issuer, kinds in SIGNATURES.items():
            for kind, key in kinds.items():
                data = options.take(issuer, key) if key != SIGNATURE else options.take_signature()
                if data:
                    return Signature(data, issuer, kind)  # type: ignore[arg-type]
        return None

    def write_signature(self, signature: Signature | None) -> Options:
        if signature is None:
            return {}
        return {signature.issuer: {SIGNATURES[signature.issuer][signature.kind]: signature.data}}

    def finish(
        self, out: dict[str, Json], node: Node, w: Writing, *shares: Options
    ) -> dict[str, Json]:
        """Extras, and the options that the tree has names for."""
        if node.extras is not None:
            if (signature := node.extras.signature) is not None and signature.issuer == SIGNER:
                shares = (*shares, self.write_signature(signature))
                node = replace(node, extras=replace(node.extras, signature=None))
            out = self.emit(out, node, w.log)
            spelling = self.spelling(node)
            if "vendor" in spelling:
                vendor = spelling["vendor"]
                shares = tuple({vendor if k == SIGNER else k: s[k] for k in s} for s in shares)
            if "options" in spelling:
                shares = (*shares, spelling["options"])
        for share in shares:
            for provider, said in share.items():
                options = out.setdefault(KEY, {})
                if options.__class__ is not dict:
                    continue
                own = options.get(provider, {})
                out[KEY] = options | {provider: said | own if own.__class__ is dict else own}
        return out
