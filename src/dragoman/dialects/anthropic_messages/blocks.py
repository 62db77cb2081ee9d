"""Content blocks and messages of the Anthropic Messages API, both ways."""

from .read_blocks import NAME, ReadBlocks
from .write_blocks import WriteBlocks


class Blocks(ReadBlocks, WriteBlocks):
    """Reading and writing what stands inside a message."""

    name = NAME
    issuer = "anthropic"


__all__ = ["NAME", "Blocks"]
