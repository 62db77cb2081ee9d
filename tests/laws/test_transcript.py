"""A transcript holds everything of a document and a ledger: what is written is read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choosing import examples
from dragoman.laws import transcript
from dragoman.laws.transcript import Stale, Transcript
from dragoman.ledger import Loss
from dragoman.testing import load_case

KEYS = st.sampled_from(
    ["a", "b", "text", "", "/", "~", "~1", "a b", " > ", "0", "\u2028", "\ud83d"]
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from([0.0, 1.0, -1.5, 1e300]),
    st.text(max_size=6), st.sampled_from(["\n", "\r\n  + /a 1", "…", "word " * 30, "\ud83d"]),
)  # fmt: skip
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
KINDS = st.tuples(st.sampled_from(["request", "tool-choice"]), st.sampled_from("pqrs"))
LOSSES = st.builds(
    lambda what, path: transcript.entry(Loss("dropped", what, path, "why")),
    st.sampled_from(["cache", "tool_call.id"]),
    st.sampled_from(["", "/a/0", "/a/10", "/a b", "/a (2 times)", "/a > b", "/", "/\n"]),
)
PAIRS = st.dictionaries(
    st.sampled_from(["p > q", "p~other > q", "q > p", "s > r"]),
    st.lists(LOSSES, min_size=1, max_size=4).map(sorted),
    min_size=1,
)


def text(value: Any) -> str:
    """JSON, which tells 1 from 1.0 and from true."""
    return json.dumps(value, sort_keys=True)


@settings(max_examples=examples(400), deadline=None)
@given(
    whole=st.dictionaries(KINDS, JSON, max_size=2),
    documents=st.dictionaries(KINDS, JSON, max_size=3),
    losses=st.dictionaries(st.sampled_from(["request", "error"]), PAIRS, max_size=2),
)
def test_what_is_written_is_read(whole: Any, documents: Any, losses: Any) -> None:
    documents = {kind: body for kind, body in documents.items() if kind not in whole}
    written = transcript.write(Transcript(losses, documents), whole)
    written.encode()
    back = transcript.read(written, whole)
    assert back.losses == losses
    assert {k: text(v) for k, v in back.documents.items()} == {
        k: text(v) for k, v in documents.items()
    }
    assert transcript.targets(written) == documents.keys()


@settings(max_examples=examples(400), deadline=None)
@given(base=JSON, data=st.data())
def test_a_document_that_is_near_another_is_read_again(base: Any, data: Any) -> None:
    """Most random documents have nothing in common; these do."""
    filler = {"filler": "a text that a difference need not show " * 20}
    body = data.draw(changed(base))
    whole = {("request", "p"): {**filler, "value": base}}
    documents = {("request", "q"): {**filler, "value": body}}
    written = transcript.write(Transcript({}, documents), whole)
    assert "compared with p" in written or len(text(body)) > 200
    assert text(transcript.read(written, whole).documents["request", "q"]["value"]) == text(body)


def changed(value: Any) -> st.SearchStrategy[Any]:
    """The same value with some parts of it left out, replaced, or put in between."""
    if isinstance(value, list):
        parts = [st.one_of(st.just([]), changed(v).map(lambda x: [x])) for v in value]
        more = st.lists(SCALARS, max_size=2)
        return st.tuples(more, *parts, more).map(lambda lists: [x for xs in lists for x in xs])
    if isinstance(value, dict):
        required = {key: changed(item) for key, item in value.items()}
        kept = st.fixed_dictionaries({}, optional=required)
        return st.tuples(kept, st.dictionaries(KEYS, SCALARS, max_size=1)).map(
            lambda two: two[0] | two[1]
        )
    return st.one_of(st.just(value), st.just(value), SCALARS)


WHOLE = {("request", "p"): {"a": [1, 2, 3], "long": "x" * 200}}


def of(body: Any) -> str:
    return transcript.write(Transcript({}, {("request", "q"): body}), WHOLE)


def test_a_difference_shows_what_went_and_what_came() -> None:
    assert of({"a": [1, 3, {"b": 1.0}], "long": "x" * 200, "c/d": None}) == (
        "request in q, compared with p\n"
        "  - /a/1 2\n"
        '  + /a/2 {"b": 1.0}\n'
        "  + /c~1d null\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new"),
    [(1, 1.0), (1, True), ([], {}), (None, "null"), ("", None), ({"b": 0}, {"b": False})],
)
def test_like_values_are_told_apart(old: Any, new: Any) -> None:
    whole = {("request", "p"): {"a": old, "long": "x" * 200}}
    transcripts = {
        transcript.write(Transcript({}, {("request", "q"): body}), whole)
        for body in (whole["request", "p"], {"a": new, "long": "x" * 200})
    }
    assert len(transcripts) == 2


@pytest.mark.parametrize(
    "stale",
    [
        of({"a": [1, 3], "long": "x" * 200}).replace("/a/1", "/a/7"),
        of({"a": [1, 2, 3, 4], "long": "x" * 200}).replace("/a/3", "/a/7"),
        of({"a": [1, 3], "long": "x" * 200}).replace("with p", "with z"),
        "request in q\n  {\n",
        "request of q\n",
        "request from p\n  dropped cache\n",
    ],
)
def test_what_does_not_fit_is_stale(stale: str) -> None:
    with pytest.raises(Stale):
        transcript.read(stale, WHOLE)


def test_a_degraded_document_has_no_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text('title = "t"\n')
    (tmp_path / "gemini.request.degraded.json").write_text("{}")
    with pytest.raises(ValueError, match=r"is not <dialect>\[~spelling\]\.<facet>\.json"):
        load_case(tmp_path)
