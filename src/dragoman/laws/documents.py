"""The laws of documents: identity, pairs, audits, capsules, rules of the target."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

from msgspec import MsgspecError
from msgspec.structs import replace

from .. import dialects
from ..capsule.modelled import named
from ..convert import convert, with_model
from ..core.reading import decode, encode, escape
from ..core.source import with_source
from ..core.walk import meaning
from ..dialect import Dialect
from ..errors import DragomanError, Malformed, Unsayable
from ..ledger import CODES, KINDS, Ledger, Loss
from ..lint.rules import broken_arguments
from ..model import History, Json, Request, ToolCall, Tree
from ..result import Result
from ..survey import is_lossy, speaks
from . import transcript
from .auditing import Facts, faults
from .cases import Case, Document
from .changes import Change
from .comparing import changes
from .difference import difference


def identity(document: Document) -> None:
    """``write(read(x)) == x``, unknown keys and spellings included, and an empty ledger.

    A tree that holds its source cannot fail here, so it is asked without it: then another form of
    the document may be written, which must mean the same.
    """
    speaker, log = dialects.get(document.dialect), Ledger()
    tree = speaker.read(document.body, document.facet)
    back = speaker.write(tree, log)
    if speaker.keeps_source:
        assert as_text(back) == as_text(document.body), difference(back, document.body)
    else:
        got, meant = meaning(speaker.read(back, document.facet)), meaning(tree)
        assert got == meant, difference(got, meant)
    assert not log.losses, listed(log.losses)
    back = speaker.write(with_source(tree, document.body, speaker), log)
    assert as_text(back) == as_text(document.body), difference(back, document.body)
    assert not log.losses, listed(log.losses)


def pair(case: Case, source: Document, target: str) -> bool:
    """One file becomes the other, with exactly the declared losses. False: nothing declared."""
    if target == source.dialect:
        return True  # that is identity
    wanted = case.expected(target, source.facet)
    if wanted is None or source.degraded:
        return False
    result = converted(source, target)
    how = f"{source.name} > {target}\n"
    assert as_text(result.document) == as_text(wanted.body), how + difference(
        result.document, wanted.body
    )
    found = sorted(map(transcript.entry, result.losses))
    declared = case.losses(source, target)
    assert found == declared, how + difference(found, declared) + f"\n{listed(result.losses)}"
    if not wanted.degraded:  # every whole file says the same: things may move, no more
        assert not any(map(is_lossy, result.losses)), how + listed(result.losses)
    return True


def audit(document: Document, target: str) -> None:
    """A document that is written and read back differs exactly where the ledger tells, by node.

    Each node whose meaning changed has a loss at its own path, with a code that is about it; each
    loss points at a change. A document that is itself the result of a conversion may already hold
    what would be invented again: for a degraded one, only the first counts.
    """
    found = _audited(document, target, None)
    assert not found, found


def audit_everywhere(document: Document, targets: Iterable[str] | None = None) -> None:
    """The audit for every dialect; and one fact has one name.

    Dialects that do the same to a node give the same kind and the same code for it.
    """
    facts = Facts()

    def law(document: Document, target: str) -> None:
        found = _audited(document, target, facts)
        assert not found, found

    for_all(law, document, targets)
    found = facts.conflicts()
    assert not found, "one fact, several names:\n" + "\n".join(found)


def _audited(document: Document, target: str, facts: Facts | None) -> str:
    tree = dialects.get(document.dialect).read(document.body, document.facet)
    if needs_a_model(tree, target):
        tree = replace(tree, model="m")
    log, writer = Ledger(now=0), dialects.get(target)
    back = writer.read(writer.write(tree, log), document.facet)
    lossy = [loss for loss in log.losses if is_lossy(loss)]
    changed = [c for c in changes(tree, back) if not is_passed_on(c, writer)]
    if facts is not None:
        facts.add(target, changed, lossy)
    kin = target != document.dialect and writer.knows(document.dialect)
    found = faults(changed, lossy, kin)
    return "\n".join(
        f"  {kind}: {what}" for kind, what in found if kind == "silent" or not document.degraded
    )


def is_passed_on(change: Change, writer: Dialect) -> bool:
    """Whether a block that only one dialect knows was written as it is, by one that knows it."""
    return change.what == "Raw.dialect" and writer.knows(change.old)


def same(document: Document, target: str) -> None:
    """Converted back with the capsule, the original is restored exactly, key order included."""
    try:
        there = converted(document, target, carry=True)
    except Unsayable as refusal:
        converted(document, target)  # refuses as well, or else the capsule is to blame
        raise AssertionError(f"refused with a capsule only: {refusal}") from None
    capsule = json.loads(json.dumps(there.capsule))
    back = convert(
        there.document, source=target, target=document.dialect, facet=document.facet,
        capsule=capsule,
    )  # fmt: skip
    assert json.dumps(back.document) == json.dumps(document.body), difference(
        back.document, document.body
    )
    assert not back.losses, listed(back.losses)
    log = Ledger()
    log.restores = True
    tree = dialects.get(target).read(there.document, document.facet)
    source = dialects.get(document.dialect)
    if target == source.name or source.keeps_source:
        tree = with_source(tree, there.document, dialects.get(target))
    if "model" in capsule:
        plain = [source.write(with_model(tree, "m"), log)]
        # What follows from the model, a conversion gives that names it; not the model itself.
        fitted = source.write(named(capsule, tree, source), log)
        plain += [leaf for _, leaf in _leaves(fitted, "", ()) if leaf != capsule["model"]]
    else:
        plain = source.write(tree, log)
    unnamed = unrestored(back, plain)
    assert not unnamed, f"from the capsule, and not in restored: {unnamed}"


def unrestored(result: Result, plain: Json) -> list[str]:
    """What of a result neither the conversion without a capsule has, nor ``restored`` names."""
    named = {place.path for place in result.restored if not place.removed}
    missing = [path for path in named if not resolves(result.document, path)]
    known = {encode(leaf) for _, leaf in _leaves(plain, "", frozenset())}
    found = _leaves(result.document, "", named)
    return missing + [path for path, leaf in found if encode(leaf) not in known]


def _leaves(value: Json, at: str, without: Container[str]) -> Iterator[tuple[str, Json]]:
    if at in without:
        return
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{at}/{escape(key)}", without)
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _leaves(item, f"{at}/{number}", without)
    elif value.__class__ not in (dict, list):  # nothing else is left of what was removed
        yield at, value


def determinism(document: Document, target: str) -> None:
    """The same input gives the same bytes and the same ledger, as a value and as bytes.

    Bytes may take a quicker way than values do (``core.plain``).
    """
    first = converted(document, target)
    second = converted(document, target, given=as_bytes(document))
    assert first.to_json() == second.to_json(), difference(second.document, first.document)
    assert first.losses == second.losses, difference(second.losses, first.losses)


def as_bytes(document: Document) -> bytes | None:
    """A document as JSON; None where its bytes would be something else."""
    if dialects.get(document.dialect).lines:
        return None
    try:
        data = encode(document.body)
        return data if decode(data) == document.body else None
    except (UnicodeError, OverflowError, MsgspecError):
        return None


def pointers(document: Document, target: str) -> None:
    """Every loss has a documented name and points into the source document."""
    for loss in converted(document, target).losses:
        assert loss.kind in KINDS, loss
        assert loss.what in CODES, loss
        assert loss.why, loss
        assert loss.target == dialects.get(target).name, loss
        assert resolves(document.body, loss.path), f"{loss} points nowhere"


def malformed_or_answer(
    dialect: str, facet: str, body: Json, targets: Iterable[str] | None = None
) -> None:
    """Any JSON gives a tree or ``Malformed``, never another exception."""
    try:
        tree = dialects.get(dialect).read(body, facet)
    except Malformed:
        return
    for target in dialects.names() if targets is None else targets:
        try:
            dialects.get(target).write(tree, Ledger())
        except DragomanError:
            continue


def breaks_no_rule(tree: Request, target: str) -> None:
    """A request is written as one that the API of the target accepts, as far as ``check`` knows.

    A request that ends in calls is not complete; arguments that are not a JSON object are kept as
    the model wrote them, which ``repair`` can repair.
    """
    if ends_in_a_call(tree):
        return
    log, writer = Ledger(now=0), dialects.get(target)
    document = writer.write(tree, log)
    problems = [
        problem
        for problem in writer.check(document, "request")
        if not (problem.rule == "arguments" and has_broken_arguments(tree))
        if not (problem.rule == "no-messages" and not tree.messages)
    ]
    assert not problems, f"{target}: {problems[0]}\n{listed(log.losses)}\n{as_text(document)}"


def ends_in_a_call(tree: Request | History) -> bool:
    """Whether the last turn has calls: a training record, not a request."""
    last = tree.messages[-1] if tree.messages else None
    return last is not None and any(isinstance(block, ToolCall) for block in last.content)


def has_broken_arguments(tree: Request | History) -> bool:
    """Whether the model wrote arguments that are not a JSON object."""
    calls = [b for m in tree.messages for b in m.content if isinstance(b, ToolCall)]
    return any(list(broken_arguments("", call.arguments)) for call in calls)


def echoes(document: Document, target: str) -> None:
    """A capsule restores turns after each edit that clients make, one at a time (``editing``)."""
    from . import editing  # not needed by those who test other laws

    editing.law(document.body, document.dialect, document.facet, target)


def resolves(doc: Json, pointer: str) -> bool:
    """Whether a JSON pointer names a place in a document."""
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(doc, dict) and token in doc:
            doc = doc[token]
        elif isinstance(doc, list) and token.isdigit() and int(token) < len(doc):
            doc = doc[int(token)]
        else:
            return False
    return True


def for_all(
    law: Callable[[Document, str], None], document: Document, targets: Iterable[str] | None = None
) -> None:
    """A law over every dialect that can write the document; all that break it are named.

    A dialect may refuse a conversation that it has no form for, if it says where. With ``targets``,
    only these are tried.
    """
    broken: list[str] = []
    for target in dialects.names() if targets is None else targets:
        if not speaks(target, document.facet):
            continue
        try:
            law(document, target)
        except Unsayable as refusal:
            if not resolves(document.body, refusal.at):
                broken.append(f"{target}: {refusal} points nowhere")
        except AssertionError as problem:
            broken.append(f"{target}: {problem}")
    assert not broken, "\n".join(broken)


def needs_a_model(tree: Tree, target: str) -> bool:
    """Whether a request names no model, for which some formats have no place, and must."""
    if not isinstance(tree, Request) or (tree.model or "").strip():
        return False
    writer = dialects.get(target)
    return writer.needs_model or (tree.model is not None and bool(writer.endpoints))


def converted(
    document: Document, target: str, given: bytes | None = None, **options: Any
) -> Result:
    if document.facet == "request" and target != document.dialect:
        if needs_a_model(dialects.get(document.dialect).read(document.body, "request"), target):
            options["model"] = "m"
    return convert(
        document.body if given is None else given,
        source=document.dialect,
        target=target,
        facet=document.facet,
        now=0,
        **options,
    )


def as_text(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def listed(losses: list[Loss] | tuple[Loss, ...]) -> str:
    return "\n".join(f"  {loss}" for loss in losses)
