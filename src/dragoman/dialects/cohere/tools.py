"""Tools of Cohere's and the choice among them, both ways."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ...core.reading import as_dict, as_list, as_str, maybe_str, need_dict, need_str
from ...core.writing import needed_parameters
from ...ledger import Ledger
from ...model import Json, Tool, Toolbox, ToolChoice
from ...tools import freeform
from .documents import CohereWriting, respell
from .messages import Messages

REQUIRED, NONE = "REQUIRED", "NONE"
WORDS = {"required": REQUIRED, "none": NONE}


class Tools(Messages):
    """Reading and writing what the model may call."""

    def read_tools(self, doc: Json) -> Toolbox:
        return Toolbox(self.read_tool_list(doc, "", None), dialect=self.name)

    def read_tool_list(self, docs: Json, at: str, strict: bool | None) -> tuple[Tool, ...]:
        tools = (
            self.read_tool(as_dict(doc, f"{at}/{index}"), strict, f"{at}/{index}")
            for index, doc in enumerate(as_list(docs, at))
        )
        return tuple(freeform.unwrap_tool(tool, self.name) for tool in tools)

    def read_tool(self, doc: dict[str, Json], strict: bool | None, at: str) -> Tool:
        function, where = need_dict(doc, "function", at), f"{at}/function"
        spelling: dict[str, Json] = {}
        if doc.get("type") != "function":
            spelling["type"] = [doc["type"]] if "type" in doc else []
        return Tool(
            need_str(function, "name", where),
            maybe_str(function, "description", where),
            function.get("parameters"),
            strict=strict,
            at=at,
            extras=self.keep(
                doc,
                ("type",),
                spelling or None,
                partly={"function": ("name", "description", "parameters")},
            ),
        )

    def write_tools(self, tree: Toolbox, log: Ledger) -> Json:
        w = CohereWriting(log, self.is_home(tree.dialect))
        self.lose(tree.extras, tree.at, log)
        for tool in tree.tools:
            if tool.strict:
                log.dropped(
                    "tool.strict",
                    tool.at,
                    f"{self.name} has strict tools as a field of requests only",
                )
        return self.write_tool_list(tree.tools, w)

    def write_tool_list(self, tools: Sequence[Tool], w: CohereWriting) -> list[Json]:
        return [self.write_tool(tool, w) for tool in tools]

    def write_tool(self, tool: Tool, w: CohereWriting) -> Json:
        tool = freeform.as_function(tool, w.home)
        function: dict[str, Json] = {"name": w.tool_name(tool.name, tool.at)}
        if tool.description is not None:
            function["description"] = tool.description
        if tool.schema is not None or not w.home:
            function["parameters"] = tool.schema if w.home else needed_parameters(tool, w.log)
        out: dict[str, Json] = {}
        respell(out, "type", self.spelling(tool).get("type", ["function"]))
        out["function"] = function
        return self.emit(out, tool, w.log)

    # -- choice -----------------------------------------------------------------------------

    has_null_choice = False  # null is `auto`

    def read_tool_choice(self, doc: Json) -> ToolChoice:
        """One word; where there is none, the model decides."""
        if doc is None:
            return ToolChoice("auto", dialect=self.name)
        return self.read_choice(as_str(doc, ""), "")

    def read_choice(self, doc: str, at: str) -> ToolChoice:
        if doc == REQUIRED:
            return ToolChoice("required", dialect=self.name, at=at)
        if doc == NONE:
            return ToolChoice("none", dialect=self.name, at=at)
        return ToolChoice(payload=doc, dialect=self.name, at=at)

    def write_tool_choice(self, tree: ToolChoice, log: Ledger) -> Json:
        if tree.mode == "auto":  # which silence says here
            tree = replace(tree, mode=None)
        return self.write_choice(tree, CohereWriting(log, self.is_home(tree.dialect)))

    def write_choice(self, choice: ToolChoice, w: CohereWriting) -> Json | None:
        """A choice; None where there is none to be said."""
        if choice.payload is not None:
            return choice.payload
        self.lose(choice.extras, choice.at, w.log)
        return None if choice.mode is None else WORDS.get(choice.mode)
