"""The meaning of a loss code, a kind of loss, a rule of ``check`` or a pass of ``repair``.

``ADVICE`` has, for every code, why such a loss happens and what to do about it; the codes and their
meanings are in ``ledger.CODES``. ``docs/ledger.md`` is generated from both.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from . import dialects
from .core.declared import NO, YES
from .errors import Unsupported
from .ledger import CODES

KINDS: dict[str, str] = {
    "dropped": "not written: the target does not support it",
    "approximated": "written with less precision",
    "invented": "required by the target and absent from the source",
    "moved": "written whole, at another place; reading it back gives the same value there",
    "renamed": "written differently with the same meaning: an identifier (both ends of a pair "
    "alike), or a schema with other keywords",
}
_KINDS_DO: dict[str, str] = {
    "dropped": "A capsule (`--carry FILE`, `carry=True`) keeps it for the conversion back.",
    "approximated": "Check what was written; a capsule keeps the original for the conversion back.",
    "invented": "Set it in the source, if the invented value is not the one you want.",
    "moved": "Nothing: no meaning is lost. Code that expects the old place must be adapted.",
    "renamed": "Nothing, unless another system knows the old name; a capsule restores it.",
}

_CAPSULE = "A capsule keeps it for the conversion back."
_SET = "Set it in the source, or in the document that was written."

# code -> why it happens, and what to do.
ADVICE: dict[str, tuple[str, str]] = {
    "extras": (
        "The source dialect has a field that no other dialect has, or that is newer than this "
        "version; its meaning in another dialect cannot be guessed.",
        "If the target has a field with the same meaning, set it there. " + _CAPSULE,
    ),
    "session.line": (
        "A session file has more than the conversation: ids, times, folders, what its program "
        "shows, other branches. Another program has its own; a new file gets new ones.",
        "Nothing, if the conversation is what matters; the original file is not changed. "
        + _CAPSULE,
    ),
    "system": (
        "An agent has a system prompt of its own, and its session files store none.",
        "Put what matters of it into the agent's own instructions, e.g. CLAUDE.md.",
    ),
    "raw": (
        "The conversation has a kind of block that exists only in its own dialect.",
        "Remove it, or describe it as text if the model should know about it. " + _CAPSULE,
    ),
    "document.key": (
        "An object has the same key more than once. JSON does not forbid it, and parsers keep "
        "the last value only.",
        "Find the program that wrote it: all values but the last are lost in every parser.",
    ),
    "message.boundary": (
        "The target merges consecutive messages of the same role into one turn.",
        "Nothing, unless something counts messages. " + _CAPSULE,
    ),
    "message.position": (
        "The target accepts such a message only at certain places, so it was moved.",
        "Check that the model can still understand it there; a system message in the middle "
        "usually refers to what follows.",
    ),
    "message.role": (
        "The target does not have this role; the nearest one is written.",
        "Use a role that both dialects have, if the role matters.",
    ),
    "message.name": (
        "The target has no field for the name of a message's author.",
        "Put the name in the text, if the model should know it.",
    ),
    "message.id": (
        "The target has no ids for messages, or requires one that the source does not have.",
        "Keep a list of your own, or pass `ids`, if you refer to messages by id.",
    ),
    "message.empty": (
        "The message has no content, and the target does not accept that.",
        "`dragoman repair --passes drop-empty-messages` removes such messages beforehand.",
    ),
    "content.order": (
        "The target requires an order for the parts of a message, e.g. tool results first.",
        "Nothing, unless the text refers to the order (`the image above`).",
    ),
    "content.role": (
        "The target does not accept such a block in a message of this role.",
        "Move it to a message of another role, or describe it as text.",
    ),
    "prefill": (
        "One of the two dialects continues a last assistant message; the other starts a new turn.",
        "End the conversation with a user message, or use a target that continues the message.",
    ),
    "training.completion": (
        "The record says which part of it a model is trained on; the target has no such field.",
        "Write a form that has it (`trl-completion`, `functiongemma-completion`).",
    ),
    "training.rejected": (
        "The record is a preference pair, and the target has one reply only: the better one.",
        "Write a format for preference pairs: `trl` or `openai-finetune`, for example.",
    ),
    "training.unanswered": (
        "The conversation goes on after its last reply, and the target's records end in one.",
        "Nothing: what follows the last reply teaches nothing.",
    ),
    "training.label": (
        "The record says whether its reply is good; the target has no field for that.",
        "Leave out records with bad replies, or write `trl`.",
    ),
    "template": (
        "The chat template does not print it, or expects it under another name.",
        "Use another template of the model (some have one for tools), or leave the record out.",
    ),
    "text.empty": (
        "The target rejects empty text, so it is omitted.",
        "`dragoman repair --passes drop-empty-text` does the same beforehand.",
    ),
    "text.space": (
        "The target rejects white space at the end of a last assistant turn.",
        "`dragoman repair --passes trim-final-text` does the same beforehand.",
    ),
    "text.control": (
        "The text contains a control token of the target; unchanged, it would forge a turn.",
        "Nothing; the text was escaped. Find out where it came from.",
    ),
    "text.surrogate": (
        "A client cut a text inside a surrogate pair (JavaScript stores some characters as two "
        "code units), and no API accepts one half of a pair.",
        "Cut texts by characters; in JavaScript, call `text.toWellFormed()` before sending.",
    ),
    "text.boundary": (
        "The target has one text where the source has several.",
        "Nothing, unless something counts text blocks. " + _CAPSULE,
    ),
    "text.citations": (
        "The target has no citations, or another form of them.",
        "Write the sources into the text, if readers need them. " + _CAPSULE,
    ),
    "cache": (
        "The target caches automatically or not at all, accepts fewer cache breakpoints, or none "
        "at this place.",
        "Nothing for correctness; check the cost. Put the breakpoints where the target accepts "
        "them.",
    ),
    "cache.ttl": (
        "The target has no lifetimes for cached prefixes, or other ones.",
        "Nothing for correctness; check the cost.",
    ),
    "media": (
        "The target does not accept this kind of media, or not at this place or from this source.",
        "Transcribe or describe it, inline it as base64, or choose a target that accepts it.",
    ),
    "media.detail": (
        "The target has no setting for the resolution of an image.",
        "Scale the image beforehand, if tokens matter.",
    ),
    "media.title": (
        "The target has no field for the title of a document.",
        "Put the title in a text block before it.",
    ),
    "media.filename": (
        "The target has no field for a file name, or requires one that the source does not have.",
        "Put the name in a text block before it, or name the file in the source.",
    ),
    "media.context": (
        "The target has no field for the context of a document.",
        "Put the context in a text block before the document.",
    ),
    "media.citable": (
        "The target has no setting for whether a document may be cited.",
        "Nothing, unless you rely on citations.",
    ),
    "media.transcript": (
        "The target has no field for the transcript of audio.",
        "Send the transcript as text, if the model should know it.",
    ),
    "media.type": (
        "The target requires a media type and the source has none, or the target accepts other "
        "media types.",
        "Set the media type in the source, or convert the file to one the target accepts.",
    ),
    "passage": (
        "The target has no blocks for retrieved passages.",
        "Send them as texts or documents.",
    ),
    "reasoning": (
        "The target has no reasoning in its history, or accepts only reasoning of its own models.",
        "Usually nothing: models do not depend on the reasoning of earlier turns. " + _CAPSULE,
    ),
    "reasoning.signature": (
        "A reasoning signature or encrypted reasoning is valid only for the provider that issued "
        "it; other providers reject it.",
        "Nothing for the target. To have it back in the source dialect, keep a capsule.",
    ),
    "reasoning.summary": (
        "The target does not distinguish reasoning summaries from reasoning.",
        "Nothing; the text is kept.",
    ),
    "reasoning.id": (
        "The target has no ids for reasoning, or requires one that the source does not have.",
        "Nothing, unless reasoning is stored by the provider and referred to by id.",
    ),
    "refusal": (
        "The target has no refusal block; it is written as text.",
        "Check the stop reason, or the text, if your program must notice refusals.",
    ),
    "system.trigger": (
        "The target requires a fixed sentence that tells the model about its functions.",
        "Nothing; the model was trained with it.",
    ),
    "tool_call.id": (
        "The target has other rules for call ids, has none, or requires one.",
        "Nothing: call and result are renamed alike. Pass `ids` if ids must be unique.",
    ),
    "tool_call.item_id": (
        "The target has one id for a call where the source has two, or requires a second one.",
        "Nothing, unless items are stored by the provider and referred to by id.",
    ),
    "tool_call.arguments": (
        "The target accepts only a JSON object, and the arguments are not one.",
        "`dragoman repair --passes fix-arguments` repairs what can be repaired.",
    ),
    "tool_call.kind": (
        "The target has no custom (freeform) calls, or the tools that would tell them from "
        "function calls are missing.",
        "Convert the whole request rather than its messages, so that the tools are known.",
    ),
    "tool_result": (
        "The target does not accept such a tool result, or not at this place.",
        "`dragoman check --for TARGET` lists what it rejects; `repair` pairs calls and results.",
    ),
    "tool_result.error": (
        "The target has no error flag for tool results; the text begins with a marker instead.",
        "Nothing: models understand it, and the marker is read back as an error.",
    ),
    "tool_result.content": (
        "The target accepts only text in tool results; other parts are dropped or moved to a user "
        "message.",
        "Describe them as text, or choose a target that accepts them.",
    ),
    "tool_result.name": (
        "The target has no field for the tool's name in a result, or requires it.",
        "Nothing: the call has the name.",
    ),
    "compaction": (
        "The provider replaced the older part of the conversation with a summary. A readable "
        "summary is written as text; an encrypted one can be read by its provider only, and for "
        "every other provider the conversation begins after it.",
        "Send the conversation as it was before compaction, or add a summary of your own. "
        + _CAPSULE,
    ),
    "hosted": (
        "A tool that a provider runs or defines exists only with that provider.",
        "Define a tool of your own that does the same, and run it yourself.",
    ),
    "tool": (
        "The target has no tools of this kind, or the name is already used.",
        "Define the tool as a function with a schema.",
    ),
    "tool.name": (
        "The target accepts other characters, or shorter names, for tools.",
        "Nothing: definitions, calls and choice are renamed alike. Use names of letters, "
        "digits, `_` and `-`, up to 64 characters.",
    ),
    "output.schema": (
        "The target supports fewer keywords of JSON Schema, or requires more of a strict schema.",
        "Use only what docs/schemas.md lists for the target; validate the output yourself.",
    ),
    "tool.schema": (
        "The target requires another form of schema, or supports fewer keywords.",
        "Use objects with `properties` and a list of what is `required`.",
    ),
    "tool.strict": (
        "The target has no strict mode for a tool, or has one for all tools together.",
        "Validate the arguments of calls yourself.",
    ),
    "tool.kind": (
        "The target has no custom (freeform) tools; the tool becomes a function with one string. "
        "A tool search that the client runs becomes a function too.",
        "Nothing: calls are converted back to custom ones. A grammar is no longer enforced.",
    ),
    "tool.namespace": (
        "The target has no tool namespaces: `namespace` and `name` become one name, "
        "`namespace__name`, in definitions, calls, results and choice alike; read back, it stays a "
        "part of the name. The description of a namespace is omitted.",
        "Nothing: an `Exchange` gives the calls of a response their namespace back. Repeat in the "
        "descriptions of the tools what the model must know about the namespace.",
    ),
    "tool.deferred": (
        "The target has no deferred tools, or no tool search remains that would load them; the "
        "tool is loaded at once.",
        "Send fewer tools, if they take too much of the context.",
    ),
    "tool_choice": (
        "The target has no such tool choice, or accepts none without tools.",
        "Tell the model in the prompt which tool to use.",
    ),
    "tool_choice.allowed": (
        "The target cannot restrict the choice to a subset of the tools.",
        "Send only these tools.",
    ),
    "tool_choice.parallel": (
        "The target has no setting for parallel tool calls.",
        "Handle several calls, or ask in the prompt for one at a time.",
    ),
    "model": (
        "The target has no field for the model, or the model is another vendor's: it is passed on.",
        "Name a model of the target, with model= or --model: names are not translated.",
    ),
    "max_tokens": (
        "The target requires an output limit and the source sets none, or the reverse.",
        _SET,
    ),
    "temperature": (
        "The target has another range, or accepts no temperature with other settings.",
        "Choose a value that the target accepts.",
    ),
    "top_p": ("The target has no nucleus sampling.", "Use the temperature instead."),
    "top_k": ("The target has no top-k sampling.", "Use `top_p` or the temperature instead."),
    "stop": (
        "The target has no stop sequences, accepts fewer, or none of white space only.",
        "Cut the output at the string yourself.",
    ),
    "seed": (
        "The target has no random seed.",
        "There is no replacement; a temperature of 0 comes close.",
    ),
    "frequency_penalty": ("The target has no such penalty.", "Ask for variety in the prompt."),
    "presence_penalty": ("The target has no such penalty.", "Ask for variety in the prompt."),
    "logit_bias": (
        "The target has no logit bias; token ids differ between models anyway.",
        "List in the prompt which words are wanted or unwanted.",
    ),
    "logprobs": (
        "The target reports no log probabilities, or in another form.",
        "Use a provider that reports them, if you need them.",
    ),
    "stream.event": (
        "The stream has an event that exists only in its own dialect.",
        "Nothing, unless your client listens for it.",
    ),
    "stream.head": (
        "The source sends the id, the model or the date of the response at the end of the stream.",
        "Take them from the last event or the collected response; the first event has none.",
    ),
    "stream.end": (
        "The server ended the stream with [DONE] and sent no finish reason.",
        "Treat the response as complete, but verify it if a truncated one would do harm.",
    ),
    "stream.order": (
        "The target sends a part of the response earlier or later than the source does.",
        "Nothing: the collected response is the same.",
    ),
    "stream.text": (
        "The source replaced text that it had already streamed; a delta cannot be withdrawn.",
        "Take the text of the last event, or of the collected response.",
    ),
    "stream.usage": (
        "The target's stream begins with the number of input tokens; the source sends it last.",
        "Take the counts of the last event; those of the first are an estimate.",
    ),
    "top_logprobs": (
        "The target reports no alternative tokens.",
        "Use a provider that reports them, if you need them.",
    ),
    "candidates": (
        "The target returns one candidate, or a history holds one.",
        "Send several requests, or choose one candidate before you convert.",
    ),
    "output": (
        "The target has no setting for the output format, or another description of it.",
        "Describe the format in the prompt, or force a tool call with that schema.",
    ),
    "output.name": (
        "The target has no name for the output schema, or requires one.",
        "Nothing: the name only shows in messages of the provider.",
    ),
    "output.description": (
        "The target has no description for the output schema.",
        "Put it in the prompt, or in the schema's own `description`.",
    ),
    "output.strict": (
        "The target always enforces the schema, or never.",
        "Validate the output yourself.",
    ),
    "thinking": (
        "The target has no settings for reasoning, or other ones.",
        "Choose a model that reasons as you want.",
    ),
    "thinking.effort": (
        "The target has other effort levels, or a token budget instead.",
        "Set the level or the budget in the document that was written.",
    ),
    "thinking.budget": (
        "The target has effort levels instead of a token budget.",
        "Set the level in the document that was written.",
    ),
    "thinking.display": (
        "The target has no setting for how much of the reasoning is returned.",
        "Nothing: hide it yourself where it is not wanted.",
    ),
    "verbosity": (
        "The target has no setting for the length of the output.",
        "Ask for the length in the prompt.",
    ),
    "stream": (
        "The target selects streaming in the URL or the call, not in the document.",
        "Request a stream in the way of the target.",
    ),
    "metadata": (
        "The target accepts no metadata, or fewer entries.",
        "Keep it on your side, by the id of the response.",
    ),
    "user_id": (
        "The target has no field for the end user.",
        "Nothing, unless the provider asked for it.",
    ),
    "service_tier": (
        "The service tiers of one provider are not those of another.",
        "Set a tier of the target.",
    ),
    "cache_key": (
        "The target has no key for its prompt cache.",
        "Nothing for correctness; check the cost.",
    ),
    "store": (
        "The target has no setting for whether the response is stored, or requires it.",
        "Look up what the provider stores, if it matters.",
    ),
    "previous_id": (
        "The request continues a response that is stored by one provider; other providers do not "
        "have it.",
        "Send the whole conversation instead of the id.",
    ),
    "conversation_id": (
        "The request continues a conversation that is stored by one provider; other providers do "
        "not have it.",
        "Send the whole conversation instead of the id.",
    ),
    "truncation": (
        "The target has no setting for conversations that are too long.",
        "Shorten the conversation yourself.",
    ),
    "stop.reason": (
        "The target does not have this stop reason, or requires one that the source does not have.",
        "Check whether your program depends on the reason; the nearest one is written.",
    ),
    "stop.sequence": (
        "The target does not report which stop sequence matched.",
        "Nothing, unless you have several stop sequences and must know.",
    ),
    "stop.detail": (
        "The target has no details about why the response ended.",
        "Read them in the source, or keep a capsule.",
    ),
    "usage": (
        "The target requires token counts that the source does not have, or has no field for some "
        "of them.",
        "Take the counts from the source, if you bill by them.",
    ),
    "usage.cache_ttl": (
        "The target does not report the lifetime of tokens written to the cache.",
        "Take it from the source, if you bill by it.",
    ),
    "usage.inconsistent": (
        "The token counts of the source contradict each other; sums of their parts are written.",
        "Take the counts from the source, and ask its provider.",
    ),
    "response.id": (
        "The target has no id for a response, or requires one that the source does not have.",
        "Pass `ids` (`--random-ids`), if ids must be unique.",
    ),
    "response.model": (
        "The target does not report which model wrote the response, or requires it.",
        "Read it in the source.",
    ),
    "response.created": (
        "The target does not report when the response was created, or requires it.",
        "Pass `now` (`--now now`), where it is required.",
    ),
    "response.latency": (
        "The target requires the duration of the response, which was not measured; it is 0.",
        "Nothing, unless something reads that figure.",
    ),
    "response.echo": (
        "One of the two dialects repeats settings of the request in the response.",
        "Nothing: read them in the request.",
    ),
    "response.failure": (
        "The target has no error inside a response; it is written as an error document, or text.",
        "Check the status and the error, not only the content.",
    ),
    "error.type": (
        "The error types differ; the nearest one is written.",
        "Nothing, unless your program depends on types that the target does not have.",
    ),
    "error.code": ("The target has no code for it.", "Use the error type instead."),
    "error.param": (
        "The target does not report which parameter an error is about.",
        "Read the message.",
    ),
    "error.request_id": (
        "The target has no request id in its errors.",
        "Note it from the source, if you write to the provider's support.",
    ),
    "container.id": (
        "The vendor of the target restricts the ids in its batch files, or requires one that the "
        "source does not have.",
        "Join results by the new id: `--report` lists each of them with its line.",
    ),
    "container.field": (
        "A file around documents (a batch, a capture of HTTP) has a field beside them that only "
        "files of its own kind have, or that only the program that wrote it can compute.",
        "Nothing for the documents. Keep the original file if the field matters.",
    ),
    "container.branch": (
        "An export of a chat is a tree: each edited prompt and each repeated reply begins a "
        "branch. The branch that was last shown is read.",
        "Nothing, unless another branch is wanted: move `current_node` in the export there.",
    ),
    "http.header": (
        "A capture of HTTP is written as if another vendor had been asked: headers of the old "
        "vendor are omitted, and keys are replaced by a placeholder.",
        "Nothing, unless a test looks at the header.",
    ),
    "capsule": (
        "The part of the document that the capsule has something for was changed in the meantime, "
        "so it was not restored: it might no longer belong there.",
        "Nothing, if the change was intended. Otherwise use the document that the capsule was "
        "made with.",
    ),
}


CODE = "code of the ledger"


class Explanation(Struct, frozen=True):
    """One meaning of a name; ``kind`` is e.g. ``code of the ledger`` or ``pass of repair``."""

    name: str
    kind: str
    meaning: str
    why: str = ""
    todo: str = ""
    support: str = ""
    """Which dialects declare that they can hold it, of a code that declarations decide."""


def explain(name: str) -> tuple[Explanation, ...]:
    """Everything that a name means: a kind of loss, a code, a rule of an API, a pass.

    >>> for each in explain("seed"):
    ...     print(each.kind, "-", each.meaning)
    code of the ledger - the random seed
    """
    found = tuple(
        replace(each, support=_support(name)) if each.kind == CODE else each
        for each in _everything()
        if each.name == name
    )
    if not found:
        import difflib  # needed for a mistyped name only

        close = difflib.get_close_matches(name, names(), n=1)
        hint = f", did you mean {close[0]!r}?" if close else ""
        raise Unsupported(f"{name!r} is not a loss code, rule or pass{hint}")
    return found


def names() -> list[str]:
    """Every name that can be explained, each once."""
    return list(dict.fromkeys(each.name for each in _everything()))


def _everything() -> Iterator[Explanation]:
    for kind, meaning in KINDS.items():
        yield Explanation(kind, "kind of loss", meaning, "", _KINDS_DO[kind])
    for code, meaning in CODES.items():
        why, todo = ADVICE[code]
        yield Explanation(code, CODE, meaning, why, todo)
    yield from _rules()
    yield from _passes()


@cache
def _declarations() -> dict[str, dict[str, str]]:
    return {name: dialects.get(name).declared() for name in dialects.names()}


def _support(code: str) -> str:
    """The dialects that can hold it, each with what it is limited to."""
    written = {name: known.get(code) for name, known in _declarations().items()}
    if set(written.values()) <= {None, YES}:
        return ""
    limits = {name: "" if word == YES else f" ({word})" for name, word in written.items()}
    holders = [f"{name}{limits[name]}" for name, word in written.items() if word not in (None, NO)]
    return ", ".join(holders)


def _rules() -> Iterator[Explanation]:
    """The known rules of each API, inherited ones included."""
    from .lint.passes.table import PASSES

    for dialect in dialects.names():
        rules: dict[str, str] = getattr(dialects.get(dialect), "rules", {})
        for rule, meaning in rules.items():
            repairs = [name for name, each in PASSES.items() if rule in each.repairs]
            todo = f"`dragoman repair` repairs it with {' or '.join(repairs)}." if repairs else ""
            yield Explanation(rule, f"rule of {dialect}", meaning, "", todo or _BY_HAND)


_BY_HAND = "No pass repairs it: only its author knows what was intended."


def _passes() -> Iterator[Explanation]:
    from .lint.passes.table import PASSES

    for name, each in PASSES.items():
        rules = ", ".join(sorted(each.repairs))
        why = (
            f"It runs where `check` finds {rules}."
            if rules
            else "It runs only if named in --passes."
        )
        todo = f"`dragoman repair --passes {name} FILE` runs it alone."
        yield Explanation(name, "pass of repair", each.does, why, todo)
