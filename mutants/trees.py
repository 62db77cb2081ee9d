"""Conversations put together block by block, each as a tree: what the corpus does not combine.

Every block has every field somewhere, and every field a few values; most trees are those of a usual
conversation, so that what they are about is one or two unusual blocks.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from dragoman import dialects
from fuzz import run
from fuzz.dice import Dice, one_of
from kept import Case

Json: TypeAlias = Any

WORDS = ("Hi", "It is 14 C.", "Hi", "", " ", "x ", " x", "a\nb", "<end_of_turn>", "[tool error] x",
         "[tool output] x", '{"a":1}', '{"b":1,"a":"x"}', "*/", "data:x",
         "[content of tool result c1]")  # fmt: skip
IDS = ("c1", "c1", "c2", "call_1", "toolu_01A", "abcdefghi", "a b", "", None, "fc_1")
NAMES = ("f", "f", "g", "get_weather", "a.b", "1a", "x" * 70, "größe")
ARGUMENTS = ("", "{}", '{"a":1}', '{"a":"x"}', '{"a":[1,{"b":null}]}', "[1]", "x", '{"a":', "null",
             '{"input":"x"}', '{"b":1,"a":true}')  # fmt: skip
ISSUERS = ("anthropic", "google", "openai", "bedrock", "openrouter", "vercel", "copilot", "x")
TYPES: dict[str, tuple[str | None, ...]] = {
    "image": (None, "image/png", "image/jpeg", "image/x"),
    "audio": (None, "audio/wav", "audio/mpeg", "audio/ogg"),
    "video": (None, "video/mp4", "video/x"),
    "document": (None, "application/pdf", "text/plain", "text/csv", "application/x"),
}
URLS = ("https://a.b/c", "https://a.b/c.png", "http://a.b/c.pdf", "gs://a/b.mp4", "s3://a/b.mp3",
        "data:image/png;base64,aGk=", "data:text/plain,hi", "https://youtu.be/x", "x")  # fmt: skip
KINDS = ("function", "function", "custom", "search")


def maybe(dice: Dice, key: str, *values: Json, of: int = 4) -> Json:
    """A field, once in so many times."""
    return {} if dice.below(of) else {key: one_of(dice, values)}


def extras(dice: Dice) -> Json:
    if dice.below(12):
        return {}
    fields: Json = {"zq": one_of(dice, (1, "x", None, {}))}
    return {"extras": {"dialect": one_of(dice, dialects.names()), "fields": fields}}


def cache(dice: Dice) -> Json:
    return maybe(dice, "cache", {}, {"ttl": "1h"}, {"ttl": "5m"}, of=10)


def citation(dice: Dice) -> Json:
    return {
        "kind": one_of(dice, ("url", "document", "file", "passage", "other")),
        **maybe(dice, "url", "https://a.b/c", "", of=2),
        **maybe(dice, "title", "T", "", of=2),
        **maybe(dice, "quote", "Hi", "", of=2),
        **maybe(dice, "span", [0, 2], [3, 5], of=2),
        **maybe(dice, "document", 0, 1, of=3),
        **maybe(dice, "location", ["char", 0, 2], ["page", 1, 2], ["block", 0, 1], of=3),
        **maybe(dice, "file_id", "file-1", of=4),
        **maybe(dice, "filename", "a.txt", of=4),
        **extras(dice),
    }


def text(dice: Dice) -> Json:
    found = {"block": "text", "text": one_of(dice, WORDS), **cache(dice), **extras(dice)}
    if not dice.below(6):
        found["citations"] = [citation(dice) for _ in range(1 + dice.below(2))]
    return found


def source(dice: Dice, kind: str) -> Json:
    way = one_of(dice, ("url", "url", "base64", "base64", "file", "text", "blocks"))
    found: Json = {"kind": way}
    value = {"url": one_of(dice, URLS), "base64": one_of(dice, ("aGk=", "", "iVBORw0KGgo=")),
             "file": one_of(dice, ("file-1", "https://a.b/files/1")), "text": "Hi"}  # fmt: skip
    if way == "blocks":
        found["blocks"] = [{"block": "text", "text": "Hi"} for _ in range(dice.below(3))]
    else:
        found["value"] = value[way]
    return (
        found
        | maybe(dice, "media_type", one_of(dice, TYPES[kind]), of=2)
        | maybe(dice, "issuer", *ISSUERS, of=3)
    )


def media(dice: Dice) -> Json:
    kind = one_of(dice, ("image", "image", "document", "document", "audio", "video"))
    return {
        "block": "media",
        "kind": kind,
        "source": source(dice, kind),
        **maybe(dice, "detail", "low", "high", "auto"),
        **maybe(dice, "title", "T", ""),
        **maybe(dice, "filename", "a.png", "b.pdf", "a/b c.txt"),
        **maybe(dice, "context", "C", of=6),
        **maybe(dice, "citable", True, False, of=6),
        **maybe(dice, "transcript", "Hi", " ", of=8),
        **cache(dice),
        **extras(dice),
    }


def passage(dice: Dice) -> Json:
    content = [one_of(dice, (text, text, media))(dice) for _ in range(dice.below(3))]
    return {
        "block": "passage", "source": "https://a.b/c", "title": one_of(dice, ("T", "")),
        "content": content, **maybe(dice, "citable", True, False, of=3), **cache(dice),
    }  # fmt: skip


def reasoning(dice: Dice) -> Json:
    found: Json = {"block": "reasoning", **extras(dice)}
    if dice.below(4):
        found["content"] = [one_of(dice, WORDS) for _ in range(1 + dice.below(5) // 4)]
    if not dice.below(3):
        found["summary"] = [one_of(dice, WORDS) for _ in range(1 + dice.below(3) // 2)]
    if dice.below(2):
        kind = one_of(dice, ("signature", "encrypted"))
        data = one_of(dice, ("c2ln", "sig"))
        found["signature"] = {"data": data, "issuer": one_of(dice, ISSUERS), "kind": kind}
    return found | maybe(dice, "id", "rs_1", "", of=3)


def refusal(dice: Dice) -> Json:
    return {"block": "refusal", "text": one_of(dice, WORDS), **extras(dice)}


def call(dice: Dice, name: str | None = None) -> Json:
    return {
        "block": "tool-call",
        "id": one_of(dice, IDS),
        "name": name or one_of(dice, NAMES),
        "arguments": one_of(dice, ARGUMENTS),
        **maybe(dice, "kind", *KINDS, of=3),
        **maybe(dice, "item_id", "fc_1", "ctc_1", of=6),
        **maybe(dice, "namespace", "n", of=10),
        **cache(dice),
        **extras(dice),
    }


def result(dice: Dice, of: Json = None) -> Json:
    kinds = (text, text, text, text, media, passage, refusal, raw)
    found: Json = {
        "block": "tool-result",
        "call_id": of["id"] if of and dice.below(8) else one_of(dice, IDS),
        "content": [one_of(dice, kinds)(dice) for _ in range(one_of(dice, (0, 1, 1, 1, 2, 3)))],
        **maybe(dice, "is_error", True, True, False, of=3),
        **maybe(dice, "name", "f", "g", of=3),
        **cache(dice),
        **extras(dice),
    }
    kind = of.get("kind") if of and dice.below(6) else one_of(dice, KINDS)
    return found | ({"kind": kind} if kind else {})


def hosted(dice: Dice) -> Json:
    return {
        "block": "hosted", "dialect": one_of(dice, dialects.names()),
        "service": one_of(dice, ("web_search", "code_execution", "x")),
        "payload": one_of(dice, ({}, {"type": "x", "id": "y"}, {"text": "Hi"})),
        **maybe(dice, "phase", "call", "result", of=2),
        **maybe(dice, "executor", "client"),
        **maybe(dice, "id", "srv_1", of=2),
    }  # fmt: skip


def raw(dice: Dice) -> Json:
    return {
        "block": "raw", "dialect": one_of(dice, dialects.names()),
        "payload": one_of(dice, ({"type": "x"}, {"type": "text", "text": "Hi"})),
        **maybe(dice, "text", "Hi", "", of=3),
    }  # fmt: skip


SPOKEN = (text, text, text, reasoning, reasoning, call, call, media, refusal, hosted, raw, passage)
HEARD = (text, text, text, media, media, media, passage, hosted, raw, reasoning, refusal, call)


def blocks(dice: Dice, kinds: Any) -> list[Json]:
    return [one_of(dice, kinds)(dice) for _ in range(one_of(dice, (0, 1, 1, 1, 2, 2, 3)))]


def message(dice: Dice, role: str) -> list[Json]:
    """A turn; after one with calls, most likely their results."""
    name = maybe(dice, "name", "Ann", "a b", of=8)
    if role == "tool":
        content = [result(dice) for _ in range(1 + dice.below(2))]
        return [{"role": "tool", "content": content, **name, **extras(dice)}]
    content = blocks(dice, SPOKEN if role == "assistant" else HEARD)
    if role in ("system", "developer") and dice.below(4):
        content = [text(dice) for _ in range(1 + dice.below(2))]
    found: list[Json] = [{"role": role, "content": content, **name, **extras(dice)}]
    calls = [block for block in content if block["block"] == "tool-call"]
    if role == "assistant" and calls and dice.below(6):
        found += results(calls, dice)
    return found


def results(calls: list[Json], dice: Dice) -> list[Json]:
    """In the order of the calls or in another one, in one message or in several."""
    found = [result(dice, each) for each in calls]
    if not dice.below(3):
        found.reverse()
    if not dice.below(6):
        found.pop()
    if dice.below(3):
        return [{"role": "tool", "content": [each]} for each in found]
    return [{"role": "tool", "content": found}] if found else []


def messages(dice: Dice) -> list[Json]:
    roles = ["user", "assistant", "user", "assistant"][: 1 + dice.below(4)]
    if not dice.below(3):
        roles.insert(0, one_of(dice, ("system", "developer")))
    if not dice.below(3):
        others = ("user", "assistant", "assistant", "system", "developer", "tool")
        roles.insert(dice.below(len(roles) + 1), one_of(dice, others))
    if not dice.below(6):
        roles.pop(0)
    found = [each for role in roles for each in message(dice, role)]
    return found or message(dice, "user")


def tool(dice: Dice) -> Json:
    schemas: tuple[Json, ...] = (
        None, {}, {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]},
        {"type": "object", "properties": {"a": {"type": ["string", "null"], "description": "A"}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": [{"type": "string"}]}}},
    )  # fmt: skip
    return {
        "name": one_of(dice, NAMES),
        **maybe(dice, "description", "D", "", "Parameters:\n  a (string)", of=2),
        **maybe(dice, "schema", *schemas, of=1),
        **maybe(dice, "kind", "custom"),
        **maybe(dice, "strict", True, False),
        **maybe(dice, "grammar", {"syntax": "regex", "definition": "a"}, of=8),
        **maybe(dice, "namespace", "n", of=10),
        **cache(dice),
        **extras(dice),
    }


def request(dice: Dice) -> Json:
    found: Json = {"messages": messages(dice)}
    found["model"] = one_of(dice, ("m", "m", "claude-opus-4-7", "gpt-5", "gemini-3-pro", None))
    if dice.below(3):
        found["tools"] = [tool(dice) for _ in range(1 + dice.below(2))]
    if found["messages"][-1]["role"] == "assistant":
        found |= maybe(dice, "prefill", True, of=2)
    modes = ("on", "off", "adaptive", "between-tools")
    thinking = maybe(dice, "mode", *modes, of=2) | maybe(dice, "budget", 2048, of=3)
    params = maybe(dice, "thinking", thinking) | maybe(dice, "max_tokens", 4096)
    choice = {"mode": one_of(dice, ("auto", "none", "required"))}
    return found | ({"params": params} if params else {}) | maybe(dice, "tool_choice", choice, of=8)


def response(dice: Dice) -> Json:
    reasons = ("end", "tool-call", "length", "stop-sequence", "filter")
    candidates = [
        {
            "message": message(dice, "assistant")[0],
            **maybe(dice, "stop", {"reason": one_of(dice, reasons)}, of=1),
            **maybe(dice, "logprobs", {"content": []}, of=12),
        }
        for _ in range(1 + dice.below(6) // 5)
    ]
    usage = {"input": 3, "output": 5} | maybe(dice, "cache_read", 1) | maybe(dice, "reasoning", 2)
    return {"id": "r1", "model": "m", "candidates": candidates, **maybe(dice, "usage", usage, of=3)}


FACETS = {"messages": messages, "request": request, "response": response}


def drawn(dice: Dice) -> Case:
    facet = one_of(dice, ("messages", "request", "request", "response"))
    tree = FACETS[facet](dice)
    tree = {"messages": tree} if facet == "messages" else tree
    document = {"dragoman": 1, "facet": facet, "tree": tree}
    return Case("native", facet, document, one_of(dice, run.targets(facet)))
