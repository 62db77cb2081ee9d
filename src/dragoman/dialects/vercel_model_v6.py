"""The ModelMessage of AI SDK 6.

What it does differently from version 7: the system prompt is ``system``, and may stand among the
messages; an image is a part of its own; a file is data or an address; there is no effort.
"""

from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ._ai_sdk import STOPS
from .vercel_model import FORMS, RESULTS, VercelModel
from .vercel_model.parts import FILE_ID


class VercelModelV6(VercelModel):
    name = "vercel-model-v6"
    spec = "https://v6.ai-sdk.dev/docs/reference/ai-sdk-core/model-message"
    aliases = ()
    kin = frozenset({"vercel-core", "vercel-model", "vercel-model-v5"})
    can = replace(
        VercelModel.can,
        thinking=cap.NO_THINKING,
        media=replace(
            VercelModel.can.media,
            kinds={
                kind: replace(form, any_file=False, issuers=("openai",), files=(FILE_ID,))
                for kind, form in FORMS.items()
            },
            results=RESULTS,
        ),
    )
    system = "system"
    system_inside = True
    image_parts = True
    references = False
    stops = STOPS.but({}, {"cancelled": "other"})  # a reply cannot be interrupted
    allowed: ClassVar[dict[str, frozenset[str]]] = {
        **VercelModel.allowed,
        "assistant": VercelModel.allowed["assistant"] - {"reasoning-file", "custom"},
    }
    result_parts = frozenset(
        {
            "text", "media", "file-data", "file-url", "file-id", "image-data", "image-url",
            "image-file-id", "custom",
        }
    )  # fmt: skip


DIALECT = VercelModelV6()
