"""Tool definitions and tool choice of Bedrock's Converse API, both ways."""

from __future__ import annotations

from msgspec.structs import replace

from ...core.reading import (
    as_dict,
    as_list,
    maybe_bool,
    maybe_str,
    need_dict,
    need_list,
    need_str,
    sole,
)
from ...core.writing import object_schema
from ...ledger import Ledger
from ...model import Json, Tool, Toolbox, ToolChoice
from ...tools import freeform, schemas
from .read_blocks import NAME, ReadBlocks
from .write_blocks import Said, WriteBlocks

SCHEMA = "/toolSpec/inputSchema/json"
SPEC_KEYS = frozenset({"name", "description", "inputSchema", "strict"})
MODES = {"auto": "auto", "any": "required", "tool": "named"}
WORDS = {mode: word for word, mode in MODES.items()}


class Tools(ReadBlocks, WriteBlocks):
    """Reading and writing what the model may call."""

    name = NAME
    issuer = "bedrock"

    def read_tools(self, doc: Json) -> Toolbox:
        if doc.__class__ is dict:  # the whole ``toolConfig``
            tools = self.read_tool_list(need_list(doc, "tools", ""), "/tools")
            extras = self.keep(doc, ("tools",), {"config": True})
            return Toolbox(tools, dialect=self.name, extras=extras)
        return Toolbox(self.read_tool_list(doc, ""), dialect=self.name)

    def read_tool_list(self, docs: Json, at: str) -> tuple[Tool, ...]:
        out: list[Tool] = []
        for index, doc in enumerate(as_list(docs, at)):
            where = f"{at}/{index}"
            doc = as_dict(doc, where)
            if sole(doc) == "cachePoint" and out and out[-1].cache is None:
                out[-1] = replace(out[-1], cache=self.read_cache(doc, where))
            else:
                out.append(self.read_tool(doc, where))
        return tuple(out)

    def read_tool(self, doc: dict[str, Json], at: str) -> Tool:
        if "toolSpec" not in doc:
            kind = next(iter(doc), "")
            inner = doc.get(kind)
            name = inner.get("name") if isinstance(inner, dict) else None
            name = name if isinstance(name, str) else kind
            return Tool(name, kind="hosted", service=name, dialect=self.name, payload=doc, at=at)
        spec, where = need_dict(doc, "toolSpec", at), f"{at}/toolSpec"
        name, description = need_str(spec, "name", where), maybe_str(spec, "description", where)
        holder = spec.get("inputSchema")
        taken, schema = SPEC_KEYS, None
        if isinstance(holder, dict) and holder.keys() == {"json"} and holder["json"] is not None:
            schema = holder["json"]
        else:
            taken -= {"inputSchema"}
        strict = maybe_bool(spec, "strict", where)
        extras = self.rest(doc, "toolSpec", taken)
        if (found := freeform.unwrap(description, schema)) is not None:
            description, grammar = found
            return Tool(
                name, description, kind="custom", grammar=grammar, strict=strict, at=at,
                extras=extras,
            )  # fmt: skip
        schema_at = None if schema is None else SCHEMA
        return Tool(
            name, description, schema, strict=strict, at=at, extras=extras, schema_at=schema_at
        )

    def write_tools(self, tree: Toolbox, log: Ledger) -> Json:
        tools = self.write_tool_list(tree.tools, self.writing(log, tree.dialect))
        if "config" in self.spelling(tree):
            return self.emit({"tools": tools}, tree, log)
        self.lose(tree.extras, tree.at, log)
        return tools

    def write_tool_list(self, tools: tuple[Tool, ...], w: Said) -> list[Json]:
        out: list[Json] = []
        for tool in tools:
            out.append(self.write_tool(tool, w))
            if tool.cache is not None:
                self.write_mark(out, tool.cache, w)
        return out

    def write_tool(self, tool: Tool, w: Said) -> Json:
        if tool.kind == "hosted":
            return tool.payload
        tool = freeform.as_function(tool, w.home)
        spec: dict[str, Json] = {"name": w.tool_name(tool.name, tool.at)}
        if tool.description or (tool.description is not None and w.home):
            spec["description"] = tool.description
        elif tool.description is not None:
            w.log.approximated("tool", tool.at, f"an empty description is omitted in {self.name}")
        if tool.schema is not None or not w.home:
            spec["inputSchema"] = {"json": self.write_schema(tool, w)}
        strict = tool.strict
        if strict and not w.home:
            schema = spec["inputSchema"]["json"]
            schema, strict = schemas.strictly(tool, schema, schemas.CLAUDE, w.log)
            spec["inputSchema"] = {"json": schema}
        if strict is not None:
            spec["strict"] = strict
        return self.emit({"toolSpec": spec}, tool, w.log)

    def write_schema(self, tool: Tool, w: Said) -> Json:
        return tool.schema if w.home else object_schema(tool, w.log)

    # -- choice -----------------------------------------------------------------------------

    def read_tool_choice(self, doc: Json) -> ToolChoice:
        return self.read_choice(as_dict(doc, ""), "")

    def read_choice(self, doc: dict[str, Json], at: str) -> ToolChoice:
        word = sole(doc) or ""
        mode = MODES.get(word)
        if mode is None:
            return ToolChoice(payload=doc, dialect=self.name, at=at)
        inner = need_dict(doc, word, at)
        named = mode == "named"
        extras = self.keep(doc, (word,), partly={word: ("name",) if named else ()})
        if extras is not None and not extras.fields and extras.blanks == {word: {}}:
            extras = None  # as usual
        return ToolChoice(
            mode,  # type: ignore[arg-type]
            need_str(inner, "name", f"{at}/{word}") if named else None,
            dialect=self.name,
            at=at,
            extras=extras,
        )

    def write_tool_choice(self, tree: ToolChoice, log: Ledger) -> Json:
        return self.write_choice(tree, self.writing(log, tree.dialect))

    def write_choice(self, choice: ToolChoice, w: Said) -> Json | None:
        """A choice; None where there is none to be said."""
        if choice.payload is not None:
            return choice.payload
        if choice.mode is None:
            self.lose(choice.extras, choice.at, w.log)
            return None
        named = choice.mode == "named"
        inner = {"name": w.tool_name(choice.name or "", choice.at)} if named else {}
        return self.emit({WORDS[choice.mode]: inner}, choice, w.log)
