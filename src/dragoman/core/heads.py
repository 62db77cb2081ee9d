"""What a response says of itself: its id, its model, its date. Many APIs require them, and then
they are made up where the source has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..ledger import Ledger
from ..model import Candidate, Json, Message, Response
from .writing import Writing

if TYPE_CHECKING:
    from ..dialect import Dialect


def put_id(to: Dialect, out: dict[str, Json], tree: Response, w: Writing, usual: str) -> None:
    """The id; ``usual`` is one that is made up, as ``msg_1``."""
    found = tree.id
    if found is None and not w.same:
        prefix = usual.replace("-", "_").partition("_")[0]
        found = w.log.ids(prefix) if w.log.ids else usual
        w.log.later(make_up, "id", found, to)
    if found is not None:
        out["id"] = found


def put_model(to: Dialect, out: dict[str, Json], tree: Response, w: Writing) -> None:
    """The model; an empty name stands for one that is not known."""
    if tree.model is not None:
        out["model"] = tree.model
    elif not w.same:
        out["model"] = ""
        w.log.later(make_up, "model", "", to)


def exact(seconds: float) -> float:
    """A date as it is."""
    return seconds


def put_created(
    to: Dialect,
    out: dict[str, Json],
    key: str,
    tree: Response,
    w: Writing,
    spell: Callable[[float], Json] = int,
) -> None:
    """The date, as ``spell`` writes seconds."""
    if tree.created is not None:
        out[key] = spell(tree.created)
    elif not w.same:
        made = out[key] = spell(w.log.now or 0)
        w.log.later(make_up, "created", made, to)


def put_seconds(to: Dialect, out: dict[str, Json], key: str, tree: Response, w: Writing) -> None:
    """The date in whole seconds."""
    if tree.created.__class__ is int:
        out[key] = tree.created  # as usual
        return
    put_created(to, out, key, tree, w, exact if w.same else int)
    if tree.created is not None and out[key] != tree.created:
        round_date("seconds", tree, to, w.log)


def make_up(name: str, value: Json, to: Dialect, log: Ledger) -> None:
    """Report a field that is required and was not given."""
    log.invented(f"response.{name}", "", f"required by {to.name}, and made up: {value!r}")


def round_date(unit: str, tree: Response, to: Dialect, log: Ledger) -> None:
    """Report a date that is more exact than the target can write it."""
    log.approximated("response.created", tree.at, f"{to.name} writes dates in whole {unit}")


def only_candidate(to: Dialect, tree: Response, log: Ledger) -> Candidate:
    """The candidate of a response that has always one."""
    if tree.candidates:
        return tree.candidates[0]
    log.invented("candidates", tree.at, f"a response of {to.name} has one candidate")
    return Candidate(Message("assistant"))
