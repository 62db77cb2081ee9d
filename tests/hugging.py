"""Hugging Face's own code as judge: TRL's rules for records, and chat templates as they render."""

from __future__ import annotations

import importlib.util
import logging
import warnings
from functools import cache
from pathlib import Path
from typing import Any

logging.getLogger("transformers").setLevel(logging.ERROR)


@cache
def folder() -> tuple[str, ...]:
    """Where TRL is installed; importing it whole would need torch."""
    spec = importlib.util.find_spec("trl")
    assert spec is not None
    return tuple(spec.submodule_search_locations or ())


@cache
def template(name: str) -> str:
    """A chat template that TRL ships, as the owner of the model published it."""
    return (Path(folder()[0]) / "chat_templates" / f"{name}.jinja").read_text("utf-8")


TOKENS = {"unk_token": "\0", "eos_token": "\1", "bos_token": "\2"}


@cache
def tokenizer(name: str = "qwen3") -> Any:
    """A tokenizer of characters with a chat template: enough to render, to cut and to mask."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tokenizers import Regex, Tokenizer, models, pre_tokenizers
        from transformers import PreTrainedTokenizerFast

    vocabulary = {chr(code): code for code in range(1, 0x3000)} | {"\0": 0}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="\0"))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    build: Any = PreTrainedTokenizerFast
    made = build(tokenizer_object=inner, **TOKENS)
    made.chat_template = template(name)
    return made


def accepts(record: dict[str, Any], name: str = "qwen3") -> dict[str, Any]:
    """What TRL makes of a record; it raises an error where its columns are wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from trl.data_utils import apply_chat_template, is_conversational

    assert is_conversational(record), record.keys()
    prompt = record.get("prompt")
    if prompt is not None and (not prompt or prompt[-1]["role"] == "system"):
        return {}  # "Invalid role in the last message", as it is for every prompt without a user
    done: dict[str, Any] = apply_chat_template(record, tokenizer(name), tools=record.get("tools"))
    return done


def mask(record: dict[str, Any], name: str) -> list[int] | None:
    """Which characters of the text a model learns, as its template and the tokenizer say it."""
    try:
        done = tokenizer(name).apply_chat_template(
            record["messages"],
            tools=record.get("tools"),
            return_assistant_tokens_mask=True,
            return_dict=True,
        )
    except Exception:  # the template refuses the conversation
        return None
    return list(done["assistant_masks"])


def loaded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows as ``datasets`` gives them back from a file of JSON lines."""
    import json
    import tempfile

    import datasets

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        table = datasets.load_dataset("json", data_files=str(path), split="train", cache_dir=folder)
        return [dict(row) for row in table]
