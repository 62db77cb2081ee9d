"""``--set key=value``: fields of the result, as the caller wants them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..core.reading import parse
from ..errors import Malformed
from ..model import Json
from .faults import usage

EXAMPLE = "e.g. --set temperature=0.2 --set reasoning.effort=high"
MODELS = (("model",), ("modelId",))


class Setting(NamedTuple):
    """One field: the keys that lead to it, and its value."""

    keys: tuple[str, ...]
    value: Json

    @property
    def name(self) -> str:
        return ".".join(self.keys)


def parse_settings(written: Iterable[str]) -> tuple[Setting, ...]:
    """``key=value`` or ``key.inner=value``; a value that is no JSON is text."""
    return tuple(map(_parse, written))


def _parse(written: str) -> Setting:
    name, equals, text = written.partition("=")
    keys = tuple(name.split("."))
    if not equals or not all(keys):
        raise usage(f"--set takes KEY=VALUE, not {written!r}", EXAMPLE)
    try:
        value = parse(text)
    except Malformed:
        value = text
    if keys in MODELS and value.__class__ is str and not value.strip():
        raise usage(f"--set {name}= is empty: name a model of the target")
    return Setting(keys, value)


def with_settings(document: Json, settings: Iterable[Setting]) -> Json:
    """The document with fields set; the document itself is not changed."""
    for setting in settings:
        document = _with(document, setting, 0)
    return document


def _with(document: Json, setting: Setting, depth: int) -> Json:
    if depth == len(setting.keys):
        return setting.value
    key = setting.keys[depth]
    if document.__class__ is list:
        if not key.isdecimal() or int(key) >= len(document):
            raise usage(f"--set {setting.name}: the list has no item {key!r}")
        index = int(key)
        inner = _with(document[index], setting, depth + 1)
        return [*document[:index], inner, *document[index + 1 :]]
    if document.__class__ is not dict:
        raise usage(f"--set {setting.name}: no object to set {key!r} in", EXAMPLE)
    return document | {key: _with(document.get(key, {}), setting, depth + 1)}
