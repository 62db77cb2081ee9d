"""Whether a ledger tells the truth: each change is reported, and each report is of a change.

A loss excuses a change if three things hold: its code speaks of what changed (``SPEAKS_OF``), its
kind fits how it changed, and its path is the place of the node, a place below it, or, for what
changed between two nodes (order, boundaries), the place of the other one. A loss of one parameter
excuses nothing of another; a loss at the root of a document excuses what its code names, no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec import Struct

from ..core.reading import escape
from ..ledger import Loss
from ..model import Message, Params, Source
from .changes import Change

BLOCKS = (
    "Text", "Media", "Passage", "Reasoning", "Refusal", "ToolCall", "ToolResult", "Hosted", "Raw",
    "Text.blank",
)  # fmt: skip

INSIDE = frozenset({*BLOCKS, "extras", "Citation", "Cache"})
# What else stands inside an item that only its dialect knows, or a result of a tool search.
TOOLS_INSIDE = ("Raw", "ToolResult")
# What describes a medium, beside what it holds: a medium that is plain text elsewhere had it.
LABELS = frozenset({"Media.title", "Media.filename", "Media.context", "Media.citable"})

# code -> the classes of nodes, and the fields of nodes, that it speaks of.
SPEAKS_OF: dict[str, tuple[str, ...]] = {
    "extras": ("extras",),
    "session.line": ("extras",),
    "system": ("Message", "Text", "Text.blank", "Media", "Raw", "Passage"),
    "raw": ("Raw", "Raw.dialect"),
    "message.boundary": ("Message.boundary",),
    "message.position": ("order", "Message.boundary"),
    "message.role": ("Message.role",),
    "message.name": ("Message.name",),
    "message.id": ("extras",),
    "message.empty": ("Message", "Text", "Message.boundary"),
    "content.order": ("order",),
    "content.role": BLOCKS,
    "prefill": ("Request.prefill", "Message", "Text"),
    "training.completion": ("Request.training", "Training.completion"),
    "training.rejected": ("Request.training", "Training.rejected", "Training.completion",
                          "Message", *BLOCKS),
    "training.unanswered": ("Message", *BLOCKS),
    "training.label": ("Request.training", "Training.label"),
    "template": ("Message", *BLOCKS, "Tool"),
    "text.empty": ("Tool.description", "Text", "Text.blank"),
    "text.space": ("Text.text",),
    "text.surrogate": ("Text.text", "ToolCall.arguments"),
    "text.control": ("Text.text", "Tool.description", "Tool.schema", "ToolCall.arguments"),
    "text.boundary": ("Text.boundary", "Text.blank", "Reasoning.boundary"),
    "text.citations": ("Citation",),
    "cache": ("Text.cache", "Media.cache", "Passage.cache", "ToolCall.cache", "ToolResult.cache",
              "Tool.cache", "Params.cache"),
    "cache.ttl": ("Cache.ttl",),
    "media": ("Media",),
    "media.detail": ("Media.detail",),
    "media.title": ("Media.title", "Media.filename"),
    "media.filename": ("Media.filename", "Media.title"),
    "media.context": ("Media.context",),
    "media.citable": ("Media.citable", "Passage.citable"),
    "media.transcript": ("Media.transcript",),
    "media.type": ("Media.type", "Media.kind"),
    "passage": ("Passage", "Passage.*"),
    "reasoning": ("Reasoning", "Reasoning.content", "Reasoning.summary"),
    "reasoning.signature": ("Reasoning.signature", "extras.signature"),
    "reasoning.summary": ("Reasoning.summary",),
    "reasoning.id": ("Reasoning.id",),
    "refusal": ("Refusal",),
    "tool_call.id": ("ToolCall.id", "ToolResult.call_id"),
    "tool_call.item_id": ("ToolCall.item_id",),
    "tool_call.arguments": ("ToolCall.arguments",),
    "tool_call.kind": ("ToolCall.kind", "ToolCall.arguments", "ToolResult.kind"),
    "tool_result": ("ToolResult", "Text"),
    "tool_result.error": ("ToolResult.is_error",),
    "tool_result.content": BLOCKS,
    "tool_result.name": ("ToolResult.name",),
    "hosted": ("Hosted",),
    "tool": ("Tool", "Tool.*", "Raw"),
    "tool.name": ("Tool.name", "ToolCall.name", "ToolChoice.name", "ToolChoice.allowed",
                  "ToolResult.name"),
    "tool.namespace": ("Tool.namespace", "Tool.group", "Tool.name", "ToolCall.namespace",
                       "ToolCall.name", "ToolChoice.namespace", "ToolChoice.name",
                       "ToolChoice.allowed", "ToolResult.namespace", "ToolResult.name"),
    "tool.deferred": ("Tool.deferred",),
    "compaction": ("Raw", "Text", "Text.text", "Text.boundary"),
    "tool.schema": ("Tool.schema",),
    "tool.strict": ("Tool.strict",),
    "tool.kind": ("Tool.kind", "Tool.grammar", "Tool.description", "Tool.schema"),
    "tool_choice": ("Request.tool_choice", "ToolChoice.mode", "ToolChoice.name",
                    "ToolChoice.kind", "ToolChoice.payload"),
    "tool_choice.allowed": ("ToolChoice.allowed", "ToolChoice.mode", "ToolChoice.name",
                            "extras"),
    "tool_choice.parallel": ("ToolChoice.parallel", "Request.tool_choice"),
    "model": ("Request.model",),
    "logprobs": ("Params.logprobs", "Candidate.logprobs"),
    "candidates": ("Candidate", "Params.candidates"),
    "output": ("Params.output", "OutputFormat.*", "Text"),
    "output.schema": ("OutputFormat.schema",),
    "output.name": ("OutputFormat.name",),
    "output.description": ("OutputFormat.description",),
    "output.strict": ("OutputFormat.strict",),
    "thinking": ("Params.thinking", "Thinking.mode"),
    "thinking.effort": ("Thinking.effort", "Thinking.mode", "Thinking.budget"),
    "thinking.budget": ("Thinking.budget", "Thinking.effort", "Thinking.mode"),
    "thinking.display": ("Thinking.display", "extras"),
    "service_tier": ("Params.service_tier", "Response.service_tier"),
    "stop.reason": ("Candidate.stop", "Stop.reason"),
    "stop.sequence": ("Stop.sequence",),
    "stop.detail": ("Stop.detail",),
    "usage": ("Response.usage", "Usage.*"),
    "usage.cache_ttl": ("Usage.cache_write_ttl",),
    "usage.inconsistent": ("extras.spelling",),
    "response.id": ("Response.id",),
    "response.model": ("Response.model",),
    "response.created": ("Response.created",),
    "response.latency": ("extras",),
    "response.echo": ("Response.echo", "Extras.fields"),
    "response.failure": ("Response.failure",),
    "error.type": ("Failure.kind", "Failure.type"),
    "error.code": ("Failure.code",),
    "error.param": ("Failure.param",),
    "error.request_id": ("Failure.request_id",),
}  # fmt: skip
for _name in Params.__struct_fields__:
    SPEAKS_OF.setdefault(_name, (f"Params.{_name}",))

# Codes of nodes that hold others: they speak of what stands inside as well.
HOLDERS = {
    "tool_result": "ToolResult.",
    "training.unanswered": "ToolResult.",
    "passage": "Passage.",
    "media": "Media.",
}

# What is written because a field is required, and reads as nothing said.
UNSEEN = {("invented", "reasoning.signature"): "an empty signature is none"}

# how a node changed -> the kinds of losses that tell of it
KINDS = {
    "gone": frozenset({"dropped", "approximated", "moved"}),
    "new": frozenset({"invented", "approximated", "moved"}),
    "altered": frozenset({"dropped", "approximated", "invented", "renamed", "moved"}),
}


def excuses(loss: Loss, change: Change) -> bool:
    """Whether a loss tells of a change."""
    if (loss.kind, loss.what, change.what) == ("invented", "text.empty", "Message"):
        return loss.path == change.at  # it said nothing, and is read back with an empty text
    if (loss.what, change.what, change.old) == ("message.boundary", "Message", None):
        return loss.path == change.at  # it said nothing, and is a part of the one before it
    if (loss.kind, loss.what, change.what) == ("dropped", "session.line", "extras"):
        return change.how == "gone" and _is_at(change.at, loss.path)
    if (loss.kind, loss.what, change.what) == ("invented", "session.line", "extras"):
        return change.how == "new"  # what every line and message requires is one loss
    own = HOLDERS.get(loss.what)
    if own is not None and loss.path in change.above and not change.what.startswith(own):
        return True
    return (
        _speaks_of(loss.what, change.what)
        and loss.kind in KINDS[change.how]
        and _is_where(loss.path, change)
    )


def is_excused(change: Change, losses: Sequence[Loss]) -> bool:
    """Whether losses tell of a change; of what is gone whole, they may tell piece by piece."""
    if change.implied:
        return True
    telling = [loss.kind for loss in losses if excuses(loss, change)]
    if telling:
        labels = _pieces(change) if change.what == "Media" and "dropped" not in telling else []
        labels = [label for label in labels if label.what in LABELS]
        return all(any(excuses(loss, label) for loss in losses) for label in labels)
    return bool(pieces := _pieces(change)) and all(is_excused(piece, losses) for piece in pieces)


def is_of(loss: Loss, change: Change) -> bool:
    """Whether a loss points at what changed: it excuses it, or tells of a piece of what is gone."""
    if excuses(loss, change):
        return True
    if loss.kind != "invented" and any(excuses(loss, piece) for piece in _pieces(change)):
        return True
    if change.how == "new" or loss.path == change.at or loss.kind == "invented":
        return False
    if change.what == "Message":
        return loss.what == "extras" and _is_at(loss.path, change.at)
    # What stood in it may have stood elsewhere in the document, as the images of a result do.
    parts = (*getattr(change.read, "content", ()), *getattr(change.read, "citations", ()))
    held = (getattr(block, "at", change.at) for block in parts)
    inside = any(_is_at(loss.path, place) for place in (change.at, *held))
    return change.what in BLOCKS and inside and _is_inner(loss.what, change.what)


def _is_inner(code: str, holder: str) -> bool:
    """Whether a code speaks of what may stand inside a block."""
    inside = INSIDE | {"Tool"} if holder in TOOLS_INSIDE else INSIDE
    return any(what.partition(".")[0] in inside for what in SPEAKS_OF.get(code, ()))


def _pieces(change: Change) -> list[Change]:
    """The fields of a node that is gone, or stands there as another kind of node."""
    node, read = change.old, change.read
    if change.how == "new" or not isinstance(node, Struct) or type(change.new) is type(node):
        return []
    pieces: list[Change] = []
    uncounted = getattr(node, "unsaid", ())
    for field in node.__struct_fields__:
        value = getattr(node, field)
        if field == "extras" and value is not None:
            pieces += [_gone(change, "extras", x, f"/{escape(x)}") for x in value.fields]
            pieces += (
                [_gone(change, "extras.signature", value.signature)] if value.signature else []
            )
        elif field == "source" and isinstance(value, Source):
            pieces.append(_gone(change, "Media.source", value))
            pieces += [_gone(change, "Media.type", value)] if value.media_type else []
        elif isinstance(value, Message) and not value.content:
            continue  # it said nothing
        elif field == "citations":
            pieces += [_gone(change, "Citation", cite) for cite in value]
        elif field not in UNTOLD and value not in (None, (), "", {}) and field not in uncounted:
            at = getattr(getattr(read, field, None), "at", change.at)
            what = f"{type(node).__name__}.{field}"
            pieces.append(_gone(change, what, value)._replace(at=at))
    return pieces


def _gone(change: Change, what: str, value: object, below: str = "") -> Change:
    return Change(what, "gone", change.at + below, change.near, change.above, value)


def _speaks_of(code: str, what: str) -> bool:
    named = SPEAKS_OF.get(code, ())
    return what in named or f"{what.partition('.')[0]}.*" in named


def _is_where(path: str, change: Change) -> bool:
    """Whether a path is where something changed; what is new stands in what is near."""
    if path in change.near or (change.at and _is_at(path, change.at)):
        return True
    if change.how == "new":
        return any(_is_at(path, place) for place in (change.at, *change.near))
    return change.at == "" and path.count("/") <= 1  # the root, or a field of it


def _is_at(path: str, at: str) -> bool:
    return path == at or path.startswith(f"{at}/")


# Fields of a node that is gone, of which nothing needs to be told; the last says what is not there.
UNTOLD = frozenset({"at", "dialect", "unsaid"})

Names: TypeAlias = frozenset[tuple[str, str]]
"""The kinds and codes of the losses that tell of one change."""

# What is the same for a node, and not for what stands inside it.
EITHER = {
    "Text.blank": "white space is gone, or a part of a joint",
}


class Facts:
    """What happened to the nodes of one document in each dialect, and what it was called there."""

    def __init__(self) -> None:
        self._named: dict[tuple[str, str, frozenset[str]], dict[str, Names]] = {}

    def add(self, target: str, changes: Iterable[Change], losses: Iterable[Loss]) -> None:
        lossy, own = list(losses), [change for change in changes if not change.implied]
        effects: dict[str, set[str]] = {}
        brought = any(change.what == "Tool" and change.how == "new" for change in own)
        for change in own:
            effect = f"{change.what} {change.how} {change.new!r}"
            if change.what == "Raw" and change.old.tools:
                effect += f" and its tools are {'elsewhere' if brought else 'gone'}"
            effects.setdefault(change.at, set()).add(effect)
        for change in own:
            told = frozenset((x.kind, _reason(x.what, change)) for x in lossy if excuses(x, change))
            key = change.at, change.what, frozenset(effects[change.at])
            if told and change.what not in EITHER:  # else it is told piece by piece
                self._named.setdefault(key, {})[target] = told

    def conflicts(self) -> list[str]:
        """Facts that have several names: dialects that do the same to a node say it otherwise."""
        return [
            f"{what} at {at or '/'}: "
            + "; ".join(f"{target} {sorted(names)}" for target, names in sorted(named.items()))
            for (at, what, _), named in self._named.items()
            if len(named) > 1 and not frozenset.intersection(*named.values())
        ]


def _reason(code: str, change: Change) -> str:
    """A block that is gone may be so for its kind, its speaker, or the result it stands in."""
    return "block" if change.what in BLOCKS and change.how == "gone" else code


def _is_learned(change: Change, owner: str) -> bool:
    """Whether kin have understood in a node what the source had only passed on."""
    if change.what == "extras" and change.how == "gone":
        return change.near[0] == owner
    if change.at == owner or owner in change.near:
        return change.how == "new"
    return bool(owner) and _is_at(change.at, owner)


def faults(
    changes: Sequence[Change], losses: Iterable[Loss], kin: bool = False
) -> list[tuple[str, Change | Loss]]:
    """Changes that no loss tells of, and losses of what has not changed.

    ``kin``: what only the source knows is passed on as it is, and may be understood there.
    """
    lossy = list(losses)
    silent = [change for change in changes if not is_excused(change, lossy)]
    seen = [loss for loss in lossy if (loss.kind, loss.what) not in UNSEEN]
    bogus = [loss for loss in seen if not any(is_of(loss, change) for change in changes)]
    # The id that was made up for a result is that of its call, which may be written otherwise.
    given = {x.path for x in lossy if (x.kind, x.what) == ("invented", "tool_call.id")}
    bogus = [
        x for x in bogus if (x.kind, x.what) != ("renamed", "tool_call.id") or x.path not in given
    ]
    if kin:
        owners = {c.near[0] for c in silent if c.what == "extras" and c.how == "gone"}
        silent = [c for c in silent if not any(_is_learned(c, owner) for owner in owners)]
        bogus = [x for x in bogus if not any(o and _is_at(x.path, o) for o in owners)]
    return [("silent", change) for change in silent] + [("bogus", loss) for loss in bogus]
