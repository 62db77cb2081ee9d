"""The laws over conversations nobody wrote down, for the dialects of the AI SDK."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import places
from choosing import examples
from dragoman import convert, detect, dialects, testing
from dragoman.core.walk import meaning, placed
from dragoman.laws.auditing import faults
from dragoman.laws.comparing import changes
from dragoman.ledger import Ledger
from dragoman.model import Json, Request
from dragoman.testing import Document, load_corpus
from strategies import requests

VERSIONS = ("vercel-core", "vercel-model-v5", "vercel-model-v6", "vercel-model")
relaxed = settings(
    max_examples=examples(150),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)
versions = pytest.mark.parametrize("version", VERSIONS)


@versions
@relaxed
@given(tree=requests())
def test_requests(version: str, tree: Request) -> None:
    """Nothing is lost in silence, and what was written is read as it was."""
    log, speaker = Ledger(), dialects.get(version)
    tree = placed(tree, "")
    document = speaker.write(tree, log)
    back = speaker.read(document, "request")
    if not any(map(testing.is_lossy, log.losses)):
        found = faults(changes(tree, back), log.losses)
        silent = [what for kind, what in found if kind == "silent"]
        assert not silent, f"a silent loss in\n{json.dumps(document)}\n{silent}"
    testing.identity(Document("", version, "", "request", False, document))


@versions
@relaxed
@given(tree=requests())
def test_from_version_to_version(version: str, tree: Request) -> None:
    """What one version wrote, another takes over and says its losses; and the way home is exact."""
    document = dialects.get("vercel-model").write(placed(tree, ""), Ledger())
    case = Document("", "vercel-model", "", "request", False, document)
    testing.same(case, version)
    log, speaker = Ledger(), dialects.get(version)
    read = dialects.get("vercel-model").read(document, "request")
    back = speaker.read(speaker.write(read, log), "request")
    if not any(map(testing.is_lossy, log.losses)):
        assert meaning(back) == meaning(read)


@pytest.mark.parametrize("key", ["isError", "result", "experimental_content", "content", "args"])
@pytest.mark.parametrize("value", [5, "x", [1], {"a": 1}])
def test_a_name_of_another_version_is_no_result(key: str, value: Json) -> None:
    """What one version does not know may be what another one reads: it is lost, and reported."""
    output = {"type": "text", "value": "v"}
    result = {"type": "tool-result", "toolCallId": "c", "toolName": "f", "output": output}
    body = [{"role": "tool", "content": [result | {key: value}]}]
    there = convert(body, source="vercel-model", target="vercel-core", facet="messages")
    back = convert(there.document, source="vercel-core", target="vercel-model", facet="messages")
    assert back.document[0]["content"][0]["output"] == output
    assert bool(there.losses) == (key != "args")  # which a result has in no version


CORPUS = load_corpus(places.CORPUS)
PLAIN = {"design-003-text", "design-003-several-texts"}  # everybody says it so


def test_detection() -> None:
    """What has a sign of the SDK is known by it; and of no other document is it said."""
    for document in (document for case in CORPUS for document in case.documents):
        guesses = detect(document.body, facet=document.facet)
        found = guesses[0].dialect if guesses else None
        if document.dialect not in VERSIONS:
            assert found not in VERSIONS, document.name
        elif document.facet == "error":
            continue  # errors of the SDK bear no sign of its versions
        elif document.case in PLAIN:
            assert found is None, document.name
        elif not document.degraded and not document.spelling and found != "vercel-model":
            assert found == document.dialect, document.name
