"""Portraits as one page of HTML that needs nothing else: no script, no link, nothing to load.

All text is escaped, and what could reorder or hide is visible, as in the terminal. The policy in
the head allows one style sheet, by its hash, and images that are in the page itself.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import assert_never

from ..model import Tool
from ..views.portrait import (
    Call,
    Fact,
    Item,
    Note,
    Odd,
    Portrait,
    ReasoningText,
    Refused,
    Reply,
    Thing,
    Turn,
    Words,
    brief,
    full_name,
    is_long,
    many,
    signature,
)
from .lines import paragraphs, visible

STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --soft: #656d76; --line: #d8dee4;
  --paper: #ffffff; --well: #f6f8fa; --system: #8250df; --user: #0a6a8f; --assistant: #1a7f37;
  --tool: #9a6700; --error: #cf222e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1; --line: #30363d;
  --paper: #0d1117; --well: #161b22; --system: #bc8cff; --user: #56b6d6; --assistant: #56d364;
  --tool: #e3b341; --error: #ff7b72; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, sans-serif; }
main { max-width: 50rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.3rem; line-height: 1.3; margin: 0 0 .5rem; }
article + article { margin-top: 4rem; padding-top: 2rem; border-top: 1px solid var(--line); }
ul { list-style: none; margin: .25rem 0; padding: 0; font-size: .875rem; }
ul li { display: inline-block; margin-right: 1.25rem; overflow-wrap: anywhere; }
ul span { color: var(--soft); }
section { margin: 1.75rem 0; padding-left: 1rem; border-left: 3px solid var(--role); }
.system, .developer { --role: var(--system); } .user { --role: var(--user); }
.assistant { --role: var(--assistant); } .tool { --role: var(--tool); }
h2 { margin: 0; font-size: .875rem; color: var(--role); }
h2 small { font-weight: normal; color: var(--soft); }
.text { white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; padding: .6rem .8rem;
  background: var(--well); border-radius: 6px; font: .85rem/1.5 ui-monospace, monospace; }
code { font: .875rem/1.5 ui-monospace, monospace; }
.thought { color: var(--soft); font-style: italic; }
details { margin: .5rem 0; } summary { cursor: pointer; color: var(--soft); font-size: .875rem; }
.call { margin: .75rem 0; } .call > code { overflow-wrap: anywhere; }
.call b { color: var(--tool); }
.answer { margin: .25rem 0 .25rem 1rem; padding-left: .8rem; border-left: 2px solid var(--line); }
.answer .text { font: .85rem/1.5 ui-monospace, monospace; }
.failed { border-left-color: var(--error); }
.bad, .failed > summary { color: var(--error); }
.note, figcaption { color: var(--soft); font-size: .875rem; overflow-wrap: anywhere; }
figure { margin: .75rem 0; }
img { display: block; max-width: 100%; max-height: 24rem; border-radius: 6px; }
sup { color: var(--user); } ol { padding-left: 1.5rem; color: var(--soft); font-size: .875rem; }
"""
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; img-src data:; style-src 'sha256-{_HASH}'; "
    "base-uri 'none'; form-action 'none'"
)
LONG = 12
"""A result of more lines than this is folded."""


def page(title: str, portraits: Iterable[Portrait]) -> Iterator[str]:
    """The page, piece by piece."""
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{safe(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
    )
    for portrait in portraits:
        yield from article(portrait)
    yield "</main>\n</body>\n</html>\n"


def safe(text: str) -> str:
    return escape(visible(text))


def block(text: str) -> str:
    """A text of several lines, escaped."""
    return escape("\n".join(paragraphs(text)))


def article(portrait: Portrait) -> Iterator[str]:
    model = dict(portrait.facts).get("model", "")
    title = f"{portrait.title} · {model}" if model else portrait.title
    yield f"<article>\n<header>\n<h1>{safe(title)}</h1>\n"
    yield facts([fact for fact in portrait.facts if fact[0] != "model"])
    yield facts(portrait.rest)
    yield tools(portrait.tools, not portrait.turns)
    yield "</header>\n"
    for turn in portrait.turns:
        yield section(turn)
    if portrait.failure:
        yield f'<p class="text bad" role="alert">{block(portrait.failure)}</p>\n'
    if portrait.end:
        yield f"<footer>\n{facts(portrait.end)}</footer>\n"
    yield "</article>\n"


def facts(known: Sequence[Fact]) -> str:
    labels = {label: f"<span>{safe(label)}</span> " if label else "" for label, _ in known}
    rows = "".join(f"<li>{labels[label]}{safe(value)}</li>\n" for label, value in known)
    return f"<ul>\n{rows}</ul>\n" if rows else ""


def tools(declared: tuple[Tool, ...], alone: bool) -> str:
    if not declared:
        return ""
    names = ", ".join(map(full_name, declared))
    rows = "".join(
        f"<p><code><b>{safe(full_name(tool))}</b>({safe(signature(tool))})</code></p>\n"
        f'<div class="text" dir="auto">{block(tool.description or "")}</div>\n'
        f"{schema(tool)}"
        for tool in declared
    )
    summary = f"{many(len(declared), 'tool')}: {safe(names)}"
    return f"<details{' open' if alone else ''}><summary>{summary}</summary>\n{rows}</details>\n"


def schema(tool: Tool) -> str:
    form = tool.payload if tool.kind == "hosted" else tool.schema
    return "" if form is None else pre(json.dumps(form, indent=2, ensure_ascii=False))


def pre(text: str) -> str:
    return f'<pre dir="auto">{block(text)}</pre>\n'


def section(turn: Turn) -> str:
    title = f" <small>{safe(turn.title)}</small>" if turn.title else ""
    items = "".join(map(item_html, turn.items))
    sources = "".join(f'<li dir="auto">{safe(source)}</li>\n' for source in turn.sources)
    listed = f'<ol aria-label="sources">\n{sources}</ol>\n' if sources else ""
    return (
        f'<section class="{turn.role}">\n<h2>{turn.role}{title}</h2>\n'
        f"{items}{listed}{facts(turn.end)}</section>\n"
    )


def item_html(item: Item) -> str:
    match item:
        case Words():
            return words(item)
        case Refused():
            return f'<p class="text bad" dir="auto">refused: {block(item.text)}</p>\n'
        case ReasoningText():
            return reasoning(item)
        case Thing():
            return thing(item)
        case Call():
            return call(item)
        case Reply():
            return reply(item)
        case Odd():
            body = pre(json.dumps(item.payload, indent=2, ensure_ascii=False))
            return f"<details><summary>{safe(item.title)}</summary>\n{body}</details>\n"
        case Note():
            return f'<p class="note">{safe(item.text)}</p>\n'
        case _:
            assert_never(item)


def words(item: Words) -> str:
    text = "".join(
        block(text) + (f"<sup>{safe(mark)}</sup>" if mark else "") for text, mark in item.pieces
    )
    return f'<div class="text" dir="auto">{text}</div>\n'


def reasoning(item: ReasoningText) -> str:
    label = "reasoning summary" if item.summary else "reasoning"
    label += f" · {item.signature}" if item.signature else ""
    if not item.text:
        return f'<p class="note">{safe(label)}</p>\n'
    body = f'<div class="text thought" dir="auto">{block(item.text)}</div>\n'
    return f"<details><summary>{safe(label)}</summary>\n{body}</details>\n"


def thing(item: Thing) -> str:
    caption = " · ".join((item.kind, *item.facts))
    shown = ""
    if item.image is not None:  # a raster whose type its first bytes bear out, in strict base64
        data = f"data:{item.image.media_type};base64,{item.image.value}"
        shown = f'<img src="{escape(data)}" alt="{safe(caption)}">\n'
    text = pre(item.text) if item.text else ""
    return f"<figure>\n{shown}<figcaption>{safe(caption)}</figcaption>\n{text}</figure>\n"


def call(item: Call) -> str:
    name = f"<b>{safe(item.name)}</b>"
    if item.text:
        fault = f' <span class="bad">{safe(item.fault)}</span>' if item.fault else ""
        written = f"<code>{name}</code>{fault}\n{pre(item.text)}"
    elif any(is_long(value) for _, value in item.arguments):
        written = f"<code>{name}</code>\n" + "".join(
            f'<p class="note">{safe(key)}</p>\n{pre(value if is_long(value) else brief(value))}'
            for key, value in item.arguments
        )
    else:
        inside = ", ".join(f"{safe(key)}: {safe(brief(value))}" for key, value in item.arguments)
        written = f"<code>{name}({inside})</code>\n"
    return f'<div class="call">\n{written}{"".join(map(reply, item.replies))}</div>\n'


def reply(item: Reply) -> str:
    kind = "error" if item.failed else "result"
    label = f"{kind} of {item.of}" if item.of else kind
    body = "".join(map(item_html, item.items)) or '<p class="note">nothing</p>\n'
    state = "" if body.count("\n") > LONG + 2 else " open"
    style = "answer failed" if item.failed else "answer"
    return f'<details class="{style}"{state}><summary>{safe(label)}</summary>\n{body}</details>\n'
