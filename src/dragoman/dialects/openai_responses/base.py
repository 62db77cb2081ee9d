"""What every dialect of Responses items has: the fields, and the functions that it may override."""

from __future__ import annotations

from typing import ClassVar

from ...core.fields import Fields
from ...dialect import Dialect
from ...model import Extras
from . import calls, items, parts, request, response, tools
from .items import SPEAKERS, Speaker
from .parts import NAME, PART, Reader
from .request import FIELDS
from .response import COUNTS


class ResponsesBase(Dialect):
    """Input items and output items; ``OpenAIResponses`` adds the rules of OpenAI's own API."""

    name = NAME
    issuer = "openai"
    blank = frozenset(
        {"annotations", "logprobs", "include", "instructions", "metadata", "encrypted_content"}
    )
    keep_alive: ClassVar[bytes] = b": keep-alive\n\n"
    takes_comments = True
    names_calls: ClassVar[bool] = True
    """Whether a call of a response has an id of its own, beside the one that pairs it."""
    annotates: ClassVar[bool] = True
    """Whether a text of the assistant has a list of its sources, be there none."""
    speakers: ClassVar[tuple[Speaker, ...]] = SPEAKERS
    """Who speaks beside the assistant."""
    listed: ClassVar[bool] = False
    """Whether a message always holds a list of parts, never a string."""
    rules: ClassVar[dict[str, str]] = {}
    """What the API demands, as far as ``check`` knows."""
    fields: ClassVar[Fields] = FIELDS
    counts = COUNTS

    read_request = request.read_request
    read_plain = request.read_plain
    write_request = request.write_request
    fit_model = request.fit_model
    read_messages = request.read_messages
    write_messages = request.write_messages
    write_prompt = request.write_prompt
    read_items = items.read_items
    write_items = items.write_items
    write_turn = items.write_turn
    begins_item = items.begins_item
    is_part = items.is_part
    read_message_item = items.read_message_item
    write_new_item = items.write_new_item
    write_message = items.write_message
    write_results = items.write_results
    RESULT_PARTS: ClassVar[dict[str, Reader]] = calls.RESULT_PARTS
    write_call = calls.write_call
    write_result = calls.write_result
    read_reasoning = calls.read_reasoning
    write_reasoning = calls.write_reasoning
    read_tool_result = calls.read_tool_result
    write_part = parts.write_part
    write_text = parts.write_text
    write_media = parts.write_media
    write_image = parts.write_image
    write_address = parts.write_address
    read_tools = tools.read_tools
    write_tools = tools.write_tools
    read_tool_list = tools.read_tool_list
    has_tool = tools.has_tool
    read_tool = tools.read_tool
    write_tool = tools.write_tool
    read_tool_choice = tools.read_tool_choice
    write_tool_choice = tools.write_tool_choice
    read_choice = tools.read_choice
    write_choice = tools.write_choice
    writing = tools.writing
    read_response = response.read_response
    read_plain_reply = response.read_plain_reply
    write_plain_reply = response.write_plain_reply
    write_response = response.write_response
    echo = response.echo
    write_echo = response.write_echo
    read_usage = response.read_usage
    write_usage = response.write_usage
    read_error = response.read_error
    write_error = response.write_error

    def __init__(self) -> None:
        self.as_item = Extras(self.name, inner=(PART,))
        """Those of an item that has no extra fields."""
