"""Records of TRL, Hugging Face's trainers, in their conversational forms.

What it does differently from Chat Completions, which it looks like: arguments are objects; a result
names its tool; reasoning stands beside the content as ``reasoning_content``; no settings. The
columns tell what a record is: ``messages``; ``prompt`` and ``completion``, of which the second is
learned, with a ``label`` if each is judged alone; ``prompt``, ``chosen`` and ``rejected``, a
preference pair. ``tools`` are a list, or JSON text where rows of a table must have one type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from msgspec.structs import replace

from ..core.reading import as_dict, as_list, need_list
from ..core.writing import Writing
from ..errors import Malformed
from ..ledger import Ledger
from ..lint.evidence import Evidence, Verdict, objects
from ..model import History, Json, Message, Request, Training
from ..tools import freeform
from ._chatlike import Chatlike

PLAIN = "a record of plain texts has no messages; read it in the dialect of its chat template"
COLUMNS = ("messages", "prompt", "completion", "chosen", "rejected", "label", "tools")
PAIR = ("chosen", "rejected")
FORMS = (("messages",), ("prompt", *PAIR), PAIR, ("prompt", "completion"), ("prompt",))
"""The columns that a record may have, the most telling ones first."""


class Trl(Chatlike):
    name = "trl"
    spec = "https://huggingface.co/docs/trl/dataset_formats"
    windows = False  # a record may have its messages in several columns
    kin = frozenset({"trl", "trl-completion"})
    can = replace(Chatlike.can, training=frozenset({"completion", "rejected", "label"}))
    splits: ClassVar[bool] = False
    """Whether every record says which part of it is learned."""

    # -- reading ----------------------------------------------------------------------------

    def read_request(self, doc: Json) -> Request:
        doc = as_dict(doc, "")
        tools = self.read_toolbox(doc.get("tools"), "/tools")
        columns = next((c for c in FORMS if all(doc.get(k) is not None for k in c)), ("messages",))
        if columns == ("prompt", "completion") and doc.get("label").__class__ is bool:
            columns = (*columns, "label")
        messages, training = self.read_columns(doc, columns)
        extras = self.keep(doc, ("tools", *columns))
        tree = Request(None, messages, tools, training=training, dialect=self.name, extras=extras)
        return freeform.unwrap_calls(tree)

    def read_messages(self, doc: Json) -> History:
        if doc.__class__ is list:
            return History(self.read_turns(doc, ""), dialect=self.name)
        doc = as_dict(doc, "")
        messages = self.read_turns(need_list(doc, "messages", ""), "/messages")
        return History(messages, dialect=self.name, extras=self.keep(doc, ("messages",)))

    def read_columns(
        self, doc: dict[str, Json], columns: tuple[str, ...]
    ) -> tuple[tuple[Message, ...], Training | None]:
        """The messages of all columns, and what these tell of training."""
        first = self.read_column(doc, columns[0])
        if "rejected" in columns:
            return self.read_pair(doc, first if columns[0] == "prompt" else ())
        if "completion" not in columns:
            return first, None
        completion = self.read_column(doc, "completion")
        label = doc["label"] if "label" in columns else None
        told = Training(len(completion), label=label, at=f"/{columns[-1]}")
        return (*first, *completion), told

    def read_pair(
        self, doc: dict[str, Json], prompt: tuple[Message, ...]
    ) -> tuple[tuple[Message, ...], Training]:
        chosen, rejected = (self.read_column(doc, key) for key in PAIR)
        same = 0
        if not prompt:  # "the prompt is the part that both have"
            both = as_list(doc["chosen"], "/chosen"), as_list(doc["rejected"], "/rejected")
            while same < min(map(len, both)) and both[0][same] == both[1][same]:
                same += 1
        told = Training(len(chosen) - same, rejected[same:], at="/rejected")
        return (*prompt, *chosen), told

    def read_column(self, doc: dict[str, Json], key: str) -> tuple[Message, ...]:
        if doc.get(key).__class__ is str:
            raise Malformed(PLAIN, f"/{key}")
        return self.read_turns(need_list(doc, key, ""), f"/{key}")

    # -- writing ----------------------------------------------------------------------------

    def write_request(self, tree: Request, log: Ledger) -> Json:
        w = self.writing(log, tree.dialect)
        self.lose_settings(tree, w)
        out = self.write_columns(tree, w)
        if tree.tools or (tree.tools is not None and w.same):
            out["tools"] = self.write_toolbox(tree.tools, w)
        return self.emit(out, tree, log)

    def write_messages(self, tree: History, log: Ledger) -> Json:
        w = self.writing(log, tree.dialect)
        messages = tree.messages if w.same else self.results_in_order(tree.messages, log)
        written = self.write_turns(messages, w)
        if tree.extras is not None and self.is_same(tree.extras.dialect):
            return self.emit({"messages": written}, tree, log)
        self.lose(tree.extras, tree.at, log)
        return written

    def write_columns(self, tree: Request, w: Writing) -> dict[str, Json]:
        messages = tree.messages if w.same else self.results_in_order(tree.messages, w.log)
        told = tree.training
        if told is None and self.splits and not w.same:
            told = self.split(messages, w)
        if told is None or told.completion is None:
            if told is not None and told.label is not None:
                w.log.dropped("training.label", told.at, f"{self.name} labels completions alone")
            return {"messages": self.write_turns(messages, w)}
        cut = max(len(messages) - told.completion, 0)
        prompt = self.write_turns(messages[:cut], w)
        completion = self.write_turns(messages[cut:], w)
        if told.rejected is not None:
            rejected = self.write_turns(told.rejected, w)
            return {"prompt": prompt, "chosen": completion, "rejected": rejected}
        out: dict[str, Json] = {"prompt": prompt, "completion": completion}
        if told.label is not None:
            out["label"] = told.label
        return out

    def split(self, messages: Sequence[Message], w: Writing) -> Training | None:
        """What is learned where nobody says it: the last message, if it is the assistant's."""
        if not messages or messages[-1].role != "assistant":
            return None
        at = messages[-1].at
        w.log.invented("training.completion", at, f"{self.name} trains on the last reply")
        return Training(1, at=at)

    # -- detection --------------------------------------------------------------------------

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        if doc.__class__ is not dict:
            return
        e = Evidence("request")
        for keys in (("prompt", "completion"), ("prompt", "chosen"), PAIR):
            if all(is_talk(doc.get(key)) for key in keys):
                e.speaks_for(f"messages in {keys[0]!r} and {keys[1]!r}", 0.97)
        if is_talk(doc.get("messages")) and not doc.keys() - {*COLUMNS, "chat_template_kwargs"}:
            for message in objects(doc["messages"]):
                for call in objects(message.get("tool_calls")):
                    function = call.get("function")
                    if function.__class__ is dict and function.get("arguments").__class__ is dict:
                        e.speaks_for("a call with arguments as an object, and no model", 0.98)
        if e.signs:
            yield e.verdict()


def is_talk(value: Json) -> bool:
    """A list of messages."""
    return (
        value.__class__ is list
        and bool(value)
        and all(item.__class__ is dict and "role" in item for item in value[:9])
    )


DIALECT = Trl()
