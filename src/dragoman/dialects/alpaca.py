"""Alpaca records, as LLaMA-Factory reads them: an instruction and its answer.

What it does differently from ``sharegpt``, whose rules for turns it shares: the last question is
``instruction``, followed by ``input`` on a new line; the last reply is ``output``; all that was
said before stands in ``history``, in pairs. There are neither calls nor tools, and a conversation
with calls is refused. ``chosen`` and ``rejected`` are texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec.structs import replace

from ..core.models import DEFAULT, Models
from ..core.reading import as_dict, as_list, as_str, maybe_bool, maybe_list, maybe_str
from ..core.writing import Writing
from ..dialect import Problem
from ..errors import Malformed, Unsayable
from ..ledger import Ledger
from ..lint.evidence import Evidence, Verdict
from ..model import Json, Message, Reasoning, Request, Text, Training
from ._sessions import ABSENT
from .sharegpt import THINK, USER, ShareGPT, Turn

NO_CALLS = "alpaca has no form for calls; sharegpt has"
ASKED = ("instruction", "input", "output", "system", "history")


class Alpaca(ShareGPT):
    name = "alpaca"
    aliases: ClassVar[tuple[str, ...]] = ()
    read_messages = write_messages = ABSENT

    # -- reading ----------------------------------------------------------------------------

    def read_request(self, doc: Json) -> Request:
        doc = as_dict(doc, "")
        messages = self.read_system(doc)
        for index, pair in enumerate(maybe_list(doc, "history", "") or ()):
            at = f"/history/{index}"
            said = [as_str(text, f"{at}/{n}") for n, text in enumerate(as_list(pair, at))]
            if len(said) != 2:
                raise Malformed("expected a question and its answer", at)
            for number, text in enumerate(said):
                read = read_reply if number % 2 else read_question
                messages += read(text, f"{at}/{number}")
        asked = {
            key: given for key in ("instruction", "input") if (given := maybe_str(doc, key, ""))
        }
        messages += read_question(
            "\n".join(asked.values()), f"/{next(iter(asked))}" if asked else ""
        )
        taken = list(ASKED)
        training = None
        if doc.get("chosen").__class__ is str and doc.get("rejected").__class__ is str:
            taken += ("chosen", "rejected")
            taken.remove("output") if doc.get("output") else None
            chosen, rejected = (read_reply(doc[k], f"/{k}") for k in ("chosen", "rejected"))
            messages += chosen
            training = Training(len(chosen), tuple(rejected), at="/rejected")
        else:
            output = maybe_str(doc, "output", "")
            messages += read_reply(output, "/output") if output is not None else []
            if (label := maybe_bool(doc, "kto_tag", "")) is not None:
                taken.append("kto_tag")
                training = Training(1, label=label, at="/kto_tag")
        extras = self.keep(doc, taken)
        return Request(None, tuple(messages), training=training, dialect=self.name, extras=extras)

    # -- writing ----------------------------------------------------------------------------

    def write_request(self, tree: Request, log: Ledger) -> Json:
        for tool in tree.tools or ():
            log.dropped("tool", tool.at, f"{self.name} has no field for tools")
            self.lose(tool.extras, tool.at, log)
        out: dict[str, Json] = super().write_request(replace(tree, tools=None), log)
        turns: list[Json] = out.pop("conversations")
        told = tree.training
        pair = told is not None and told.rejected is not None
        reply = None if pair or not turns or turns[-1]["from"] == USER else turns.pop()["value"]
        said = [turn["value"] for turn in turns]
        if len(said) % 2 == 0:
            said.append("")  # in the same dialect alone
        written: dict[str, Json] = {"instruction": said[-1], "input": ""}
        if pair:
            written |= {key: out.pop(key)["value"] for key in ("chosen", "rejected")}
        elif reply is not None:
            written["output"] = reply
        if len(said) > 1:
            written["history"] = [said[n : n + 2] for n in range(0, len(said) - 1, 2)]
        return written | out

    def spell(self, turn: Turn, w: Writing) -> Json:
        if turn.calls or turn.who not in ("human", "gpt"):
            raise Unsayable(NO_CALLS, turn.at)
        return super().spell(turn, w)

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        return iter(())

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        if doc.__class__ is not dict or doc.get("instruction").__class__ is not str:
            return
        e = Evidence("request")
        for key in ("output", "chosen", "rejected"):
            if doc.get(key).__class__ is str:
                e.speaks_for(f"the keys 'instruction' and {key!r}", 0.9)
        if e.signs:
            yield e.verdict()


def read_question(text: str, at: str) -> list[Message]:
    return [Message("user", (Text(text, at=at),) if text else (), at=at)]


def read_reply(text: str, at: str) -> list[Message]:
    found = THINK.match(text)
    reasoning = () if found is None else (Reasoning((found[1],), at=at),)
    words = text if found is None else text[found.end() :]
    said = (Text(words, at=at),) if words else ()
    return [Message("assistant", (*reasoning, *said), at=at)]


DIALECT = Alpaca()
