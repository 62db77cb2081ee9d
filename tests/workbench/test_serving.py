"""The server behind the page: who gets in, what it answers, what it keeps."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import dragoman
from dragoman.containers.har import Har
from dragoman.containers.vcr import Vcr
from dragoman.gateway import Config, Gateway, Upstream, testing
from dragoman.gateway.config import Client
from dragoman.gateway.testing import running
from dragoman.streams.transcoder import collect
from dragoman.workbench import examples
from dragoman.workbench.app import NONCE, POLICY, Workbench, content, names
from dragoman.workbench.conversations import Conversations, Search
from dragoman.workbench.converting import Options, Repair, Replay, converted, repaired, replayed
from dragoman.workbench.traffic import Traffic
from gateways import post
from test_cost import RATIO, ratio

TOKEN = "token-of-this-test"
ASKED = {"model": "m", "seed": 7, "messages": [{"role": "user", "content": "Hello there"}]}
CHAT = "/v1/chat/completions"


def ask(
    url: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    token: str | None = TOKEN,
) -> tuple[int, dict[str, str], bytes]:
    line = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    told = {} if token is None else {"authorization": f"Bearer {token}"}
    line.request("GET" if body is None else "POST", path, body, {**told, **(headers or {})})
    reply = line.getresponse()
    found = reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read()
    line.close()
    return found


# -- the door ----------------------------------------------------------------------------------


def test_nothing_is_answered_without_the_token() -> None:
    with running(Workbench(token=TOKEN)) as url:
        for token in (None, "", "another", TOKEN[:-1]):
            for path in ("/api/about", "/api/example/agent", "/api/traffic/live"):
                assert ask(url, path, token=token)[0] == 401
            assert ask(url, "/api/convert", b"{}", token=token)[0] == 401
        assert ask(url, "/api/about")[0] == 200


def test_other_names_of_this_machine_and_other_pages_are_refused() -> None:
    """A name on the network that points to 127.0.0.1 is of no use to whoever made it."""
    with running(Workbench(token=TOKEN)) as url:
        assert ask(url, "/api/about", headers={"host": "evil.example"})[0] == 421
        assert ask(url, "/", headers={"host": "127.0.0.1.evil.example:80"})[0] == 421
        assert ask(url, "/api/about", headers={"origin": "http://evil.example"})[0] == 403
        assert ask(url, "/api/about", headers={"origin": url})[0] == 200


def test_the_page_has_a_strict_policy_and_a_new_nonce_each_time() -> None:
    with running(Workbench(token=TOKEN)) as url:
        seen = set()
        for _ in range(2):
            status, headers, body = ask(url, "/", token=None)
            policy = headers["content-security-policy"]
            nonce = policy.partition("'nonce-")[2].partition("'")[0]
            assert status == 200
            assert policy == POLICY.format(nonce=nonce)
            assert nonce.encode() in body
            assert NONCE not in body
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"
            seen.add(nonce)
        assert len(seen) == 2
        for word in ("unsafe", "*", "http:", "https:"):
            assert word not in POLICY


def test_only_the_files_of_the_page_are_served() -> None:
    with running(Workbench(token=TOKEN)) as url:
        for path in ("/../app.py", "/%2e%2e/app.py", "/static/page.js", "/app.py", "/page.js/.."):
            assert ask(url, path)[0] == 404, path
        for name in names():
            assert ask(url, f"/{name}", token=None)[0] == 200


def test_the_page_names_no_other_place() -> None:
    """Nothing in its files is fetched from elsewhere."""
    for name in ("index.html", "page.css"):
        assert b"//" not in content(name).replace(b"/*", b""), name
    assert sum(len(content(name)) for name in names()) < 500_000


def test_where_client_keys_are_configured_an_operator_gets_in() -> None:
    clients = {"op": Client(key="key-of-op", operator=True), "guest": Client(key="key-of-guest")}
    gateway = Gateway(Config(log="none", clients=clients))
    bench = Workbench(gateway, Traffic(), token=TOKEN)
    assert "#" not in bench.address("http://127.0.0.1:1")
    with running(bench) as url:
        about = "/workbench/api/about"
        assert ask(url, about)[0] == 401
        assert ask(url, about, token="key-of-guest")[0] == 403
        assert ask(url, about, token="key-of-op")[0] == 200
        assert ask(url, about, token="key-of-op", headers={"host": "gateway.example"})[0] == 200


def test_the_gateway_is_as_it_was_beside_the_page() -> None:
    gateway = Gateway(Config(log="none"))
    with running(Workbench(gateway, Traffic(), token=TOKEN)) as url:
        assert ask(url, "/healthz", token=None)[2] == b"ok\n"
        assert ask(url, "/workbench", token=None)[0] == 307
        assert post(url, CHAT, json.dumps(ASKED).encode()).status == 200


def test_bad_questions_are_answered_with_what_is_wrong() -> None:
    with running(Workbench(token=TOKEN)) as url:
        for path, body in (
            ("/api/convert", b"{"), ("/api/convert", b'{"txt": 1}'), ("/api/nothing", b"{}"),
            ("/api/replay", b'{"text": "", "source": "x", "target": "y"}'),
            ("/api/conversation", b"not a conversation"), ("/api/conversation/9/search", b"{}"),
            ("/api/conversation/x/search", b'{"text": "a"}'), ("/api/traffic/clear", b"{}"),
        ):  # fmt: skip
            status, _, told = ask(url, path, body)
            assert status in (400, 404), path
            assert json.loads(told)["error"]["message"]


# -- the commands ---------------------------------------------------------------------------------


@contextmanager
def command(*args: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A command that serves the page: the process, where the page is, and the token."""
    line = [sys.executable, "-m", "dragoman", *args]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        address = ""
        while "token=" not in address:
            address = process.stderr.readline()
            assert address, "it has ended"
        place, _, token = address.split()[-1].partition("#token=")
        yield process, place, token
        process.terminate()
        assert process.wait(20) == 0


def test_the_command_serves_a_file(tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    file.write_text(examples.text("chat"))
    with command("workbench", "--no-browser", "-p", "0", str(file)) as (_, place, token):
        assert ask(place, "/", token=None)[0] == 200
        about = json.loads(ask(place, "/api/about", token=token)[2])
        assert about["given"] == "request.json"
        assert about["traffic"] is None
        assert ask(place, "/api/given", token=token)[2].decode() == examples.text("chat")


def test_a_gateway_with_the_page_ends_while_somebody_watches() -> None:
    served = ("serve", "--ui", "-p", "0", "--store", "memory", "--log", "none")
    with command(*served) as (process, place, token):
        assert place.endswith("/workbench/")
        line = http.client.HTTPConnection(urlsplit(place).netloc, timeout=30)
        told = {"authorization": f"Bearer {token}"}
        line.request("GET", "/workbench/api/traffic/live", headers=told)
        reply = line.getresponse()
        assert json.loads(reply.readline())["contents"] is False
        process.terminate()
        assert reply.read() == b""  # the line ends, and with it the process
        line.close()


# -- documents ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, _ in examples.listed()])
def test_an_example_is_converted_as_the_library_does_it(name: str) -> None:
    text = examples.text(name)
    found = converted(Options(text, ["openai-responses", "gemini"]))
    known = found["source"]
    for shown in found["results"]:
        made = dragoman.convert(
            text.encode(), source=known["dialect"], target=shown["target"], facet=known["facet"]
        )
        assert shown["losses"] == [
            {"kind": x.kind, "what": x.what, "path": x.path, "why": x.why, "target": x.target}
            for x in made.losses
        ]
        if known["facet"] == "stream":
            assert shown["text"].encode() == made.to_json()
        else:
            assert json.loads(shown["text"]) == made.document


def test_the_python_that_is_copied_runs(tmp_path: Any, monkeypatch: Any, capsys: Any) -> None:
    (tmp_path / "document.json").write_text(examples.text("agent"))
    monkeypatch.chdir(tmp_path)
    (shown,) = converted(Options(examples.text("agent"), ["openai-chat"], carry=True))["results"]
    exec(shown["python"], {})
    told = capsys.readouterr().out.splitlines()
    assert len(told) == len(shown["losses"])
    assert "--carry capsule.json" in shown["command"]


def test_carried_documents_come_home() -> None:
    (shown,) = converted(Options(examples.text("agent"), ["openai-chat"], carry=True))["results"]
    assert shown["home"]["exact"] is True
    assert shown["home"]["restored"]


def test_fail_on_names_the_losses_it_refuses() -> None:
    asked = Options(examples.text("agent"), ["openai-chat"], fail_on=["top_k", "moved"])
    (shown,) = converted(asked)["results"]
    codes = {(shown["losses"][n]["kind"], shown["losses"][n]["what"]) for n in shown["fails"]}
    assert ("dropped", "top_k") in codes
    assert {kind for kind, what in codes if what != "top_k"} == {"moved"}


def test_repairs_leave_nothing_to_repair() -> None:
    text = examples.text("broken")
    found = converted(Options(text, []))["problems"]
    assert found
    assert all(each["passes"] for each in found)
    made = repaired(Repair(text, "anthropic-messages", "request"))
    assert made["changed"]
    assert made["left"] == []
    assert made["losses"]


def test_a_replay_writes_what_the_whole_stream_becomes() -> None:
    text = examples.text("stream")
    found = replayed(Replay(text, "openai-chat", "anthropic-messages"))
    whole = dragoman.convert(
        text.encode(), source="openai-chat", target="anthropic-messages", facet="stream"
    )
    written = "\n\n".join(step["out"] for step in found["steps"] if step["out"])
    assert written.split() == whole.document.decode().split()
    said = [g["text"] for step in found["steps"] for g in step["gained"] if g["do"] == "add"]
    assert "".join(said[:11]) == "Saturday is sunny in Lisbon: I look up a path."


@pytest.mark.parametrize("target", ["openai-chat", "gemini"])
def test_the_cost_of_an_answer_is_linear(target: str) -> None:
    """With equal calls, texts and results, which could be linked with any of the others."""
    document = json.loads(examples.text("agent"))

    def work(count: int) -> Callable[[], object]:
        text = json.dumps({**document, "messages": document["messages"] * (count // 8)})
        return lambda: converted(Options(text, [target], carry=True))

    assert ratio(work) < RATIO


@pytest.mark.parametrize("target", ["openai-chat", "gemini"])
def test_the_cost_of_a_comparison_is_linear(target: str) -> None:
    document = json.loads(examples.text("agent"))

    def work(count: int) -> Callable[[], object]:
        known = Conversations()
        asked = {**document, "messages": document["messages"] * (count // 8)}
        made = dragoman.convert(asked, source="anthropic-messages", target=target).document
        one = known.open(json.dumps(asked).encode(), "")["id"]
        other = known.open(json.dumps(made).encode(), "", target)["id"]
        return lambda: known.differences(one, other)

    assert ratio(work) < RATIO


# -- conversations -------------------------------------------------------------------------------


def test_a_conversation_by_turns() -> None:
    known = Conversations()
    found = known.open(examples.text("agent").encode(), "agent.json")
    assert [row[0] for row in found["rows"]] == [
        "system", "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    assert found["rows"][2][3] == 1  # a call that failed
    turns = known.turns(found["id"], 0, 99)
    call = next(item for item in turns[2]["items"] if item["is"] == "call")
    assert call["replies"][0]["items"][0]["pieces"] == [["Sat: sunny, 24 °C, light wind", ""]]
    assert known.search(found["id"], Search("porto")) == [1, 2, 3]
    assert known.search(found["id"], Search("porto", case=True)) == []


def test_long_texts_are_cut_until_they_are_asked_for() -> None:
    known = Conversations()
    asked = {**ASKED, "messages": [{"role": "user", "content": "x" * 50_000}]}
    found = known.open(json.dumps(asked).encode(), "")
    (turn,) = known.turns(found["id"], 0, 1)
    assert turn["cut"]
    assert len(turn["items"][0]["pieces"][0][0]) < 10_000
    whole: Any = known.turn(found["id"], 0)
    assert len(whole["items"][0]["pieces"][0][0]) == 50_000


def test_two_conversations_side_by_side() -> None:
    known = Conversations()
    one = json.loads(examples.text("agent"))
    other = json.loads(examples.text("agent"))
    other["messages"][3]["content"][0]["text"] = "Then Porto."
    del other["messages"][4]
    ids = [known.open(json.dumps(each).encode(), "")["id"] for each in (one, other)]
    found = known.differences(*ids)
    rows = found["rows"]
    assert [row for row in rows if row[2]] == [[4, 4, True], [5, None, True]]
    assert found["differences"]


def test_tokens_of_a_session_stand_with_their_turns() -> None:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 7}
    said = {"role": "assistant", "id": "msg_1", "model": "claude-sonnet-4-5", "type": "message",
            "content": [{"type": "text", "text": "Hello."}], "usage": usage}  # fmt: skip
    lines = [
        {"type": "user", "parentUuid": None, "isSidechain": False, "uuid": "u1", "sessionId": "s",
         "version": "2", "message": {"role": "user", "content": "Hi"}},
        {"type": "assistant", "parentUuid": "u1", "isSidechain": False, "uuid": "u2",
         "sessionId": "s", "version": "2", "message": said},
    ]  # fmt: skip
    known = Conversations()
    found = known.open("".join(json.dumps(line) + "\n" for line in lines).encode(), "s.jsonl")
    assert found["dialect"] == "claude-code"
    assert [row[5] for row in found["rows"]] == [None, [100, 90, 7]]


def test_few_conversations_are_remembered() -> None:
    known = Conversations()
    ids = [known.open(examples.text("chat").encode(), "")["id"] for _ in range(6)]
    assert known.turns(ids[-1], 0, 1)
    with pytest.raises(dragoman.Unsupported):
        known.turns(ids[0], 0, 1)


# -- traffic -------------------------------------------------------------------------------------


@contextmanager
def watched(traffic: Traffic) -> Iterator[str]:
    """A page in front of a gateway with keys on both sides, and two upstreams."""
    with testing.scripted({"text": f"Your key is {KEYS[0]}, hello."}) as model:
        up = Upstream(dialect="anthropic-messages", url=model.url, key=KEYS[0], retries=0)
        other = Upstream(dialect="gemini", url=model.url, key=KEYS[1], retries=0)
        config = Config(log="none", upstreams={"up": up, "other": other})
        gateway = Gateway(config, observer=traffic)
        with running(Workbench(gateway, traffic, token=TOKEN)) as url:
            yield url + "/workbench"


KEYS = ("sk-upstream-one", "sk-upstream-two", "sk-of-the-client")


def send(url: str, **more: Any) -> None:
    body = json.dumps({**ASKED, **more}).encode()
    head = {"authorization": f"Bearer {KEYS[2]}"}
    assert post(url.removesuffix("/workbench"), CHAT, body, head).status == 200


def ask_below(url: str, path: str) -> str:
    return f"{urlsplit(url).path}/api/{path}"


def asked(url: str, path: str, body: Any = None) -> Any:
    status, _, data = ask(
        url, ask_below(url, path), None if body is None else json.dumps(body).encode()
    )
    assert status == 200, data
    return json.loads(data)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_an_exchange_with_its_four_documents(stream: bool) -> None:
    traffic = Traffic(contents=True)
    with watched(traffic) as url:
        send(url, stream=stream)
        (row,) = traffic.rows()
        found = asked(url, f"traffic/{row['id']}")
    assert (row["status"], row["upstream"], row["stream"]) == (200, "up", stream)
    assert row["losses"]["dropped seed"] == 1
    there = found["request"]["b"]
    assert (there["dialect"], json.loads(there["text"])["max_tokens"]) == (
        "anthropic-messages",
        8192,
    )
    answer = found["answer"]
    assert answer["a"]["stream"] is stream
    assert "hello" in answer["a"]["text"]
    assert json.loads(answer["b"]["text"])["choices"][0]["message"]["content"].endswith("hello.")
    assert any(link["kind"] == "text" for link in answer["links"])
    assert found["pieces"]["out"]
    assert [x["what"] for x in found["request"]["losses"]] == ["max_tokens", "seed"]


def test_no_key_is_shown_or_exported() -> None:
    traffic = Traffic(contents=True)
    with watched(traffic) as url:
        send(url)
        send(url, stream=True)
        told = [json.dumps(asked(url, f"traffic/{row['id']}")) for row in traffic.rows()]
        for form in ("har", "cassette"):
            told.append(ask(url, ask_below(url, f"traffic/export?form={form}"))[2].decode())
    for key in KEYS:
        assert not [text for text in told if key in text], key
    assert all("[key]" in text for text in told)  # where the model repeated one


def test_a_key_that_came_in_pieces_is_in_none_of_them() -> None:
    traffic = Traffic(contents=True)
    with watched(traffic) as url:
        send(url)
        send(url, stream=True)
        told = {
            row["stream"]: asked(url, f"traffic/{row['id']}")["pieces"] for row in traffic.rows()
        }
    for way in ("in", "out"):
        assert {text for *_, text in told[True][way]} == {"[key]"}
        assert "Your key is [key], hello." in "".join(text for *_, text in told[False][way])


@pytest.mark.parametrize("form", ["har", "cassette"])
@pytest.mark.parametrize("path", ["chat", "events", "array"])
def test_a_key_that_came_in_pieces_is_in_no_export(path: str, form: str) -> None:
    """What is exported has the mask, and is a stream of its dialect still."""
    traffic = Traffic(contents=True)
    told: Any = {"contents": [{"role": "user", "parts": [{"text": "Hello there"}]}]}
    place = "/v1beta/models/claude-opus-5-5:streamGenerateContent"
    with watched(traffic) as url:
        if path == "chat":
            send(url, stream=True)
        else:
            query = "?alt=sse" if path == "events" else ""
            body = json.dumps(told).encode()
            assert post(url.removesuffix("/workbench"), place + query, body).status == 200
        (row,) = traffic.rows()
        pieces = asked(url, f"traffic/{row['id']}")["pieces"]["out"]
        out = json.loads(ask(url, ask_below(url, f"traffic/export?form={form}"))[2])
    assert {text for *_, text in pieces} == {"[key]"}
    if form == "har":
        text = out["log"]["entries"][0]["response"]["content"]["text"]
    else:
        text = out["interactions"][0]["response"]["body"]["string"]
    dialect = "openai-chat" if path == "chat" else "gemini"
    tree = dragoman.read(collect(text.encode(), dialect).document, dialect, facet="response")
    assert tree.candidates[0].message.content[0].text == "Your key is [key], hello."  # type: ignore[union-attr]


def test_contents_are_not_kept_unless_asked_for() -> None:
    traffic = Traffic()
    with watched(traffic) as url:
        send(url)
        (row,) = traffic.rows()
        found = asked(url, f"traffic/{row['id']}")
        exported = json.loads(ask(url, ask_below(url, "traffic/export?form=har"))[2])
    assert row["losses"]
    assert not row["contents"]
    assert traffic.size == 0
    assert "request" not in found
    assert exported["log"]["entries"] == []
    assert "Hello there" not in json.dumps(found)


def test_what_is_kept_is_bounded_and_the_oldest_goes_first() -> None:
    traffic = Traffic(contents=True, memory=4_000, most=5)
    with watched(traffic) as url:
        for number in range(8):
            send(url, user=f"{number}" * 500)
            assert traffic.size <= 4_000
    kept = traffic.rows()
    assert [row["id"] for row in kept] == [4, 5, 6, 7, 8]
    contents = [row["contents"] for row in kept]
    assert contents == sorted(contents)  # the latest have theirs
    assert contents[-1]
    assert not contents[0]


def test_paused_and_cleared() -> None:
    traffic = Traffic(contents=True)
    with watched(traffic) as url:
        send(url)
        assert asked(url, "traffic/pause", {"paused": True})["paused"] is True
        send(url)
        assert len(traffic.rows()) == 1
        asked(url, "traffic/pause", {"paused": False})
        send(url)
        assert len(traffic.rows()) == 2
        asked(url, "traffic/clear", {})
    assert traffic.rows() == []
    assert traffic.size == 0


def test_an_exchange_is_sent_again_to_another_upstream() -> None:
    traffic = Traffic(contents=True)
    with watched(traffic) as url:
        send(url)
        again = asked(url, "traffic/1/replay", {"upstream": "other"})["id"]
        rows = {row["id"]: row for row in traffic.rows()}
        found = asked(url, f"traffic/{again}")
    assert (rows[again]["upstream"], rows[again]["client"], rows[again]["status"]) == (
        "other", "replay", 200,
    )  # fmt: skip
    assert found["request"]["b"]["dialect"] == "gemini"
    assert found["request"]["a"]["text"] == asked_text(traffic)


def asked_text(traffic: Traffic) -> str:
    contents = traffic.get(1).contents
    assert contents is not None
    return json.dumps(json.loads(contents.body), indent=2)


def test_exports_are_read_by_the_containers_of_the_library() -> None:
    traffic = Traffic(contents=True)
    with watched(traffic) as url:
        send(url)
        send(url, stream=True)
        har = json.loads(ask(url, ask_below(url, "traffic/export?form=har"))[2])
        tape = json.loads(ask(url, ask_below(url, "traffic/export?form=cassette"))[2])
    for container, value in ((Har(), har), (Vcr(), tape)):
        assert container.claims(value)
        calls = list(container.calls(value))
        assert len(calls) == 2
        for call in calls:
            assert json.loads(call.sent.data or b"")["messages"] == ASKED["messages"]
            assert call.reply is not None
            assert call.reply.status == 200
        assert b"hello" in (calls[0].reply or calls[0].sent).data  # type: ignore[operator]


def test_a_page_that_watches_is_told_at_once() -> None:
    traffic = Traffic(contents=False)
    with watched(traffic) as url:
        line = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
        line.request(
            "GET", ask_below(url, "traffic/live"), headers={"authorization": f"Bearer {TOKEN}"}
        )
        reply = line.getresponse()
        first = json.loads(reply.readline())
        assert first["rows"] == []
        assert {"up", "other"} <= set(first["upstreams"])
        send(url)
        seen: dict[int, Any] = {}
        while not seen or seen[1]["open"]:
            for row in json.loads(reply.readline())["rows"]:
                seen[row["id"]] = row
        assert seen[1]["status"] == 200
        reply.close()
        line.close()
