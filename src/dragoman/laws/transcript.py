"""What targets make of a case that they cannot express whole, as one text that can be read.

A case of the corpus has whole files, which all say the same. The transcript beside them has the
losses of every conversion, and the documents of targets that cannot express the case, each as the
difference from the file that is nearest:

    request from anthropic-messages
      dropped cache /system/0 > cohere, gemini
    request from openai-chat
      dropped cache /messages/0/content/0 > cohere, gemini
    request in cohere, compared with openai-chat
      - /messages/0/content/0/cache_control {"type": "ephemeral"}
    request in gemini
      {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}

A line with ``-`` is a place in the other document that is not in this one, with the start of its
value; a line with ``+`` is a place in this one, with its value. What has little in common with any
other document is written in full. ``read`` gives exactly what ``write`` was given.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import NamedTuple, TypeAlias

from ..core.reading import escape
from ..ledger import Loss
from ..model import Json

WIDTH = 100
EXCERPT = 40
"""How much is shown of a value that is not in the document."""
MUCH_SHORTER = 2 / 3
"""A difference is shown instead of a document if it is less than that part of it."""

Kind: TypeAlias = tuple[str, str]
"""A facet and a dialect."""


class Transcript(NamedTuple):
    losses: dict[str, dict[str, list[str]]]
    """facet -> ``"source > target"`` -> the losses, as ``"kind code path"``"""
    documents: dict[Kind, Json]
    """what is written in the dialects that cannot express the case"""


class Stale(ValueError):
    """A transcript that does not fit the whole files beside it, or is none."""


def entry(loss: Loss) -> str:
    """A loss as a transcript has it: kind, code and place; not the reason, which is prose."""
    return f"{loss.kind} {loss.what}{loss.path and ' ' + _pointer(loss.path)}"


# -- writing --------------------------------------------------------------------------------


def write(transcript: Transcript, whole: Mapping[Kind, Json]) -> str:
    """The text; ``whole`` has the documents that it may refer to."""
    lines: list[str] = []
    for facet in sorted({*(kind for kind, _ in transcript.documents), *transcript.losses}):
        lines += _losses(facet, transcript.losses.get(facet, {}))
        lines += _documents(facet, _of(facet, transcript.documents), _of(facet, whole))
    return "\n".join([*lines, ""])


def _of(facet: str, documents: Mapping[Kind, Json]) -> dict[str, Json]:
    return {name: body for (kind, name), body in sorted(documents.items()) if kind == facet}


def _losses(facet: str, pairs: Mapping[str, list[str]]) -> Iterator[str]:
    """Each loss of a source once, with the targets; sources that have the same ones together."""
    blocks: dict[str, dict[tuple[str, int], list[str]]] = {}
    for pair, losses in sorted(pairs.items()):
        source, _, target = pair.partition(" > ")
        for loss, count in Counter(losses).items():
            blocks.setdefault(source, {}).setdefault((loss, count), []).append(target)
    sources: dict[tuple[str, ...], list[str]] = {}
    for source, block in blocks.items():
        lines = (
            f"  {loss}{f' ({count} times)' if count > 1 else ''} > {', '.join(targets)}"
            for (loss, count), targets in sorted(block.items(), key=lambda row: _order(row[0][0]))
        )
        sources.setdefault(tuple(lines), []).append(source)
    for block_lines, names in sources.items():
        yield f"{facet} from {', '.join(names)}"
        yield from block_lines


def _order(loss: str) -> tuple[list[tuple[int, str]], str]:
    """Losses in the order of their places."""
    parts = "".join(loss.split(" ", 2)[2:]).split("/")
    return [(int(part) if part.isdecimal() else -1, part) for part in parts], loss


def _documents(facet: str, found: Mapping[str, Json], whole: Mapping[str, Json]) -> Iterator[str]:
    """Each document in full or, where that is a good deal shorter, as a difference.

    Targets that write the same document stand together. A document is compared with the whole
    files and with those of the targets before it.
    """
    same: dict[str, list[str]] = {}
    for name, body in found.items():
        same.setdefault(_sorted_text(body), []).append(name)
    bases = dict(whole)
    for names in same.values():
        body, head = found[names[0]], f"{facet} in {', '.join(names)}"
        lines, read_again = [head, *_laid_out("  ", body)], body
        least = len(_text(body)) * MUCH_SHORTER
        for base, other in bases.items():
            changes = list(_changes(other, body, "", ""))
            if _size(changes) < least:
                least, lines = _size(changes), [f"{head}, compared with {base}", *changes]
                read_again = _patched(_copy(other), changes)
        yield from lines
        bases[names[0]] = read_again  # the same, though its keys may be in another order


def _size(lines: list[str]) -> int:
    return sum(len(line.strip()) for line in lines)


def _changes(old: Json, new: Json, at: str, to: str) -> Iterator[str]:
    """The lines that make one value, at a place of its document, of another in another document."""
    if _sorted_text(old) == _sorted_text(new):
        return
    instead = [_removed(at, old), *_added(to, new)]
    inner = None
    if isinstance(old, dict) and isinstance(new, dict):
        inner = list(_key_changes(old, new, at, to))
    elif isinstance(old, list) and isinstance(new, list):
        inner = list(_item_changes(old, new, at, to))
    yield from inner if inner is not None and _size(inner) < _size(instead) else instead


def _key_changes(old: dict[str, Json], new: dict[str, Json], at: str, to: str) -> Iterator[str]:
    for key, value in old.items():
        token = escape(key)
        if key in new:
            yield from _changes(value, new[key], f"{at}/{token}", f"{to}/{token}")
        else:
            yield _removed(f"{at}/{token}", value)
    for key, value in new.items():
        if key not in old:
            yield from _added(f"{to}/{escape(key)}", value)


def _item_changes(old: list[Json], new: list[Json], at: str, to: str) -> Iterator[str]:
    """Items that are gone or came in between do not change those after them."""
    before, after = [_sorted_text(item) for item in old], [_sorted_text(item) for item in new]
    steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for what, i, end, j, stop in steps:
        for n in range(max(end - i, stop - j) if what != "equal" else 0):
            if i + n >= end:
                yield from _added(f"{to}/{j + n}", new[j + n])
            elif j + n >= stop:
                yield _removed(f"{at}/{i + n}", old[i + n])
            else:
                yield from _changes(old[i + n], new[j + n], f"{at}/{i + n}", f"{to}/{j + n}")


def _removed(at: str, value: Json) -> str:
    text = _text(value)
    return f"  - {_pointer(at)} {text if len(text) <= EXCERPT else text[: EXCERPT - 1] + '…'}"


def _added(at: str, value: Json) -> list[str]:
    first, *others = _laid_out("    ", value, f"+ {_pointer(at)} ")
    return [first[2:], *others]


def _laid_out(indent: str, value: Json, head: str = "", tail: str = "") -> list[str]:
    """JSON in lines of some width. An object or a list that fits stands in one line."""
    line = f"{indent}{head}{_text(value)}{tail}"
    if len(line) <= WIDTH or not isinstance(value, dict | list) or not value:
        return [line]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    rows = _rows(value)
    lines, room = [f"{indent}{head}{begin}"], len(rows) == 1 or isinstance(value, dict)
    for number, (key, item) in enumerate(rows, 1):
        comma = "," if number < len(rows) else f"{end}{tail}"
        first, *others = _laid_out(f"{indent}  ", item, key, comma)
        joined = f"{lines[-1]}{' ' * (number > 1)}{first.lstrip()}"
        if room and len(joined) <= WIDTH:
            lines[-1] = joined
        else:
            lines.append(first)
        lines += others
        room = not others and not isinstance(item, dict | list)
    return lines


def _rows(value: dict[str, Json] | list[Json]) -> list[tuple[str, Json]]:
    if isinstance(value, dict):
        return [(f"{_text(key)}: ", item) for key, item in value.items()]
    return [("", item) for item in value]


def _copy(value: Json) -> Json:
    return json.loads(json.dumps(value))


def _sorted_text(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def _text(value: Json) -> str:
    """JSON in one line. Half characters, which UTF-8 does not have, are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


def _pointer(at: str) -> str:
    """A JSON pointer; one with spaces or without parts in quotes."""
    return at if re.fullmatch(r"(/[^\s\"/]+)+", at) else json.dumps(at)


# -- reading --------------------------------------------------------------------------------

_HEAD = re.compile(r"([a-z-]+) (from|in) (.+?)(?:, compared with (\S+))?")
_LOSS = re.compile(r"  (.+?)(?: \((\d+) times\))? > ([^>]+)")


def read(text: str, whole: Mapping[Kind, Json]) -> Transcript:
    """What ``write`` was given, with the same whole documents; ``Stale`` where they differ."""
    losses: dict[str, dict[str, list[str]]] = {}
    documents: dict[Kind, Json] = {}
    for section in _sections(text):
        if section.way == "from":
            _read_losses(section, losses.setdefault(section.facet, {}))
        else:
            body = _read_document(section, {**whole, **documents})
            documents |= dict.fromkeys(((section.facet, name) for name in section.names), body)
    ordered = {facet: {a: sorted(b) for a, b in pairs.items()} for facet, pairs in losses.items()}
    return Transcript(ordered, documents)


def targets(text: str) -> set[Kind]:
    """The documents that a transcript has, without a look at the whole files."""
    sections = (section for section in _sections(text) if section.way == "in")
    return {(section.facet, name) for section in sections for name in section.names}


class _Section(NamedTuple):
    facet: str
    way: str
    names: list[str]
    base: str
    lines: list[str]


def _sections(text: str) -> list[_Section]:
    found: list[_Section] = []
    for line in text.split("\n"):
        if line.startswith("  ") and found:
            found[-1].lines.append(line)
        elif line:
            facet, way, names, base = _parts(_HEAD, line)
            found.append(_Section(facet, way, names.split(", "), base, []))
    return found


def _parts(form: re.Pattern[str], line: str) -> tuple[str, ...]:
    found = form.fullmatch(line)
    if found is None:
        raise Stale(f"not a line of a transcript: {line}")
    return tuple(part or "" for part in found.groups())


def _read_losses(section: _Section, pairs: dict[str, list[str]]) -> None:
    for line in section.lines:
        loss, count, names = _parts(_LOSS, line)
        for pair in (f"{a} > {b}" for a in section.names for b in names.split(", ")):
            pairs.setdefault(pair, []).extend([loss] * int(count or 1))


def _read_document(section: _Section, others: Mapping[Kind, Json]) -> Json:
    try:
        if not section.base:
            return json.loads("\n".join(section.lines))
        return _patched(_copy(others[section.facet, section.base]), section.lines)
    except (LookupError, TypeError, ValueError) as error:
        head = f"{section.facet} in {', '.join(section.names)}"
        raise Stale(f"{head} does not fit {section.base or 'any form'}: {error!r}") from error


def _patched(document: Json, lines: list[str]) -> Json:
    """The document that these lines make of another.

    Places that go are those of the old document, so they go from the last to the first; places
    that come are those of the new one, so they come from the first to the last.
    """
    root = [document]
    changes = [(line[2], *_place(line[4:])) for line in _joined(lines)]
    for _, place, _ in reversed([change for change in changes if change[0] == "-"]):
        parent, key = _parent(root, place)
        del parent[key]
    for _, place, value in [change for change in changes if change[0] == "+"]:
        parent, key = _parent(root, place)
        if not isinstance(parent, list):
            parent[key] = json.loads(value)
        elif isinstance(key, int) and key <= len(parent):
            parent.insert(key, json.loads(value))
        else:
            raise IndexError(key)
    return root[0]


def _joined(lines: list[str]) -> list[str]:
    """Each change in one line, though its value may take several."""
    found: list[str] = []
    for line in lines:
        if line.startswith("    "):
            found[-1] += line
        else:
            found.append(line)
    return found


def _place(text: str) -> tuple[list[str], str]:
    """A pointer, as its parts, and what follows it."""
    if text.startswith('"'):
        at, end = json.JSONDecoder().raw_decode(text)
        rest = text[end + 1 :]
    else:
        at, _, rest = text.partition(" ")
    tokens = [token.replace("~1", "/").replace("~0", "~") for token in at.split("/")]
    return ["0", *tokens[1:]], rest


def _parent(root: list[Json], place: list[str]) -> tuple[Json, str | int]:
    value: Json = root
    for token in place[:-1]:
        value = value[int(token)] if isinstance(value, list) else value[token]
    return value, int(place[-1]) if isinstance(value, list) else place[-1]
