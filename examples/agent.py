"""An agent whose history stays in OpenAI format while the model after it changes every turn.

    python examples/agent.py "What do the notes in this folder say?" \
        anthropic-messages:claude-opus-5-5 openai-responses:gpt-6 openai-chat:gpt-6-mini

Each model is asked in turn, through whatever API it has; addresses and keys come from the
environment (OPENAI_API_KEY, ANTHROPIC_BASE_URL, ...). A model that is busy is passed over.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from dragoman.providers import Overloaded, Provider, RateLimited

TURNS = 20
SYSTEM = "You are a careful assistant. Use the tools to look before you answer, and be brief."


def list_files(root: Path) -> str:
    """The names of all files."""
    return "\n".join(sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()))


def read_file(root: Path, path: str) -> str:
    """The text of one file."""
    file = (root / path).resolve()
    if not file.is_relative_to(root.resolve()):
        raise PermissionError(f"{path} is outside of the folder")
    return file.read_text("utf-8")


def add(root: Path, numbers: list[float]) -> str:
    """The sum of some numbers."""
    return f"{sum(numbers):g}"


PARAMETERS: dict[Any, dict[str, Any]] = {
    list_files: {},
    read_file: {"path": {"type": "string"}},
    add: {"numbers": {"type": "array", "items": {"type": "number"}}},
}
FUNCTIONS = {function.__name__: function for function in PARAMETERS}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": function.__name__,
            "description": function.__doc__,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": list(properties),
            },
        },
    }
    for function, properties in PARAMETERS.items()
]


def execute(call: dict[str, Any], root: Path) -> dict[str, Any]:
    """One tool call, and its result as a message. A model may write any name and any arguments."""
    try:
        function = FUNCTIONS[call["function"]["name"]]
        text = function(root, **json.loads(call["function"]["arguments"] or "{}"))
    except Exception as problem:
        # OpenAI has no flag for a failed tool. Where there is one, dragoman sets it for this mark.
        text = f"[tool error] {type(problem).__name__}: {problem}"
    return {"role": "tool", "tool_call_id": call["id"], "content": text}


def run(task: str, models: Sequence[Provider], root: Path) -> list[dict[str, Any]]:
    """Work on a task until a model replies without calling a tool; the whole history."""
    history = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task}]
    capsules: dict[str, Any] = {}  # reasoning that only its own provider can read
    for model in islice(cycle(models), TURNS):
        try:
            reply = model.create(history, tools=TOOLS, capsules=capsules)
        except (RateLimited, Overloaded) as busy:
            print(f"[{model.model}] is busy: {busy}")
            continue
        history, capsules = reply.append(history), reply.capsules
        message = reply.message
        if message.get("content"):
            print(f"[{model.model}] {message['content']}")
        if not message.get("tool_calls"):
            return history
        for call in message["tool_calls"]:
            result = execute(call, root)
            print(f"[{model.model}] {call['function']['name']} {call['function']['arguments']}")
            history.append(result)
    raise RuntimeError(f"no answer after {TURNS} turns")


def main(arguments: Sequence[str] | None = None) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser(description="an agent whose model changes every turn")
    parser.add_argument("task")
    parser.add_argument("models", nargs="+", metavar="dialect:model")
    parser.add_argument("--root", type=Path, default=Path(), help="the folder it may look into")
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        pairs = (name.partition(":")[::2] for name in options.models)
        models = [stack.enter_context(Provider(d, model=m)) for d, m in pairs]
        return run(options.task, models, options.root)


if __name__ == "__main__":
    main()
