"""Cassettes of VCR for Ruby, in YAML or JSON: like those of vcrpy, under another key.

    http_interactions:
    - request: {method: post, uri: ..., body: {encoding: UTF-8, string: ...}, headers: {Name: [v]}}
      response: {status: {code: 200, message: OK}, headers: ..., body: ...}
      recorded_at: Thu, 05 Jun 2025 10:00:00 GMT
    recorded_with: VCR 6.3.1

https://benoittgt.github.io/vcr/#/cassettes/cassette_format
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ..model import Json
from ._wire import Call
from .vcr import Vcr, call_of, date_of


class RubyVcr(Vcr):
    name = "ruby-vcr"
    title = "a cassette of VCR for Ruby"
    spec = "https://benoittgt.github.io/vcr/#/cassettes/cassette_format"
    signs: ClassVar[tuple[tuple[bytes, ...], ...]] = ((b'"http_interactions"',),)
    holds_bytes = True
    key: ClassVar[str] = "http_interactions"

    def calls(self, value: Json) -> Iterator[Call]:
        for index, each in enumerate(value[self.key]):
            call = call_of(each, f"/{self.key}/{index}")
            recorded = each.get("recorded_at")
            if call.time is None and recorded.__class__ is str:
                call = call._replace(time=date_of((("date", recorded),)))
            yield call


CONTAINER = RubyVcr()
