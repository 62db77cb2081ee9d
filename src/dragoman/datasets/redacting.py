"""What must not be trained on: keys and addresses are replaced, counted, and never printed.

Redaction changes the document that was read, before anything else looks at it: every text of it,
the JSON inside of texts, and the keys of objects. What is written is searched once more, and a
record in which something is left is rejected.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable

from ..core.reading import UNREADABLE, compact, decode
from ..errors import Unsupported
from ..model import Json

# What the vendors' keys look like. Each begins with a sign of its own, or stands behind one.
KEYS = (
    r"sk-(?:ant-|proj-|svcacct-|or-)?[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic, OpenRouter, DeepSeek
    r"(?:gsk|xai|hf|glpat|npm|r8|pplx|tgp_v1|csk|fw|nvapi)[_-][A-Za-z0-9_-]{20,}",
    r"AIza[A-Za-z0-9_-]{35}",  # Google
    r"(?:AKIA|ASIA)[A-Z0-9]{16}",  # AWS
    r"(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",  # Slack
    r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",  # Stripe
    r"pypi-[A-Za-z0-9_-]{32,}",
    r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",  # JSON Web Tokens
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]{1,10000}?-----END [A-Z ]*PRIVATE KEY-----",
)
# What stands behind a word that tells.
BEHIND = (
    r"(?<=[Bb]earer )[A-Za-z0-9._~+/-]{20,}=*",
    r"(?<=://)[^\s/:@\"']{1,64}:[^\s/@\"']{3,128}(?=@)",  # a password in an address
)
EMAIL = r"[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})\.){1,8}[A-Za-z]{2,24}"
DETECTORS: dict[str, str] = {
    "keys": "|".join((*(f"(?<![A-Za-z0-9_-]){key}" for key in KEYS), *BEHIND)),
    "emails": rf"(?<![A-Za-z0-9._%+-]){EMAIL}",
}
"""Name -> what it finds."""
INSTEAD = {"keys": "[REDACTED KEY]", "emails": "[REDACTED EMAIL]"}
PATTERN = "[REDACTED]"
WRITTEN = re.compile(r"\[REDACTED(?: KEY| EMAIL)?\]")


class Redactor:
    """Replaces what the detectors and patterns find, and counts it by the name of each."""

    def __init__(self, detectors: Iterable[str], patterns: Iterable[str]) -> None:
        self.rules: list[tuple[str, re.Pattern[str], str]] = []
        for name in detectors:
            if name not in DETECTORS:
                known = ", ".join(DETECTORS)
                raise Unsupported(f"redact: unknown detector {name!r}; known: {known}")
            self.rules.append((name, re.compile(DETECTORS[name]), INSTEAD[name]))
        for number, pattern in enumerate(patterns, 1):
            self.rules.append((f"pattern {number}", _compiled(pattern), PATTERN))

    def __bool__(self) -> bool:
        return bool(self.rules)

    def apply(self, value: Json, counts: Counter[str]) -> Json:
        """The value without what is found; the same object where nothing is."""
        kind = value.__class__
        if kind is str:
            return self.text(value, counts)
        if kind is list:
            items = [self.apply(item, counts) for item in value]
            same = all(new is old for new, old in zip(items, value, strict=True))
            return value if same else items
        if kind is dict:
            return self._object(value, counts)
        return value

    def _object(self, value: dict[str, Json], counts: Counter[str]) -> dict[str, Json]:
        out: dict[str, Json] = {}
        same = True
        for key, item in value.items():
            new, name = self.apply(item, counts), self.text(key, counts)
            while name != key and name in out:
                name += "'"
            same = same and new is item and name == key
            out[name] = new
        return value if same else out

    def text(self, text: str, counts: Counter[str]) -> str:
        """A text; where it is JSON, its texts."""
        if text[:1] in ("{", "["):
            try:
                inner = decode(text)
            except UNREADABLE:
                pass
            else:
                new = self.apply(inner, counts)
                return text if new is inner else compact(new)
        for name, pattern, instead in self.rules:
            text, found = pattern.subn(_word(instead), text)
            if found:
                counts[name] += found
        return text

    def finds(self, value: Json) -> str | None:
        """The name of what is still in a value."""
        if value.__class__ is str:
            text = WRITTEN.sub("", value)
            return next((name for name, pattern, _ in self.rules if pattern.search(text)), None)
        inner = value if value.__class__ is list else ()
        if value.__class__ is dict:
            inner = [*value, *value.values()]
        return next(filter(None, map(self.finds, inner)), None)


def _word(instead: str) -> Callable[[re.Match[str]], str]:
    return lambda found: instead


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
    except re.error as problem:
        raise Unsupported(f"redact: {pattern!r} is not a regular expression: {problem}") from None
    if compiled.search("") is not None:
        raise Unsupported(f"redact: {pattern!r} matches the empty text, so it would match anywhere")
    return compiled
