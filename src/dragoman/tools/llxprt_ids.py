"""Ids of tool calls under the prefix that an API or a tool likes, and back again, exactly.

llxprt keeps its history under ids of its own and swaps prefixes at every border. Its rules:

    to history     the prefix (hist_tool_, call_, toolu_) becomes hist_tool_, and every character
                   that is not one of [a-zA-Z0-9_-] is deleted
    to OpenAI      the same, with call_
    to Anthropic   the same, with toolu_ and a hyphen for each such character; toolu_... stays

So ``toolu_x`` comes back as ``call_x``, and ``a.b`` and ``ab`` become one. Ours keep the form and
lose nothing. An id is written in one of three ways, here for the history:

    call_abc           hist_tool_abc                          the usual one: as llxprt writes it
    toolu_abc          hist_tool_toolu_abc                    the other prefix that is well known
    functions.Bash:0   hist_tool_raw_functions-2e-Bash-3a-0   any other id, its letters escaped

Each of them is read back as it was, no two ids share one, and all consist of [a-zA-Z0-9_-].
To tell the three ways apart, an id like ``call_raw_x`` goes the third way as well.

>>> to_history("toolu_abc"), from_history("hist_tool_toolu_abc")
('hist_tool_toolu_abc', 'toolu_abc')
>>> to_openai("hist_tool_abc"), to_anthropic("hist_tool_abc")
('call_abc', 'toolu_call_abc')
"""

from __future__ import annotations

import re

from msgspec import Struct

HISTORY = "hist_tool_"
RAW = "raw_"

_plain = re.compile(r"[a-zA-Z0-9_-]*").fullmatch
_strange = re.compile(r"[^a-zA-Z0-9_]")
_escaped = re.compile(r"-([0-9a-f]*)-")
_whole = re.compile(r"(?:[a-zA-Z0-9_]|-(?:[0-9a-f]{2,6})?-)*").fullmatch


class Scheme(Struct, frozen=True):
    """How ids are written under a prefix: ``own`` is cut off, ``other`` stays after it."""

    prefix: str
    own: str
    other: str

    def write(self, call_id: str) -> str:
        if _plain(call_id):
            if call_id.startswith(self.other):
                return self.prefix + call_id
            rest = call_id.removeprefix(self.own)
            if rest != call_id and not rest.startswith((self.other, RAW)):
                return self.prefix + rest
        return self.prefix + RAW + _strange.sub(_escape, call_id)

    def read(self, written: str) -> str:
        """The id that was written so; another one stays as it is."""
        if not written.startswith(self.prefix):
            return written
        rest = written[len(self.prefix) :]
        if not rest.startswith(RAW):
            found = rest if rest.startswith(self.other) else self.own + rest
        elif _whole(rest):
            found = _escaped.sub(_unescape, rest[len(RAW) :])
        else:
            return written
        return found if self.write(found) == written else written


def _escape(strange: re.Match[str]) -> str:
    letter = strange[0]
    return "--" if letter == "-" else f"-{ord(letter):02x}-"


def _unescape(escaped: re.Match[str]) -> str:
    code = int(escaped[1], 16) if escaped[1] else ord("-")
    return chr(code) if code <= 0x10FFFF else escaped[0]


_HISTORY = Scheme(HISTORY, "call_", "toolu_")
_OPENAI = Scheme("call_", "call_", "toolu_")
_ANTHROPIC = Scheme("toolu_", "toolu_", "call_")


def to_history(call_id: str) -> str:
    """The id of a call in a history of llxprt: ``call_abc`` is ``hist_tool_abc``."""
    return _HISTORY.write(call_id)


def from_history(history_id: str) -> str:
    """The id that an id in a history stands for: ``hist_tool_abc`` is ``call_abc``."""
    return _HISTORY.read(history_id)


def to_openai(call_id: str) -> str:
    """An id that begins with ``call_``; one out of a history is unwrapped first."""
    return _OPENAI.write(from_history(call_id))


def from_openai(call_id: str) -> str:
    """What ``to_openai`` was given, but for its wrapping."""
    return _OPENAI.read(call_id)


def to_anthropic(call_id: str) -> str:
    """An id that begins with ``toolu_``; one out of a history is unwrapped first."""
    return _ANTHROPIC.write(from_history(call_id))


def from_anthropic(call_id: str) -> str:
    """What ``to_anthropic`` was given, but for its wrapping."""
    return _ANTHROPIC.read(call_id)
