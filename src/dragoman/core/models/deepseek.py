"""DeepSeek's models, which read text alone."""

from __future__ import annotations

from . import Vendor, row

TEXT = "recorded 400 (deepseek-v4-flash): unknown variant `image_url`, expected `text`"

VENDOR = Vendor(
    "deepseek", "DeepSeek", ("deepseek*",), (row("*", media=(), sources={"media": TEXT}),)
)
