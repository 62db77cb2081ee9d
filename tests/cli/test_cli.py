"""The command line beyond transcripts: pipes, signals, terminals, what is read and what is left."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import places
from dragoman.cli import app, main, progress, terminal
from dragoman.cli.inputs import Input, Reading, expand
from dragoman.cli.locate import locate
from dragoman.cli.man import EXITS, man_page
from dragoman.cli.options import FACETS
from dragoman.core.surrogates import ESCAPED
from dragoman.dialect import FACETS as KNOWN_FACETS
from dragoman.explain import ADVICE, explain, names
from dragoman.ledger import CODES, KINDS
from transcripts import Terminal, dragoman, environment, furnish

ROOT = places.ROOT
LINE = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: Any) -> Path:
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "DRAGOMAN_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def start(*arguments: str, **settings: Any) -> subprocess.Popen[bytes]:
    """The command as a process of its own, with pipes."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "dragoman", *arguments]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, **settings)


def replies(process: subprocess.Popen[bytes]) -> bytes:
    """What the process has to say, once it says something."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], 60)
    assert ready, "nothing was said"
    return os.read(process.stdout.fileno(), 1 << 16)


# -- nothing is read before it is needed, and nothing is kept ------------------------------------


class Endless(io.RawIOBase):
    """A file that is made while it is read."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self.lines, self.made, self.left = lines, 0, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.left = self.left or next(self.lines, b"")
        view = memoryview(buffer).cast("B")
        taken, self.left = self.left[: len(view)], self.left[len(view) :]
        view[: len(taken)] = taken
        self.made += len(taken)
        return len(taken)


class Watched(io.RawIOBase):
    """An output that looks how far ahead the input is whenever something is written."""

    def __init__(self, source: Endless) -> None:
        self.source, self.lines, self.ahead = source, 0, 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.lines += bytes(data).count(b"\n")
        self.ahead = max(self.ahead, self.source.made - self.lines * len(NUMBERED))
        return len(data)


NUMBERED = json.dumps(LINE).encode() + b"\n"


def test_many_lines_are_never_in_memory_together(monkeypatch: Any) -> None:
    count = 20_000
    source = Endless(NUMBERED for _ in range(count))
    output = Watched(source)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(source)))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(output)))
    assert main(["convert", "-q", "-t", "chat", "--report", "report.jsonl"]) == 0
    assert output.lines == count
    assert source.made == count * len(NUMBERED)
    assert output.ahead < 200_000  # a few buffers, of two megabytes
    assert Path("report.jsonl").read_bytes().count(b"\n") == count


def test_a_stream_is_said_while_it_arrives() -> None:
    first, rest = Path("answer.sse").read_bytes().split(b"\n\n", 1)
    process = start("convert", "-f", "chat", "-t", "anthropic", "--facet", "stream")
    assert process.stdin is not None
    process.stdin.write(first + b"\n\n")
    process.stdin.flush()
    written = replies(process)
    assert b"message_start" in written
    assert b"message_stop" not in written
    out, err = process.communicate(rest)
    assert b"message_stop" in out
    assert process.returncode == 0, err


def test_a_line_is_said_before_the_next_comes() -> None:
    process = start("convert", "-q", "-t", "chat", "--jsonl")
    assert process.stdin is not None
    for _ in range(3):
        process.stdin.write(NUMBERED)
        process.stdin.flush()
        assert replies(process).count(b"\n") == 1
    process.communicate()
    assert process.returncode == 0


# -- those who go away -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_who_is_interrupted_leaves_nothing_after(sign: int, code: int, place: Path) -> None:
    before = sorted(place.iterdir())
    command = ("convert", "-q", "-t", "chat", "--jsonl", "--report", "report.json")
    # Tests that run in the background of a shell ignore signals, and pass that on.
    process = start(*command, preexec_fn=lambda: signal.signal(sign, signal.SIG_DFL))
    assert process.stdin is not None
    process.stdin.write(NUMBERED)
    process.stdin.flush()
    assert replies(process)
    process.send_signal(sign)
    process.wait(60)  # its input is still open, so the signal alone can end it
    _, err = process.communicate()
    assert process.returncode == code
    assert b"Traceback" not in err
    assert sorted(place.iterdir()) == before


def test_a_reader_who_has_had_enough_is_no_error() -> None:
    process = start("convert", "-q", "-t", "chat", "--jsonl")
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(NUMBERED)
    process.stdin.flush()
    assert replies(process)
    process.stdout.close()
    process.stdin.write(NUMBERED)
    process.stdin.close()
    assert process.stderr.read() == b""
    assert process.wait() == 141
    process.stderr.close()


def test_standard_streams_may_be_closed() -> None:
    for redirection, written in ((">&-", "standard output is closed"), ("<&-", "input is closed")):
        files = "one.json" if redirection == ">&-" else ""
        command = f"{sys.executable} -m dragoman convert -q -t chat {files} {redirection}"
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
        assert written in done.stderr
        assert done.returncode == 5


# -- files -----------------------------------------------------------------------------------------


def test_a_file_is_written_whole_or_not_at_all() -> None:
    Path("there.json").write_text("as before")
    _, _, code = dragoman(
        ["convert", "-t", "chat", "--fail-on", "dropped", "request.json", "-o", "there.json"]
    )
    assert code == 3
    assert Path("there.json").read_text() == "as before"
    assert not list(Path().glob(".*"))


def test_what_has_a_new_name_is_on_the_disk_already(monkeypatch: Any) -> None:
    """Else a crash may leave a name with nothing behind it, in place of the file that was there."""
    done: list[tuple[str, int]] = []
    sync, rename = os.fsync, os.replace

    def synced(number: int) -> None:
        done.append(("fsync", os.fstat(number).st_size))
        sync(number)

    def renamed(old: str, new: Any) -> None:
        done.append(("rename", os.stat(old).st_size))
        rename(old, new)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    _, err, code = dragoman(["convert", "-q", "-t", "chat", "one.json", "-o", "new.json"])
    assert code == 0, err
    size = Path("new.json").stat().st_size
    assert done == [("fsync", size), ("rename", size)]


def test_a_full_disk_names_the_file_and_leaves_it_as_it_was(monkeypatch: Any) -> None:
    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    Path("there.json").write_text("as before")
    before = sorted(Path().iterdir())
    monkeypatch.setattr(os, "fsync", full)
    _, err, code = dragoman(["convert", "-q", "-t", "chat", "one.json", "-o", "there.json"])
    assert code == 5
    assert "there.json" in err
    assert "no space left" in err.lower()
    assert Path("there.json").read_text() == "as before"
    assert sorted(Path().iterdir()) == before


def test_a_file_keeps_its_mode_and_a_link_its_target() -> None:
    Path("one.json").chmod(0o640)
    Path("link.json").symlink_to("one.json")
    _, err, code = dragoman(["convert", "-q", "-t", "chat", "--in-place", "link.json"])
    assert code == 0, err
    assert Path("link.json").is_symlink()
    assert Path("one.json").stat().st_mode & 0o777 == 0o640
    assert "max_completion_tokens" in json.loads(Path("one.json").read_text())


def test_a_new_file_has_the_usual_mode() -> None:
    mask = os.umask(0o027)
    try:
        dragoman(["convert", "-q", "-t", "chat", "one.json", "-o", "new.json"])
    finally:
        os.umask(mask)
    assert Path("new.json").stat().st_mode & 0o777 == 0o640


def test_packed_files_are_the_same_every_time() -> None:
    for name in ("a.json.gz", "b.json.gz"):
        dragoman(["convert", "-q", "-t", "chat", "one.json", "-o", name])
    assert Path("a.json.gz").read_bytes() == Path("b.json.gz").read_bytes()


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_packed_file_that_breaks_off_is_damaged(suffix: str) -> None:
    lines = b"".join(json.dumps(LINE | {"max_tokens": n}).encode() + b"\n" for n in range(1, 3000))
    Path("many.jsonl").write_bytes(lines)
    name = f"packed.jsonl{suffix}"
    assert dragoman(["convert", "-q", "-t", "native", "many.jsonl", "-o", name])[2] == 0
    whole, _, code = dragoman(["convert", "-q", "-t", "chat", name])
    assert (whole.count(b"\n"), code) == (2999, 0)
    Path(name).write_bytes(Path(name).read_bytes()[:-9])
    _, err, code = dragoman(["convert", "-q", "-t", "chat", name, "-o", "out.jsonl"])
    assert code == 4
    assert "damaged" in err


def test_zstd_says_what_it_needs(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression", None)
    _, err, code = dragoman(["convert", "-q", "-t", "chat", "one.json", "-o", "one.json.zst"])
    assert "pip install 'dragoman[zstd]'" in err
    assert code == 5
    assert not Path("one.json.zst").exists()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_marks_and_wide_encodings_are_understood(encoding: str) -> None:
    text = "".join(json.dumps(LINE | {"system": "größer"}, ensure_ascii=False) + "\n" for _ in "ab")
    Path("wide.jsonl").write_text(text, encoding)
    out, err, code = dragoman(["convert", "-t", "chat", "wide.jsonl"])
    assert code == 0, err
    assert out.count("größer".encode()) == 2
    assert (encoding.upper() in err) == (encoding != "utf-8-sig")


@pytest.mark.parametrize(
    ("data", "written"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (json.dumps(LINE).encode("utf-16-le"), "UTF-16"),
        (b'{"a": "\xff"}', "not UTF-8: byte 0xff at offset 7"),
        (b'{"a": NaN}', "not JSON"),
        (b"[" * 5000, "nested too deeply"),
        (b'{"a": 1}}', "extra data"),
        (b"7", "expected an object"),
    ],
)
def test_nonsense_is_malformed(data: bytes, written: str) -> None:
    _, err, code = dragoman(["convert", "-f", "chat", "--facet", "request", "-t", "native"], data)
    assert written in err
    assert code == 4


def test_a_path_through_a_file_is_an_error_of_input() -> None:
    _, err, code = dragoman(["convert", "-t", "chat", "one.json/two.json"])
    assert (err.splitlines()[0], code) == ("one.json/two.json: error: not a directory", 5)


def test_an_input_named_twice_is_read_once() -> None:
    assert [x.name for x in expand(["one.json", "o*.json", "one.json"])] == ["one.json"]


@pytest.mark.parametrize(
    ("name", "data", "form"),
    [
        ("a.json", b'{"a": 1}', "json"),
        ("a.json", b'{"a": 1}\n\n', "json"),
        ("a.json", b'{\n"a": 1}\n{"b": 2}\n', "json"),
        ("a.json", b'\n{"a": 1}\n\n{"b": 2}', "jsonl"),
        ("a.jsonl", b'{"a": 1}', "jsonl"),
        ("a.ndjson.gz", None, "jsonl"),
        ("a.txt", b"event: ping\n", "stream"),
        ("a.sse", b"", "stream"),
        ("a.json", b"", "json"),
    ],
)
def test_the_form_of_a_file_shows(name: str, data: bytes | None, form: str) -> None:
    if data is None:
        import gzip

        data = gzip.compress(b"{}")
    Path(name).write_bytes(data)
    with Reading(Input(name)) as reading:
        assert reading.form == form


def test_one_line_alone_has_its_losses_told() -> None:
    Path("one.jsonl").write_text(json.dumps(LINE | {"top_k": 3}))
    _, err, _ = dragoman(["convert", "-t", "chat", "one.jsonl"])
    assert err.splitlines()[1:] == [
        "dropped  top_k  1 time  in 1 document",
        "moved    model  1 time  in 1 document",
        "1 document converted; 1 dropped, 1 moved",
    ]
    Path("none.jsonl").write_text("")
    out, err, code = dragoman(["convert", "-t", "chat", "none.jsonl"])
    assert (out, err, code) == (b"", "0 documents converted; nothing lost\n", 0)


# -- people ----------------------------------------------------------------------------------------


def test_colour_only_where_it_is_wanted() -> None:
    arguments = ["convert", "-t", "chat", "request.json"]
    assert "\x1b" not in dragoman(arguments)[1]
    with environment({"FORCE_COLOR": "1"}):
        out, err, _ = dragoman(arguments)
        assert "\x1b[31mdropped" in err
        assert b"\x1b" not in out
        with environment({"NO_COLOR": "1"}):
            assert "\x1b" not in dragoman(arguments)[1]


def test_a_document_cannot_command_the_terminal() -> None:
    evil = {"model": "m", "messages": [{"role": "\x1b[2J\u202eboss", "content": "x"}]}
    Path("evil.json").write_text(json.dumps(evil))
    _, err, code = dragoman(["convert", "-f", "chat", "-t", "anthropic", "evil.json"])
    assert code == 4
    assert "\x1b" not in err
    assert "\u202e" not in err


def test_a_bug_is_one_line_without_the_words_of_the_document(monkeypatch: Any) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("what somebody wrote")

    monkeypatch.setattr("dragoman.cli.convert.convert_document", broken)
    out, err, code = dragoman(["convert", "-q", "-t", "chat", "one.json"])
    assert (out, code) == (b"", 70)
    assert err == "bug: RuntimeError - please report it; DRAGOMAN_DEBUG=1 prints a traceback\n"
    with environment({"DRAGOMAN_DEBUG": "1"}), pytest.raises(RuntimeError):
        dragoman(["convert", "-q", "-t", "chat", "one.json"])


def test_progress_is_for_terminals_only(monkeypatch: Any) -> None:
    Path("many.jsonl").write_bytes(NUMBERED * 50)
    ticks = iter(range(10_000))
    monkeypatch.setattr(progress, "monotonic", lambda: float(next(ticks)))
    arguments = ["convert", "-q", "-t", "chat", "many.jsonl"]
    assert dragoman(arguments)[1] == ""
    monkeypatch.setattr(terminal, "is_terminal", lambda stream: stream is sys.stderr)
    written = dragoman(arguments)[1]
    assert "documents, " in written
    assert " left" in written
    assert written.endswith("\r\x1b[K")


@pytest.mark.parametrize("columns", [20, 30, 40, 60, 80, 100])
def test_the_ledger_fits_the_terminal_and_nothing_of_it_is_cut(columns: int) -> None:
    arguments = ["convert", "-t", "chat", "request.json", "--report", "report.json"]
    with environment({"COLUMNS": str(columns)}):
        err = dragoman(arguments)[1]
    assert all(terminal.cells(line) <= columns for line in err.splitlines())
    squeezed = "".join(err.split())
    for loss in json.loads(Path("report.json").read_text())["documents"][0]["losses"]:
        for written in (loss["kind"], loss["what"], loss["path"], loss["why"]):
            assert "".join(written.split()) in squeezed


@pytest.mark.parametrize("columns", range(12, 60, 7))
def test_wrapping_keeps_every_word_and_its_colour(columns: int) -> None:
    pointer = "/messages/12/content/3/a-key-that-is-longer-than-any-line/東京東京東京東京東京"
    line = f"{terminal.cyan('dropped')}  {pointer} {terminal.dim('a reason of some words ' * 3)}end"
    lines = terminal.wrap(line, columns)
    assert all(terminal.cells(each) <= columns for each in lines)
    assert "".join("".join(map(click.unstyle, lines)).split()) == "".join(
        click.unstyle(line).split()
    )
    for each in lines:  # no colour leaks into the next line
        assert each.count("\x1b[") == 2 * each.count("\x1b[0m")


def test_results_are_one_line_each_where_programs_read_them() -> None:
    with environment({"COLUMNS": "40"}):
        out = dragoman(["check", "-q", "broken.json"])[0].decode()
    assert len(out.splitlines()) == 2


def test_who_is_less_than_half_sure_asks() -> None:
    unsure = {"model": "m", "system": "Be brief.", "messages": LINE["messages"]}
    Path("unsure.json").write_text(json.dumps(unsure))
    for command in (["convert", "-t", "chat"], ["check"], ["show"], ["repair"]):
        out, err, code = dragoman([*command, "unsure.json"])
        assert (out, code) == (b"", 2)
        assert "name it with -f anthropic-messages" in err
        assert dragoman([*command, "-f", "anthropic", "unsure.json"])[2] in (0, 1)
    out, _, code = dragoman(["detect", "unsure.json"])
    assert code == 1
    assert b"unsure: anthropic-messages request (42 % sure" in out


@pytest.mark.parametrize("target", ["openai-chat", "anthropic-messages", "gemini"])
def test_messages_with_tools_are_a_request(target: str) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    other = {"name": "f", "input_schema": {"type": "object"}}
    history = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    for each in (tool, other):
        Path("data.json").write_text(json.dumps({"messages": history, "tools": [each]}))
        out, err, code = dragoman(
            ["convert", "-t", target, "--model", "m", "data.json", "--report", "r.json"]
        )
        assert code == 0, err
        assert json.loads(out)["tools"]
        losses = json.loads(Path("r.json").read_text())["documents"][0]["losses"]
        assert not [loss for loss in losses if loss["path"].startswith("/tools")]


def test_what_cannot_be_read_is_said_and_the_others_are_done() -> None:
    for command in (["convert", "-q", "-t", "chat"], ["show"], ["check", "-q"], ["detect"]):
        out, err, code = dragoman([*command, "no*.json", "missing.json", "one.json"])
        assert code == 5
        assert "no matching file" in err
        assert "missing.json: error: no such file" in err
        assert out or command[0] == "check"


def test_json_has_one_meaning_and_its_old_one_still_works() -> None:
    Path("two.txt").write_text(json.dumps(LINE) + "\n" + json.dumps(LINE))
    for command in (["convert", "-q", "-t", "chat"], ["repair", "-q"], ["show"]):
        for spelling in ("--json", "--no-jsonl"):
            _, err, code = dragoman([*command, spelling, "two.txt"])
            assert code == 4
            assert "extra data" in err
        assert dragoman([*command, "--jsonl", "two.txt"])[2] == 0
        assert b"--json" not in dragoman([*command[:1], "--help"])[0].replace(b"--jsonl", b"")
    for command in (["detect"], ["check"]):
        out, _, code = dragoman([*command, "--json", "two.txt"])
        assert code == 0
        assert all(json.loads(line) for line in out.splitlines())
        assert dragoman([*command, "--no-jsonl", "two.txt"])[2] == 4


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("openai", "'openai-chat' or 'openai-responses' or 'openai-agents'"),
        ("openia", "'openai-chat' or 'openai-responses' or 'openai-agents'"),
        ("claud", "'claude'"),
        ("OpenAI_Chat", "'openai-chat'"),
        ("bedrok", "'bedrock'"),
    ],
)
def test_aliases_are_suggested(word: str, near: str) -> None:
    _, err, code = dragoman(["convert", "-t", word, "one.json"])
    assert code == 2
    assert f"unknown dialect {word!r}, did you mean {near}?" in err


def test_standard_input_that_is_a_terminal_is_not_waited_for(monkeypatch: Any) -> None:
    monkeypatch.setattr(Terminal, "isatty", lambda self: True)
    _, err, code = dragoman(["convert", "-t", "chat"])
    assert "no input" in err
    assert code == 2


# -- what is around it -----------------------------------------------------------------------------


def test_asking_for_the_version_loads_no_command() -> None:
    code = """
import sys
from dragoman.cli import main
main(["--version"])
print(sorted(m for m in sys.modules if m.startswith(("dragoman.cli.", "dragoman.dialects."))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    version, loaded = done.stdout.splitlines()
    assert version == "dragoman 0.1.0"
    assert loaded == "['dragoman.cli.app', 'dragoman.cli.faults', 'dragoman.cli.terminal']"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("dragoman con", "convert"),
        ("dragoman convert -t anthropic-", "anthropic-messages"),
        ("dragoman convert --from copilot-r", "copilot-responses"),
        ("dragoman convert --facet tool-", "tool-choice"),
        ("dragoman convert --fail-on dropped,tool_result.e", "dropped,tool_result.error"),
        ("dragoman convert --fa", "--fail-on"),
        ("dragoman repair --passes merge", "merge-same-role"),
        ("dragoman explain reasoning.s", "reasoning.signature"),
        ("dragoman completion z", "zsh"),
        ("dragoman models claude-opus-4-7", "claude-opus-4-7"),
    ],
)
def test_words_are_completed(words: str, expected: str) -> None:
    settings = {
        "_DRAGOMAN_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "dragoman"],
        env=os.environ | settings,
        capture_output=True,
        text=True,
    )
    assert f"plain,{expected}" in done.stdout.splitlines(), done


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script(shell: str) -> None:
    out, err, code = dragoman(["completion", shell])
    assert (err, code) == ("", 0)
    assert b"_DRAGOMAN_COMPLETE=" in out
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=out, check=True)


def test_the_manual_tells_of_every_command_and_exit_code() -> None:
    page = man_page()
    assert all(f".SS dragoman {name} " in page for name in app.COMMANDS)
    assert all(f"\\fB{code}\\fR" in page for code in EXITS)
    assert "\n'" not in page  # which would be a request to the typesetter
    assert dragoman(["man"])[0].decode() == page


def test_everything_that_can_be_said_can_be_explained() -> None:
    assert ADVICE.keys() == CODES.keys()
    assert {*CODES, *KINDS} <= set(names())
    for name in names():
        for each in explain(name):
            assert each.meaning
            assert each.todo


def test_the_facets_are_those_there_are() -> None:
    assert (*KNOWN_FACETS, "stream") == FACETS


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("", '{"a":'),
        ("/a", '[1, {"b/c"'),
        ("/a/1/b~1c", '"x'),
        ("/a/1/é", "2}"),
        ("/a/7", '[1, {"b/c"'),
        ("/nothing", '{"a":'),
        ("/a/1/b~1c/0", '"x'),
    ],
)
def test_a_pointer_is_found_in_the_text(pointer: str, found: str) -> None:
    text = ' {"a": [1, {"b/c": "x", "é": 2}]}'.encode()
    place = locate(text, pointer)
    assert place is not None
    assert text[place:].decode().startswith(found)


def test_what_is_no_json_has_no_places() -> None:
    assert locate(b"\xff", "/a") is None
    assert locate(b'{"a": oops}', "/a/b") is None


def test_a_result_that_cannot_be_written_is_said_and_the_others_are_done() -> None:
    Path("out/one.json").mkdir(parents=True)
    _, err, code = dragoman(
        ["convert", "-q", "-t", "responses", "one.json", "two.json", "-o", "out/"]
    )
    assert code == 5
    assert "out/one.json: error: is a directory" in err
    assert json.loads(Path("out/two.json").read_text())["input"]


@pytest.mark.parametrize(
    ("text", "lone"),
    [
        (rb'"\ud83d\ude00 \uD83D\uDE00 \u00e9"', False),
        (rb'"\ud83d"', True),
        (rb'"x\ud83dx"', True),
        (rb'"\ude00"', True),
        (rb'"\ud83d\ud83d\ude00"', True),
        (rb'"\ud83d\ude00\ude00"', True),
    ],
)
def test_only_lone_surrogates_are_looked_for(text: bytes, lone: bool) -> None:
    assert bool(ESCAPED.search(text)) == lone


# -- what is written, and for whose eyes --------------------------------------------------------


def test_what_is_written_is_no_more_readable_than_what_was_read() -> None:
    Path("one.json").chmod(0o600)
    mask = os.umask(0o022)
    try:
        options = ["--carry", "capsule.json", "-o", "new.json"]
        dragoman(["convert", "-q", "-t", "chat", "one.json", *options])
        dragoman(["convert", "-q", "-t", "chat", "one.json", "-o", "folder/"])
        dragoman(["show", "one.json", "-o", "shown.txt"])
    finally:
        os.umask(mask)
    for name in ("new.json", "capsule.json", "folder/one.json", "shown.txt"):
        assert Path(name).stat().st_mode & 0o777 == 0o600, name


def test_what_there_was_becomes_no_more_readable_than_what_was_read() -> None:
    Path("one.json").chmod(0o600)
    for name in ("there.json", "capsule.json", "lines.jsonl"):
        Path(name).write_text("")
        Path(name).chmod(0o664)
    options = ["--carry", "capsule.json", "-o", "there.json"]
    dragoman(["convert", "-q", "-t", "chat", "one.json", *options])
    dragoman(["convert", "-q", "-t", "chat", "one.json", "--append", "-o", "lines.jsonl"])
    for name in ("there.json", "capsule.json", "lines.jsonl"):
        assert Path(name).stat().st_mode & 0o777 == 0o620, name


def test_a_file_on_standard_input_is_an_input() -> None:
    Path("one.json").chmod(0o600)
    line = [sys.executable, "-m", "dragoman", "convert", "-q", "-t", "chat", "-o", "new.json"]
    with open("one.json") as file:
        subprocess.run(line, stdin=file, check=True)
    assert Path("new.json").stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_written_to_is_not_made_so() -> None:
    Path("one.json").chmod(0o440)
    dragoman(["convert", "-q", "-t", "chat", "one.json", "-o", "new.json"])
    assert Path("new.json").stat().st_mode & 0o777 == 0o640


def test_a_link_does_not_lead_out_of_the_folder() -> None:
    Path("kept.json").write_text("as before")
    Path("folder").mkdir()
    Path("folder/one.json").symlink_to("../kept.json")
    _, err, code = dragoman(["convert", "-q", "-t", "chat", "one.json", "-o", "folder/"])
    assert code == 5
    assert "a link to a place outside folder" in err
    assert Path("kept.json").read_text() == "as before"


@pytest.mark.parametrize("command", ["convert -q -t chat --in-place", "migrate -q -t chat"])
def test_nor_does_a_link_in_a_folder_that_is_replaced(command: str) -> None:
    before = Path("one.json").read_text()
    Path("folder").mkdir()
    Path("folder/link.json").symlink_to("../one.json")
    _, err, code = dragoman([*command.split(), "folder"])
    assert code == 5
    assert "folder/link.json: error: a link to a place outside folder" in err
    assert Path("one.json").read_text() == before
    assert sorted(Path("folder").iterdir()) == [Path("folder/link.json")]


def test_a_capsule_is_not_written_through_a_link_out_of_the_folder() -> None:
    Path("kept.json").write_text("as before")
    Path("folder").mkdir()
    Path("folder/one.json").write_text(Path("one.json").read_text())
    Path("folder/one.json.capsule.json").symlink_to("../kept.json.new")
    _, err, code = dragoman(["migrate", "-q", "-t", "chat", "folder"])
    assert code == 5
    assert "a link to a place outside folder" in err
    assert not Path("kept.json.new").exists()
    assert Path("folder/one.json").read_text() == Path("one.json").read_text()


def test_no_folder_is_made_where_a_link_leads_out() -> None:
    for name in ("folder/sub/deep", "outside", "new", "capsules"):
        Path(name).mkdir(parents=True)
    Path("folder/sub/deep/one.json").write_text(Path("one.json").read_text())
    Path("new/sub").symlink_to("../outside")
    Path("capsules/sub").symlink_to("../outside")
    for options in (["-o", "new/"], ["-o", "fine/", "--carry", "capsules/"]):
        _, err, code = dragoman(["convert", "-q", "-t", "chat", "folder", *options])
        assert code == 5, err
        assert list(Path("outside").iterdir()) == []


def test_many_files_are_looked_at_once_each(monkeypatch: Any) -> None:
    Path("many").mkdir()
    for number in range(60):
        Path(f"many/{number}.json").write_text(json.dumps(LINE))
    stat, count = os.stat, [0]

    def counted(*given: Any, **named: Any) -> os.stat_result:
        count[0] += 1
        return stat(*given, **named)

    monkeypatch.setattr(os, "stat", counted)
    _, err, code = dragoman(["convert", "-q", "-t", "chat", "many", "-o", "new/"])
    assert code == 0, err
    assert count[0] < 60 * 30


EVIL = "evil\x1b[31m\x9b\u202e\u2066\u200f.json"


def test_a_file_name_cannot_command_the_terminal() -> None:
    Path(EVIL).write_text(json.dumps(LINE))
    Path("missing" + EVIL).unlink(missing_ok=True)
    for arguments in (
        ["detect"],
        ["check"],
        ["show", "one.json"],
        ["repair", "-o", "repaired/"],
        ["convert", "-t", "chat", "-o", "new/"],
        ["convert", "-t", "chat", "missing" + EVIL, "-o", "new.jsonl"],
        ["convert", "-t", "chat", "-o", f"none{EVIL}/x.json"],
        ["convert", "-t", "chat", "-o", f"none{EVIL}", "one.json"],
        ["serve", "--check", "--route", f"{EVIL}=script", "--config"],
        ["serve", "--check", "-u", f"openai-chat=http://{EVIL}", "--config"],
    ):
        with environment({"FORCE_COLOR": "1"}):
            out, err, _ = dragoman([*arguments, EVIL])
        written = re.sub(r"\x1b\[[0-9;]*m", "", out.decode() + err)
        assert not terminal.HOSTILE.search(written.replace("\n", "")), arguments
        assert "evil\x1b[31m" not in out.decode() + err, arguments


def test_the_routes_of_a_gateway_cannot_command_the_terminal() -> None:
    Path("gateway.toml").write_text("""[routes]\n"a\\u009b\\u202e" = "script/b\\u001b[2J"\n""")
    out, err, code = dragoman(["serve", "--check", "--config", "gateway.toml"])
    assert code == 0, err
    assert not terminal.HOSTILE.search(out.decode().replace("\n", ""))
    assert "a\\x9b" in out.decode()


def test_what_acts_is_the_same_in_text_and_in_bytes() -> None:
    whole = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    text = set(terminal.HOSTILE.findall("".join(map(chr, whole)))) - {"\t", "\n", "\r"}
    acting = [
        chr(code) for code in whole if terminal.escaped(chr(code).encode()) != chr(code).encode()
    ]
    assert text == set(acting)
    assert all(json.loads(b'"' + terminal.escaped(each.encode()) + b'"') == each for each in acting)


def test_json_on_a_terminal_is_escaped_and_means_the_same(monkeypatch: Any) -> None:
    text = "a\u202eb\x9bc\x7fd\u2066e\u200bf\U000e0041 é 東京 👩‍💻"
    Path("evil.json").write_text(
        json.dumps({**LINE, "messages": [{"role": "user", "content": text}]}, ensure_ascii=False)
    )
    arguments = ["convert", "-q", "-f", "anthropic", "-t", "chat", "evil.json"]
    piped, _, _ = dragoman(arguments)
    monkeypatch.setattr(terminal, "is_terminal", lambda stream: True)
    shown, _, _ = dragoman(arguments)
    assert text.encode() in piped
    assert json.loads(shown) == json.loads(piped)
    assert not set(shown.decode()) & set("\x1b\x9b\x7f\u202e\u2066\u200b\U000e0041")
    assert "é 東京" in shown.decode()


def test_what_is_shown_on_a_terminal_has_its_colours(monkeypatch: Any) -> None:
    monkeypatch.setattr(terminal, "is_terminal", lambda stream: True)
    out, _, code = dragoman(["show", "one.json"])
    assert code == 0
    assert b"\x1b[1m" in out
    assert b"u001b" not in out


@pytest.mark.parametrize("command", ["convert -t chat -o out/", "detect", "check", "show"])
def test_a_file_that_may_not_be_read_is_said_and_the_others_are_done(
    command: str, tmp_path: Path, monkeypatch: Any
) -> None:
    """Nobody asks beforehand whether files can be read: the superuser's tests would not see it."""
    request = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": []}
    request["messages"] = [{"role": "user", "content": "Hi"}]
    for name in ("a.json", "b.json", "c.json"):
        (tmp_path / name).write_text(json.dumps(request))
    real = io.FileIO

    def refused(path: Any, *args: Any, **settings: Any) -> io.FileIO:
        if str(path) == "b.json":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **settings)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode, **_: str(path) != "b.json")
    monkeypatch.setattr(io, "FileIO", refused)
    out, written, code = dragoman([*command.split(), "a.json", "b.json", "c.json"])
    assert code == 5
    assert "b.json: error: permission denied" in written
    if command.startswith("convert"):
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.json", "c.json"]
    elif command == "show":
        assert out.count(b"Hi") == 2
    else:
        assert b"c.json" in out + written.encode()


def test_a_folder_that_may_not_be_read_is_said(tmp_path: Path, monkeypatch: Any) -> None:
    request = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    for name in ("a", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.json").write_text(json.dumps(request))
    real = os.scandir

    def refused(path: Any = ".") -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", refused)
    arguments = ["convert", "-f", "anthropic", "-t", "chat", str(tmp_path), "-o"]
    _, written, code = dragoman([*arguments, str(tmp_path / "out") + "/"])
    assert code == 5
    assert f"{tmp_path}/closed: error: permission denied" in written
    assert (tmp_path / "out" / "a" / "x.json").exists()


@pytest.mark.parametrize("columns", [80, 40])
def test_the_examples_of_the_help_fit_and_are_what_the_shell_takes(columns: int) -> None:
    for name in app.COMMANDS:
        found = app.app.get_command(click.Context(app.app), name)
        assert isinstance(found, app.Command)
        with environment({"COLUMNS": str(columns)}):
            text = dragoman([name, "--help"])[0].decode()
        _, _, shown = text.partition("Examples:\n")
        assert all(len(line) <= columns for line in shown.splitlines()), name
        joined = re.sub(r"\\\n\s+", "", shown)
        assert [line.strip() for line in joined.splitlines()] == list(found.examples)


def test_pairs_that_could_not_be_joined_are_counted_and_in_the_report(tmp_path: Path) -> None:
    asked = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi"}]}
    message = {"role": "assistant", "content": "Hello"}
    reply = {"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-5"}
    reply["choices"] = [{"index": 0, "message": message, "finish_reason": "stop"}]
    pair = json.dumps({"request": asked, "response": reply})
    file, report = tmp_path / "pairs.jsonl", tmp_path / "report.json"
    file.write_text(f"{pair}\n{{bad\n{pair}\n{json.dumps({'request': asked})}\n")
    arguments = ["join", str(file), "-o", str(tmp_path / "out.jsonl"), "--report", str(report)]
    _, written, code = dragoman(arguments)
    assert code == 4
    assert "2 documents joined, 2 failed" in written
    assert "not JSON" in written
    documents = json.loads(report.read_text())["documents"]
    assert [(each["line"], bool(each.get("error"))) for each in documents] == [
        (1, False), (2, True), (3, False), (4, True),
    ]  # fmt: skip


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    _, written, code = dragoman(["show", "--messages", "5-3", "request.json"])
    assert code == 2
    assert "did you mean 3-5?" in written


# -- what strangers may read, and what is not clear ------------------------------------------------


def test_a_report_is_no_more_readable_than_the_input(place: Path) -> None:
    secret = place / "secret.json"
    secret.write_text(json.dumps(LINE))
    secret.chmod(0o600)
    for command in ("convert -t chat", "repair", "migrate -t chat"):
        report = place / f"{command.split()[0]}.report.json"
        _, written, code = dragoman([*command.split(), str(secret), "--report", str(report)])
        assert code == 0, written
        assert report.stat().st_mode & 0o777 == 0o600, command


def test_a_tie_names_who_is_tied(place: Path) -> None:
    (place / "tie.json").write_text('[{"role": "user", "content": "Hi"}]')
    found = dragoman(["detect", "tie.json"])[0].decode()
    _, written, code = dragoman(["convert", "-t", "gemini", "tie.json"])
    tied = found.partition("ambiguous: ")[2].strip()
    assert "openai-chat messages" in tied
    assert (code, tied in written) == (2, True)


def test_the_help_of_completion_fits_a_narrow_terminal() -> None:
    with environment({"COLUMNS": "40"}):
        written = dragoman(["completion", "--help"])[0].decode()
    assert [line for line in written.splitlines() if len(line) > 40] == []
