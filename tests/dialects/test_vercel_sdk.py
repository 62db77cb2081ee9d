"""The AI SDK of each major version as judge of everything that is written for it.

Its schemas must accept every message and know every key of it, and its ``generateText`` must take
the request up to the call that a provider would receive.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any, NamedTuple

import pytest

import places
from ai_sdk import NODE, node
from dragoman import Transcoder, collect, decompose, dialects, read, testing
from dragoman.model import Response, Text, ToolCall
from dragoman.streams.framing import framer
from dragoman.testing import Document, load_corpus
from talks import cuts

pytestmark = pytest.mark.node

CORPUS = load_corpus(places.CORPUS)
VERSIONS = {
    "vercel-core": 4,
    "vercel-model-v5": 5,
    "vercel-model-v6": 6,
    "vercel-model": 7,
}
FACETS = ("request", "messages", "response")


class Written(NamedTuple):
    name: str
    facet: str
    body: Any


def files(dialect: str) -> list[Written]:
    """The files of the corpus, but for other spellings and what is unofficial on purpose."""
    return [
        Written(document.name, document.facet, document.body)
        for case in CORPUS
        for document in case.documents
        if document.dialect == dialect
        and not document.spelling
        and document.facet in FACETS
        and dialect not in case.unofficial
    ]


def conversions(dialect: str) -> list[Written]:
    """What all other documents of the corpus become."""
    return [
        Written(f"{document.name} > {dialect}", document.facet, converted(document, dialect))
        for case in CORPUS
        for document in case.documents
        if document.dialect != dialect
        and not document.degraded
        and document.facet in FACETS
        and document.dialect not in case.unofficial
    ]


def converted(document: Document, dialect: str) -> Any:
    return testing.converted(document, dialect).document


def judged(version: int, documents: list[Written]) -> list[str]:
    """What the SDK objects to, by the name of the document."""
    given = [{"facet": w.facet, "body": w.body} for w in documents]
    run = subprocess.run(
        [node(), "judge.mjs", str(version)],
        cwd=NODE,
        input=json.dumps(given).encode(),
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr.decode()[-2000:]
    verdicts: list[str | None] = json.loads(run.stdout)
    assert len(verdicts) == len(documents)
    return [
        f"{written.name}: {verdict}"
        for written, verdict in zip(documents, verdicts, strict=True)
        if verdict is not None and not is_waiting(written, verdict)
    ]


def is_waiting(written: Written, verdict: str) -> bool:
    """Whether the SDK only misses results that the conversation itself has not."""
    if not verdict.startswith("AI_MissingToolResultsError"):
        return False
    messages = written.body if written.facet == "messages" else written.body["messages"]
    called: list[str] = []
    for message in messages:
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part["type"] == "tool-call" and not part.get("providerExecuted"):
                called.append(part["toolCallId"])
            elif part["type"] == "tool-result" and part["toolCallId"] in called:
                called.remove(part["toolCallId"])
    return bool(called)


@pytest.mark.parametrize("dialect", VERSIONS)
def test_the_sdk_takes_the_corpus(dialect: str) -> None:
    documents = files(dialect)
    assert len(documents) >= 6
    problems = judged(VERSIONS[dialect], documents)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("dialect", VERSIONS)
def test_the_sdk_takes_every_conversion(dialect: str) -> None:
    documents = conversions(dialect)
    assert len(documents) > 200
    problems = judged(VERSIONS[dialect], documents)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("dialect", VERSIONS)
def test_the_judge_can_refuse(dialect: str) -> None:
    call = {"type": "tool-call", "toolCallId": "1", "toolName": "f", "input": {}, "args": {}}
    bad: list[Any] = [
        [{"role": "user", "content": [{"type": "image_url"}]}],
        [{"role": "tool", "content": [{"type": "tool-result", "toolCallId": "1", "result": ""}]}],
        [{"role": "user", "content": "Hi", "name": "Ann"}],
        [{"role": "assistant", "content": [call]}],
        [{"role": "developer", "content": "Hi"}],
    ]
    documents = [Written(str(index), "messages", body) for index, body in enumerate(bad)]
    assert len(judged(VERSIONS[dialect], documents)) == len(bad)


# -- streams --------------------------------------------------------------------------------


def streams(dialect: str) -> list[Written]:
    """What the responses of the corpus become as streams, and what the SDK must hear in them."""
    found: list[Written] = []
    for case in CORPUS:
        for document in case.documents:
            source = dialects.get(document.dialect)
            if document.facet != "response" or document.degraded or document.spelling:
                continue
            if "stream" in source.facets() and document.dialect not in case.unofficial:
                found.append(streamed(document, dialect))
    return found


def streamed(document: Document, dialect: str) -> Written:
    transcoder = Transcoder(document.dialect, dialect)
    spelled = transcoder.feed(decompose(document.body, document.dialect)) + transcoder.close()
    frames = framer("sse")
    parts = [json.loads(data) for _, data in (*frames.feed(spelled), *frames.close())]
    tree = read(collect(spelled, dialect).document, dialect, facet="response")
    assert isinstance(tree, Response)
    body: dict[str, Any] = {"parts": parts, "text": "", "calls": []}
    if tree.failure is not None:
        body["error"] = tree.failure.message
    for block in tree.candidates[0].message.content if tree.candidates else ():
        if isinstance(block, Text):
            body["text"] += block.text
        elif isinstance(block, ToolCall):
            body["calls"].append([block.name, json.loads(block.arguments)])
    return Written(f"{document.name} > {dialect}", "stream", body)


@pytest.mark.parametrize("dialect", VERSIONS)
def test_the_sdk_hears_in_a_stream_what_it_says(dialect: str) -> None:
    given = streams(dialect)
    assert len(given) > 50
    assert judged(VERSIONS[dialect], given) == []


@pytest.mark.parametrize("dialect", VERSIONS)
def test_the_sdk_learns_of_every_cut(dialect: str) -> None:
    """A stream that was cut is an error for it, never a response that came to its end."""
    given: list[Written] = []
    for source in dialects.names():
        if "stream" not in dialects.get(source).facets():
            continue
        for number, data in enumerate(cuts(source)):
            transcoder = Transcoder(source, dialect)
            spelled = transcoder.feed(data) + transcoder.close()
            failure = transcoder.response.failure
            assert failure is not None
            frames = framer("sse")
            parts = [json.loads(data) for _, data in (*frames.feed(spelled), *frames.close())]
            body = {"parts": parts, "text": "", "calls": [], "error": failure.message}
            given.append(Written(f"{source} > {dialect}, cut {number}", "stream", body))
    assert len(given) > 200
    assert judged(VERSIONS[dialect], given) == []
