"""LangChain's messages as ``dumpd`` and ``dumps`` write them: a class and its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from .langchain import LangChain

if TYPE_CHECKING:
    from ..model import Json, Message

CLASSES = {"human": "HumanMessage", "ai": "AIMessage", "system": "SystemMessage",
           "tool": "ToolMessage", "function": "FunctionMessage"}  # fmt: skip
OMITTED = frozenset(
    {"additional_kwargs", "response_metadata", "usage_metadata", "artifact", "name", "id"}
)
"""What is not written where it is empty."""


class Dumpd(LangChain):
    name = "langchain-dumpd"
    spec = "https://reference.langchain.com/python/langchain_core/load/"
    aliases: ClassVar[tuple[str, ...]] = ("langchain-load",)
    kin = frozenset({"langchain"})

    def wrap(self, kind: str, data: dict[str, Json], message: Message) -> dict[str, Json]:
        """What is empty is left out; ``SystemMessage`` and its neighbours have kept their place
        in a package that is no more."""
        kwargs = {key: value for key, value in data.items() if value or key not in OMITTED}
        path = ["langchain", "schema", "messages", CLASSES[kind]]
        return {"lc": 1, "type": "constructor", "id": path, "kwargs": kwargs}


DIALECT = Dumpd()
