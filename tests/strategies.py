"""Conversations nobody wrote down: canonical trees in normal form, for hypothesis."""

from __future__ import annotations

import base64
import json
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from dragoman.model import (
    Block,
    Cache,
    Candidate,
    Citation,
    Extras,
    Grammar,
    Hosted,
    Media,
    Message,
    OutputFormat,
    Params,
    Passage,
    Raw,
    Reasoning,
    Refusal,
    Request,
    Response,
    Signature,
    Source,
    Stop,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    Usage,
)

words = st.text(
    alphabet=st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=20
) | st.sampled_from(["", " ", "\n", "Hello", "[tool error]", "[tool error] x", "[freeform tool]"])
names = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_-]{0,20}", fullmatch=True) | st.sampled_from(
    ["über.tool", "a" * 70, "mcp__server.tool:do"]
)
call_ids = st.from_regex(r"(call|toolu)_[a-zA-Z0-9]{1,12}", fullmatch=True) | st.sampled_from(
    ["functions.Bash:0", "x" * 100, "call_1|fc_2", "ü"]
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(words, json_values, max_size=3)
arguments = objects.map(lambda o: json.dumps(o)) | st.sampled_from(
    ["{}", "", '{"a":1,"a":2}', '{"big":123456789012345678901234567890}', "{broken", "[1]", '"x"']
)
caches = st.none() | st.builds(Cache, st.none() | st.sampled_from(["5m", "1h", "30m"]))
data = st.sampled_from(["iVBORw0KGgo=", "AAAA", "JVBERi0xLjQK"])
sources = st.one_of(
    st.builds(Source, st.just("url"), st.just("https://example.org/a.png")),
    st.builds(Source, st.just("base64"), data, st.just("image/png")),
    st.builds(
        Source, st.just("file"), st.just("file_1"), issuer=st.sampled_from(["openai", "anthropic"])
    ),
)
images = st.builds(
    Media, st.just("image"), sources, st.none() | st.sampled_from(["low", "high"]), cache=caches
)
documents = st.builds(
    Media,
    st.just("document"),
    st.one_of(
        st.builds(Source, st.just("base64"), data, st.just("application/pdf")),
        st.builds(Source, st.just("url"), st.just("https://example.org/a.pdf")),
        st.builds(Source, st.just("text"), words, st.just("text/plain")),
    ),
    title=st.none() | st.just("A title"),
    filename=st.none() | st.just("a.pdf"),
    context=st.none() | st.just("context"),
    citable=st.none() | st.booleans(),
)
audio = st.builds(
    Media, st.just("audio"), st.builds(Source, st.just("base64"), data, st.just("audio/wav"))
)
texts = st.builds(Text, words, cache=caches)
passages = st.builds(Passage, st.just("https://example.org"), st.just("t"), st.tuples(texts))
signatures = st.none() | st.builds(
    Signature, st.just("c2VhbA=="), st.sampled_from(["openai", "anthropic"])
)
reasoning = st.builds(
    Reasoning,
    st.lists(words, max_size=2).map(tuple),
    st.lists(words, max_size=2).map(tuple),
    signatures,
    st.none() | st.just("rs_1"),
)


namespaces = st.sampled_from([None, None, None, "crm", "a.b"])


@st.composite
def turns(draw: st.DrawFn) -> list[Message]:
    """One round: somebody asks, the assistant replies, its calls are answered."""
    asked = draw(st.sampled_from(["user", "user", "user", "developer", "system"]))
    written = draw(st.lists(texts if asked != "user" else user_blocks, min_size=1, max_size=3))
    out = [Message(asked, tuple(written), draw(st.none() | st.just("ada")))]  # type: ignore[arg-type]
    if asked != "user":
        out.append(Message("user", (draw(texts),)))
    calls = draw(
        st.lists(
            st.builds(ToolCall, call_ids, names, arguments, namespace=namespaces),
            max_size=3,
            unique_by=lambda c: c.id,
        )
    )
    custom = draw(st.booleans())
    if custom and calls:
        first = calls[0]
        calls[0] = ToolCall(first.id, first.name, "free text", "custom", namespace=first.namespace)
    reply: list[Block] = [
        *draw(st.lists(reasoning, max_size=1)),
        *draw(st.lists(texts, max_size=2)),
    ]
    if not calls and not reply:
        reply = [Text("ok")]
    out.append(Message("assistant", (*reply, *calls)))
    for call in calls:
        content = draw(st.lists(result_blocks, max_size=2))
        failed = draw(st.sampled_from([None, None, True]))
        result = ToolResult(call.id, tuple(content), failed, kind=call.kind)
        out.append(Message("tool", (result,)))
    return out


user_blocks = st.one_of(texts, texts, images, documents, audio)
result_blocks = st.one_of(texts, texts, images, documents, passages)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    out: list[Message] = []
    if draw(st.booleans()):
        out.append(Message("system", tuple(draw(st.lists(texts, min_size=1, max_size=2)))))
    seen: set[str | None] = set()
    for turn in draw(st.lists(turns(), min_size=1, max_size=3)):
        ids = {b.id for m in turn for b in m.content if isinstance(b, ToolCall)}
        if not ids & seen:
            out += turn
        seen |= ids
    return tuple(out) or (Message("user", (Text("Hi"),)),)


tools = st.builds(
    Tool,
    names,
    st.none() | words,
    objects.map(lambda o: {"type": "object", **o}),
    strict=st.none() | st.booleans(),
    cache=caches,
    namespace=namespaces,
    deferred=st.sampled_from([None, None, None, True, False]),
) | st.builds(
    Tool,
    names,
    st.none() | words,
    kind=st.just("custom"),
    grammar=st.none() | st.builds(Grammar, st.just("lark"), st.just("start: /x/")),
    namespace=namespaces,
)
choices = st.one_of(
    st.none(),
    st.builds(
        ToolChoice,
        st.sampled_from(["auto", "none", "required"]),
        parallel=st.none() | st.booleans(),
    ),
)
outputs = st.one_of(
    st.none(),
    st.builds(OutputFormat, st.sampled_from(["text", "json"])),
    st.builds(
        OutputFormat,
        st.just("schema"),
        st.just("answer"),
        st.none() | words,
        objects.map(lambda o: {"type": "object", **o}),
        st.none() | st.booleans(),
    ),
)
thinking = st.none() | st.builds(
    Thinking,
    st.none(),
    st.sampled_from(["minimal", "low", "high", "max"]),
) | st.builds(Thinking, st.just("off")) | st.builds(
    Thinking, st.just("on"), budget=st.sampled_from([1024, 8000, 30000])
)  # fmt: skip
params = st.builds(
    Params,
    max_tokens=st.none() | st.integers(1, 9999),
    temperature=st.none() | st.floats(0, 2),
    top_p=st.none() | st.floats(0, 1),
    top_k=st.none() | st.integers(1, 50),
    stop=st.none() | st.lists(words, min_size=1, max_size=6).map(tuple),
    seed=st.none() | st.integers(0, 99),
    candidates=st.none() | st.integers(1, 3),
    output=outputs,
    thinking=thinking,
    stream=st.none() | st.booleans(),
    user_id=st.none() | st.sampled_from(["u", "u" * 100]),
    store=st.none() | st.just(True),
    cache_key=st.none() | st.just("key"),
    metadata=st.none() | st.just({"a": "b"}),
    service_tier=st.none() | st.sampled_from(["auto", "flex", "standard_only"]),
)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    offered = draw(st.none() | st.lists(tools, max_size=3, unique_by=lambda t: t.name).map(tuple))
    return Request(
        "m", draw(histories()), offered, draw(choices) if offered else None, draw(params)
    )


usages = st.builds(
    Usage,
    st.integers(0, 999),
    st.none() | st.integers(0, 99),
    st.none() | st.integers(0, 99),
    st.none(),
    st.integers(0, 999),
    st.none() | st.integers(0, 99),
)
replies = st.lists(
    st.one_of(
        texts, reasoning, st.builds(Refusal, words), st.builds(ToolCall, call_ids, names, arguments)
    ),
    max_size=4,
).map(tuple)
stops = st.builds(
    Stop,
    st.sampled_from(
        ["end", "stop-sequence", "length", "context", "tool-call", "filter", "pause", "other"]
    ),
)


def responses() -> st.SearchStrategy[Response]:
    candidate: Any = st.builds(Candidate, st.builds(Message, st.just("assistant"), replies), stops)
    return st.builds(
        Response,
        st.none() | st.just("id_1"),
        st.none() | st.just("m"),
        st.lists(candidate, min_size=1, max_size=2).map(tuple),
        st.none() | usages,
        st.none() | st.just(1700000000),
    )


citations: Any = st.builds(
    Citation,
    st.just("url"),
    st.sampled_from(["https://example.org/a", "https://example.org/b"]),
    st.none() | st.just("A"),
    span=st.none() | st.just((0, 2)),
)


# What a provider did of its own, and what only one dialect knows: it stands between other blocks.
WORK: list[Any] = [
    Hosted(
        "anthropic-messages",
        "web_search",
        {
            "type": "server_tool_use",
            "id": "srvtoolu_1",
            "name": "web_search",
            "input": {"query": "x"},
        },
        "call",
        id="srvtoolu_1",
    ),
    Hosted(
        "openai-responses",
        "web_search",
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search"},
        },
        id="ws_1",
    ),
    Hosted(
        "gemini", "code_execution", {"executableCode": {"language": "PYTHON", "code": "1"}}, "call"
    ),
    Raw(
        "openai-responses",
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "b3BhcXVl"},
        code="compaction",
        extras=Extras("openai-responses", spelling={"item": "whole"}),  # as it is read
    ),
    Raw("anthropic-messages", {"type": "container_upload", "file_id": "file_1"}),
]
of_one_dialect: Any = st.sampled_from(WORK)


def cited_responses() -> st.SearchStrategy[Response]:
    """One response each, with citations, and ids that come once."""
    cited = st.builds(Text, words, st.lists(citations, max_size=2, unique=True).map(tuple))
    calls = st.builds(ToolCall, call_ids, names, arguments)
    plain = st.one_of(texts, cited, reasoning, st.builds(Refusal, words), calls)
    block = st.one_of(plain, plain, plain, of_one_dialect)
    content = st.lists(block, max_size=5, unique_by=lambda b: getattr(b, "id", None) or id(b))
    message: Any = st.builds(Message, st.just("assistant"), content.map(tuple))
    candidate: Any = st.builds(Candidate, message, stops)
    return st.builds(
        Response,
        st.none() | st.just("id_1"),
        st.none() | st.just("m"),
        st.tuples(candidate),
        st.none() | usages,
        st.none() | st.just(1700000000),
    )


# -- whole sessions, and what goes wrong in them --------------------------------------------

signed = st.builds(
    Reasoning,
    st.just(("Let me see.",)),
    signature=st.builds(
        Signature, st.just("c2VhbA=="), st.sampled_from(["anthropic", "openai", "google"])
    ),
)
reasoned: Any = st.lists(signed | reasoning.filter(lambda t: t.id is None), max_size=1)


@st.composite
def rounds(draw: st.DrawFn, number: int) -> list[Message]:
    """One turn of an agent: calls, and results that may be missing, come twice, or reply none."""
    names_ = st.sampled_from(["look", "add"])
    ids = [f"call_{number}{letter}" for letter in "abc"[: draw(st.integers(1, 3))]]
    calls = [ToolCall(name, draw(names_), '{"a":1}') for name in ids]
    written = draw(st.lists(texts, max_size=1))
    out = [Message("assistant", (*draw(reasoned), *written, *calls))]
    replied = draw(st.sampled_from([ids, ids, ids, ids[:-1], [*ids, ids[0]], [*ids, "call_none"]]))
    for name in replied:
        content = tuple(draw(st.lists(texts, max_size=2)))
        failed = draw(st.sampled_from([None, None, True]))
        out.append(Message("tool", (ToolResult(name, content, failed),)))
    return out


@st.composite
def sessions(draw: st.DrawFn) -> Request:
    """A tool loop as clients keep it, with a budget for thinking, and perhaps a prefill."""
    messages: list[Message] = []
    if draw(st.booleans()):
        messages.append(Message("system", (Text("Be brief."),)))
    if draw(st.integers(0, 9)) == 0:
        messages.append(Message("tool", (ToolResult("call_gone", (Text("late"),)),)))
    for number in range(draw(st.integers(1, 3))):
        messages.append(Message("user", (draw(texts),)))
        if draw(st.integers(0, 4)) == 0:
            messages.append(Message("system", (draw(texts),)))
        for step in range(draw(st.integers(0, 2))):
            messages += draw(rounds(10 * number + step))
        if draw(st.booleans()):
            messages.append(Message("assistant", (Text("Done."),)))
    ending = draw(st.sampled_from(["", "", "user", "prefill"]))
    if ending == "user":
        messages.append(Message("user", (Text("Go on."),)))
    elif ending == "prefill" and messages[-1].role == "user":
        messages.append(Message("assistant", (Text(draw(st.sampled_from(["It is ", "It\n"]))),)))
    offered = tuple(Tool(name, "A tool.", {"type": "object"}) for name in ("look", "add"))
    config = Thinking("on", budget=draw(st.sampled_from([1024, 8000])))
    given_ = Params(
        max_tokens=draw(st.none() | st.just(4000)),
        temperature=draw(st.none() | st.just(0.5)),
        thinking=draw(st.none() | st.just(config) | st.just(Thinking(None, "high"))),
        output=draw(st.none() | st.just(OutputFormat("json"))),
    )
    return Request("m", tuple(messages), offered, draw(choices), given_)


# -- told apart -----------------------------------------------------------------------------


def named(value: Any) -> Any:
    """A JSON value without blank keys and marks, which a walker over leaves takes for its own."""
    if isinstance(value, dict):
        return {named(key) if key.strip() else "blank": named(item) for key, item in value.items()}
    if isinstance(value, str):
        return value.replace("[tool", "(tool")
    return type(value)(map(named, value)) if isinstance(value, list | tuple) else value


class _Distinct:
    """Gives each word, each medium and each call of a tree a number of its own.

    A law that asks what became of a node must know it again, and cannot if it has a double.
    """

    def __init__(self) -> None:
        self.count = 0
        self.blank = False

    def word(self, text: str) -> str:
        if not text.strip() and not self.blank:
            self.blank = True
            return text
        self.count += 1
        return f"{text}<no. {self.count}>"

    def arguments(self, text: str) -> str:
        try:
            value = json.loads(text)
            return json.dumps(named(value)) if named(value) != value else text
        except ValueError:
            return text

    def source(self, source: Source) -> Source:
        self.count += 1
        if source.kind == "text":
            return replace(source, value=f"{source.value}<no. {self.count}>")
        if source.kind == "base64":
            pixels = base64.b64decode(source.value) + self.count.to_bytes(3, "big")
            return replace(source, value=base64.b64encode(pixels).decode())
        return replace(source, value=f"{source.value}-{self.count}")

    def block(self, block: Any) -> Any:
        match block:
            case Text():
                return replace(block, text=self.word(block.text))
            case Refusal():
                return replace(block, text=self.word(f"No. {block.text}"))
            case Reasoning():
                if not any(map(str.strip, (*block.content, *block.summary))):
                    self.blank = True  # it shall have words, if it has parts
                content, summary = (
                    tuple(map(self.word, x)) for x in (block.content, block.summary)
                )
                return replace(block, content=content, summary=summary)
            case Media():
                return replace(block, source=self.source(block.source))
            case Passage():  # without words, nothing tells it from any other blank text
                inner = [b for b in block.content if isinstance(b, Text)]
                written = tuple(replace(b, text=self.word(f"{b.text}.")) for b in inner)
                return replace(block, content=written)
            case ToolCall():
                return replace(block, arguments=self.arguments(block.arguments))
            case ToolResult():
                return replace(block, content=tuple(map(self.block, block.content)))
            case _:
                return block

    def message(self, message: Message) -> Message:
        return replace(message, content=tuple(map(self.block, message.content)))


def distinct_tool(tool: Tool) -> Tool:
    return replace(tool, schema=named(tool.schema), description=named(tool.description))


def distinct(tree: Any) -> Any:
    """The tree with no two words, media or calls alike; so there is one blank text at most."""
    mark = _Distinct()
    if isinstance(tree, Request):
        output = tree.params.output
        if output is not None and output.schema is not None:
            output = replace(
                output, schema=named(output.schema), description=named(output.description)
            )
        return replace(
            tree,
            messages=tuple(map(mark.message, tree.messages)),
            tools=tuple(map(distinct_tool, tree.tools or ())) or tree.tools,
            params=replace(tree.params, output=output, stop=named(tree.params.stop)),
        )
    seen: set[str | None] = set()
    candidates = []
    for candidate in tree.candidates:
        blocks = []
        for block in mark.message(candidate.message).content:
            if isinstance(block, ToolCall):
                if block.id in seen:
                    block = replace(block, id=f"{block.id}_{len(seen)}")
                seen.add(block.id)
            blocks.append(block)
        message = replace(candidate.message, content=tuple(blocks))
        candidates.append(replace(candidate, message=message))
    return replace(tree, candidates=tuple(candidates))
