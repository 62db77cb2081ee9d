"""Chat templates: what they print, what they leave out, and where the assistant speaks in it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dragoman
import hugging
from dragoman import dialects, templates
from dragoman.datasets import Line
from dragoman.templates.rendering import Renderer

TOOL = {
    "name": "departures",
    "description": "Lists the next departures.",
    "input_schema": {
        "type": "object",
        "properties": {"island": {"type": "string", "description": "Where to."}},
    },
}
ASKED = {"role": "user", "content": "When do the ferries leave?"}
THOUGHT = {"type": "thinking", "thinking": "An island, a look-up.", "signature": "c2ln"}
SAID = {"type": "text", "text": "Let me look."}
CALL = {"type": "tool_use", "id": "abcdefgh1", "name": "departures",
        "input": {"island": "Skye", "next": 2}}  # fmt: skip
OTHER = {"type": "tool_use", "id": "abcdefgh2", "name": "departures", "input": {"island": "Mull"}}
RESULT = {"type": "tool_result", "tool_use_id": "abcdefgh1", "content": "09:10, 11:40"}
LAST = {"role": "assistant", "content": "To Skye at 09:10."}


def request(*blocks: dict[str, Any], system: bool = True) -> dict[str, Any]:
    talk = [ASKED, {"role": "assistant", "content": list(blocks)},
            {"role": "user", "content": [RESULT]}, LAST,
            {"role": "user", "content": "And back?"},
            {"role": "assistant", "content": "At noon."}]  # fmt: skip
    prompt = {"system": "You help a ferryman."} if system else {}
    return {"model": "m", "max_tokens": 9, "messages": talk, "tools": [TOOL], **prompt}


def shipped() -> list[str]:
    folder = Path(hugging.folder()[0])
    return sorted(path.stem for path in (folder / "chat_templates").glob("*.jinja"))


@cache
def named(template: str, query: str = "") -> str:
    """A template that TRL ships, with the special tokens of the tokenizer that judges it."""
    _, given = templates.parsed(f"template:{template}{query}")
    options = templates.Options(
        spans=given.get("spans", "none"),  # type: ignore[arg-type]
        reasoning="reasoning" not in given,
        pairs="form" in given,
    )
    source = hugging.template(template)
    made = templates.ChatTemplate(source, tokens=hugging.TOKENS, options=options)
    name = f"template:{template}{query}"
    dialects.register(made, name)
    return name


def printed(template: str, document: dict[str, Any], query: str = "") -> Any:
    return dragoman.convert(document, source="anthropic-messages", target=named(template, query),
                            now=1.8e9)  # fmt: skip


def swallowed(result: Any) -> list[str]:
    return sorted({loss.why.removeprefix("the chat template leaves out ") for loss in result.losses
                   if loss.what == "template"})  # fmt: skip


@pytest.mark.parametrize("template", shipped())
def test_each_text_is_the_one_that_transformers_prints(template: str) -> None:
    """The same messages, through Hugging Face's own code, to the letter; refused alike."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers.utils.chat_template_utils import render_jinja_template

    source, tokens = hugging.template(template), dict[str, Any](hugging.TOKENS)
    for document in (request(SAID, CALL), request(CALL, system=False), request(THOUGHT, CALL)):
        record = dragoman.convert(document, source="anthropic-messages", target="trl").document
        theirs: str | None
        try:
            theirs = render_jinja_template(
                [record["messages"]], tools=record["tools"], chat_template=source, **tokens
            )[0][0]
        except Exception:
            theirs = None
        try:
            ours = printed(template, document).document["text"]
        except dragoman.Unsayable as refusal:
            assert theirs is None, str(refusal)  # noqa: PT017
            continue
        if theirs is not None and "strftime_now" not in source and template not in BY_PARTS:
            assert ours == theirs


BY_PARTS = frozenset({"idefics3", "idefics3_training", "llava_next", "llava_next_training",
                      "smolvlm", "smolvlm_training"})  # fmt: skip
"""Templates of models that see: a text that is no part they leave out, so they are given parts."""
MARKED = [name for name in shipped() if "endgeneration" in hugging.template(name)]


@pytest.mark.parametrize("template", [name for name in MARKED if name not in BY_PARTS])
def test_spans_are_those_of_transformers(template: str) -> None:
    """Where a template marks what is generated, the mask of the tokenizer is the judge."""
    asked = 0
    plain = {"model": "m", "max_tokens": 9, "messages": [ASKED, LAST]}
    for document in (request(SAID, CALL), request(CALL), plain):
        record = dragoman.convert(document, source="anthropic-messages", target="trl").document
        try:
            result = printed(template, document, "?spans=all")
        except dragoman.Unsayable:
            continue
        mask = hugging.mask(record, template)
        if mask is None:
            continue
        text, spans = result.document["text"], result.document["spans"]
        assert learned(text, mask) == "".join(text[a:b] for a, b in spans)
        asked += 1
        ids, ours = templates.token_mask(text, spans, hugging.tokenizer(template))
        assert len(ids) == len(ours) == len(text)
        assert ours == mask
    assert asked


def learned(text: str, mask: list[int]) -> str:
    return "".join(sign for sign, on in zip(text, mask, strict=True) if on)


APART = {
    "gemma4": "prints what was said beside a call after its result",
    "diffusion_gemma": "the same",
    "deepseek": "takes the end of the results for a part of the reply",
    "phi3": "prints a last token outside of its blocks",
}
"""Templates whose blocks are other than what they print tells, or turns are in pieces."""


@pytest.mark.parametrize("template", [name for name in MARKED if not name.startswith(tuple(APART))])
def test_spans_are_found_where_a_template_marks_nothing(
    template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same spans, but for white space at their ends, from what the template prints alone."""
    for document in (request(SAID, CALL), {**request(CALL), "messages": [ASKED, LAST]}):
        try:
            told = printed(template, document, "?spans=all").document
        except dragoman.Unsayable:
            continue
        with monkeypatch.context() as patch:
            patch.setattr(Renderer, "marks", False)
            found = printed(template, document, "?spans=all").document
        pieces = [[d["text"][a:b].strip() for a, b in d["spans"]] for d in (told, found)]
        prompt = printed(template, {**document, "messages": [ASKED]}, "?form=pairs").document
        for whole, piece in zip(*pieces, strict=True):
            # what the prompt for a reply has already is not generated
            assert whole.endswith(piece)
            assert whole.removesuffix(piece).strip() in prompt["prompt"]


# What survives, as it was found by hand for each of these templates.
SURVIVES = [
    ("qwen2_5", (THOUGHT, SAID, CALL), ["this reasoning"]),
    ("qwen3", (SAID, CALL, OTHER), []),
    ("qwen3", (THOUGHT, SAID, CALL), ["this reasoning"]),  # before the last user
    ("qwen3_training", (THOUGHT, SAID, CALL), []),
    ("llama3_1", (SAID, CALL), ["this text"]),
    ("llama3", (CALL,), ["a part of this call", "a part of this tool"]),
    ("lfm2", (CALL,), ["a part of this call"]),
    ("deepseekv3", (CALL,), ["a part of this tool"]),
    ("gemma4", (SAID, CALL, OTHER), []),
    ("glm4moe", (SAID, CALL, OTHER), []),
]


@pytest.mark.parametrize(("template", "blocks", "gone"), SURVIVES, ids=lambda x: str(x)[:30])
def test_what_a_template_leaves_out_is_reported(
    template: str, blocks: tuple[dict[str, Any], ...], gone: list[str]
) -> None:
    assert swallowed(printed(template, request(*blocks))) == gone


def test_a_value_that_is_not_there_is_never_missed() -> None:
    """A template that forgets one thing at a time: each is noticed."""
    whole = ("{% for m in messages %}{{ m.role }}: {{ m.reasoning_content }} {{ m.content }}"
             "{% for c in m.tool_calls %}{{ c.function.name }}{{ c.function.arguments | tojson }}"
             "{% endfor %}\n{% endfor %}{{ tools | tojson }}")  # fmt: skip
    pieces = {
        "{{ m.reasoning_content }}": ["this reasoning"],
        "{{ m.content }}": ["this result", "this text"],
        "{{ c.function.name }}": ["a part of this call"],
        "{{ c.function.arguments | tojson }}": ["a part of this call"],
        "{{ tools | tojson }}": ["a part of this tool"],
    }
    document = request(THOUGHT, SAID, CALL)
    for piece, gone in {"": [], **pieces}.items():
        target = written(whole.replace(piece, "") if piece else whole)
        result = dragoman.convert(document, source="anthropic-messages", target=target)
        assert swallowed(result) == gone, piece


def written(source: str, **options: Any) -> str:
    made = templates.ChatTemplate(source, options=templates.Options(**options))
    dialects.register(made, "template:test")
    return "template:test"


def test_a_template_that_looks_at_its_texts() -> None:
    """Marks change what such a template prints, so the values are looked for."""
    first = "{% if m.content.startswith('When') %}Q: {{ m.content }}"
    other = "{% elif m.content | length < 9 %}{{ m.content }}{% endif %}"
    source = "{% for m in messages %}" + first + other + "{% endfor %}"
    document = {"model": "m", "messages": [ASKED, LAST]}
    result = dragoman.convert(document, source="openai-chat", target=written(source))
    assert result.document["text"] == "Q: When do the ferries leave?"
    assert swallowed(result) == ["this text"]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("?spans=last", ["<think>\n\n</think>\n\nAt noon.<|im_end|>"]),
        ("?spans=all", [
            "Let me look.\n<tool_call>\n{\"name\": \"departures\", \"arguments\": "
            "{\"island\": \"Skye\", \"next\": 2}}\n</tool_call><|im_end|>",
            "To Skye at 09:10.<|im_end|>",
            "<think>\n\n</think>\n\nAt noon.<|im_end|>",
        ]),
    ],
)  # fmt: skip
def test_spans_without_marks_in_the_template(query: str, wanted: list[str]) -> None:
    record = printed("qwen3", request(SAID, CALL), query).document
    assert [record["text"][a:b] for a, b in record["spans"]] == wanted


def test_reasoning_is_left_out_of_the_spans() -> None:
    document = {**request(), "messages": [ASKED, {"role": "assistant", "content": [THOUGHT, SAID]}]}
    record = printed("qwen3_training", document, "?spans=all&reasoning=no").document
    assert [record["text"][a:b] for a, b in record["spans"]] == [
        "<think>\n", "\n</think>\n\nLet me look.<|im_end|>\n",
    ]  # fmt: skip


def test_pairs_are_those_of_trl() -> None:
    """``prompt`` and ``completion``, as TRL itself divides the text."""
    document = request(SAID, CALL)
    pair = printed("qwen3", document, "?form=pairs").document
    record = dragoman.convert(document, source="anthropic-messages", target="trl-completion")
    done = hugging.accepts(record.document)
    assert pair["prompt"] + pair["completion"] == done["prompt"] + done["completion"]
    assert pair["completion"].strip() == done["completion"].strip()
    asked = printed("qwen3", {**document, "messages": [ASKED]}, "?form=pairs").document
    assert asked["prompt"].endswith("<|im_start|>assistant\n")
    assert asked["completion"] == ""


# -- the sandbox --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages.__class__.__mro__ }}",
        "{{ ''.__class__.__base__.__subclasses__() }}",
        "{{ cycler.__init__.__globals__ }}",
        "{% set ns = namespace() %}{% set ns.__class__ = 1 %}",
        "{{ messages.append(1) }}",
        "{{ raise_exception('no') }}",
        "{{ strftime_now('%Y') }}",
        "{% for i in range(10000000) %}{% endfor %}",
        "{{ 1 / 0 }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    ],
)
def test_a_stranger_gets_nowhere(source: str) -> None:
    document = {"model": "m", "messages": [ASKED, LAST]}
    with pytest.raises(dragoman.Unsayable, match="chat template"):
        dragoman.convert(document, source="openai-chat", target=written(source))


def test_dates_are_given() -> None:
    target = written(
        "{{ strftime_now('%d %b %Y') }}{% for m in messages %}{{ m.content }}{% endfor %}"
    )
    document = {"model": "m", "messages": [ASKED, LAST]}
    result = dragoman.convert(document, source="openai-chat", target=target, now=1.8e9)
    assert result.document["text"].startswith("15 Jan 2027")


# -- loading ------------------------------------------------------------------------------------

SOURCE = "{{ bos_token }}{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}"
CONFIG = {"bos_token": "<s>", "eos_token": {"content": "</s>"}}


@pytest.mark.parametrize(
    ("files", "query", "text"),
    [
        ({"a.jinja": SOURCE}, "/a.jinja", "HiHo"),
        ({"tokenizer_config.json": {**CONFIG, "chat_template": SOURCE}}, "/tokenizer_config.json",
         "<s>Hi</s>Ho</s>"),
        ({"tokenizer_config.json": CONFIG, "chat_template.jinja": SOURCE}, "", "<s>Hi</s>Ho</s>"),
        ({"tokenizer_config.json": {**CONFIG, "chat_template": [
            {"name": "default", "template": "no"}, {"name": "tool_use", "template": SOURCE}]}},
         "?name=tool_use", "<s>Hi</s>Ho</s>"),
    ],
)  # fmt: skip
def test_a_template_is_loaded(files: dict[str, Any], query: str, text: str, tmp_path: Path) -> None:
    for name, content in files.items():
        written = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / name).write_text(written, "utf-8")
    name = templates.load(f"template:{tmp_path}{query}")
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
    document = {"model": "m", "messages": talk}
    assert dragoman.convert(document, source="openai-chat", target=name).document == {"text": text}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("template:nowhere.jinja", "cannot read the chat template 'nowhere.jinja'"),
        ("template:x.jinja?spans=some", "unknown option 'spans=some'"),
        ("qwen3.jinja", "does not begin with 'template:'"),
        ("template:{}/bad.jinja", "cannot be compiled"),
        ("template:{}/none.json", "has no 'chat_template'"),
        ("template:{}/several.json", "no template 'default'; there are: rag"),
        ("template:{}/no.json", "is no JSON"),
        ("template:{}", "has none of chat_template.jinja"),
    ],
)
def test_what_cannot_be_loaded(name: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "bad.jinja").write_text("{% for %}")
    (tmp_path / "none.json").write_text("{}")
    (tmp_path / "no.json").write_text("{")
    (tmp_path / "several.json").write_text('{"chat_template": [{"name": "rag", "template": ""}]}')
    with pytest.raises(dragoman.Unsupported, match=re.escape(why)):
        templates.load(name.format(tmp_path))


def test_the_command_line_takes_a_path(tmp_path: Path) -> None:
    (tmp_path / "t.jinja").write_text(SOURCE, "utf-8")
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
    (tmp_path / "one.json").write_text(json.dumps({"model": "m", "messages": talk}), "utf-8")
    command = [sys.executable, "-m", "dragoman", "convert", "-q", "-f", "chat", "one.json"]
    done = subprocess.run([*command, "-t", "template:t.jinja?spans=all"], cwd=tmp_path,
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert json.loads(done.stdout) == {"text": "HiHo", "spans": [[2, 4]]}
    none = subprocess.run([*command, "-t", "template:no.jinja"], cwd=tmp_path,
                          capture_output=True, text=True)  # fmt: skip
    assert none.returncode == 2
    assert "cannot read the chat template 'no.jinja'" in " ".join(none.stderr.split())


def test_a_data_set_takes_one_as_its_target(tmp_path: Path) -> None:
    """In every process: the options carry the path, and each reads the template."""
    (tmp_path / "t.jinja").write_text(SOURCE, "utf-8")
    target = f"template:{tmp_path}/t.jinja?spans=last"
    line = Line(target=target, source="openai-chat")
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
    written = line(json.dumps({"model": "m", "messages": talk}).encode())
    assert json.loads(written) == {"text": "HiHo", "spans": [[2, 4]]}
