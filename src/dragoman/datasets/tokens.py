"""How many tokens a text has, by a tokenizer that the user gives."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import Malformed, MissingExtra


def counter_of(path: str | None) -> Callable[[str], int] | None:
    """A function that counts tokens, by a ``tokenizer.json`` of Hugging Face."""
    if path is None:
        return None
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtra("a length in tokens", "tokenizers") from None
    with open(path, encoding="utf-8") as file:
        written = file.read()
    try:
        tokenizer = Tokenizer.from_str(written)
    except Exception:  # it has no class of its own
        raise Malformed(f"{path} is no tokenizer.json of Hugging Face") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    return count
