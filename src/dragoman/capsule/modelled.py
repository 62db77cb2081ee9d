"""The model of a request that went through a dialect with no field for it."""

from __future__ import annotations

from msgspec.structs import replace

from ..dialect import Dialect
from ..model import Json, Request, Tree

NAMELESS = "model"
"""Stands for the model of a request that names none: the patch takes it away again."""


def wants_model(tree: Tree, dialect: Dialect) -> bool:
    """Whether a request cannot be written in a dialect because it names no model."""
    return isinstance(tree, Request) and not tree.model and dialect.needs_model


def named(capsule: Json, tree: Tree, dialect: Dialect) -> Tree:
    """The request with the model that the capsule keeps, where it must name one and does not."""
    model = capsule.get("model") if capsule.__class__ is dict else None
    if model.__class__ is not str or not model or not wants_model(tree, dialect):
        return tree
    assert isinstance(tree, Request)
    params = replace(tree.params, ats=tree.params.ats | {"model": ""})  # of no place in the source
    return replace(tree, model=model, params=params)
