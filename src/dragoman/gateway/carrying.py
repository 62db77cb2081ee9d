"""What a client's dialect cannot hold and the upstream wants back: it travels with the client.

Providers sign or encrypt the reasoning of their models and want it back with the next request.
Foreign signatures are not written, since their issuer alone accepts them; in a gateway they would
be lost, and with them the tool loop. There are two ways to keep them:

- **Enclosed.** The client's dialect has an opaque field for the signatures of its own vendor
  (Anthropic ``signature`` and ``redacted_thinking.data``, Responses ``encrypted_content``, Gemini
  ``thoughtSignature``), and clients send it back as it was. The whole block of reasoning is put
  into it, with an HMAC::

      base64( "dragm1" | HMAC-SHA256 of the rest, 16 bytes | JSON of the block )

- **Stored.** Where there is no such field (Chat), or on a call, the blocks are kept under the id of
  the first call of the turn. Where calls have no ids (Ollama), the key is a digest of what the user
  said up to then, of the call, and of how often it was made before: so a moved cache mark,
  re-serialised arguments or calls that are split into several turns do not matter. The ids that
  the upstream gave its calls are kept with it.

When the client sends its history, each turn is restored by itself: enclosed blocks are opened,
stored ones are looked up. What was not enclosed by this gateway, or was changed on the way, is
dropped and reported; a signature of the client's own vendor is left alone.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

from ..core.media import standard
from ..core.walk import unplaced
from ..dialect import Dialect
from ..ledger import Ledger
from ..model import (
    Block,
    Extras,
    Leaf,
    Message,
    Reasoning,
    Request,
    Response,
    Signature,
    Text,
    ToolCall,
    ToolResult,
)
from ..streams.events import Delta, Event, Open, Signed
from .policies import Prepare

MAGIC = b"dragm1"
MARK = base64.b64encode(MAGIC).decode()
"""What enclosed fields begin with."""
MAC = 16
FIELDS: dict[str, Literal["signature", "encrypted"]] = {
    "anthropic-messages": "signature",
    "openai-responses": "encrypted",
    "open-responses": "encrypted",
    "copilot": "encrypted",
    "gemini": "signature",
    "gemini-interactions": "signature",
    "bedrock-converse": "signature",
    "anthropic-bedrock": "signature",
    "anthropic-vertex": "signature",
}
"""Dialects of clients with a field for signed reasoning, and what it holds."""
SUMMED = ("openai-responses", "open-responses", "copilot")
"""Dialects whose clients take summaries alone: Codex shows nothing else, goose fails on others."""
WITHOUT_IDS = ("ollama",)
"""Dialects whose calls have no ids."""
FORGETFUL = ("gemini",)
"""Dialects whose clients may leave reasoning out of their history, and the ids of calls: gemini-cli
does. So reasoning is stored as well."""


class Turn(Leaf, frozen=True):
    """What is kept of a turn by the id of its first call."""

    upstream: str
    reasoning: tuple[Reasoning, ...] = ()
    signatures: Mapping[str, Signature] = {}
    """Of calls, by their numbers."""
    ids: tuple[str | None, ...] = ()
    """Of calls, where the client's dialect has none."""


encode = msgspec.json.Encoder().encode
encode_sorted = msgspec.json.Encoder(order="sorted").encode
decode_block = msgspec.json.Decoder(Reasoning).decode
decode_turn = msgspec.json.Decoder(Turn).decode


class Envelope:
    """The key by which blocks are enclosed."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def enclose(self, block: Reasoning) -> str:
        body = encode(unplaced(block))
        return base64.b64encode(MAGIC + self._mac(body) + body).decode()

    def open(self, data: str) -> Reasoning | None:
        """The block in an enclosed field; None: it is not ours, or not as it was."""
        try:
            # google-genai sends signatures in the alphabet for URLs, whatever they came in
            raw = base64.b64decode(standard(data), validate=True)
        except (binascii.Error, ValueError):
            return None
        mac, body = raw[len(MAGIC) : len(MAGIC) + MAC], raw[len(MAGIC) + MAC :]
        if not hmac.compare_digest(mac, self._mac(body)):
            return None
        try:
            return decode_block(body)
        except msgspec.MsgspecError:
            return None

    def _mac(self, body: bytes) -> bytes:
        return hmac.new(self._key, body, hashlib.sha256).digest()[:MAC]


class Carrying:
    """The carrier of one exchange (``dragoman.exchange.Carrier``)."""

    def __init__(
        self,
        envelope: Envelope,
        client: Dialect,
        upstream: Dialect,
        prepare: Prepare | None = None,
    ) -> None:
        self._envelope, self._client, self._upstream = envelope, client, upstream
        self._prepare = prepare
        self.stored: Mapping[str, bytes] = {}
        """What is kept of the turns of the request, by the keys of ``turn_keys``."""
        self._kind = FIELDS.get(client.name) if client.name != upstream.name else None
        summed = client.name in SUMMED and client.name != upstream.name
        form = upstream.can.reasoning
        self._summed = summed and form is not None and not form.summaries
        self._blocks: dict[int, list[Event]] = {}
        self._tree: Request | None = None
        self.turns: list[tuple[str, bytes]] = []
        """What is to be stored of the reply, and under which keys."""

    # -- the request ------------------------------------------------------------------------

    def request(self, tree: Request, log: Ledger) -> Request:
        self._tree = tree
        if any(message.role == "assistant" for message in tree.messages):
            tree = self._with_turns(tree, log)
        return tree if self._prepare is None else self._prepare(tree, log)

    def _with_turns(self, tree: Request, log: Ledger) -> Request:
        """A request with what belongs to its turns of the assistant."""
        keys = turn_keys(tree.messages)[0] if self.stored else {}
        messages = tuple(
            self._restored(message, keys.get(number, ()), log)
            if message.role == "assistant"
            else message
            for number, message in enumerate(tree.messages)
        )
        if self._client.name in WITHOUT_IDS:
            messages = tuple(paired(messages))
        if any(new is not old for new, old in zip(messages, tree.messages, strict=True)):
            tree = replace(tree, messages=messages)
            if self._client.name == self._upstream.name:
                # Foreign blocks were enclosed: what holds of the API's own history does not of it.
                tree = replace(tree, dialect="native")
        return tree

    def _restored(self, message: Message, keys: tuple[str, ...], log: Ledger) -> Message:
        """A turn of the assistant with the reasoning that belongs to it."""
        content = message.content
        if any(is_enclosed(block) for block in content):
            content = tuple(self._opened(content, log))
        if turn := self._kept(keys):
            content = with_turn(content, turn)
        return message if content is message.content else replace(message, content=content)

    def _opened(self, content: tuple[Block, ...], log: Ledger) -> Iterator[Block]:
        for block in content:
            if not is_enclosed(block):
                yield block
                continue
            assert isinstance(block, Reasoning)
            assert block.signature is not None
            found = self._envelope.open(block.signature.data)
            if found is not None:
                yield replace(found, at=block.at)
            else:
                why = "enclosed by another gateway, or changed since: it is not passed on"
                log.dropped("reasoning.signature", block.at, why)
                if any(block.words):
                    yield replace(block, signature=None)

    def _kept(self, keys: tuple[str, ...]) -> Turn | None:
        data = next((self.stored[key] for key in keys if key in self.stored), None)
        try:
            turn = decode_turn(data) if data is not None else None
        except msgspec.MsgspecError:
            return None
        return turn if turn is not None and turn.upstream == self._upstream.name else None

    # -- the reply --------------------------------------------------------------------------

    def response(self, tree: Response, log: Ledger) -> Response:
        """A reply whose foreign signatures are enclosed, or to be stored."""
        if not tree.candidates:
            return tree
        first = tree.candidates[0]
        self._keep(first.message)
        if self._kind is None:
            return tree
        content = tuple(self._shown(self._enclosed(b), log) for b in first.message.content)
        message = replace(first.message, content=content)
        return replace(tree, candidates=(replace(first, message=message), *tree.candidates[1:]))

    def _enclosed(self, block: Block) -> Block:
        if not isinstance(block, Reasoning) or block.signature is None or self._kind is None:
            return block
        if block.signature.issuer == self._client.issuer:
            return block
        data = self._envelope.enclose(block)
        return replace(block, signature=Signature(data, self._client.issuer, self._kind))

    def _shown(self, block: Block, log: Ledger | None = None) -> Block:
        """Reasoning as clients show it."""
        if not self._summed or not isinstance(block, Reasoning) or not any(block.content):
            return block
        if log is not None:
            why = f"reasoning written as a summary: clients of {self._client.name} show no other"
            log.approximated("reasoning.summary", block.at, why)
        return replace(block, content=(), summary=block.content)

    def event(self, event: Event) -> Event:
        """An event of a stream; a signature is enclosed with the block that it belongs to."""
        if self._kind is None:
            return event
        if isinstance(event, Open) and isinstance(event.block, Reasoning):
            self._blocks[event.index] = [event]
            return replace(event, block=self._shown(self._enclosed(event.block)))
        if isinstance(event, Delta) and event.index in self._blocks:
            self._blocks[event.index].append(event)
            return replace(event, place="summary") if self._summed else event
        if isinstance(event, Signed) and event.index in self._blocks:
            if event.signature.issuer == self._client.issuer:
                return event
            block = replace(whole_of(self._blocks[event.index]), signature=event.signature)
            signature = Signature(self._envelope.enclose(block), self._client.issuer, self._kind)
            return Signed(event.index, signature)
        return event

    def hears(self, index: int) -> bool:
        """Reasoning is enclosed as a whole, so all of it must be known."""
        return index in self._blocks

    def _keep(self, message: Message) -> None:
        """Note what is to be stored: what the client's dialect has no field for."""
        calls = [block for block in message.content if isinstance(block, ToolCall)]
        if not calls or self._client.name == self._upstream.name:
            return
        has_ids = self._client.name not in WITHOUT_IDS
        forgetful = self._client.name in FORGETFUL
        reasoning = tuple(
            unplaced(block)
            for block in message.content
            if isinstance(block, Reasoning) and (self._kind is None or forgetful)
        )
        before = Received() if self._tree is None else turn_keys(self._tree.messages)[1]
        marks = [call.extras.signature if call.extras is not None else None for call in calls]
        for number, call in enumerate(calls):
            digest = before.key(call)
            key = (call.id if has_ids else None) or digest
            if number == 0:  # under the others what a client needs that splits the turn
                signatures = {str(n): mark for n, mark in enumerate(marks) if mark is not None}
                ids = () if has_ids else tuple(each.id for each in calls)
                turn = Turn(self._upstream.name, reasoning, signatures, ids)
            else:
                mark = marks[number]
                signatures = {} if mark is None else {"0": mark}
                turn = Turn(self._upstream.name, (), signatures, () if has_ids else (call.id,))
            if turn.reasoning or turn.signatures or any(turn.ids):
                keys = (key, digest) if forgetful else (key,)
                self.turns += [(each, encode(turn)) for each in keys]


def whole_of(events: list[Event]) -> Reasoning:
    """The block of reasoning that a stream has had so far."""
    from ..streams.events import Pieces  # needed by those who stream alone

    opened, *deltas = events
    assert isinstance(opened, Open)
    pieces = Pieces(opened)
    for delta in deltas:
        assert isinstance(delta, Delta)
        pieces.texts.setdefault((delta.place, delta.part), []).append(delta.text)
    block = pieces.whole()
    assert isinstance(block, Reasoning)
    return block


def is_enclosed(block: Block) -> bool:
    signature = block.signature if isinstance(block, Reasoning) else None
    return signature is not None and signature.data.startswith(MARK)


def with_turn(content: tuple[Block, ...], turn: Turn) -> tuple[Block, ...]:
    """A turn with what was stored of it; reasoning that the client kept without a signature is
    that which was signed.
    """
    own = [block for block in content if isinstance(block, Reasoning)]
    if turn.reasoning and not any(block.signature is not None for block in own):
        content = (*turn.reasoning, *(b for b in content if not isinstance(b, Reasoning)))
    calls = [block for block in content if isinstance(block, ToolCall)]
    numbers = {id(call): number for number, call in enumerate(calls)}
    return tuple(
        as_made(block, turn, numbers[id(block)]) if isinstance(block, ToolCall) else block
        for block in content
    )


def as_made(call: ToolCall, turn: Turn, number: int) -> ToolCall:
    """A call with the id and the signature that the upstream gave it."""
    if call.id is None and number < len(turn.ids):
        call = replace(call, id=turn.ids[number])
    if (signature := turn.signatures.get(str(number))) is not None:
        call = replace(call, extras=Extras(turn.upstream, signature=signature))
    return call


def paired(messages: Iterable[Message]) -> Iterator[Message]:
    """Results without ids get those of their calls: the first one of the name, in order."""
    waiting: list[ToolCall] = []
    for message in messages:
        content = []
        for block in message.content:
            if isinstance(block, ToolCall) and block.id is not None:
                waiting.append(block)
            elif isinstance(block, ToolResult) and block.call_id is None:
                found = next((c for c in waiting if block.name in (None, c.name)), None)
                if found is not None:
                    waiting.remove(found)
                    block = replace(block, call_id=found.id)
            content.append(block)
        same = all(new is old for new, old in zip(content, message.content, strict=True))
        yield message if same else replace(message, content=tuple(content))


# -- keys of turns --------------------------------------------------------------------------


class Received:
    """What was written up to a turn: what the user said, and how often each call was made."""

    def __init__(self) -> None:
        self._words = hashlib.sha256()
        self._calls: Counter[bytes] = Counter()

    def add(self, message: Message) -> None:
        if message.role != "user":
            return
        for block in message.content:
            if isinstance(block, Text):
                self._words.update(b"t" + block.text.encode("utf-8", "surrogatepass"))

    def key(self, call: ToolCall) -> str:
        """The key of a call without an id; the next call that is the same has another one."""
        made = call.name.encode("utf-8", "surrogatepass") + b"\0" + canonical(call.arguments)
        self._calls[made] += 1
        whole = self._words.copy()
        whole.update(b"c%d " % self._calls[made] + made)
        return f"digest:{whole.hexdigest()}"


def turn_keys(messages: Iterable[Message]) -> tuple[dict[int, tuple[str, ...]], Received]:
    """Of each turn with calls: under which keys it may be stored; and what was written in all."""
    keys: dict[int, tuple[str, ...]] = {}
    written = Received()
    for number, message in enumerate(messages):
        written.add(message)
        calls = [block for block in message.content if isinstance(block, ToolCall)]
        if calls:
            digests = [written.key(call) for call in calls]
            keys[number] = (*(call.id for call in calls if call.id is not None), *digests)
    return keys, written


def canonical(arguments: str) -> bytes:
    """The arguments of a call, however they were serialised."""
    try:
        return encode_sorted(msgspec.json.decode(arguments))
    except msgspec.MsgspecError:
        return arguments.encode("utf-8", "surrogatepass")
