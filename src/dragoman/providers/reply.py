"""A response: the document, its losses, and what of it belongs in the history."""

from __future__ import annotations

import uuid
from functools import cached_property

from .. import dialects, ledger
from ..convert import join, read
from ..dialect import Dialect
from ..errors import Unsupported
from ..exchange import Exchange
from ..ledger import Ledger, Loss
from ..model import History, Json, Message, Response, Stop, Text, Usage

MADE_UP = frozenset({"message.id", "reasoning.id", "reasoning.signature"})
"""What a reply may be given to be whole, and its issuer would not know in a history."""


class Ids(ledger.Ids):
    """Ids that no other reply has: a history may hold replies of many providers."""

    def __init__(self) -> None:
        super().__init__(lambda prefix: f"{prefix}_{uuid.uuid4().hex}")


class Reply:
    """A response of the model, in the caller's dialect.

    ``document`` is the whole response, ``original`` the response as the upstream sent it.
    ``losses`` are those of its conversion (their paths point into the original),
    ``request_losses`` those of the request; both are empty if caller and upstream have the same
    dialect.
    """

    def __init__(
        self,
        document: dict[str, Json],
        original: dict[str, Json],
        losses: tuple[Loss, ...],
        request_id: str | None,
        exchange: Exchange,
    ) -> None:
        self.document = document
        self.original = original
        self.losses = losses
        self.request_losses = exchange.losses
        self.request_id = request_id
        self._exchange = exchange

    def __repr__(self) -> str:
        lost = len(self.losses) + len(self.request_losses)
        pair = f"{self._exchange.client} from {self._exchange.upstream}"
        return f"<Answer: {pair}, {lost or 'no'} losses>"

    # -- the history ------------------------------------------------------------------------

    @property
    def message(self) -> Json:
        """The message to append to a history, for dialects in which that is one message."""
        if len(self.messages) != 1:
            raise Unsupported(
                f"the response adds {len(self.messages)} items, not one: use .messages"
            )
        return self.messages[0]

    @property
    def messages(self) -> list[Json]:
        """What to append to a history: one message, or the items of a Responses response."""
        return self._addition[0]

    @property
    def history_losses(self) -> tuple[Loss, ...]:
        """What a history cannot hold of the response."""
        return self._addition[1]

    def append(self, messages: list[Json] | str) -> list[Json]:
        """The history with the response appended: a new list, ready for the next turn."""
        if isinstance(messages, str):
            messages = told(messages, dialects.get(self._exchange.client))
        return [*messages, *self.messages]

    @cached_property
    def _addition(self) -> tuple[list[Json], tuple[Loss, ...]]:
        if any(loss.kind == "invented" and loss.what in MADE_UP for loss in self.losses):
            return self._retold()
        client = self._exchange.client
        key = history_key(dialects.get(client))
        joined = join({key: []}, self.document, dialect=client)
        return joined.document[key], joined.losses

    def _retold(self) -> tuple[list[Json], tuple[Loss, ...]]:
        """The upstream's own words as history: the reply holds what was made up for a caller.

        A signature or the id of an item is checked by the one who issues it, and a history that
        holds a made-up one is refused for good.
        """
        exchange = self._exchange
        caller, upstream = dialects.get(exchange.client), dialects.get(exchange.upstream)
        made = exchange.ids
        log = Ledger(ids=made.again() if isinstance(made, Ids) else made)
        tree = upstream.read(self.original, "response")
        assert isinstance(tree, Response)
        tree = exchange.restore(tree)
        message = upstream.settle(tree.candidates[0].message, log)
        document = caller.write(History((message,), dialect=upstream.name), log)
        added: list[Json] = (
            document if isinstance(document, list) else document[history_key(caller)]
        )
        return added, tuple(log.losses)

    # -- what the caller's dialect cannot hold ----------------------------------------------

    @cached_property
    def capsules(self) -> dict[str, Json]:
        """What the upstream requires back and the caller's history cannot hold.

        That is signed or encrypted reasoning, as plain JSON, to be kept beside the history and
        given with the next request. It belongs to the history that ``append`` returns, and any that
        continues it. There is one capsule for each upstream dialect; those of others are passed on
        unchanged.
        """
        exchange = self._exchange
        if not exchange.loses_reasoning(self.losses):
            return exchange.kept
        key = history_key(dialects.get(exchange.client))
        held = {**exchange.asked, key: self.append(exchange.asked[key])}
        return exchange.capsules_for(self.original, held)

    # -- in nobody's vocabulary -------------------------------------------------------------

    @property
    def usage(self) -> Usage | None:
        """The tokens, in disjoint buckets."""
        return self._tree.usage

    @property
    def stop(self) -> Stop | None:
        """The stop reason."""
        return self._tree.candidates[0].stop if self._tree.candidates else None

    @cached_property
    def _tree(self) -> Response:
        tree = read(self.document, self._exchange.client, facet="response")
        assert isinstance(tree, Response)
        return tree


def told(text: str, caller: Dialect) -> list[Json]:
    """A history of one message, in which the user says a text."""
    if caller.implied_type:  # a string may stand for this there
        return [{"role": "user", "content": text}]
    document = caller.write(History((Message("user", (Text(text),)),)), Ledger())
    found: list[Json] = document if isinstance(document, list) else document[history_key(caller)]
    return found


def history_key(caller: Dialect) -> str:
    if caller.history is None:
        raise Unsupported(f"{caller.name} has no history at the top of a request; use request()")
    return caller.history
