"""LLaMA-Factory's own loader as judge: the converter of ShareGPT records, and how it reads calls.

The package imports torch when it is imported whole. What is asked here does not need it: the
modules of its folder ``data`` are loaded without their package, and with blanks for the two
others of which they import names.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import types
from functools import cache
from typing import Any, NamedTuple


class Loaded(NamedTuple):
    """What LLaMA-Factory makes of a record; without a prompt and a reply it was skipped."""

    prompt: list[dict[str, str]]
    reply: list[dict[str, str]]
    system: str
    tools: str

    @property
    def turns(self) -> list[dict[str, str]]:
        return [*self.prompt, *self.reply]


@cache
def package() -> Any:
    """The modules of ``llamafactory.data`` that need no torch."""
    spec = importlib.util.find_spec("llamafactory")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    root = next(iter(spec.submodule_search_locations))
    for name in ("llamafactory", "llamafactory.data", "llamafactory.extras"):
        module = types.ModuleType(name)
        module.__path__ = [f"{root}/{name.partition('.')[2]}"]
        sys.modules[name] = module
    for name in ("constants", "misc"):
        blank = types.ModuleType(f"llamafactory.extras.{name}")
        blank.__getattr__ = lambda name: name  # type: ignore[method-assign]
        sys.modules[blank.__name__] = blank
    names = ("converter", "parser", "formatter")
    found = {name: importlib.import_module(f"llamafactory.data.{name}") for name in names}
    return types.SimpleNamespace(**found)


def loaded(record: dict[str, Any]) -> Loaded:
    data = package()
    pair = "chosen" in record
    attributes = data.parser.DatasetAttr("file", "records", "sharegpt")
    attributes.messages, attributes.role_tag, attributes.content_tag = (
        "conversations",
        "from",
        "value",
    )
    attributes.user_tag, attributes.assistant_tag = "human", "gpt"
    attributes.observation_tag, attributes.function_tag = "observation", "function_call"
    attributes.system_tag = "system"
    attributes.ranking = pair
    for key in ("system", "tools", "chosen", "rejected", "kto_tag"):
        setattr(attributes, key, key if key in record else None)
    done = data.converter.SharegptDatasetConverter(attributes, None)(record)
    return Loaded(done["_prompt"], done["_response"], done["_system"], done["_tools"])


def answered(record: dict[str, Any]) -> Loaded:
    """The same for a record of Alpaca."""
    data = package()
    attributes = data.parser.DatasetAttr("file", "records", "alpaca")
    attributes.prompt, attributes.query, attributes.response = "instruction", "input", "output"
    attributes.ranking = "chosen" in record
    for key in ("system", "tools", "history", "chosen", "rejected", "kto_tag"):
        setattr(attributes, key, key if key in record else None)
    done = data.converter.AlpacaDatasetConverter(attributes, None)(record)
    return Loaded(done["_prompt"], done["_response"], done["_system"], done["_tools"])


def calls(value: str) -> list[tuple[str, Any]]:
    """The calls that LLaMA-Factory reads in a turn."""
    seen: list[tuple[str, Any]] = []
    formatter = package().formatter.FunctionFormatter(slots=["{{content}}"], tool_format="default")

    def note(functions: Any) -> str:
        seen.extend((function.name, json.loads(function.arguments)) for function in functions)
        return ""

    formatter.tool_utils = types.SimpleNamespace(function_formatter=note)
    formatter.apply(content=value, thought_words=("<think>\n", "\n</think>\n\n"))
    return seen
