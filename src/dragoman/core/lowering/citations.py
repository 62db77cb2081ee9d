"""Citations on their way to a target: whose texts bear them, of what, and what is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...ledger import Ledger
from ...model import Citation, Text
from ..capabilities import CITED, Place

if TYPE_CHECKING:
    from ...dialect import Dialect

FIELDS = {
    "url": "address",
    "title": "title",
    "quote": "quote",
    "span": "span",
    "location": "location",
    "file_id": "file",
    "signature": "signature",
}
"""What a citation may tell, and what it is called in the ledger."""


def lower(text: Text, to: Dialect, place: Place, spoken: bool, log: Ledger) -> Text:
    """A text with the citations that it may have; ``spoken``: by the assistant."""
    end = len(text.text)
    kept = tuple(c for cite in text.citations if (c := fitted(cite, to, place, spoken, log, end)))
    if len(kept) == len(text.citations):
        if all(a is b for a, b in zip(kept, text.citations, strict=True)):
            return text
    return replace(text, citations=kept)


def fitted(
    cite: Citation, to: Dialect, place: Place, spoken: bool, log: Ledger, end: int | None = None
) -> Citation | None:
    """A citation as the target can tell it; None where it cannot. ``end``: that of the text."""
    if cite.extras is not None and to.is_same(cite.extras.dialect):
        return cite
    can = to.can.citations
    why = None
    if place not in can.places:
        why = f"{to.name} has no citations{f' in a {place}' if can.places else ''}"
    elif not spoken and not can.everyone:
        why = f"{to.name} has citations in texts of the assistant only"
    elif can.forms is not None and not any(_has_form(cite, form, to, end) for form in can.forms):
        forms = " and ".join(CITED[form] for form in can.forms)
        why = f"{to.name} has citations of {forms} only"
    if why is not None:
        log.dropped("text.citations", cite.at, why)
        hollow = can.joined and spoken and place in can.places
        return Citation("other", at=cite.at) if hollow else None
    lost = [field for field in can.lacks if getattr(cite, field) is not None]
    if can.spans and cite.span is None:
        why = f"{to.name} requires a span; it is that of the whole text"
        log.approximated("text.citations", cite.at, why)
    elif lost:
        told = ", ".join(FIELDS[field] for field in FIELDS if field not in can.lacks)
        log.approximated("text.citations", cite.at, f"{to.name} has in a citation: {told}")
    return replace(cite, **dict.fromkeys(lost)) if lost else cite


def _has_form(cite: Citation, form: str, to: Dialect, end: int | None) -> bool:
    match form:
        case "url":
            return cite.kind == "url" and cite.url is not None
        case "signed":
            return (
                cite.kind == "url"
                and cite.signature is not None
                and cite.signature.issuer == to.issuer
            )
        case "place":
            return cite.location is not None and cite.document is not None
        case "bare":
            return is_bare(cite) and (end is None or cite.span is None or cite.span[1] <= end)
        case _:
            return cite.kind in ("document", "passage")


def is_bare(cite: Citation) -> bool:
    """Whether a citation tells of a web page and of a span, and nothing more."""
    return (
        cite
        == Citation("url", cite.url, cite.title, span=cite.span, at=cite.at, extras=cite.extras)
        and cite.url is not None
        and cite.span is not None
        and cite.span[0] < cite.span[1]
        and (cite.extras is None or not cite.extras.fields)
    )
