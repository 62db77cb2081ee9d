"""How to know a text of FunctionGemma."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...lint.evidence import Evidence, Verdict
from ...model import Json
from .._gemma import CALL, DECLARE, RESPOND, START

if TYPE_CHECKING:
    from . import FunctionGemma


MUCH = 20_000
"""How much of a text is looked at."""
SIGNS = {
    f"{DECLARE}declaration:": 0.9,
    f"{CALL}call:": 0.9,
    f"{RESPOND}response:": 0.9,
    f"{START}developer\n": 0.5,
    f"{START}model\n": 0.5,
    f"{START}user\n": 0.5,
}
FOREIGN = {  # the neighbours: a declaration in prose, a call on a line of its own
    f"{CALL}\ncall:": 0.9,
    f"{START}model\n/*": 0.5,
    "You have access to the following functions:\n\n<start_function": 0.9,
}


def sniff(d: FunctionGemma, doc: Json) -> Iterator[Verdict]:
    if doc.__class__ is not dict:
        return
    text = doc.get("text")
    if text is None and doc.get("completion").__class__ is str:
        text = doc.get("prompt")
    if text.__class__ is not str or "<start_" not in text:
        return
    start = text[:MUCH]
    bare = start.lstrip().removeprefix("<bos>").lstrip()
    if bare.startswith(START):
        facet = "request"
    elif bare.startswith(DECLARE):
        facet = "tools"
    else:
        facet = "response"
    e = Evidence(facet)
    for sign, weight in SIGNS.items():
        if sign in start:
            e.speaks_for(f"the text has {sign.strip()!r}", weight)
    for sign, weight in FOREIGN.items():
        if sign in start:
            e.speaks_against(f"the text has {sign.strip()!r}", weight)
    yield e.verdict()
    if facet == "request" and DECLARE not in start:
        other = Evidence("messages")
        other.signs, other.doubts = dict(e.signs), e.doubts | {"it may be a request": 0.2}
        yield other.verdict()
