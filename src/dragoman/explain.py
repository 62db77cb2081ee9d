"""What a code of the ledger, a kind of loss, a rule of ``check`` or a pass of ``repair`` means.

``ADVICE`` says of every code why such a loss happens and what can be done about it; the code itself
and what it speaks of are in ``ledger.CODES``. ``docs/ledger.md`` is made from both.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from . import dialects
from .errors import Unsupported
from .ledger import CODES

KINDS: dict[str, str] = {
    "dropped": "the target has no place for it",
    "approximated": "carried, with less precision",
    "invented": "the target demands it and the source never said it",
    "moved": "carried whole, but elsewhere; reading it back gives the same, but for its place",
    "renamed": "said otherwise and meaning the same: an identifier (both ends of a pair alike), "
    "a schema in other words",
}
_KINDS_DO: dict[str, str] = {
    "dropped": "A capsule (`--carry FILE`, `carry=True`) keeps it for the way home.",
    "approximated": "Look at what was written; a capsule keeps the original for the way home.",
    "invented": "Say it in the source, if the invented value is not the one you want.",
    "moved": "Nothing: no meaning is lost. Those who look for it must look elsewhere.",
    "renamed": "Nothing, unless someone else knows the old name; a capsule brings it back.",
}

_CAPSULE = "A capsule keeps it for the way home."
_SET = "Set it in the source, or on the document that was written."

# code -> why it happens, and what to do.
ADVICE: dict[str, tuple[str, str]] = {
    "extras": (
        "The source dialect has a field for it that no other dialect knows, or a field newer "
        "than this version; what it means elsewhere cannot be guessed.",
        "If the target has a field that means the same, set it there. " + _CAPSULE,
    ),
    "raw": (
        "The conversation has a kind of block that only its own dialect has a form for.",
        "Take it out, or say it in words, if the model should know of it. " + _CAPSULE,
    ),
    "document.key": (
        "An object has a key more than once. JSON does not forbid it, and every parser keeps the "
        "last value only.",
        "Find what wrote it: the values before the last are in nobody's result.",
    ),
    "message.boundary": (
        "The target makes one turn of messages of the same role that follow each other.",
        "Nothing, unless something counts messages. " + _CAPSULE,
    ),
    "message.position": (
        "The target takes such a message only in certain places, so it stands elsewhere.",
        "Look whether the model may still understand it there; a system turn in the middle "
        "usually speaks of what comes next.",
    ),
    "message.role": (
        "The target has no such role; the nearest speaks instead.",
        "Use a role that both dialects have, if it matters who speaks.",
    ),
    "message.name": (
        "The target has no field for the name of a speaker.",
        "Say the name in the text, if the model should know it.",
    ),
    "message.id": (
        "The target has no identities for messages, or demands one that the source never gave.",
        "Keep a list of your own, or pass `ids`, if you refer to messages by id.",
    ),
    "message.empty": (
        "A message says nothing, and the target does not accept that.",
        "`dragoman repair --passes drop-empty-messages` takes such messages out beforehand.",
    ),
    "content.order": (
        "The target puts the parts of a message in an order of its own: results first, say.",
        "Nothing, unless the text speaks of an order (`the image above`).",
    ),
    "content.role": (
        "In the target such a block may not stand in a message of this role.",
        "Move it to a message of another role, or say it in words.",
    ),
    "prefill": (
        "One of the two dialects goes on with a last assistant message, the other answers it.",
        "End the conversation with a user message, or use a target that goes on.",
    ),
    "text.empty": (
        "The target rejects empty text, so it is left out.",
        "`dragoman repair --passes drop-empty-text` does the same beforehand.",
    ),
    "text.space": (
        "The target rejects white space at the end of a last assistant turn.",
        "`dragoman repair --passes trim-final-text` does the same beforehand.",
    ),
    "text.control": (
        "A text contains what is a control token of the target; as it is, it would forge a turn.",
        "Nothing; the text was made harmless. Look where it came from.",
    ),
    "text.surrogate": (
        "A client cut a text inside of a character (JavaScript counts some as two), and no API "
        "takes one half of it.",
        "Cut texts by characters; in JavaScript, `text.toWellFormed()` before they are sent.",
    ),
    "text.boundary": (
        "The target has one text where the source has several.",
        "Nothing, unless something counts text blocks. " + _CAPSULE,
    ),
    "text.citations": (
        "The target has no form for where a statement comes from, or another one.",
        "Write the sources into the text, if readers need them. " + _CAPSULE,
    ),
    "cache": (
        "The target caches by itself or not at all, takes fewer marks, or takes none here.",
        "Nothing for correctness; look at the bill. Put the marks where the target takes them.",
    ),
    "cache.ttl": (
        "The target has no lifetimes for cached prefixes, or other ones.",
        "Nothing for correctness; look at the bill.",
    ),
    "media": (
        "The target takes no such medium, or not in this place or from this source.",
        "Transcribe or describe it, inline it as base64, or choose a target that takes it.",
    ),
    "media.detail": (
        "The target has no setting for the resolution of an image.",
        "Scale the image beforehand, if tokens matter.",
    ),
    "media.title": (
        "The target has no field for the title of a document.",
        "Say the title in a text before it.",
    ),
    "media.filename": (
        "The target has no field for a file name, or demands one that the source never gave.",
        "Say the name in a text before it, or name the file in the source.",
    ),
    "media.context": (
        "The target has no field for what is said about a document.",
        "Say it in a text before the document.",
    ),
    "media.citable": (
        "The target cannot be told whether a document may be cited.",
        "Nothing, unless you rely on citations.",
    ),
    "media.transcript": (
        "The target has no field for the transcript of a recording.",
        "Send the transcript as a text, if the model should know it.",
    ),
    "media.type": (
        "The target demands a media type and the source names none, or the target takes others.",
        "Name the media type in the source, or convert the file to one the target takes.",
    ),
    "passage": (
        "The target has no form for passages that were retrieved.",
        "Send them as texts or documents.",
    ),
    "reasoning": (
        "The target has no place for thoughts in a history, or takes none but its own.",
        "Nothing, usually: models answer well without old thoughts. " + _CAPSULE,
    ),
    "reasoning.seal": (
        "A signature or encrypted thought is of value only to who issued it; it is not shown to "
        "others, and they would reject it.",
        "Nothing on the way there. To come home with it, keep a capsule.",
    ),
    "reasoning.summary": (
        "The target does not tell summaries of thoughts from thoughts.",
        "Nothing; the text is there.",
    ),
    "reasoning.id": (
        "The target has no identities for thoughts, or demands one that the source never gave.",
        "Nothing, unless thoughts are stored with the provider and referred to by id.",
    ),
    "refusal": (
        "The target has no form of its own for a refusal; it is a text like any other there.",
        "Look at the stop reason, or at the text, if your program must notice refusals.",
    ),
    "system.trigger": (
        "The target needs a fixed sentence to tell the model of its functions.",
        "Nothing; it is what the model was trained with.",
    ),
    "tool_call.id": (
        "The target has other rules for ids of calls, has none, or demands one.",
        "Nothing: call and result are renamed alike. Pass `ids` if ids must be unique.",
    ),
    "tool_call.item_id": (
        "The target has one id for a call where the source has two, or demands a second one.",
        "Nothing, unless items are stored with the provider and referred to by id.",
    ),
    "tool_call.arguments": (
        "The target takes only an object, and the argument text is not one.",
        "`dragoman repair --passes fix-arguments` mends what can be mended.",
    ),
    "tool_call.kind": (
        "The target has no freeform calls, or its tools are not there to tell which is which.",
        "Convert the whole request rather than its messages, so that the tools are known.",
    ),
    "tool_result": (
        "The target has no form for such an answer of a tool, or none in this place.",
        "`dragoman check --for TARGET` tells what it minds; `repair` mends pairs.",
    ),
    "tool_result.error": (
        "The target has no flag for a tool that failed; the text begins with a mark instead.",
        "Nothing: models understand it, and the mark is read back as an error.",
    ),
    "tool_result.content": (
        "The target takes only text from tools, so other parts go or move to a user turn.",
        "Describe them in words, or choose a target that takes them.",
    ),
    "tool_result.name": (
        "The target has no field for the name of the tool beside its answer, or demands it.",
        "Nothing: the call tells the name.",
    ),
    "compaction": (
        "The provider replaced the older part of the conversation by a summary. A readable one "
        "is written as text; an encrypted one can be read by its provider only, and for every "
        "other the conversation begins after it.",
        "Send the conversation as it was before it was compacted, or add a summary of your own. "
        + _CAPSULE,
    ),
    "hosted": (
        "A tool that the provider runs or defines exists with that provider only.",
        "Define a tool of your own that does the same, and run it yourself.",
    ),
    "tool": (
        "The target has no such tools, or the name is taken already.",
        "Define the tool as a function with a schema.",
    ),
    "tool.name": (
        "The target takes other characters, or fewer of them, in names of tools.",
        "Nothing: definitions, calls and choice are renamed alike. Choose names of letters, "
        "digits, `_` and `-`, up to 64 characters.",
    ),
    "output.schema": (
        "The target takes fewer words of JSON Schema, or demands more of an enforced one.",
        "Keep to what docs/schemas.md lists for the target; check the answer yourself.",
    ),
    "tool.schema": (
        "The target demands another form of schema, or takes fewer of its words.",
        "Keep to objects with properties and a list of what is required.",
    ),
    "tool.strict": (
        "The target cannot be told to enforce a schema, or does it for all tools alike.",
        "Check the arguments of calls yourself.",
    ),
    "tool.kind": (
        "The target has no freeform tools; it becomes a function with one text. A tool search "
        "that the client runs becomes a function too.",
        "Nothing: calls come back as freeform ones. A grammar is not enforced any more.",
    ),
    "tool.namespace": (
        "The target has no namespaces of tools: `namespace` and `name` become one name, "
        "`namespace__name`, in definitions, calls, results and choice alike; read back, it stays a "
        "part of the name. What is written about a namespace itself is left out.",
        "Nothing: an `Exchange` gives the calls of a response their namespace back. Repeat in the "
        "descriptions of the tools what the model must know of the namespace.",
    ),
    "tool.deferred": (
        "The target has no deferred tools, or no tool search is left that would load them; so "
        "the tool is loaded at once.",
        "Send fewer tools, if they take too much of the context.",
    ),
    "tool_choice": (
        "The target has no such choice, or takes none without tools.",
        "Say in the prompt which tool should be used.",
    ),
    "tool_choice.allowed": (
        "The target cannot be told of a subset of the tools.",
        "Send only these tools.",
    ),
    "tool_choice.parallel": (
        "The target cannot be told whether several calls may come at once.",
        "Be ready for several calls, or say in the prompt that one at a time is wanted.",
    ),
    "model": (
        "The target has no field for the model, or the model is another vendor's: it is passed on.",
        "Name a model of the target, with model= or --model: names are not translated.",
    ),
    "max_tokens": (
        "The target demands an output limit and the source sets none, or the other way round.",
        _SET,
    ),
    "temperature": (
        "The target has another range, or takes none together with other settings.",
        "Choose a value that the target takes.",
    ),
    "top_p": ("The target has no nucleus sampling.", "Use the temperature instead."),
    "top_k": ("The target has no top-k sampling.", "Use `top_p` or the temperature instead."),
    "stop": (
        "The target has no stop strings, takes fewer, or takes no blank ones.",
        "Cut the answer yourself at the string.",
    ),
    "seed": ("The target has no random seed.", "Nothing helps; a temperature of 0 comes near."),
    "frequency_penalty": ("The target has no such penalty.", "Ask for variety in the prompt."),
    "presence_penalty": ("The target has no such penalty.", "Ask for variety in the prompt."),
    "logit_bias": (
        "The target has no token biases; token numbers differ from model to model anyway.",
        "Say in the prompt which words are wanted or not.",
    ),
    "logprobs": (
        "The target reports no token probabilities, or in another form.",
        "Ask a provider that reports them, if you need them.",
    ),
    "stream.event": (
        "The stream has an event that only its own dialect knows.",
        "Nothing, unless your client listens for it.",
    ),
    "stream.head": (
        "The source names the id, the model or the date of the answer when it ends.",
        "Take them from the last event or the collected answer; the first event has none.",
    ),
    "stream.end": (
        "The server ended the stream with [DONE] and never said why the response stopped.",
        "Treat the response as whole, but check it if a cut one would do harm.",
    ),
    "stream.order": (
        "The target says a part of the answer earlier or later than the source does.",
        "Nothing: the answer is the same in the end.",
    ),
    "stream.text": (
        "The source replaced a text that it had said already; what was said cannot be unsaid.",
        "Take the text of the last event, or the collected answer, as the true one.",
    ),
    "stream.usage": (
        "The target's stream begins with the number of input tokens; the upstream tells it last.",
        "Take the counts of the last event as the true ones; the first is an estimate.",
    ),
    "top_logprobs": (
        "The target reports no alternatives of tokens.",
        "Ask a provider that reports them, if you need them.",
    ),
    "candidates": (
        "The target gives one answer, or a history holds one.",
        "Ask several times, or choose the one you want before you convert.",
    ),
    "output": (
        "The target cannot be told the form of the answer, or takes another description of it.",
        "Describe the form in the prompt, or demand a tool call with that schema.",
    ),
    "output.name": (
        "The target has no name for the demanded schema, or demands one.",
        "Nothing: the name has no effect but in messages of the provider.",
    ),
    "output.description": (
        "The target has no description for the demanded schema.",
        "Say it in the prompt, or in the schema's own `description`.",
    ),
    "output.strict": (
        "The target always enforces the schema, or never.",
        "Check the answer yourself.",
    ),
    "thinking": (
        "The target cannot be told how to reason, or in other words.",
        "Choose a model that reasons as you want.",
    ),
    "thinking.effort": (
        "The target has other levels, or a number of tokens instead.",
        "Set the level or the number on the document that was written.",
    ),
    "thinking.budget": (
        "The target has levels of effort instead of a number of tokens.",
        "Set the level on the document that was written.",
    ),
    "thinking.display": (
        "The target cannot be told what of the reasoning should be seen.",
        "Nothing: hide it yourself where it is not wanted.",
    ),
    "verbosity": (
        "The target has no setting for the length of the answer.",
        "Say in the prompt how long it should be.",
    ),
    "stream": (
        "The target says elsewhere whether the answer is streamed: in the address or the call.",
        "Ask for a stream in the target's own way.",
    ),
    "metadata": (
        "The target takes no labels, or fewer of them.",
        "Keep them on your side, under the id of the answer.",
    ),
    "user_id": (
        "The target has no field for the end user.",
        "Nothing, unless the provider asked for it.",
    ),
    "service_tier": (
        "The tiers of one provider are not those of another.",
        "Set the tier of the target.",
    ),
    "cache_key": (
        "The target has no key for its prompt cache.",
        "Nothing for correctness; look at the bill.",
    ),
    "store": (
        "The target cannot be told whether to keep the answer, or demands to be told.",
        "Look up what the provider keeps, if it matters.",
    ),
    "previous_id": (
        "The request continues an answer that is stored with one provider; another one has not "
        "got it.",
        "Send the whole conversation instead of the id.",
    ),
    "conversation_id": (
        "The request continues a conversation that is stored with one provider; another one has "
        "not got it.",
        "Send the whole conversation instead of the id.",
    ),
    "truncation": (
        "The target has no setting for a conversation that is too long.",
        "Shorten it yourself.",
    ),
    "stop.reason": (
        "The target has no word for this reason, or demands one that the source never gave.",
        "Look whether your program decides by the reason; the nearest word stands there.",
    ),
    "stop.sequence": (
        "The target does not say which stop string came up.",
        "Nothing, unless you have several stop strings and must know.",
    ),
    "stop.detail": (
        "The target has no details on why the answer ended.",
        "Read them in the source, or keep a capsule.",
    ),
    "usage": (
        "The target demands token counts that nobody counted, or has no place for some of them.",
        "Take the counts from the source, if you bill by them.",
    ),
    "usage.cache_ttl": (
        "The target does not say how long written tokens live.",
        "Take it from the source, if you bill by it.",
    ),
    "usage.inconsistent": (
        "The counts of the source contradict each other; the target gets sums of their parts.",
        "Take the counts from the source, and ask its provider.",
    ),
    "response.id": (
        "The target has no id for an answer, or demands one that the source never gave.",
        "Pass `ids` (`--random-ids`), if ids must be unique.",
    ),
    "response.model": (
        "The target does not say which model answered, or demands it.",
        "Read it in the source.",
    ),
    "response.created": (
        "The target does not say when the answer was made, or demands it.",
        "Pass `now` (`--now now`), where it is demanded.",
    ),
    "response.latency": (
        "The target demands how long the answer took, and nobody measured it; it is 0.",
        "Nothing, unless something reads that figure.",
    ),
    "response.echo": (
        "One of the two dialects repeats settings of the request in the answer.",
        "Nothing: look into the request.",
    ),
    "response.failure": (
        "The target has no error inside of an answer; it is an error document, or a text.",
        "Look at the status and the error, not only at the content.",
    ),
    "error.type": (
        "The kinds of errors differ; the nearest stands there.",
        "Nothing, unless your program decides by kinds that are not there.",
    ),
    "error.code": ("The target has no code for it.", "Decide by the kind instead."),
    "error.param": (
        "The target does not say which parameter an error speaks of.",
        "Read the message.",
    ),
    "error.request_id": (
        "The target has no id of the failed request in its errors.",
        "Note it from the source, if you write to the provider's support.",
    ),
    "capsule": (
        "The part of the document that a capsule holds something for has changed meanwhile, so it "
        "was not put back: it might not belong there any more.",
        "Nothing, if the change was meant. Otherwise take the document that the capsule was made "
        "with.",
    ),
}


class Explanation(Struct, frozen=True):
    """One meaning of a name: ``kind`` is what the name is of, a code or a rule, say."""

    name: str
    kind: str
    meaning: str
    why: str = ""
    todo: str = ""


def explain(name: str) -> tuple[Explanation, ...]:
    """Everything that a name means: a kind of loss, a code, a rule of an API, a pass.

    >>> for each in explain("seed"):
    ...     print(each.kind, "-", each.meaning)
    code of the ledger - the random seed
    """
    found = tuple(each for each in _everything() if each.name == name)
    if not found:
        import difflib  # only those who mistype need it

        close = difflib.get_close_matches(name, names(), n=1)
        hint = f", did you mean {close[0]!r}?" if close else ""
        raise Unsupported(f"nothing is called {name!r}{hint}")
    return found


def names() -> list[str]:
    """Every name that can be explained, each once."""
    return list(dict.fromkeys(each.name for each in _everything()))


def _everything() -> Iterator[Explanation]:
    for kind, meaning in KINDS.items():
        yield Explanation(kind, "kind of loss", meaning, "", _KINDS_DO[kind])
    for code, meaning in CODES.items():
        why, todo = ADVICE[code]
        yield Explanation(code, "code of the ledger", meaning, why, todo)
    yield from _rules()
    yield from _passes()


def _rules() -> Iterator[Explanation]:
    """The rules that are known of each API; what inherits them has them, too."""
    from .passes.table import PASSES

    for dialect in dialects.names():
        rules: dict[str, str] = getattr(dialects.get(dialect), "rules", {})
        for rule, meaning in rules.items():
            mends = [name for name, each in PASSES.items() if rule in each.mends]
            todo = f"`dragoman repair` mends it with {' or '.join(mends)}." if mends else ""
            yield Explanation(rule, f"rule of {dialect}", meaning, "", todo or _BY_HAND)


_BY_HAND = "No pass mends it: it takes somebody who knows what was meant."


def _passes() -> Iterator[Explanation]:
    from .passes.table import PASSES

    for name, each in PASSES.items():
        rules = ", ".join(sorted(each.mends))
        why = f"It runs where `check` finds {rules}." if rules else "It runs only if it is named."
        todo = f"`dragoman repair --passes {name} FILE` runs it alone."
        yield Explanation(name, "pass of repair", each.does, why, todo)
