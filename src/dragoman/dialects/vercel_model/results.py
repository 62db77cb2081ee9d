"""Results of tools in messages of the AI SDK, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

from msgspec.structs import replace

from ...core.media import kind_of
from ...core.reading import (
    UNREADABLE,
    as_dict,
    as_list,
    compact,
    decode,
    escape,
    maybe_bool,
    maybe_str,
    missing,
    need_list,
    need_str,
)
from ...core.writing import Writing, is_plain_text
from ...dialect import Dialect
from ...model import Block, Extras, Json, Media, MediaKind, Raw, Source, Text, ToolResult
from . import parts
from .options import Taker, finish, keep_options, read_cache, write_cache
from .parts import TEXT_KEYS, is_one

if TYPE_CHECKING:
    from . import VercelModel

RESULT_KEYS = frozenset({"type", "toolCallId", "toolName"})

# type of a part in a tool result -> the key of its data, and what these are
RESULT_DATA = {
    "media": ("data", "base64"),
    "file-data": ("data", "base64"),
    "image-data": ("data", "base64"),
    "image": ("data", "base64"),  # version 4
    "file-url": ("url", "url"),
    "image-url": ("url", "url"),
    "file-id": ("fileId", "file"),
    "image-file-id": ("fileId", "file"),
    "file-reference": ("providerReference", "file"),
    "image-file-reference": ("providerReference", "file"),
}
# those that have no media type; another one may have one
UNTYPED = ("image-url", "file-id", "image-file-id", "file-reference", "image-file-reference")
MAYBE_TYPED = "file-url"


def read_result(
    d: VercelModel, doc: dict[str, Json], called: dict[str, str], at: str
) -> ToolResult:
    """The reply of a tool. Its name says nothing new where the call is known."""
    call_id = need_str(doc, "toolCallId", at)
    name = maybe_str(doc, "toolName", at)
    if called.get(call_id) == name:
        name = None
    options = Taker(doc, at)
    cache = read_cache(d, options)
    form: dict[str, Json] = {}
    if "output" in doc:
        content, failed, taken = read_output(d, doc["output"], f"{at}/output", form)
        partly = {"output": taken} if taken else {}
        keys = RESULT_KEYS if taken else RESULT_KEYS | {"output"}
        if d.flat and doc.get("result") is not None:
            form["beside"] = True  # a field that nobody reads, which is written beside the output
        extras = keep_options(d, options, keys, form, partly=partly)
    else:
        content, failed, keys = read_flat(d, doc, at, form)
        extras = keep_options(d, options, keys, form)
    return ToolResult(call_id, content, failed, name, cache=cache, at=at, extras=extras)


def write_result(d: VercelModel, result: ToolResult, called: dict[str, str], w: Writing) -> Json:
    out: dict[str, Json] = {"type": "tool-result", "toolCallId": w.result_id(result)}
    if (name := result_name(d, result, out["toolCallId"], called, w)) is not None:
        out["toolName"] = name
    flat = is_flat(d, result, w)
    if is_denied(d, result) and (flat or "execution-denied" not in d.outputs) and not w.same:
        result = without_output(result, f"{d.name} writes a denied tool call as a failed one", w)
    elif flat and has_output(result):
        result = without_output(result, f"{d.name} has no `output` in a tool result", w)
    if flat:
        write_flat(d, out, result, w)
    else:
        write_output(d, out, result, w)
    return finish(d, out, result, w, write_cache(d, result.cache, w))


def is_flat(d: VercelModel, result: ToolResult, w: Writing) -> bool:
    """Whether a result is a value beside a flag, as in version 4.

    In the same dialect, also what only that can express, and nothing that only ``output`` can.
    """
    if not w.same:
        return d.flat
    if d.flat:
        return not (has_output(result) or "beside" in d.spelling(result))
    failed = result.is_error and not is_denied(d, result)
    return bool(failed) and not (len(result.content) == 1 and is_plain_text(result.content[0]))


def has_output(result: ToolResult) -> bool:
    """Whether something was kept that stood in the ``output`` of a result."""
    return result.extras is not None and "output" in result.extras.inner


def result_name(
    d: VercelModel, result: ToolResult, call_id: str, called: dict[str, str], w: Writing
) -> str | None:
    """The tool that answered: every version's schema demands it, and the call has it."""
    if result.name is not None and (w.same or result.name != called.get(call_id)):
        return w.tool_name(result.name, result.at)
    if call_id in called:
        if result.name is not None:
            w.moved(
                "tool_result.name",
                result.at,
                f"{d.name} takes the tool name of a result from its call",
            )
        return called[call_id]
    if w.same:
        return None
    w.log.invented(
        "tool_result.name",
        result.at,
        f"{d.name} requires the tool name of a result; written as 'unknown'",
    )
    return "unknown"


def read_output(
    d: VercelModel, output: Json, at: str, form: dict[str, Json]
) -> tuple[tuple[Block, ...], bool | None, tuple[str, ...]]:
    """The content of a result, whether it failed, and which keys were taken.

    ``form`` notes what text alone does not tell, and all versions know: a JSON value, or parts.
    """
    output = as_dict(output, at)
    kind, where = need_str(output, "type", at), f"{at}/value"
    failed = True if kind.startswith("error-") else None
    match kind:
        case "text" | "error-text":
            text = Text(need_str(output, "value", at), at=where)
            return (text,), failed, ("type", "value")
        case "json" | "error-json":
            if "value" not in output:
                missing("value", at)
            form["output"] = "json"
            return (Text(compact(output["value"]), at=where),), failed, ("type", "value")
        case "content":
            parts = read_result_parts(d, need_list(output, "value", at), where)
            only = parts[0] if len(parts) == 1 else None
            if not parts or (only and (is_plain_text(only) or only.__class__ is Raw)):
                form["output"] = "content"
            return tuple(parts), None, ("type", "value")
        case "execution-denied":
            reason = maybe_str(output, "reason", at)
            given = () if reason is None else (Text(reason, at=f"{at}/reason"),)
            # That it was denied and did not fail is a field that only this SDK knows.
            return given, True, ("reason",)
        case _:
            return (Raw(d.family, output, at=at),), None, ()


def write_output(d: VercelModel, out: dict[str, Json], result: ToolResult, w: Writing) -> None:
    content, failed, how = result.content, result.is_error, form_of(d, result)
    only = content[0] if len(content) == 1 else None
    if is_denied(d, result):
        out["output"] = {"reason": only.text} if isinstance(only, Text) else {}
    elif isinstance(only, Raw) and how != "content" and w.same and only.dialect == d.family:
        out["output"] = only.payload
    elif only is not None and how != "content" and is_plain_text(only, w.same):
        d.lose(only.extras, only.at, w.log)
        value = value_of(only, how)
        kind = "text" if value is only.text else "json"
        out["output"] = {"type": f"error-{kind}" if failed else kind, "value": value}
    elif failed:
        out["output"] = {"type": "error-text", "value": only_words(d, result, w)}
    elif content or how == "content" or w.same:
        out["output"] = {"type": "content", "value": write_result_parts(d, content, w)}
    else:
        out["output"] = {"type": "text", "value": ""}


def value_of(text: Text, form: Json) -> Json:
    """What a result of one text is: the JSON value that it was, unless it was edited."""
    if form != "json":
        return text.text
    try:
        return decode(text.text)
    except UNREADABLE:
        return text.text


def needs_text(d: VercelModel, result: ToolResult) -> bool:
    listed = form_of(d, result) == "content" and not d.flat
    return not listed and Dialect.needs_text(d, result)


def form_of(d: VercelModel, result: ToolResult) -> Json:
    """Whether a result was a JSON value or parts, which all versions say alike."""
    extras = result.extras
    if extras is None or not d.knows(extras.dialect):
        return None
    return extras.spelling.get("output")


def is_denied(d: VercelModel, result: ToolResult) -> bool:
    """Whether the user did not allow the call; only this SDK says so."""
    extras = result.extras
    if extras is None or not d.knows(extras.dialect):
        return False
    output = extras.fields.get("output")
    return output.__class__ is dict and output.get("type") == "execution-denied"


def without_output(result: ToolResult, why: str, w: Writing) -> ToolResult:
    """A result without what only its ``output`` says: here it has none."""
    assert result.extras is not None
    fields = dict(result.extras.fields)
    for key in fields.pop("output"):
        w.log.dropped("extras", f"{result.at}/output/{escape(key)}", why)
    spelling = result.extras.spelling
    extras = Extras(result.extras.dialect, fields, spelling=spelling)
    return replace(result, extras=extras if fields or spelling else None)


def only_words(d: VercelModel, result: ToolResult, w: Writing) -> str:
    """An error is one text here."""
    words: list[str] = []
    for part in result.content:
        if isinstance(part, Text):
            if words:
                d.join_text(part.at, w.log)
            if part.cache is not None:
                why = f"an error of {d.name} is one text, without cache marks on its parts"
                w.log.dropped("cache", part.cache.at, why)
            d.lose(part.extras, part.at, w.log)
            words.append(part.text)
        else:
            why = f"{d.name} allows only text in the result of a failed tool"
            w.log.dropped("tool_result.content", part.at, why)
    return "\n".join(words)


def read_flat(
    d: VercelModel, doc: dict[str, Json], at: str, form: dict[str, Json]
) -> tuple[tuple[Block, ...], bool | None, frozenset[str]]:
    """The result of version 4: a value beside a flag, and parts beside the value."""
    failed = maybe_bool(doc, "isError", at)
    keys = RESULT_KEYS | {"result", "isError"}
    value = doc.get("result")
    for key in ("experimental_content", "content"):
        if doc.get(key).__class__ is list:
            parts = tuple(read_result_parts(d, doc[key], f"{at}/{key}"))
            if value != flat_text(parts):
                keys -= {"result"}  # another value beside the parts is for the caller alone
            return parts, failed, keys | {key}
    where = f"{at}/result"
    if value is None:
        return (), failed, keys
    if value.__class__ is str:
        return (Text(value, at=where),), failed, keys
    form["output"] = "json"
    return (Text(compact(value), at=where),), failed, keys


def write_flat(d: VercelModel, out: dict[str, Json], result: ToolResult, w: Writing) -> None:
    """A value and a flag, as version 4 has them; never null."""
    content = result.content
    if len(content) == 1 and is_plain_text(only := content[0], w.same):
        d.lose(only.extras, only.at, w.log)
        out["result"] = value_of(only, form_of(d, result))
    else:
        out["result"] = flat_text(content)
        if content or w.same:
            out["experimental_content"] = write_result_parts(d, content, w)
    if result.is_error is not None:
        out["isError"] = result.is_error


def read_result_parts(d: VercelModel, docs: list[Json], at: str) -> list[Block]:
    out: list[Block] = []
    for index, item in enumerate(as_list(docs, at)):
        where = f"{at}/{index}"
        doc = as_dict(item, where)
        if need_str(doc, "type", where) == "text":
            options = Taker(doc, where)
            cache = read_cache(d, options)
            extras = keep_options(d, options, TEXT_KEYS)
            text = need_str(doc, "text", where)
            out.append(Text(text, cache=cache, at=where, extras=extras))
        else:
            out.append(read_result_medium(d, doc, where))
    return out


def write_result_parts(d: VercelModel, content: Sequence[Block], w: Writing) -> list[Json]:
    out: list[Json] = []
    for block in content:
        match block:
            case Text():
                out.append(parts.write_text(d, block, w))
            case Media():
                if (part := write_result_media(d, block, w)) is not None:
                    out.append(part)
            case Raw() if block.dialect == d.family and (
                w.same or is_one(block.payload.get("type"), d.result_parts)
            ):
                out.append(block.payload)
            case _:
                why = f"{d.name} does not support this block in a tool result"
                w.log.dropped("tool_result.content", block.at, why)
    return out


def write_result_media(d: VercelModel, block: Media, w: Writing) -> Json | None:
    """A medium in a result, in the first form that this version has for it."""
    part = result_part(d, block, w)
    if part is None:
        why = f"{d.name} does not support this {block.kind} in a tool result"
        w.log.dropped("tool_result.content", block.at, why)
        return None
    out: dict[str, Json] = {"type": part}
    if part == "file":
        out["data"] = parts.write_data(d, block.source, tagged=True)
    else:
        key, what = RESULT_DATA[part]
        value: Json = block.source.value
        if what == "file" and block.source.issuer:
            value = {block.source.issuer: value}
        out[key] = value
    if part not in UNTYPED or w.same:
        needed = part not in (*UNTYPED, MAYBE_TYPED)
        parts.write_media_type(d, out, block, w, needed=needed)
    elif block.source.media_type is not None:
        why = f"{d.name} has no media type of such a part of a result"
        w.log.dropped("media.type", block.at, why)
    if block.filename is not None:
        if part in ("file", "file-data") or w.same:
            out["filename"] = block.filename
        else:
            why = f"{d.name} has no file names of such a part of a result"
            w.log.dropped("media.filename", block.at, why)
    return finish(d, out, block, w, *parts.about(d, block, w))


def result_part(d: VercelModel, block: Media, w: Writing) -> str | None:
    """The type of part that holds such a medium in a result; in the same dialect there is one."""
    source, stem = block.source, "image" if block.kind == "image" else "file"
    wanted: tuple[str, ...]
    match source.kind:
        case "base64":
            wanted = ("file", f"{stem}-data", "media") + (("image",) if stem == "image" else ())
        case "text" | "blocks":
            wanted = ("file",)
        case "url":
            wanted = (f"{stem}-url",)
        case "file":
            if not (source.issuer or w.same):
                return None
            refers = source.issuer and "file-reference" in d.result_parts
            wanted = ("file",) if refers else ("image-file-id" if stem == "image" else "file-id",)
        case _:
            assert_never(source.kind)
    known = next((part for part in wanted if part in d.result_parts), None)
    return wanted[-1] if known is None and w.same else known


def read_result_medium(d: VercelModel, doc: dict[str, Json], at: str) -> Block:
    given_type = doc["type"]
    key, what = RESULT_DATA.get(given_type, ("data", "file-part"))
    given = doc.get(key)
    source: Source | None = None
    type_key, media_type = parts.read_media_type(d, doc, at)
    exact = parts.exact_type(media_type)
    if given_type == "file":
        source = parts.read_data(given, media_type)
    elif given_type in RESULT_DATA and given.__class__ is dict and what == "file":
        source = parts.read_reference(given, exact)
    elif given_type in RESULT_DATA and given.__class__ is str:
        source = Source(what, given, exact)  # type: ignore[arg-type]
    if source is None:
        return Raw(d.family, doc, at=at)
    kind: MediaKind = "image" if given_type.startswith("image") else kind_of(media_type)
    taken = frozenset({"type", key, type_key, "filename"})
    filename = maybe_str(doc, "filename", at)
    return parts.media(d, kind, source, filename, Taker(doc, at), taken)


def flat_text(parts: tuple[Block, ...]) -> str:
    """What a result says in words alone, beside its parts."""
    return "\n".join(part.text for part in parts if isinstance(part, Text))
