"""The stream of watsonx.ai: that of OpenAI Chat, with ``model_id`` and without ``[DONE]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...model import Json, Response
from ...streams.framing import Frame
from ..openai_chat.read_stream import ChatReader
from ..openai_chat.write_stream import ChatWriter
from . import MODEL, renamed

if TYPE_CHECKING:
    from . import Watsonx

DONE = b"data: [DONE]\n\n"


class WatsonxReader(ChatReader):
    dialect: Watsonx

    def parse(self, frame: Frame) -> dict[str, Json]:
        return renamed(super().parse(frame), MODEL, "model")

    def document(self) -> Json | None:
        doc = super().document()
        return None if doc is None else renamed(doc, "model", MODEL)

    def silent(self) -> Response:
        tree = self.dialect.read_response(self.document())
        candidates = (replace(c, message=replace(c.message, content=())) for c in tree.candidates)
        return replace(tree, candidates=tuple(candidates))


class WatsonxWriter(ChatWriter):
    def end(self, doc: Json) -> bytes:
        return super().end(doc).removesuffix(DONE)
