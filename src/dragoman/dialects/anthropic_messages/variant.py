"""Anthropic's API where a cloud serves it: the address names the model, and the body the version.

The body is that of the Messages API without ``model``, with ``anthropic_version``. Features of the
beta are listed in ``anthropic_beta``, where the Messages API has a header.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from ...ledger import Ledger
from ...model import Json, Request
from . import AnthropicMessages

VERSION = "anthropic_version"


class Served(AnthropicMessages):
    aliases = ()
    serves = ("anthropic",)
    needs_model = False  # the address names it
    kin = frozenset({"anthropic-messages"})
    version: ClassVar[str]
    refused: ClassVar[frozenset[str]] = frozenset()
    """Fields of the Messages API that are not accepted."""

    def read_request(self, doc: Json) -> Request:
        if doc.__class__ is dict and doc.get(VERSION) == self.version:
            doc = {k: v for k, v in doc.items() if k != VERSION}
        return super().read_request(doc)

    def write_request(self, tree: Request, log: Ledger) -> Json:
        if self.is_same(tree.dialect):
            return {VERSION: self.version, **super().write_request(tree, log)}
        tree = self.without_refused(tree, log)
        out: Json = super().write_request(tree, log)
        params = tree.params
        if out.pop("model", None) is not None and params.ats.get("model") != "":
            log.dropped("model", params.where("model"), f"{self.name} has the model in its address")
        return {VERSION: self.version, **out}

    def without_refused(self, tree: Request, log: Ledger) -> Request:
        if tree.extras is None or not self.knows(tree.extras.dialect):
            return tree
        fields = tree.extras.fields
        for key in sorted(self.refused & fields.keys()):
            log.dropped("extras", f"{tree.at}/{key}", f"{key} is not supported by {self.name}")
        rest = {k: v for k, v in fields.items() if k not in self.refused}
        return replace(tree, extras=replace(tree.extras, fields=rest))


class OnVertex(Served):
    """The address that Google gives it."""

    endpoints = (AnthropicMessages.endpoints[1]._replace(platform="", sign=""),)
