"""Tool definitions and tool choice of Chat Completions, both ways."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from ...core.reading import (
    as_dict,
    as_list,
    expected,
    maybe_bool,
    maybe_str,
    need_dict,
    need_str,
    only,
)
from ...core.writing import Writing, parameters
from ...ledger import Ledger
from ...model import Extras, Grammar, Json, Tool, Toolbox, ToolChoice, ToolKind
from ...tools import freeform, schemas
from .messages import Messages

SCHEMA = "/function/parameters"
FUNCTION_KEYS = ("name", "description", "parameters", "strict")
GRAMMAR: dict[str, Json] = {"syntax": (), "definition": ()}
CUSTOM_KEYS: dict[str, Json] = {
    "name": (),
    "description": (),
    "format": {"type": (), "grammar": GRAMMAR},
}
FLAT_KEYS: dict[str, Json] = CUSTOM_KEYS | {"format": {"type": (), **GRAMMAR}}
PLAIN_TOOL = only("type", "function")
PLAIN_FUNCTION = only("name", "description", "parameters")
PLAIN_CHOICE = only("type", "name", "function", "custom")
PLAIN_NAME = only("name")
IDS = (".", 40)
NAMES = ("[a-zA-Z0-9_-]", 64)
MODES = ("auto", "none", "required")


class Tools(Messages):
    """Reading and writing what the model may call."""

    enforces: ClassVar[bool] = True
    """Whether the rules of OpenAI hold for schemas that are enforced."""

    def read_tools(self, doc: Json) -> Toolbox:
        return Toolbox(self.read_tool_list(doc, ""), dialect=self.name)

    def read_tool_list(self, docs: Json, at: str) -> tuple[Tool, ...]:
        out: list[Tool] = []
        for index, doc in enumerate(as_list(docs, at)):
            where = f"{at}/{index}"
            out.append(self.read_tool(as_dict(doc, where), where))
        if self.can.freeform != "native":
            return tuple(freeform.unwrap_tool(tool, self.name) for tool in out)
        return tuple(out)

    def read_tool(self, doc: dict[str, Json], at: str) -> Tool:
        function = doc.get("function")
        if function.__class__ is dict and PLAIN_TOOL(doc) and PLAIN_FUNCTION(function):
            name, description = function.get("name"), function.get("description")
            schema = function.get("parameters")
            if name.__class__ is description.__class__ is str and schema is not None:
                if doc.get("type") == "function":
                    # the usual shape
                    return Tool(name, description, schema, at=at, schema_at=SCHEMA)
        kind = maybe_str(doc, "type", at)
        if kind == "custom" and doc.get("custom").__class__ is dict:
            return self.read_custom(doc, at)
        if doc.get("function").__class__ is dict:
            spelling: dict[str, Json] = {} if kind == "function" else {"type": kind}
            if kind == "function" and PLAIN_TOOL(doc):
                return self.read_function(doc["function"], f"{at}/function", None, at)
            extras = self.keep(doc, ("type", "function"), spelling)
            return self.read_function(doc["function"], f"{at}/function", extras, at)
        if kind is None or kind == "function":
            need_dict(doc, "function", at)
        # A tool that only some compatible server knows.
        return Tool(kind or "", kind="hosted", service=kind, dialect=self.name, payload=doc, at=at)

    def read_function(
        self, doc: dict[str, Json], where: str, extras: Extras | None, at: str
    ) -> Tool:
        """The function of a tool; what only this dialect knows of it is kept under its name."""
        schema = doc.get("parameters")
        rest = self.keep(doc, FUNCTION_KEYS)
        if rest is not None and where == at:  # a function from before there were tools
            extras = replace(rest, spelling=extras.spelling if extras else {})
        elif rest is not None:
            spelling = extras.spelling if extras else {}
            fields = dict(extras.fields if extras else {})
            blanks = dict(extras.blanks if extras else {})
            if rest.fields:
                fields["function"] = rest.fields
            if rest.blanks:
                blanks["function"] = rest.blanks
            inner = ("function",) if rest.fields else ()
            extras = Extras(self.name, fields, blanks, spelling, inner)
        return Tool(
            need_str(doc, "name", where),
            maybe_str(doc, "description", where),
            schema,
            strict=maybe_bool(doc, "strict", where),
            at=at,
            extras=extras,
            schema_at=f"{where[len(at) :]}/parameters" if "parameters" in doc else None,
        )

    def read_custom(self, doc: dict[str, Json], at: str) -> Tool:
        custom = doc["custom"]
        where = f"{at}/custom"
        form = custom.get("format")
        grammar = None
        spelling: dict[str, Json] = {}
        if form.__class__ is dict and form.get("type") == "grammar":
            inner = form.get("grammar")
            flat = inner.__class__ is not dict
            holder = as_dict(form if flat else inner, f"{where}/format")
            grammar = Grammar(
                need_str(holder, "syntax", f"{where}/format"),
                need_str(holder, "definition", f"{where}/format"),
            )
            spelling = {"flat": True} if flat else {}
        taken = FLAT_KEYS if "flat" in spelling else CUSTOM_KEYS
        if form == {"type": "text"}:  # the default
            spelling = {"format": form}
        elif grammar is None:
            taken = {key: () for key in taken if key != "format"}
        extras = self.keep(doc, ("type",), spelling, partly={"custom": taken})
        return Tool(
            need_str(custom, "name", where),
            maybe_str(custom, "description", where),
            kind="custom",
            grammar=grammar,
            at=at,
            extras=extras,
        )

    def read_legacy_tools(self, docs: Json) -> tuple[Tool, ...]:
        legacy = Extras(self.name, spelling={"legacy": True})
        return tuple(
            self.read_function(as_dict(doc, at), at, legacy, at)
            for index, doc in enumerate(as_list(docs, "/functions"))
            if (at := f"/functions/{index}")
        )

    def write_tools(self, tree: Toolbox, log: Ledger) -> Json:
        self.lose(tree.extras, tree.at, log)
        return self.write_tool_list(tree.tools, self.writing(log, tree.dialect))

    def write_tool_list(self, tools: tuple[Tool, ...], w: Writing) -> list[Json]:
        return [self.write_tool(tool, w) for tool in tools]

    def write_tool(self, tool: Tool, w: Writing) -> Json:
        if tool.kind == "hosted":
            return tool.payload
        if self.can.freeform != "native":
            tool = freeform.as_function(tool, w.home)
        inner: dict[str, Json] = {"name": w.tool_name(tool.name, tool.at)}
        if tool.description is not None:
            inner["description"] = tool.description
        if tool.kind == "custom":
            out: dict[str, Json] = {"type": "custom", "custom": inner}
            self.write_format(inner, tool)
            return self.emit(out, tool, w.log)
        if tool.schema is not None:
            inner["parameters"] = tool.schema
            if not w.home and tool.schema.__class__ is not dict:
                inner["parameters"] = parameters(tool, w.log)
        strict = tool.strict
        if strict and self.enforces and not w.home and "parameters" in inner:
            schema = inner["parameters"]
            inner["parameters"], strict = schemas.strictly(tool, schema, schemas.OPENAI, w.log)
        if strict is not None:
            inner["strict"] = strict
        out = {"type": "function", "function": inner}
        if tool.extras is None or self.is_mute(tool.extras):
            return out
        if "type" in (spelling := self.spelling(tool)):
            out["type"] = spelling["type"]
            if out["type"] is None:
                del out["type"]
        if spelling.get("legacy"):
            return self.emit(inner, tool, w.log)
        return self.emit(out, tool, w.log)

    def write_format(self, inner: dict[str, Json], tool: Tool) -> None:
        spelling = self.spelling(tool)
        if tool.grammar is not None:
            g = {"syntax": tool.grammar.syntax, "definition": tool.grammar.definition}
            flat = spelling.get("flat")
            inner["format"] = {"type": "grammar", **(g if flat else {"grammar": g})}
        elif "format" in spelling:
            inner["format"] = spelling["format"]

    # -- choice -----------------------------------------------------------------------------

    def read_tool_choice(self, doc: Json) -> ToolChoice:
        return self.read_choice(doc, None, "")

    def read_choice(self, doc: Json, parallel: bool | None, at: str) -> ToolChoice:
        if doc.__class__ is str:
            if doc in MODES:
                return ToolChoice(doc, parallel=parallel, dialect=self.name, at=at)  # type: ignore[arg-type]
            return ToolChoice(payload=doc, parallel=parallel, dialect=self.name, at=at)
        if doc is None:
            return ToolChoice(parallel=parallel, dialect=self.name, at="/parallel_tool_calls")
        if doc.__class__ is not dict:
            expected("a string or an object", doc, at)
        kind = doc.get("type")
        if kind == "allowed_tools" and doc.get("allowed_tools").__class__ is dict:
            return self.read_allowed(doc, parallel, at)
        key: ToolKind = "custom" if kind == "custom" else "function"
        inner = doc.get(key)
        if inner.__class__ is not dict or kind not in ("function", "custom", None):
            return ToolChoice(payload=doc, parallel=parallel, dialect=self.name, at=at)
        spelling: dict[str, Json] | None = None if kind else {"type": None}
        return ToolChoice(
            "named",
            need_str(inner, "name", f"{at}/{key}"),
            key,
            parallel=parallel,
            dialect=self.name,
            at=at,
            extras=self.keep(doc, ("type",), spelling, partly={key: ("name",)}),
        )

    def read_allowed(self, doc: dict[str, Json], parallel: bool | None, at: str) -> ToolChoice:
        inner = doc["allowed_tools"]
        tools = as_list(inner.get("tools"), f"{at}/allowed_tools/tools")
        mode = inner.get("mode")
        names = [name for tool in tools if (name := self.name_in(tool)) is not None]
        if mode not in ("auto", "required") or len(names) != len(tools):
            return ToolChoice(payload=doc, parallel=parallel, dialect=self.name, at=at)
        spelling = None
        if tools != [{"type": "function", "function": {"name": name}} for name in names]:
            spelling = {"tools": tools}
        return ToolChoice(
            mode,
            allowed=tuple(names),
            parallel=parallel,
            dialect=self.name,
            at=at,
            extras=self.keep(doc, ("type",), spelling, partly={"allowed_tools": ("mode", "tools")}),
        )

    def name_in(self, tool: Json) -> str | None:
        """The name of an allowed tool that says nothing else."""
        if tool.__class__ is not dict or not PLAIN_CHOICE(tool):
            return None
        if tool.get("type") not in ("function", "custom", None):
            return None
        for holder in (tool.get("function"), tool.get("custom"), tool):
            if holder.__class__ is dict and holder.get("name").__class__ is str:
                if holder is tool or PLAIN_NAME(holder):
                    return str(holder["name"])
        return None

    def write_tool_choice(self, tree: ToolChoice, log: Ledger) -> Json:
        return self.write_choice(tree, self.writing(log, tree.dialect))

    def write_choice(self, choice: ToolChoice, w: Writing) -> Json | None:
        if choice.payload is not None:
            return choice.payload
        if choice.mode is None:
            self.lose(choice.extras, choice.at, w.log)
            return None
        if w.home and self.can.freeform != "native":
            choice = freeform.as_function(choice, True)
        spelling = self.spelling(choice)
        if choice.allowed is not None:
            function = [{"type": "function", "function": {"name": n}} for n in choice.allowed]
            tools = spelling.get("tools", function)
            inner = {"mode": choice.mode, "tools": tools}
            return self.emit({"type": "allowed_tools", "allowed_tools": inner}, choice, w.log)
        if choice.mode != "named":
            self.lose(choice.extras, choice.at, w.log)
            return choice.mode
        key = "custom" if choice.kind == "custom" else "function"
        out: dict[str, Json] = {
            "type": key,
            key: {"name": w.tool_name(choice.name or "", choice.at)},
        }
        if "type" in spelling:
            del out["type"]
        return self.emit(out, choice, w.log)

    def writing(self, log: Ledger, dialect: str | None, *, answer: bool = False) -> Writing:
        """A conversion into this dialect: ids up to 40 characters, names `[a-zA-Z0-9_-]{1,64}`."""
        return Writing(log, IDS, NAMES, self.is_home(dialect), answer)
