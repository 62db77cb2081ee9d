"""Perplexity's chat completions, a variant of OpenAI Chat.

What it does differently: what the model found on the web stands beside the choices, as
``search_results`` and ``citations``; turns of the user and of the assistant alternate, after the
system's; reasoning tokens are counted beside those of the reply; documents and videos have
addresses; a tool cannot be chosen by its name; a reply can be demanded by a schema only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from ...core.fields import Field, number, strings, whole
from ...core.lowering import order
from ...core.writing import Writing
from ...lint.evidence import Verdict, told_by
from ...model import Candidate, Citation, Json, Media, Message, Raw, Response, Text, Usage
from ..openai_chat import messages as chat_messages
from ..openai_chat import parts
from ..openai_chat.request import OLD_LIMIT
from ..openai_chat.sniff import Marks
from ..openai_chat.variant import MORE_MEDIA, Compatible, compatible

if TYPE_CHECKING:
    from ...streams.base import StreamReader

FOUND, LINKS = "search_results", "citations"
MARKS = Marks(
    request={
        "search_domain_filter": 0.8, "search_recency_filter": 0.8, "search_mode": 0.6,
        "return_images": 0.6, "return_related_questions": 0.8, "disable_search": 0.7,
        "search_after_date_filter": 0.8, "search_before_date_filter": 0.8,
    },
    response={FOUND: 0.8, LINKS: 0.4, "related_questions": 0.8},
    usage={"search_context_size": 0.8, "num_search_queries": 0.8, "citation_tokens": 0.8},
    message={"reasoning_steps": 0.8},
    model=r"sonar(?:-[a-z-]+)?|r1-1776",
)  # fmt: skip
MERGED = ("user", "assistant")


class Perplexity(Compatible):
    name = "perplexity"
    spec = "https://docs.perplexity.ai/api-reference/chat-completions-post"
    issuer = "perplexity"
    serves = ("perplexity",)
    windows = False  # what is one turn depends on the next
    # perplexityai 0.46 (PyPI), _client.py
    endpoints = compatible(
        "https://api.perplexity.ai", "PERPLEXITY_API_KEY", url_variable="PERPLEXITY_BASE_URL"
    )
    # There, types/chat/completion_create_params.py and types/shared/chat_message_input.py
    can = replace(
        Compatible.can,
        developer=False,
        names=cap.NOWHERE,
        systems="first",
        reasoning=cap.ReasoningForm(places=cap.NOWHERE),
        choices=replace(Compatible.can.choices, modes=cap.MODES - {"named"}),
        outputs=cap.Outputs(json="schema", schemas=cap.OBJECTS),
        thinking=replace(
            cap.BY_EFFORT, modes=frozenset(), efforts=("minimal", "low", "medium", "high")
        ),
        media=cap.MediaForms(
            kinds={
                "image": MORE_MEDIA["image"],
                "video": replace(MORE_MEDIA["video"], sources=frozenset({"url"})),
                "document": cap.Form(sources=frozenset({"url"})),
            },
            texts=cap.WORDS,
        ),
    )
    media_urls: ClassVar[dict[str, str]] = {"video": "video_url", "document": "file_url"}
    thinking_key = None  # what the model reasoned stands in the text, between <think> tags
    enforces = False
    asks_for_usage = False  # each chunk has the counts so far
    fields = Compatible.fields.but(
        OLD_LIMIT,
        Field("temperature", number, least=0, most=2),
        Field("top_k", whole),
        Field("stop", strings, single=True),
    ).refusing("seed", "logit_bias", "verbosity", "store", "metadata", "cache_key", "user_id")

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return told_by(MARKS.signs(doc), super().sniff(doc))

    # -- requests ---------------------------------------------------------------------------

    def write_history(self, messages: Sequence[Message], w: Writing) -> list[Json]:
        return chat_messages.write_history(self, alternating(self, messages, w), w)

    def write_file(self, block: Media, w: Writing) -> dict[str, Json]:
        return parts.write_unofficial(self, block)

    # -- replies ----------------------------------------------------------------------------

    def read_response(self, doc: Json) -> Response:
        tree = super().read_response(doc)
        found = read_found(self, doc)
        if not found or not is_citable(tree):
            return tree
        taken = {FOUND} if doc.get(FOUND) else {LINKS}
        if [cite.url for cite in found] == doc.get(LINKS):
            taken.add(LINKS)  # the same again
        rest = {k: v for k, v in doc.items() if k not in taken}
        tree = super().read_response(rest)
        candidates = tuple(cited(self, candidate, found) for candidate in tree.candidates)
        return replace(tree, candidates=candidates)

    def read_usage(self, doc: dict[str, Json], at: str) -> Usage:
        """Reasoning tokens stand beside those of the reply (@ai-sdk/perplexity 3.0.61 (npm),
        src/convert-perplexity-usage.ts)."""
        reasoning, made = doc.get("reasoning_tokens"), doc.get("completion_tokens")
        if not (reasoning.__class__ is made.__class__ is int) or "completion_tokens_details" in doc:
            return super().read_usage(doc, at)
        rest = {k: v for k, v in doc.items() if k != "reasoning_tokens"}
        inner: Json = {"reasoning_tokens": reasoning}
        more = {"completion_tokens": made + reasoning, "completion_tokens_details": inner}
        prompt = doc.get("prompt_tokens")
        if prompt.__class__ is int and doc.get("total_tokens") == prompt + made:
            more["total_tokens"] = prompt + made + reasoning  # which leaves them out
        return super().read_usage(rest | more, at)

    def write_usage(self, usage: Usage, w: Writing) -> dict[str, Json]:
        out = super().write_usage(usage, w)
        details = out.get("completion_tokens_details")
        if details.__class__ is dict and "reasoning_tokens" in details:
            out["reasoning_tokens"] = details.pop("reasoning_tokens")
            if "completion_tokens" in out:
                out["completion_tokens"] -= out["reasoning_tokens"]
            if "total_tokens" in out:
                out["total_tokens"] -= out["reasoning_tokens"]
            if not details:
                del out["completion_tokens_details"]
        return out

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import PerplexityReader

        return PerplexityReader(self, whole)


def is_written(d: Perplexity, message: Message) -> bool:
    """Whether anything of a message is written: blocks that another dialect knows are not."""
    blocks = message.content
    return not blocks or any(not isinstance(x, Raw) or d.is_same(x.dialect) for x in blocks)


def alternating(d: Perplexity, messages: Sequence[Message], w: Writing) -> Sequence[Message]:
    """ "After the (optional) system message(s), user or tool message(s) should alternate with
    assistant message(s)": https://github.com/perplexityai/api-discussion/issues/265
    """
    if w.same:
        return messages
    out: list[Message] = []
    for message in messages:
        if message.role == "assistant" and (not message.content or not is_written(d, message)):
            for block in message.content:
                d.omit(block, w.log)
            d.lose(message.extras, message.at, w.log)
            d.omit_message(message, w.log)  # else two turns of the user would follow each other
            continue
        last = out[-1] if out else None
        if last is None or last.role != message.role or message.role not in MERGED:
            out.append(message)
            continue
        if not last.content:
            d.lose(last.extras, last.at, w.log)
            d.omit_message(last, w.log)
            out[-1] = message
            continue
        if is_written(d, last) and is_written(d, message):
            d.merge_message(message, w.log)
        d.lose(message.extras, message.at, w.log)
        both = (*last.content, *message.content)
        if message.role == "assistant":
            both = order.lower(both, d.can.order["assistant"], d, w.log)
        out[-1] = replace(last, content=both)
    return messages if len(out) == len(messages) else out


def read_found(d: Perplexity, doc: Json) -> tuple[Citation, ...]:
    """What was found, or where: ``citations`` has the addresses alone."""
    if doc.__class__ is not dict:
        return ()
    found, links = doc.get(FOUND), doc.get(LINKS)
    if found.__class__ is list and found and all(map(is_found, found)):
        return tuple(
            Citation(
                "url",
                item["url"],
                item.get("title"),
                at=f"/{FOUND}/{index}",
                extras=d.keep(item, ("url", "title")),
            )
            for index, item in enumerate(found)
        )
    if found or links.__class__ is not list or not all(link.__class__ is str for link in links):
        return ()
    return tuple(Citation("url", link, at=f"/{LINKS}/{index}") for index, link in enumerate(links))


def is_found(item: Json) -> bool:
    if item.__class__ is not dict or item.get("url").__class__ is not str:
        return False
    return item.get("title") is None or item["title"].__class__ is str


def is_citable(tree: Response) -> bool:
    """Whether a text can have what was found, and none has citations of its own."""
    texts = [x for c in tree.candidates for x in c.message.content if isinstance(x, Text)]
    return bool(texts) and not any(text.citations for text in texts)


def cited(d: Perplexity, candidate: Candidate, found: tuple[Citation, ...]) -> Candidate:
    """A reply whose text has what was found; the ``[1]`` in it say more to a reader."""
    content = list(candidate.message.content)
    for index, block in enumerate(content):
        if isinstance(block, Text):
            content[index] = replace(block, citations=(*block.citations, *found))
            message = replace(candidate.message, content=tuple(content))
            return replace(candidate, message=message)
    return candidate


DIALECT = Perplexity()
