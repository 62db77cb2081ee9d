"""IContent as the design of llxprt's converter has it, which the type never became.

What it does differently from ``icontent``: there is a speaker ``system``, in a request as well; an
image is ``image{data}``, a data URL or an address, and there are no other media; a result does not
name its tool, and its ``status`` says that it failed; there are no reasoning.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.writing import data_uri
from ..model import Json, Media, ToolResult
from .icontent import FILES, IContent
from .icontent.blocks import ContentWriting

IMAGES = replace(FILES, labels=frozenset(), titled=frozenset(), typed=False, absolute=True)


class IContentDesign(IContent):
    name = "icontent-design"
    aliases: ClassVar[tuple[str, ...]] = ()
    kin = frozenset({"icontent"})
    can = replace(
        IContent.can,
        result_names=False,
        reasoning=cap.ReasoningForm(places=cap.NOWHERE),
        media=replace(
            IContent.can.media,
            kinds={"image": IMAGES},
        ),
    )
    has_system = True
    has_error = False

    def name_result(self, result: ToolResult, w: ContentWriting) -> dict[str, Json]:
        out = super().name_result(result, w)
        if result.name is None or not w.same:
            del out["toolName"]
        return out

    def write_image_or_file(self, block: Media) -> dict[str, Json]:
        source = block.source
        if block.kind != "image" or block.filename is not None:
            return super().write_image_or_file(block)  # it was read from such a block
        if source.kind != "url":
            return {"type": "image", "data": data_uri(source.media_type or "image/*", source.value)}
        out: dict[str, Json] = {"type": "image", "data": source.value}
        return out if source.media_type is None else {**out, "mimeType": source.media_type}


DIALECT = IContentDesign()
