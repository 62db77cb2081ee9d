"""Recordings of Polly.JS: HAR, of which each entry has the checksum by which Polly finds it.

https://netflix.github.io/pollyjs/#/persisters/overview
"""

from __future__ import annotations

from collections.abc import Iterable

from ..ledger import Loss
from ..model import Json
from ._wire import Call
from .har import Har


class Polly(Har):
    name = "polly"
    title = "a cassette of Polly.JS"
    spec = "https://netflix.github.io/pollyjs/#/configuration?id=matchrequestsby"
    signs = ((b'"_recordingName"', b'"entries"'),)
    rank = 1

    def claims(self, value: Json) -> bool:
        return super().claims(value) and "_recordingName" in value["log"]

    def put(self, value: Json, index: int, old: Call, new: Call) -> Iterable[Loss]:
        yield from super().put(value, index, old, new)
        entry = value["log"]["entries"][index]
        if new.sent.data is not old.sent.data and "_id" in entry:
            # The checksum is of method, URL, headers and body as the client will send them.
            why = (
                "Polly finds a response by a checksum of its request, which only Polly can "
                "compute; the old one is kept"
            )
            yield Loss("approximated", "container.field", f"{new.at}/_id", why)


CONTAINER = Polly()
