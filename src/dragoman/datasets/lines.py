"""One record at a time, bytes to bytes: for Spark, Daft, datatrove and ``datasets.map``."""

from __future__ import annotations

from typing import Any

from ..errors import DragomanError
from .converting import Converter, Refused
from .options import Options, options_of
from .records import of_line


class Rejected(DragomanError):
    """A record of which no line can be made; ``code`` says why in a word."""

    def __init__(self, code: str, why: str) -> None:
        self.code = code
        super().__init__(why)


class Line:
    """A function from a record to its lines, as JSON bytes.

    >>> line = Line(target="functiongemma", source="anthropic")
    >>> line(b'{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}')
    b'{"text":"<bos><start_of_turn>user\\\\nHi<end_of_turn>\\\\n<start_of_turn>model\\\\n"}'

    Mostly that is one line; with ``cut`` there are several, with line breaks between them, and
    where a filter leaves nothing the result is empty. A record that cannot be converted raises
    ``Rejected``, or is what ``rejected`` says. It keeps nothing between calls and can be pickled.
    The options are those of a recipe; what needs all records (``dedup``, ``sample``, ``split``,
    ``shuffle``) has no effect here.
    """

    def __init__(self, *, rejected: bytes | None = None, **options: Any) -> None:
        self.options: Options = options_of(options)
        self.rejected = rejected
        self._converter: Converter | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"options": self.options, "rejected": self.rejected, "_converter": None}

    def __call__(self, data: bytes) -> bytes:
        if self._converter is None:
            self._converter = Converter(self.options)
        converter = self._converter
        converter.begin()
        out = []
        for record in of_line(bytes(data), None, self.options):
            for written in converter.lines(record):
                if not isinstance(written, Refused):
                    out.append(written.data)
                elif self.rejected is None:
                    raise Rejected(written.code, str(written))
                else:
                    out.append(self.rejected)
        return b"\n".join(out)
