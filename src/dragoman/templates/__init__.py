"""Any chat template as a target: ``template:PATH`` on the command line, ``load`` in Python.

    name = dragoman.templates.load("template:qwen3.jinja?spans=all")
    dragoman.convert(request, source="anthropic", target=name)

``PATH`` is a file with a Jinja template, a ``tokenizer_config.json`` (or ``chat_template.json``)
that holds one, or the folder of a model. What the template leaves out of the conversation is in
the ledger.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .. import dialects
from ..errors import Unsupported
from .dialect import ChatTemplate, Options
from .masks import token_mask

__all__ = ["PREFIX", "ChatTemplate", "Options", "load", "token_mask"]

PREFIX = "template:"
FILES = ("chat_template.jinja", "chat_template.json", "tokenizer_config.json")
CHOICES: dict[str, tuple[str, ...]] = {
    "spans": ("none", "last", "all"),
    "reasoning": ("yes", "no"),
    "form": ("text", "pairs"),
    "name": (),
}
TOKENS = ("bos_token", "eos_token", "pad_token", "unk_token")


def load(name: str) -> str:
    """Reads the template that a name tells (``template:PATH?spans=all``), and registers it.

    The name is that of a dialect from then on. ``spans`` is ``none``, ``last`` or ``all``;
    ``reasoning=no`` leaves reasoning out of the spans; ``form=pairs`` divides the text into
    ``prompt`` and ``completion``; ``name`` chooses one of several templates.
    """
    path, given = parsed(name)
    source, tokens = read(path, given.get("name", "default"))
    options = Options(
        spans=given.get("spans", "none"),  # type: ignore[arg-type]
        reasoning=given.get("reasoning", "yes") == "yes",
        pairs=given.get("form", "text") == "pairs",
    )
    dialects.register(ChatTemplate(source, tokens=tokens, options=options), name)
    return name


def parsed(name: str) -> tuple[Path, dict[str, str]]:
    """The path in a name, and its options."""
    if not name.startswith(PREFIX):
        raise Unsupported(f"{name!r} does not begin with {PREFIX!r}")
    path, _, query = name.removeprefix(PREFIX).partition("?")
    given: dict[str, str] = {}
    for item in filter(None, query.split("&")):
        key, _, value = item.partition("=")
        if key not in CHOICES or (CHOICES[key] and value not in CHOICES[key]):
            known = "; ".join(f"{k}={'|'.join(v) or 'NAME'}" for k, v in CHOICES.items())
            raise Unsupported(f"unknown option {item!r} of a template; there are: {known}")
        given[key] = value
    return Path(path), given


def read(path: Path, chosen: str = "default") -> tuple[str, dict[str, str]]:
    """The template of a file or a folder, and the special tokens that stand beside it."""
    try:
        if path.is_dir():
            return read_folder(path, chosen)
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        why = getattr(problem, "strerror", None) or "it is no UTF-8 text"
        raise Unsupported(f"cannot read the chat template {str(path)!r}: {why}") from None
    if path.suffix != ".json":
        return text, {}
    try:
        config = json.loads(text)
    except ValueError:
        raise Unsupported(f"{str(path)!r} is no JSON") from None
    if not isinstance(config, dict) or not (found := config.get("chat_template")):
        raise Unsupported(f"{str(path)!r} has no 'chat_template'")
    return one_of(found, chosen, path), dict(tokens_of(config))


def read_folder(path: Path, chosen: str) -> tuple[str, dict[str, str]]:
    found = [path / name for name in FILES if (path / name).is_file()]
    if not found:
        raise Unsupported(f"{str(path)!r} has none of {', '.join(FILES)}")
    source, tokens = read(found[0], chosen)
    config = path / FILES[-1]
    if not tokens and config.is_file():
        tokens = dict(tokens_of(json.loads(config.read_text("utf-8"))))
    return source, tokens


def one_of(found: Any, chosen: str, path: Path) -> str:
    """The template, or one of several by its name."""
    if isinstance(found, str):
        return found
    named = {item.get("name"): item.get("template") for item in found if isinstance(item, dict)}
    if not isinstance(named.get(chosen), str):
        known = ", ".join(sorted(map(str, named)))
        raise Unsupported(f"{str(path)!r} has no template {chosen!r}; there are: {known}")
    return str(named[chosen])


def tokens_of(config: dict[str, Any]) -> Iterable[tuple[str, str]]:
    for key in TOKENS:
        value = config.get(key)
        if isinstance(value, dict):
            value = value.get("content")
        if isinstance(value, str):
            yield key, value
