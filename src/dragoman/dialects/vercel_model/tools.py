"""Tool definitions and tool choice of the AI SDK, both ways.

Tools are listed as a provider receives them. (In a program they are an object of functions, which
no document can hold.)
"""

from __future__ import annotations

from ...core.reading import as_dict, as_list, expected, maybe_bool, maybe_str, need_str
from ...core.writing import Writing, needed_parameters
from ...ledger import Ledger
from ...model import Json, Tool, Toolbox, ToolChoice
from ...tools import freeform
from .options import Taker
from .turns import Turns

TOOL_KEYS = frozenset({"type", "name", "description", "strict"})
SCHEMAS = ("inputSchema", "parameters")
HOSTED = ("provider", "provider-defined")
MODES = ("auto", "none", "required")


class Tools(Turns):
    """Reading and writing what the model may call."""

    def read_tools(self, doc: Json) -> Toolbox:
        return Toolbox(self.read_tool_list(doc, ""), dialect=self.name)

    def read_tool_list(self, docs: Json, at: str) -> tuple[Tool, ...]:
        return tuple(
            self.read_tool(as_dict(doc, where), where)
            for index, doc in enumerate(as_list(docs, at))
            if (where := f"{at}/{index}")
        )

    def read_tool(self, doc: dict[str, Json], at: str) -> Tool:
        kind = maybe_str(doc, "type", at)
        name = need_str(doc, "name", at)
        if kind is not None and kind != "function":
            return self.read_hosted_tool(doc, name, kind, at)
        key = next((k for k in (self.schema, *SCHEMAS) if k in doc), self.schema)
        spelling: dict[str, Json] = {} if key == self.schema else {"schema": key}
        if kind is None:
            spelling["type"] = None
        options = Taker(doc, at)
        cache = self.read_cache(options)
        extras = self.keep_options(options, TOOL_KEYS | {key}, spelling)
        description, strict = maybe_str(doc, "description", at), maybe_bool(doc, "strict", at)
        schema = doc.get(key)
        if (found := freeform.unwrap(description, schema)) is not None:
            description, grammar = found
            return Tool(
                name, description, kind="custom", grammar=grammar, strict=strict, cache=cache,
                at=at, extras=extras,
            )  # fmt: skip
        return Tool(
            name, description, schema, strict=strict, cache=cache, at=at, extras=extras,
            schema_at=f"/{key}" if key in doc else None,
        )  # fmt: skip

    def read_hosted_tool(self, doc: dict[str, Json], name: str, kind: str, at: str) -> Tool:
        """A tool that a provider defines: ``{"id": "openai.web_search", "name", "args"}``."""
        service = (maybe_str(doc, "id", at) or kind).rpartition(".")[2]
        payload = {k: v for k, v in doc.items() if k != "type"}
        spelling = None if kind == self.provider_tool else {"type": kind}
        extras = None if spelling is None else self.respell(None, **spelling)
        return Tool(
            name, kind="hosted", service=service, dialect=self.family, payload=payload,
            at=at, extras=extras,
        )  # fmt: skip

    def write_tools(self, tree: Toolbox, log: Ledger) -> Json:
        self.lose(tree.extras, tree.at, log)
        return self.write_tool_list(tree.tools, self.writing(log, tree.dialect))

    def write_tool_list(self, tools: tuple[Tool, ...], w: Writing) -> list[Json]:
        return [self.write_tool(tool, w) for tool in tools]

    def has_tool(self, node: Tool | ToolChoice) -> bool:
        return self.is_family(node.dialect) if isinstance(node, Tool) else super().has_tool(node)

    def write_tool(self, tool: Tool, w: Writing) -> Json:
        spelling = self.spelling(tool)
        if tool.kind == "hosted":
            return {"type": spelling.get("type", self.provider_tool), **tool.payload}
        tool = freeform.as_function(tool)
        out: dict[str, Json] = {"type": "function", "name": w.tool_name(tool.name, tool.at)}
        if "type" in spelling:
            del out["type"]
        key = spelling.get("schema", self.schema)
        if tool.description is not None:
            out["description"] = tool.description
        if tool.schema is not None or not w.home:
            out[key] = tool.schema if w.home else needed_parameters(tool, w.log)
        if tool.strict is not None and (self.can.strict or w.home):
            out["strict"] = tool.strict
        return self.finish(out, tool, w, self.write_cache(tool.cache, w))

    # -- choice -----------------------------------------------------------------------------

    def read_tool_choice(self, doc: Json) -> ToolChoice:
        return self.read_choice(doc, "")

    def read_choice(self, doc: Json, at: str) -> ToolChoice:
        if doc.__class__ is str:
            if doc in MODES:
                return ToolChoice(doc, dialect=self.name, at=at)  # type: ignore[arg-type]
            return ToolChoice(payload=doc, dialect=self.name, at=at)
        if doc.__class__ is not dict:
            expected("a string or an object", doc, at)
        kind = doc.get("type")
        if kind == "tool":
            extras = self.keep(doc, ("type", "toolName"))
            name = need_str(doc, "toolName", at)
            return ToolChoice("named", name, dialect=self.name, at=at, extras=extras)
        if kind in MODES:  # as a provider receives it
            extras = self.keep(doc, ("type",), {"form": "object"})
            return ToolChoice(kind, dialect=self.name, at=at, extras=extras)
        return ToolChoice(payload=doc, dialect=self.name, at=at)

    def write_tool_choice(self, tree: ToolChoice, log: Ledger) -> Json:
        return self.write_choice(tree, self.writing(log, tree.dialect))

    def write_choice(self, choice: ToolChoice, w: Writing) -> Json | None:
        if choice.payload is not None:
            return choice.payload
        if choice.mode is None:
            self.lose(choice.extras, choice.at, w.log)
            return None
        if choice.mode == "named":
            name = w.tool_name(choice.name or "", choice.at)
            return self.emit({"type": "tool", "toolName": name}, choice, w.log)
        if self.spelling(choice).get("form") == "object":
            return self.emit({"type": choice.mode}, choice, w.log)
        self.lose(choice.extras, choice.at, w.log)
        return choice.mode
