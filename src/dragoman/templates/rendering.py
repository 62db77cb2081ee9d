"""Chat templates in a sandbox, with what Hugging Face's tokenizers give them and no more.

A template comes from a stranger. It sees plain JSON, cannot reach what Python has behind it, and
cannot store attributes that begin with an underscore; it has no files, and a clock only if the
caller gives a time.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtra, Unsayable, Unsupported

if TYPE_CHECKING:
    from ..model import Json

try:
    import jinja2
    from jinja2 import nodes
    from jinja2.ext import Extension
    from jinja2.sandbox import ImmutableSandboxedEnvironment
    from jinja2.utils import Namespace
except ImportError as missing:
    raise MissingExtra("a chat template", "templates") from missing

OPEN, CLOSE = "\U0010fffc", "\U0010fffd"
"""What stands around the text of a ``{% generation %}`` block where its place is wanted."""


class Generation(Extension):
    """``{% generation %}``, which trainers know the words of the assistant by."""

    tags = {"generation"}  # noqa: RUF012 - as Jinja declares it

    def parse(self, parser: Any) -> Any:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        call = self.call_method("marked")
        return nodes.CallBlock(call, [], [], body).set_lineno(line)

    def marked(self, caller: Any) -> str:
        text = caller()
        return f"{OPEN}{text}{CLOSE}" if getattr(self.environment, "marking", False) else text


class Names(Namespace):
    """``namespace``: its attributes are the template's own."""

    def __init__(*args: Any, **given: Any) -> None:
        self, args = args[0], args[1:]
        known = dict(*args, **given)
        for name in known:
            own(name)
        Namespace.__init__(self, known)

    def __setitem__(self, name: str, value: Any) -> None:
        own(name)
        Namespace.__setitem__(self, name, value)


class Dict:
    """``dict``, without what else hangs on the type."""

    def __call__(self, *args: Any, **given: Any) -> dict[Any, Any]:
        return dict(*args, **given)


def own(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(f"{name!r} is no name for an attribute")


def tojson(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None,
    sort_keys: bool = False,
) -> str:  # fmt: skip
    """As tokenizers print JSON: Jinja's own filter escapes signs of HTML."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def refuse(why: str) -> None:
    raise jinja2.exceptions.TemplateError(why)


class Renderer:
    """One template, compiled once."""

    def __init__(self, source: str, tokens: dict[str, str] | None = None) -> None:
        self.source = source
        self.tokens = dict(tokens or {})
        self.now: float | None = None
        env = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"]
        )
        env.filters["tojson"] = tojson
        env.globals.update(
            raise_exception=refuse, strftime_now=self.date, dict=Dict(), namespace=Names
        )
        self.env: Any = env
        try:
            self.template = env.from_string(source)
        except (jinja2.exceptions.TemplateError, RecursionError) as problem:
            raise Unsupported(f"the chat template cannot be compiled: {problem}") from None

    @property
    def marks(self) -> bool:
        """Whether the template itself says what the assistant generates."""
        return "endgeneration" in self.source

    def date(self, form: str) -> str:
        if self.now is None:
            refuse("it prints the date: give now=")
        return datetime.fromtimestamp(self.now or 0.0, UTC).strftime(form)

    def __call__(
        self, messages: list[Json], tools: list[Json] | None, *, prompt: bool = False,
        marking: bool = False,
    ) -> str:  # fmt: skip
        """The text; ``prompt``: with the header of the reply that is to come."""
        self.env.marking = marking
        try:
            return self.template.render(
                messages=[named(message) for message in messages],
                tools=tools or None,
                documents=None,
                add_generation_prompt=prompt,
                **self.tokens,
            )
        except RecursionError:
            raise Unsayable("the chat template nests too deeply") from None
        except MemoryError:
            raise
        except Exception as problem:  # whatever the stranger's code runs into
            why = str(problem) or type(problem).__name__
            if "_token' is undefined" in why:
                why += "; give the folder of the model, or its tokenizer_config.json"
            raise Unsayable(f"the chat template refuses the conversation: {why}") from None
        finally:
            self.env.marking = False


def named(message: Json) -> Json:
    """A message with its reasoning under both of the names that templates ask for."""
    if "reasoning_content" not in message:
        return message
    return {"thinking": message["reasoning_content"], **message}
