"""How alike two blocks are, for pairing those of one tree with those of another."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Any

from ..core.turns import SILENCE
from ..model import Media, Passage, Raw, Reasoning, Refusal, Source, Text, ToolCall, ToolResult
from ..tools.results import NO_RESULT
from .changes import Place, squeezed


def alike_by(key: Callable[[Any], Any], a: Any, b: Any) -> float:
    return 2.0 if key(a) == key(b) else 1.0


def paired_by(
    old: Sequence[Any], new: Sequence[Any], alike: Callable[[Any, Any], float]
) -> list[tuple[int | None, int | None]]:
    """Which of two sequences belong together: equal ones, and between them those most alike."""
    keys = [key_of(x, f"old {n}") for n, x in enumerate(old)], [key_of(x, "new") for x in new]
    pairs: list[tuple[int | None, int | None]] = []
    matcher = SequenceMatcher(None, *keys, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            pairs += zip(range(i1, i2), range(j1, j2), strict=True)
        else:
            pairs += gap(old, new, (i1, i2, j1, j2), alike)
    return elsewhere(unlike(pairs, old, new, keys, alike), old, new, keys, alike)


def unlike(
    pairs: list[tuple[int | None, int | None]], old: Sequence[Any], new: Sequence[Any],
    keys: tuple[list[str], list[str]], alike: Callable[[Any, Any], float],
) -> list[tuple[int | None, int | None]]:  # fmt: skip
    """The pairs without those that are a little alike where one stands elsewhere as it was.

    It may stand inside of another one, with which it was joined.
    """
    gone = {keys[0][i]: i for i, j in pairs if i is not None and j is None}
    come = {keys[1][j] for i, j in pairs if i is None and j is not None}
    out: list[tuple[int | None, int | None]] = []
    for i, j in pairs:
        if i is not None and j is not None and keys[0][i] != keys[1][j]:
            likeness = alike(old[i], new[j])
            found = keys[0][i] in come or keys[1][j] in gone
            others = [old[k] for k in gone.values()]
            if (found and likeness < 2.0) or (likeness < 1.5 and _made_of(new[j], others)):
                out += [(i, None), (None, j)]
                continue
        out.append((i, j))
    return out


def _made_of(whole: Any, pieces: Sequence[Any]) -> bool:
    """Whether the words of a text are those of several others, and no more."""
    rest = words_of(whole) if isinstance(whole, Text) else ""
    held = [words for piece in pieces if (words := words_of(piece)) and words in rest]
    for words in sorted(held, key=len, reverse=True):
        rest = rest.replace(words, "", 1)
    return len(held) > 1 and not rest


def key_of(node: Any, own: str) -> str:
    """What a node is known by; a blank text is like any other, and so it is no anchor."""
    return own if is_blank(node) else repr(node)


def gap(
    old: Sequence[Any], new: Sequence[Any], gap: tuple[int, int, int, int],
    alike: Callable[[Any, Any], float],
) -> list[tuple[int | None, int | None]]:  # fmt: skip
    """The best pairs between two anchors, in order: the longest common subsequence, weighted."""
    i1, i2, j1, j2 = gap
    rows, columns = i2 - i1, j2 - j1
    if rows * columns > 20_000:
        rows = columns = 0  # too much to weigh
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    score = [[alike(old[i1 + i], new[j1 + j]) for j in range(columns)] for i in range(rows)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            taken = best[i + 1][j + 1] + score[i][j] if score[i][j] else 0.0
            best[i][j] = max(taken, best[i + 1][j], best[i][j + 1])
    pairs: list[tuple[int | None, int | None]] = []
    i = j = 0
    while i < rows and j < columns:
        if score[i][j] and best[i][j] == best[i + 1][j + 1] + score[i][j]:
            pairs.append((i1 + i, j1 + j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            pairs.append((i1 + i, None))
            i += 1
        else:
            pairs.append((None, j1 + j))
            j += 1
    pairs += [(k, None) for k in range(i1 + i, i2)]
    pairs += [(None, k) for k in range(j1 + j, j2)]
    return pairs


def elsewhere(
    pairs: list[tuple[int | None, int | None]], old: Sequence[Any], new: Sequence[Any],
    keys: tuple[list[str], list[str]], alike: Callable[[Any, Any], float],
) -> list[tuple[int | None, int | None]]:  # fmt: skip
    """What is left over is looked for at other places: it may have moved."""
    gone = [i for i, j in pairs if j is None and i is not None]
    come = [j for i, j in pairs if i is None and j is not None]
    found: dict[int, int] = {}
    for wanted in (None, 2.0, 1.0):
        for i in gone:
            if i in found:
                continue
            for j in come:
                if j in found.values():
                    continue
                if wanted == 1.0 and not isinstance(old[i], ToolCall | ToolResult):
                    continue  # of these alone nobody makes up another one
                if is_blank(old[i]):
                    continue  # nobody can tell whether it is the same
                if keys[0][i] == keys[1][j] or (wanted and alike(old[i], new[j]) >= wanted):
                    found[i] = j
                    break
    if not found:
        return pairs
    taken = set(found.values())
    return [
        (i, found.get(i, j) if i is not None and j is None else j)
        for i, j in pairs
        if not (i is None and j in taken)
    ]


def words_of(block: Any) -> str:
    """What a block says in words, white space aside."""
    match block:
        case Text() | Refusal():
            return squeezed(block.text)
        case Reasoning():
            return squeezed(*block.content, *block.summary)
        case Media():
            return squeezed(block.transcript or "") or source_words(block.source)
        case Passage():
            return "".join(map(words_of, block.content)) or squeezed(block.title)
        case Raw():
            return squeezed(block.text or "")
        case _:
            return ""


def source_words(source: Source, written: bool = False) -> str:
    """What is written in a document; its address, or its data, where that cannot be told."""
    if source.blocks:
        return "".join(map(words_of, source.blocks))
    if source.kind == "base64" and (written or (source.media_type or "").startswith("text/")):
        try:
            return squeezed(base64.b64decode(source.value).decode())
        except ValueError:
            pass
    return squeezed(source.value)


def alike(a: Any, b: Any) -> float:
    """How likely one block has become the other: 0 not at all, from 2 on wherever it stands."""
    if a is None and is_blank(b):
        return 1.0  # a message without content, where each has a text
    if type(a) is not type(b):
        spelled, other = words_of(a), words_of(b)
        if not spelled or not other or not isinstance(b, Text):
            return 0.0
        if spelled == other:
            return 2.0 if len(spelled) > 3 else 1.5
        if isinstance(a, Refusal) and len(spelled) > 3 and spelled in other:
            return 2.0
        held = isinstance(a, Media | Passage) and len(other) > 3 and other in spelled
        return 1.5 if spelled in other or held else 0.0
    match a:
        case None:
            return 2.0
        case ToolCall():
            score = 1.0 + bool(a.name == b.name) + bool(a.arguments == b.arguments)
            return score + 2.0 * bool(a.id == b.id and a.id is not None)
        case ToolResult() if _is_made_up(a) != _is_made_up(b):
            return 0.0
        case ToolResult():
            same_call = a.call_id == b.call_id and a.call_id is not None
            one, other = ("".join(map(words_of, x.content)) for x in (a, b))
            worded = 1.0 if _same_value(one, other) else 0.4 if one and other else 0.6
            named = a.name is not None and a.name == b.name
            score = worded + 2.0 * bool(same_call) + 0.5 * bool(named)
            return score + 1.5 * bool(a.content == b.content)
        case Reasoning() if a.signature is not None and a.signature == b.signature:
            return 3.0
        case Text() | Refusal() | Reasoning():
            other = words_of(b)
            one = told_of(a, other)
            if one == other:
                return 3.0
            if not one or not other or other == SILENCE:  # the last is made up, and of no text
                return 0.0
            if one in other or other in one:
                return 2.0 if min(len(one), len(other)) > 3 else 1.5
            both = SequenceMatcher(None, one, other)  # the same letters are not the same words
            return 1.2 if both.quick_ratio() > 0.5 and both.ratio() > 0.5 else 0.0
        case Media():
            same = words_of(a) == words_of(
                b
            )  # a recording does not become a document that says more
            return (1.0 + 2 * same) if a.kind == b.kind else 2.5 * same
        case Passage():
            return 1.0 + 2 * (words_of(a) == words_of(b))
        case Raw():
            if a.payload == b.payload:
                return 2.0  # passed on as it is, whoever knows it
            return float(a.dialect == b.dialect)
        case _:
            return 1.0


def _is_made_up(result: ToolResult) -> bool:
    """Whether a result tells that a call has none."""
    return len(result.content) == 1 and words_of(result.content[0]) == squeezed(NO_RESULT)


def _same_value(one: str, other: str) -> bool:
    """Whether two texts are the same, or the same JSON."""
    if one == other or one[:1] != "{" or other[:1] != "{":
        return one == other
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False


def results_by_call(places: Sequence[Place]) -> dict[str | None, list[int]]:
    """The results by the ids of their calls."""
    found: dict[str | None, list[int]] = {}
    for number, place in enumerate(places):
        if isinstance(place.written, ToolResult) and not _is_made_up(place.written):
            found.setdefault(place.written.call_id, []).append(number)
    return found


SAME_SPEAKER = {"developer": "system"}


TEXTUAL = frozenset({"at", "text", "content", "summary"})


def name_of(place: Place) -> str:
    return "Message" if place.written is None else type(place.written).__name__


def _holds(whole: Any, part: Any, least: int = 1) -> bool:
    """Whether the words of one block stand inside another, if there are enough of them."""
    spelled = words_of(part)
    return len(spelled) >= least and isinstance(whole, WORDY) and spelled in words_of(whole)


def is_of(piece: Any, whole: Any) -> bool:
    """Whether a block may be a piece of another: its words, or what signed or encrypted it."""
    if isinstance(piece, Reasoning) and not words_of(piece):
        return (
            isinstance(whole, Reasoning)
            and piece.signature is not None
            and piece.signature == whole.signature
        )
    return _holds(whole, piece, 2)


def told_of(block: Any, whole: str) -> str:
    """What of a block is told in a text: of reasoning, its content or its summary alone."""
    if isinstance(block, Reasoning):
        for words in (words_of(block), squeezed(*block.content), squeezed(*block.summary)):
            if words and words in whole:
                return words
    return words_of(block)


def signature_of(block: Text | Refusal) -> Any:
    return None if block.extras is None else block.extras.signature


def is_blank(block: Any) -> bool:
    """A text of white space: what is left of it in a joint cannot be seen."""
    return isinstance(block, Text | Refusal) and not words_of(block)


WORDY = Text | Reasoning | Refusal | Media | Passage


def near_of(i: int, known: dict[int, int]) -> list[int]:
    """The nearest before and after that are known."""
    before = max((k for k in known if k < i), default=None)
    after = min((k for k in known if k > i), default=None)
    return [k for k in (before, after) if k is not None]


def rising_of(numbers: list[int]) -> set[int]:
    """The indices of a longest rising subsequence."""
    if all(a < b for a, b in itertools.pairwise(numbers)):
        return set(range(len(numbers)))
    best: list[tuple[int, int]] = []  # (length, the one before)
    for index, number in enumerate(numbers):
        lower = (k for k in range(index) if numbers[k] < number)
        before = max(lower, key=lambda k: best[k][0], default=-1)
        best.append(((best[before][0] if before >= 0 else 0) + 1, before))
    index = max(range(len(numbers)), key=lambda k: best[k][0])
    kept: set[int] = set()
    while index >= 0:
        kept.add(index)
        index = best[index][1]
    return kept
