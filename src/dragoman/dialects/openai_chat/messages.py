"""Messages of Chat Completions, both ways."""

from .read_messages import ReadMessages
from .write_messages import WriteMessages


class Messages(ReadMessages, WriteMessages):
    """Reading and writing the turns of a conversation."""
