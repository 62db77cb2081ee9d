"""stub"""

from typing import Any


def page(manifest: dict[str, Any]) -> str:
    return ""
