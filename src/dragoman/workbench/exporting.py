"""Exchanges as files that other tools read: HAR, and cassettes of VCR for tests.

What is exported is what the client sent and got, without keys, which nobody told the page. A stream
that has a key in pieces is written anew with the mask in its place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from importlib.metadata import version

from .. import dialects
from ..errors import DragomanError
from ..model import Json
from ..providers.secrets import MASK
from ..streams.transcoder import collect, decompose
from .traffic import Contents, Exchange, Hide

LENGTHS = frozenset({"content-length", "transfer-encoding", "connection"})


def exported(found: Iterable[Exchange], form: str, base: str, hide: Hide) -> tuple[str, bytes]:
    """The exchanges whose contents are kept, in a form: the name of the file, and the file."""
    whole = [(each, each.contents) for each in found if each.contents is not None and each.ms]
    if form == "har":
        return "traffic.har", har(whole, base, hide)
    return "traffic.yaml", cassette(whole, base, hide)


def replied(found: Exchange, contents: Contents, hide: Hide) -> bytes:
    """What the client got, without keys."""
    data = hide(b"".join(data for _, data in contents.sent))
    if not found.seen.stream:
        return data
    dialect = found.seen.dialect
    try:
        whole = collect(data, dialect).to_json()
    except DragomanError:
        return data  # an error, which came whole
    if (masked := hide(whole)) == whole:
        return data
    try:
        return decompose(masked, dialect)
    except DragomanError:
        return MASK.encode()


def address(found: Exchange, contents: Contents, base: str) -> str:
    """Where the client sent its request: the path of its dialect, at the gateway."""
    seen = found.seen
    row = dialects.get(seen.dialect).endpoints[0]
    return f"{base}{row.prefix}{row.route(seen.model, seen.stream)[0]}"


def har(found: Iterable[tuple[Exchange, Contents]], base: str, hide: Hide) -> bytes:
    """http://www.softwareishard.com/blog/har-12-spec/"""
    log = {
        "version": "1.2",
        "creator": {"name": "dragoman", "version": version("dragoman")},
        "entries": [entry(each, contents, base, hide) for each, contents in found],
    }
    return json.dumps({"log": log}, indent=1, ensure_ascii=False).encode("utf-8", "replace")


def entry(found: Exchange, contents: Contents, base: str, hide: Hide) -> Json:
    ms = found.ms or 0.0
    first = contents.sent[0][0] * 1000 if contents.sent else ms
    reply = replied(found, contents, hide)
    kind = "text/event-stream" if found.seen.stream and is_events(reply) else "application/json"
    return {
        "startedDateTime": datetime.fromtimestamp(found.began, UTC).isoformat(),
        "time": ms,
        "request": {
            "method": "POST",
            "url": address(found, contents, base),
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": listed(contents.headers),
            "queryString": [],
            "postData": {"mimeType": "application/json", "text": text_of(hide(contents.body))},
            "headersSize": -1,
            "bodySize": len(contents.body),
        },
        "response": {
            "status": found.seen.status,
            "statusText": phrase(found.seen.status),
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": [{"name": "content-type", "value": kind}],
            "content": {"size": len(reply), "mimeType": kind, "text": text_of(reply)},
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": len(reply),
        },
        "cache": {},
        "timings": {"send": 0, "wait": round(first, 1), "receive": round(max(ms - first, 0), 1)},
        "serverIPAddress": "",
        "comment": f"{found.seen.dialect} > {found.seen.upstream}",
    }


def cassette(found: Iterable[tuple[Exchange, Contents]], base: str, hide: Hide) -> bytes:
    """A cassette that vcrpy plays: YAML, of which JSON is a part."""
    interactions = [interaction(each, contents, base, hide) for each, contents in found]
    whole = {"interactions": interactions, "version": 1}
    return json.dumps(whole, indent=1, ensure_ascii=True).encode()


def interaction(found: Exchange, contents: Contents, base: str, hide: Hide) -> Json:
    reply = replied(found, contents, hide)
    kind = "text/event-stream" if found.seen.stream and is_events(reply) else "application/json"
    kept = {name: [value] for name, value in contents.headers.items() if name not in LENGTHS}
    return {
        "request": {
            "method": "POST",
            "uri": address(found, contents, base),
            "body": text_of(hide(contents.body)),
            "headers": kept,
        },
        "response": {
            "status": {"code": found.seen.status, "message": phrase(found.seen.status)},
            "headers": {"content-type": [kind]},
            "body": {"string": text_of(reply)},
        },
    }


def is_events(data: bytes) -> bool:
    return data.lstrip()[:6] in (b"data: ", b"event:") or data[:5] == b"data:"


def listed(headers: Mapping[str, str]) -> list[Json]:
    return [{"name": name, "value": value} for name, value in headers.items()]


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
