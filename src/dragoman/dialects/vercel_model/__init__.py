"""The messages and settings of Vercel's AI SDK: ModelMessage, as version 7 has it.

What it does differently from its neighbours: types have hyphens, keys have capitals; a tool result
names its tool beside its call, and says what it is (text, JSON, an error, parts); arguments are
values; what is said to one provider alone stands in ``providerOptions``, so that every issuer's
signatures find a place; a system turn is one string, and stands in ``instructions``; images are
files.

Versions 5 and 6 and the CoreMessage of version 4 are variants: ``vercel-model-v5``,
``vercel-model-v6`` and ``vercel-core``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core import capabilities as cap
from .._signatures import KEPT
from .response import Responses
from .sniff import Sniff

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...model import Json
    from ...streams.base import StreamReader, StreamWriter


FILES = cap.Form(
    sources=cap.POINTED,
    labels=frozenset({"filename"}),
    typed=True,
    verified=True,
    any_data=False,
    any_file=True,
)
FORMS = {
    "image": replace(FILES, labels=frozenset({"filename", "detail"})),
    "audio": FILES,
    "video": FILES,
    "document": replace(
        FILES,
        labels=frozenset({"filename", "title", "context", "citable"}),
        usual="application/pdf",
        pointed=dict.fromkeys(("url", "file"), "application/pdf"),
    ),
}
RESULTS = {kind: replace(form, pointed={}) for kind, form in FORMS.items()}
TEXT = cap.POINTED | {"text"}


def with_text(*typed: str) -> dict[str, cap.Form]:
    """The same where a document may be its text; ``typed``: the sources that need a type."""
    pointed = dict.fromkeys(typed, "application/pdf")
    return {**FORMS, "document": replace(FORMS["document"], sources=TEXT, pointed=pointed)}


REASONING = cap.ReasoningForm(
    signatures=KEPT,
    ids=cap.EVERYWHERE,
    summed=frozenset({("openai", "encrypted")}),
    summed_by_id=True,
    empty=cap.EVERYWHERE,
)


class VercelModel(Sniff, Responses):
    spec = "https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message"
    aliases: ClassVar[tuple[str, ...]] = ("vercel", "vercel-model-v7")
    needs_model = True
    can = cap.Capabilities(
        outputs=cap.Outputs(labels=frozenset({"name", "description"})),
        freeform="wrapped",
        choices=cap.Choices(alone=cap.NO_MODE, parallel=cap.NO_MODE, beside=frozenset({"allowed"})),
        texts=cap.Texts(needed=frozenset({"error", "result"})),
        names=cap.NOWHERE,
        developer=False,
        refusals=cap.NOWHERE,
        passages=cap.NOWHERE,
        citations=cap.NO_CITATIONS,
        reasoning=REASONING,
        caching=cap.Caching(on=cap.ALL_MARKS.on - {"passage"}, ttls=("5m", "1h"), longest="1h"),
        media=cap.MediaForms(
            kinds=with_text("url", "file"),
            results=with_text("file"),
            roles=frozenset({"user", "assistant", "tool"}),
            spoken=frozenset(FORMS),
        ),
        emptied=False,
        prefill="unknown",
        thinking=cap.BY_EFFORT,
        unfit={**cap.RESULTS_APART, "system": cap.NOT_TEXT, "developer": cap.NOT_TEXT},
        candidates=1,
        lacks=cap.RARE | {"usage.cache_ttl", "error.param", "error.request_id"},
    )
    stream_signs: ClassVar[tuple[tuple[str, Json], ...]] = (
        ("type", "stream-start"),
        ("type", "response-metadata"),
    )

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import ModelReader

        return ModelReader(self, whole)

    def write_stream(self, log: Ledger, home: bool) -> StreamWriter:
        from .stream import ModelWriter

        return ModelWriter(self, log, home)


DIALECT = VercelModel()
