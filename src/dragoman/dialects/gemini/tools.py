"""Tool definitions and tool choice of the Gemini API, both ways.

Functions are declared together: an entry of ``tools`` holds a list of them, and may hold tools of
the provider beside it. The tree has them one by one; how they were grouped is a matter of spelling.
"""

from __future__ import annotations

from msgspec.structs import replace

from ...core.reading import as_dict, as_str, escape, expected, maybe_str, need_str, only
from ...core.writing import Writing
from ...dialect import NOTHING
from ...ledger import Ledger
from ...model import Extras, Json, Tool, Toolbox, ToolChoice
from ...tools import freeform, schemas
from .schema import Saying, write_parameters
from .spelling import both, pick, snake, spelled
from .turns import Turns

TOOL_KEYS = frozenset({"name", "description"})
PLAIN_TOOL = only("name", "description", "parametersJsonSchema")
DECLARATIONS = ("functionDeclarations", "function_declarations")
# https://ai.google.dev/api/caching#Mode_1
MODES = {"AUTO": "auto", "ANY": "required", "NONE": "none"}
MODE_WORDS = {mode: word for word, mode in MODES.items()} | {"named": "ANY"}
CHOICE_KEYS = both("mode", "allowedFunctionNames")
# What other dialects call the same service.
SERVICES = {
    "google_search": "web_search",
    "google_search_retrieval": "web_search",
    "url_context": "web_fetch",
    "code_execution": "code_execution",
    "file_search": "file_search",
    "computer_use": "computer_use",
    "google_maps": "maps",
    "mcp_servers": "mcp",
}


class Tools(Turns):
    """Reading and writing what the model may call."""

    # -- definitions ------------------------------------------------------------------------

    def read_tools(self, doc: Json) -> Toolbox:
        tools, alone = self.read_tool_list(doc, "")
        extras = self.respell(None, tools="object") if alone else None
        return Toolbox(tools, dialect=self.name, extras=extras)

    def read_tool_list(self, docs: Json, at: str) -> tuple[tuple[Tool, ...], bool]:
        """The tools, and whether a single entry stood without its list."""
        if docs.__class__ is dict:
            return tuple(self.read_entry(docs, at, "")), True
        if docs.__class__ is not list:
            expected("a list", docs, at)
        out: list[Tool] = []
        for index, doc in enumerate(docs):
            where = f"{at}/{index}"
            before = out[-1].kind if out else ""
            out += self.read_entry(as_dict(doc, where), where, before)
        return tuple(out), False

    def read_entry(self, doc: dict[str, Json], at: str, before: str) -> list[Tool]:
        out: list[Tool] = []
        rest = {key: value for key, value in doc.items() if key not in DECLARATIONS}
        for key in DECLARATIONS:
            docs = doc.get(key)
            if docs.__class__ is list and docs:
                for index, item in enumerate(docs):
                    where = f"{at}/{key}/{index}"
                    out.append(self.read_tool(as_dict(item, where), where, key))
            elif docs is not None and docs.__class__ is not list:
                expected("a list", docs, f"{at}/{key}")
            elif key in doc:
                rest[key] = docs  # null, or nobody
        for key, value in rest.items():
            if value is not None or not out:
                out.append(self.read_hosted_tool(key, value, f"{at}/{escape(key)}"))
        if not out:
            return [Tool("", kind="hosted", service="", dialect=self.name, payload={}, at=at)]
        nulls = [key for key, value in rest.items() if value is None]
        shown = [tool.payload for tool in out if tool.kind == "hosted"]
        nulls = [key for key in nulls if {key: None} not in shown]
        # By itself, a function joins the functions before it and anything else stands alone.
        first = out[0]
        if first.kind != "hosted" and before not in ("", "hosted"):
            out[0] = self.note(first, joined=False)
        for index in range(1, len(out)):
            if out[index].kind == "hosted" or out[index - 1].kind == "hosted":
                out[index] = self.note(out[index], joined=True)
        if nulls:
            out[0] = self.note(out[0], nulls=nulls)
        return out

    def note(self, tool: Tool, **spelling: Json) -> Tool:
        return replace(tool, extras=self.respell(tool.extras, **spelling))

    def read_hosted_tool(self, key: str, value: Json, at: str) -> Tool:
        name = snake(key)
        service = SERVICES.get(name, name)
        return Tool(
            name, kind="hosted", service=service, dialect=self.name, payload={key: value}, at=at
        )

    def read_tool(self, doc: dict[str, Json], at: str, key: str) -> Tool:
        if key == DECLARATIONS[0] and PLAIN_TOOL(doc):
            name, description = doc.get("name"), doc.get("description")
            if name.__class__ is description.__class__ is str and freeform.MARK not in description:
                if (schema := doc.get("parametersJsonSchema")) is not None:
                    return Tool(name, description, schema, at=at)  # the usual shape
        spelling: dict[str, Json] = {} if key == DECLARATIONS[0] else {"key": key}
        name, description = need_str(doc, "name", at), maybe_str(doc, "description", at)
        said: dict[str, str] = {}
        taken, schema_at = set(TOOL_KEYS), None
        schema = pick(doc, "parametersJsonSchema", said)
        if schema is not None:
            key = said.get("parametersJsonSchema", "parametersJsonSchema")
            taken.add(key)
            schema_at = f"/{key}"
            if said:
                spelling["snake"] = said
        elif (own := doc.get("parameters")) is not None:
            taken.add("parameters")
            schema = schemas.from_openapi(own)
            # Kept as it was, to be said again at home; the tree holds what others understand.
            spelling["schema"] = "parameters" if schema == own else own
            if schema == own:
                schema_at = "/parameters"
        extras = self.keep(doc, taken, spelling)
        if (found := freeform.unwrap(description, schema)) is not None:
            description, grammar = found
            return Tool(name, description, kind="custom", grammar=grammar, at=at, extras=extras)
        return Tool(name, description, schema, at=at, extras=extras, schema_at=schema_at)

    def write_tools(self, tree: Toolbox, log: Ledger) -> Json:
        out = self.write_tool_list(tree.tools, self.writing(log, tree.dialect))
        if self.spelling(tree).get("tools") == "object":
            return out[0]
        self.lose(tree.extras, tree.at, log)
        return out

    def write_tool_list(self, tools: tuple[Tool, ...], w: Saying) -> list[Json]:
        out: list[dict[str, Json]] = []
        before = ""
        w.look_at(tools)
        for tool in tools:
            spelling = NOTHING if tool.extras is None else self.spelling(tool)
            kind = "hosted" if tool.kind == "hosted" else "function"
            joined = spelling.get("joined", kind == before == "function") and bool(out)
            if kind == "hosted":
                if not joined:
                    out.append({})
                out[-1] |= tool.payload
                self.lose(tool.extras, tool.at, w.log)
            else:
                if not joined:
                    out.append({})
                key = spelling.get("key", DECLARATIONS[0])
                out[-1].setdefault(key, []).append(self.write_tool(tool, w))
            for key in spelling.get("nulls", ()):
                out[-1][key] = None
            before = kind
        return list(out)

    def write_tool(self, tool: Tool, w: Saying) -> Json:
        spelling = NOTHING if tool.extras is None else self.spelling(tool)
        tool = freeform.as_function(tool)
        out: dict[str, Json] = {"name": w.tool_name(tool.name, tool.at)}
        schema = tool.schema
        if tool.description is not None:
            out["description"] = tool.description
        if schema is not None:
            own = spelling.get("schema")
            if own == "parameters":
                out["parameters"] = schema
            elif own is not None and schemas.from_openapi(own) == schema:
                out["parameters"] = own
            elif w.home or (w.plain and schema.__class__ is dict and "type" in schema):
                out["parametersJsonSchema"] = schema
            else:
                write_parameters(out, tool, schema, w)
        if tool.extras is None or (not w.home and self.is_mute(tool.extras)):
            return out
        return self.emit(spelled(out, self.said(tool)), tool, w.log)

    # -- choice -----------------------------------------------------------------------------

    def read_tool_choice(self, doc: Json) -> ToolChoice:
        return self.read_choice(as_dict(doc, ""), "")

    def read_choice(self, doc: dict[str, Json], at: str) -> ToolChoice:
        """``toolConfig``: the mode and the names are in one of its objects."""
        said: dict[str, str] = {}
        config = pick(doc, "functionCallingConfig", said)
        key = said.get("functionCallingConfig", "functionCallingConfig")
        where = f"{at}/{key}"
        if config is None:
            extras = self.keep(doc, (), {"config": "absent"})
            return ToolChoice(dialect=self.name, at=at, extras=extras)
        config = as_dict(config, where)
        word = maybe_str(config, "mode", where)
        names = pick(config, "allowedFunctionNames", said)
        spelling: dict[str, Json] = {"snake": said} if said else {}
        allowed = None
        if names is not None:
            place = f"{where}/{said.get('allowedFunctionNames', 'allowedFunctionNames')}"
            if names.__class__ is not list:
                expected("a list", names, place)
            allowed = tuple(as_str(name, place) for name in names)
            if not allowed:
                spelling["allowed"] = []
                allowed = None
        mode = MODES.get((word or "").upper())
        taken = CHOICE_KEYS
        name = None
        if mode is None:  # VALIDATED: as the model likes, but by the schema
            mode = "auto" if word is not None else None
            taken = CHOICE_KEYS - {"mode"}
        elif word not in MODES:
            spelling["mode"] = word
        if mode == "required" and allowed is not None and len(allowed) == 1:
            mode, name, allowed = "named", allowed[0], None
        extras = self.keep(doc, (), spelling, partly={key: taken})
        return ToolChoice(
            mode,  # type: ignore[arg-type]
            name,
            allowed=allowed,
            dialect=self.name,
            at=at,
            extras=extras,
        )

    def write_tool_choice(self, tree: ToolChoice, log: Ledger) -> Json:
        return self.write_choice(tree, self.writing(log, tree.dialect))

    def write_choice(self, choice: ToolChoice, w: Writing) -> Json:
        spelling = self.spelling(choice)
        if "config" in spelling:
            return self.emit({}, choice, w.log)
        config: dict[str, Json] = {}
        if choice.mode is not None and not self.has_own_mode(choice.extras):
            config["mode"] = spelling.get("mode", MODE_WORDS[choice.mode])
        if choice.mode == "named":
            config["allowedFunctionNames"] = [w.tool_name(choice.name or "", choice.at)]
            if choice.kind == "hosted":
                w.log.approximated("tool_choice", choice.at, "only functions can be demanded here")
        elif choice.allowed is not None:
            self.write_allowed(config, choice, choice.allowed, w)
        elif "allowed" in spelling:
            config["allowedFunctionNames"] = []
        said = self.said(choice)
        out = spelled({"functionCallingConfig": spelled(config, said)}, said)
        return self.emit(out, choice, w.log)

    def has_own_mode(self, extras: Extras | None) -> bool:
        """Whether the mode is a word that only this API has."""
        if extras is None or not self.is_home(extras.dialect):
            return False
        return any("mode" in (extras.fields.get(key) or {}) for key in extras.inner)

    def write_allowed(
        self, config: dict[str, Json], choice: ToolChoice, allowed: tuple[str, ...], w: Writing
    ) -> None:
        """ "allowedFunctionNames [...] should only be set when the Mode is ANY or VALIDATED." """
        if choice.mode == "auto" and not w.home:
            config["mode"] = "VALIDATED"
            why = "a subset can only be named where calls follow their schemas"
            w.log.approximated("tool_choice.allowed", choice.at, why)
        elif len(allowed) == 1 and not w.home:
            w.log.approximated("tool_choice.allowed", choice.at, "the one allowed is demanded")
        config["allowedFunctionNames"] = [w.tool_name(name, choice.at) for name in allowed]
