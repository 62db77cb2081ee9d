"""``providerOptions``: what a message, a part or a tool says to one provider alone.

Some of it has a name in the tree (cache marks, signatures, item ids, image detail) and is taken
out; the rest is kept, each provider's share a loss of its own elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import escape
from ...core.turns import lose_fields
from ...core.writing import Writing
from ...dialect import Dialect
from ...ledger import Ledger
from ...model import Cache, Extras, Json, Node, Signature
from .._ai_sdk import SIGNATURE, SIGNATURES, SIGNER, SIGNERS

if TYPE_CHECKING:
    from . import VercelModel


KEY, METADATA = "providerOptions", "providerMetadata"
UNKNOWN = ("warnings", "rawCall")
"""what is written of a response where nothing is known of it"""
Options = dict[str, dict[str, Json]]
"""provider -> its options"""


def keep_options(
    d: VercelModel,
    options: Taker,
    taken: frozenset[str],
    spelling: dict[str, Json] | None = None,
    *,
    partly: dict[str, tuple[str, ...]] | None = None,
) -> Extras | None:
    """``keep`` for a node with options: each provider's share is kept by itself."""
    doc = options.rest()
    parts: dict[str, tuple[str, ...]] = dict(partly or {})
    if doc.get(KEY).__class__ is dict:
        parts[KEY] = ()
    return d.keep(doc, taken, spelling, partly=parts)


def keep_part(d: VercelModel, options: Taker, taken: frozenset[str]) -> Extras | None:
    """``keep_options`` for a part that Google may have signed: a text, a call, a file."""
    signature = options.take_signature()
    extras = keep_options(d, options, taken)
    if signature is None:
        return extras
    return replace(extras or Extras(d.name), signature=Signature(signature, SIGNER))


def read_cache(d: VercelModel, options: Taker) -> Cache | None:
    if options.left is None:
        return None
    mark = options.take("anthropic", "cacheControl", dict)
    if mark is None:
        return None
    ttl = mark.get("ttl")
    if ttl is not None and ttl.__class__ is not str:
        options.left["anthropic"]["cacheControl"] = mark
        return None
    taken = ("type", "ttl") if mark.get("type") == "ephemeral" else ("ttl",)
    at = f"{options.at}/anthropic/cacheControl"
    return Cache(ttl, at=at, extras=d.keep(mark, taken))


def write_cache(d: VercelModel, cache: Cache | None, w: Writing) -> Options:
    if cache is None:
        return {}
    mark: dict[str, Json] = {"type": "ephemeral"}
    if cache.ttl is not None:
        mark["ttl"] = cache.ttl
    return {"anthropic": {"cacheControl": d.emit(mark, cache, w.log)}}


def read_signature(options: Taker) -> Signature | None:
    """A signature or encrypted reasoning, under the name of their issuer."""
    for issuer, kinds in SIGNATURES.items():
        for kind, key in kinds.items():
            data = options.take(issuer, key) if key != SIGNATURE else options.take_signature()
            if data:
                return Signature(data, issuer, kind)  # type: ignore[arg-type]
    return None


def write_signature(signature: Signature | None) -> Options:
    if signature is None:
        return {}
    return {signature.issuer: {SIGNATURES[signature.issuer][signature.kind]: signature.data}}


def write_item(item_id: str | None) -> Options:
    """The id that OpenAI gave an item."""
    return {} if item_id is None else {"openai": {"itemId": item_id}}


def finish(
    d: VercelModel, out: dict[str, Json], node: Node, w: Writing, *shares: Options
) -> dict[str, Json]:
    """Extras, and the options that the tree has names for."""
    if node.extras is not None:
        if (signature := node.extras.signature) is not None and signature.issuer == SIGNER:
            shares = (*shares, write_signature(signature))
            node = replace(node, extras=replace(node.extras, signature=None))
        out = d.emit(out, node, w.log)
    for share in shares:
        for provider, written in share.items():
            options = out.setdefault(KEY, {})
            if options.__class__ is not dict:
                if w.same:
                    continue
                why = f"{d.name} requires an object for options"
                w.log.dropped("extras", f"{node.at}/{METADATA if w.reply else KEY}", why)
                options = {}
            own = options.get(provider, {})
            if own.__class__ is dict and not w.same:
                at = f"{node.at}/{METADATA if w.reply else KEY}/{escape(provider)}"
                own = without_others(own, written, at, d, w.log)
            out[KEY] = options | {provider: written | own if own.__class__ is dict else own}
    return out


def without_others(
    own: dict[str, Json], written: dict[str, Json], at: str, d: VercelModel, log: Ledger
) -> dict[str, Json]:
    """The options that kin passed on, without those for which the tree has another value."""
    others = [key for key in own if key in written and own[key] != written[key]]
    for key in others:
        log.dropped("extras", f"{at}/{escape(key)}", f"{d.name} has another value for {key!r}")
    return {key: value for key, value in own.items() if key not in others}


def emit(d: VercelModel, out: dict[str, Json], node: Node, log: Ledger) -> dict[str, Json]:
    """Without what another version kept under a name that means something else here."""
    extras = node.extras
    if extras is not None and extras.dialect in d.kin:
        taken = {*d.claims, *out} - {*extras.inner, *UNKNOWN}
        if lost := {k: v for k, v in extras.fields.items() if k in taken}:
            lose_fields(replace(extras, fields=lost), node.at, log)
            rest = {k: v for k, v in extras.fields.items() if k not in taken}
            node = replace(node, extras=replace(extras, fields=rest))
    return Dialect.emit(d, out, node, log)


class Taker:
    """The options of one node, of which a reader takes what the tree has a name for."""

    __slots__ = ("at", "doc", "left")

    def __init__(self, doc: dict[str, Json], at: str) -> None:
        self.doc = doc
        self.at = f"{at}/{KEY}"
        self.left: dict[str, Json] | None = None
        options = doc.get(KEY)
        if options.__class__ is dict:
            self.left = {k: dict(v) if v.__class__ is dict else v for k, v in options.items()}

    def take(self, provider: str, key: str, kind: type = str) -> Json:
        """An option, if it is of that kind; another value stays where it is, null says nothing."""
        options = None if self.left is None else self.left.get(provider)
        if options.__class__ is not dict or options.get(key).__class__ not in (kind, type(None)):
            return None
        return options.pop(key, None)

    def take_signature(self) -> str | None:
        """What Google signed, under any of the names that it has."""
        return next(filter(None, (self.take(name, SIGNATURE) for name in SIGNERS)), None)

    def rest(self) -> dict[str, Json]:
        """The document with only those options that were not taken."""
        if self.left is None:
            return self.doc
        rest = {k: v for k, v in self.doc.items() if k != KEY}
        left = {k: v for k, v in self.left.items() if v != {}}
        return rest | {KEY: left} if left else rest
