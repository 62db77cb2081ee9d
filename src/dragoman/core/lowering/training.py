"""What a record of a training set tells, on its way to a target that cannot say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...ledger import Ledger
from ...model import Request, Training
from .messages import Messages

if TYPE_CHECKING:
    from ...dialect import Dialect

WHAT = {
    "completion": "the part of a conversation that a model is trained on",
    "rejected": "a rejected reply",
    "label": "the label of a reply",
}


def lower(tree: Request, to: Dialect, log: Ledger) -> Request:
    told = tree.training
    assert told is not None
    kept: dict[str, Any] = {}
    judged = told.label is not None and "label" in to.can.training
    for name, what in WHAT.items():
        value = getattr(told, name)
        if value is None:
            continue
        if name in to.can.training:
            kept[name] = value
        elif name == "completion" and (told.rejected is not None or judged):
            kept[name] = value  # what is chosen or judged is a part of that
        else:
            log.dropped(f"training.{name}", told.at, f"{to.name} has no field for {what}")
    if kept.get("rejected"):
        kept["rejected"] = Messages(to, log, "history", tree.model).all(kept["rejected"])
    elif "completion" not in to.can.training and not judged:
        kept.pop("completion", None)
    to.lose(told.extras, told.at, log)
    new = Training(**kept, at=told.at) if kept else None
    return replace(tree, training=new)
