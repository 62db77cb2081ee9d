"""Repair of conversations that an API would reject: named passes, with every change in the ledger.

A conversion does not repair. A problem stays until ``repair`` is called, and then every change is a
loss in the ledger, as in a conversion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import dialects
from .core import duplicates, lines
from .core.models import Models, given
from .core.reading import LIMIT, is_longer, load
from .core.source import with_source
from .dialect import Facet
from .errors import Malformed, Unsupported
from .ledger import Ledger
from .model import History, Json, Request
from .result import Result


def repair_passes() -> tuple[tuple[str, str], ...]:
    """The passes in the order in which they run, each with what it does."""
    from .lint.passes.table import PASSES  # needed for repairs only

    return tuple((name, each.does) for name, each in PASSES.items())


def repair(
    doc: Json | bytes,
    dialect: str,
    *,
    passes: Sequence[str] | None = None,
    facet: Facet | str = "request",
    fail_on: Iterable[str] = (),
    models: Models | Mapping[str, Any] | None = None,
    limit: int | None = LIMIT,
) -> Result:
    """A document that the API accepts, as far as passes can achieve it, in the same dialect.

    With ``passes``, these run, in this order, whatever the document is. Without, the passes run
    that repair what ``check`` finds; a document without problems is returned unchanged.
    ``result.losses`` has every change. ``models`` adds rows of your own to the table of model facts
    (``dragoman.models``). ``limit`` is how many bytes a document may have (None: any number).

    >>> broken = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [
    ...     {"type": "text", "text": ""}, {"type": "text", "text": "Hi"}]}]}
    >>> result = repair(broken, "anthropic-messages")
    >>> result.document["messages"]
    [{'role': 'user', 'content': 'Hi'}]
    >>> print(result.losses[0])
    dropped text.empty at /messages/0/content/0 (empty text dropped)
    """
    from .lint.passes.context import Bench
    from .lint.passes.table import find, repair, run

    speaker = dialects.get(dialect)
    log = Ledger(models=given(models), target=speaker.name)
    doc = lines.of(doc, limit) if speaker.lines else doc
    value = _loaded(doc, limit, log)
    duplicates.note(doc, value, log)
    if facet not in ("request", "messages"):
        raise Unsupported(f"repair supports the facets request and messages, not {facet}")
    if passes is not None:
        named = [find(name) for name in passes]
    tree = with_source(speaker.read(value, facet), value, speaker)
    assert isinstance(tree, Request | History)
    bench = Bench(speaker, log)
    if passes is not None:
        repaired = run(named, tree, bench)
    else:
        repaired = repair(speaker, tree, value, facet, bench)
    document = value if repaired is tree else speaker.write(repaired, log)
    log.enforce(fail_on)
    return Result(document, tuple(log.losses), lines=speaker.lines)


def _loaded(doc: Json | bytes, limit: int | None, log: Ledger) -> Json:
    """The document; lone surrogates, which no API takes, are repaired before anything else."""
    try:
        return load(doc, limit)
    except Malformed:
        if is_longer(doc, limit):
            raise
        from .core.surrogates import WHY, well_formed  # which nearly no document has

        found = well_formed(doc)
        if found is None:
            raise
        for at in found.places:
            log.approximated("text.surrogate", at, WHY)
        return found.value
