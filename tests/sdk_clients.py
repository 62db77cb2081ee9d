"""The vendors' own SDKs as clients: one conversation with tools, in each of their forms."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, NamedTuple, Self

PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
MODEL = "model-1"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A picture of one pixel."""


def written(items: list[dict[str, Any]]) -> str:
    """The texts and refusals of the items of a response."""
    parts = [part for item in items if item["type"] == "message" for part in item["content"]]
    return "".join(part.get("text") or part.get("refusal") or "" for part in parts)


def data_url(picture: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(picture).decode()


class Heard(NamedTuple):
    """What a client understood of a reply."""

    text: str
    calls: tuple[tuple[str, Any], ...]
    reasoning: str
    stop: str


class Talk:
    """A conversation that a client holds; ``say`` sends it and appends the reply as SDKs do."""

    def __init__(self, url: str, *, model: str = MODEL, thinking: bool = False) -> None:
        self.url, self.model, self.thinking = url, model, thinking
        self.history: list[Any] = []
        self.edit: Callable[[list[Any]], list[Any]] = list
        """What the client does to its history before it sends it."""
        self.sdk: Any = None
        self.ids: list[str] = []
        self.begin()

    def begin(self) -> None: ...

    def close(self) -> None:
        """Close the connections of the SDK."""
        self.sdk.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, text: str, stream: bool, tools: tuple[str, ...] = ("look",)) -> Heard:
        self.history.append(self.user(text))
        return self.send(stream, tools)

    def user(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def look(self, text: str, picture: bytes, stream: bool) -> Heard:
        """Ask with a picture."""
        self.history.append(self.picture(text, picture))
        return self.send(stream, ("look",))

    def picture(self, text: str, picture: bytes) -> Any:
        raise NotImplementedError

    def results(self, texts: list[str], stream: bool, tools: tuple[str, ...] = ("look",)) -> Heard:
        raise NotImplementedError

    def send(self, stream: bool, tools: tuple[str, ...]) -> Heard:
        raise NotImplementedError


class Chat(Talk):
    def begin(self) -> None:
        import openai

        self.sdk = openai.OpenAI(base_url=f"{self.url}/v1", api_key="k", max_retries=0, timeout=30)

    def picture(self, text: str, picture: bytes) -> Any:
        image = {"type": "image_url", "image_url": {"url": data_url(picture)}}
        return {"role": "user", "content": [{"type": "text", "text": text}, image]}

    def send(self, stream: bool, tools: tuple[str, ...]) -> Heard:
        listed = [
            {"type": "function", "function": {"name": name, "parameters": PARAMETERS}}
            for name in tools
        ]
        asked: dict[str, Any] = {
            "model": self.model,
            "messages": self.edit(self.history),
            "tools": listed,
        }
        if stream:
            with self.sdk.chat.completions.create(**asked, stream=True) as chunks:
                message = self.collect(chunks)
        else:
            choice = self.sdk.chat.completions.create(**asked).choices[0]
            message = choice.message.model_dump(exclude_none=True)
            message["stop"] = choice.finish_reason
        stop = message.pop("stop")
        self.history.append(message)
        self.ids = [call["id"] for call in message.get("tool_calls", ())]
        calls = tuple(
            (call["function"]["name"], json.loads(call["function"]["arguments"]))
            for call in message.get("tool_calls", ())
        )
        text = message.get("content") or message.get("refusal") or ""
        return Heard(text, calls, message.get("reasoning_content") or "", stop)

    def collect(self, chunks: Iterator[Any]) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": ""}
        calls: dict[int, dict[str, Any]] = {}
        for chunk in chunks:
            for choice in chunk.choices:
                message["content"] += choice.delta.content or ""
                if more := choice.delta.refusal:
                    message["refusal"] = message.get("refusal", "") + more
                if more := getattr(choice.delta, "reasoning_content", None):
                    message["reasoning_content"] = message.get("reasoning_content", "") + more
                message["stop"] = choice.finish_reason or message.get("stop")
                for part in choice.delta.tool_calls or ():
                    call = calls.setdefault(
                        part.index,
                        {
                            "id": part.id,
                            "type": "function",
                            "function": {"name": "", "arguments": ""},
                        },
                    )
                    call["function"]["name"] += part.function.name or ""
                    call["function"]["arguments"] += part.function.arguments or ""
        if calls:
            message["tool_calls"] = list(calls.values())
        return message

    def results(self, texts: list[str], stream: bool, tools: tuple[str, ...] = ("look",)) -> Heard:
        for call, text in zip(self.ids, texts, strict=True):
            self.history.append({"role": "tool", "tool_call_id": call, "content": text})
        return self.send(stream, tools)


class Responses(Talk):
    def begin(self) -> None:
        import openai

        self.sdk = openai.OpenAI(base_url=f"{self.url}/v1", api_key="k", max_retries=0, timeout=30)

    def picture(self, text: str, picture: bytes) -> Any:
        image = {"type": "input_image", "detail": "auto", "image_url": data_url(picture)}
        return {"role": "user", "content": [{"type": "input_text", "text": text}, image]}

    def send(self, stream: bool, tools: tuple[str, ...]) -> Heard:
        listed = [
            {"type": "function", "name": name, "parameters": PARAMETERS, "strict": False}
            for name in tools
        ]
        asked: dict[str, Any] = {
            "model": self.model, "input": self.edit(self.history), "tools": listed, "store": False,
            "include": ["reasoning.encrypted_content"],
        }  # fmt: skip
        if self.thinking:
            asked["reasoning"] = {"effort": "medium", "summary": "auto"}
        reply = self.heard(asked, stream)
        items = [item.model_dump(exclude_none=True, mode="json") for item in reply.output]
        for item in items:
            item.pop("parsed_arguments", None)
            for part in item.get("content") or ():
                part.pop("parsed", None)
        self.history += items
        self.ids = [item["call_id"] for item in items if item["type"] == "function_call"]
        calls = tuple(
            (item["name"], json.loads(item["arguments"]))
            for item in items
            if item["type"] == "function_call"
        )
        reasoning = "".join(
            part["text"] for i in items if i["type"] == "reasoning" for part in i["summary"]
        )
        return Heard(written(items), calls, reasoning, str(reply.status))

    def heard(self, asked: dict[str, Any], stream: bool) -> Any:
        """A response; of a stream the one that its last event has."""
        if not stream:
            return self.sdk.responses.create(**asked)
        with self.sdk.responses.stream(**asked) as events:
            for event in events:
                if event.type in ("response.completed", "response.incomplete"):
                    return event.response
                if event.type == "response.failed":
                    raise ConnectionError(event.response.error.message)
        raise ConnectionError("the stream has no end")

    def results(self, texts: list[str], stream: bool, tools: tuple[str, ...] = ("look",)) -> Heard:
        for call, text in zip(self.ids, texts, strict=True):
            self.history.append({"type": "function_call_output", "call_id": call, "output": text})
        return self.send(stream, tools)


class Anthropic(Talk):
    def begin(self) -> None:
        import anthropic

        self.sdk = anthropic.Anthropic(base_url=self.url, api_key="k", max_retries=0, timeout=30)

    def picture(self, text: str, picture: bytes) -> Any:
        data = base64.b64encode(picture).decode()
        source = {"type": "base64", "media_type": "image/png", "data": data}
        image = {"type": "image", "source": source}
        return {"role": "user", "content": [{"type": "text", "text": text}, image]}

    def send(self, stream: bool, tools: tuple[str, ...]) -> Heard:
        listed = [{"name": name, "input_schema": PARAMETERS} for name in tools]
        asked: dict[str, Any] = {
            "model": self.model, "max_tokens": 4000, "tools": listed,
            "messages": self.edit(self.history),
        }  # fmt: skip
        if self.thinking:
            asked["thinking"] = {"type": "enabled", "budget_tokens": 2000}
        if stream:
            with self.sdk.messages.stream(**asked) as events:
                reply = events.get_final_message()
        else:
            reply = self.sdk.messages.create(**asked)
        content = [block.model_dump(exclude_none=True, mode="json") for block in reply.content]
        for block in content:
            block.pop("parsed_output", None)
        self.history.append({"role": "assistant", "content": content})
        self.ids = [block["id"] for block in content if block["type"] == "tool_use"]
        calls = tuple((b["name"], b["input"]) for b in content if b["type"] == "tool_use")
        text = "".join(b["text"] for b in content if b["type"] == "text")
        reasoning = "".join(b["thinking"] for b in content if b["type"] == "thinking")
        return Heard(text, calls, reasoning, str(reply.stop_reason))

    def results(self, texts: list[str], stream: bool, tools: tuple[str, ...] = ("look",)) -> Heard:
        blocks = [
            {"type": "tool_result", "tool_use_id": call, "content": text}
            for call, text in zip(self.ids, texts, strict=True)
        ]
        self.history.append({"role": "user", "content": blocks})
        return self.send(stream, tools)


def once(types: Any, url: str) -> Any:
    """Google's client asks once, as the others do: it would wait seconds and ask again."""
    retries = types.HttpRetryOptions(attempts=1)
    return types.HttpOptions(base_url=url, timeout=30_000, retry_options=retries)


class Gemini(Talk):
    def begin(self) -> None:
        from google import genai
        from google.genai import types

        self.types = types
        self.sdk = genai.Client(api_key="k", http_options=once(types, self.url))

    def user(self, text: str) -> Any:
        return {"role": "user", "parts": [{"text": text}]}

    def picture(self, text: str, picture: bytes) -> Any:
        image = {"inline_data": {"mime_type": "image/png", "data": picture}}
        return {"role": "user", "parts": [{"text": text}, image]}

    def send(self, stream: bool, tools: tuple[str, ...]) -> Heard:
        declared = [{"name": name, "parameters_json_schema": PARAMETERS} for name in tools]
        settings: dict[str, Any] = {
            "tools": [{"function_declarations": declared}],
            "automatic_function_calling": {"disable": True},
        }
        if self.thinking:
            settings["thinking_config"] = {"include_thoughts": True}
        asked = {"model": self.model, "contents": self.edit(self.history), "config": settings}
        parts: list[Any] = []
        stop = ""
        models: Any = self.sdk.models
        replies = (
            models.generate_content_stream(**asked)
            if stream
            else [models.generate_content(**asked)]
        )
        for reply in replies:
            candidate = reply.candidates[0]
            parts += (candidate.content.parts or ()) if candidate.content else ()
            stop = candidate.finish_reason.value if candidate.finish_reason else stop
        told = [part.model_dump(exclude_none=True) for part in parts]
        self.history.append({"role": "model", "parts": told})
        self.calls = [part.function_call for part in parts if part.function_call]
        calls = tuple((call.name, call.args) for call in self.calls)
        text = "".join(p.text for p in parts if p.text and not p.thought)
        reasoning = "".join(p.text for p in parts if p.text and p.thought)
        return Heard(text, calls, reasoning, stop)

    def results(self, texts: list[str], stream: bool, tools: tuple[str, ...] = ("look",)) -> Heard:
        parts = [
            {"function_response": {"id": c.id, "name": c.name, "response": {"output": text}}}
            for c, text in zip(self.calls, texts, strict=True)
        ]
        self.history.append({"role": "user", "parts": parts})
        return self.send(stream, tools)


class Ollama(Talk):
    def begin(self) -> None:
        import ollama

        self.sdk = ollama.Client(host=self.url, timeout=30)

    def close(self) -> None:
        self.sdk._client.close()

    def picture(self, text: str, picture: bytes) -> Any:
        return {"role": "user", "content": text, "images": [picture]}

    def send(self, stream: bool, tools: tuple[str, ...]) -> Heard:
        listed = [
            {"type": "function", "function": {"name": name, "parameters": PARAMETERS}}
            for name in tools
        ]
        asked: dict[str, Any] = {
            "model": self.model,
            "messages": self.edit(self.history),
            "tools": listed,
        }
        if self.thinking:
            asked["think"] = True
        replies = self.sdk.chat(**asked, stream=True) if stream else [self.sdk.chat(**asked)]
        message: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": []}
        stop = ""
        for reply in replies:
            message["content"] += reply.message.content or ""
            if reply.message.thinking:
                message["thinking"] = message.get("thinking", "") + reply.message.thinking
            for call in reply.message.tool_calls or ():
                message["tool_calls"].append(call.model_dump(exclude_none=True))
            stop = reply.done_reason or stop
        if not message["tool_calls"]:
            del message["tool_calls"]
        self.history.append(message)
        self.names = [c["function"]["name"] for c in message.get("tool_calls", ())]
        calls = tuple(
            (c["function"]["name"], c["function"]["arguments"])
            for c in message.get("tool_calls", ())
        )
        return Heard(message["content"], calls, message.get("thinking", ""), stop)

    def results(self, texts: list[str], stream: bool, tools: tuple[str, ...] = ("look",)) -> Heard:
        for name, text in zip(self.names, texts, strict=True):
            self.history.append({"role": "tool", "tool_name": name, "content": text})
        return self.send(stream, tools)


class Bedrock(Talk):
    def begin(self) -> None:
        import botocore.config
        import botocore.session

        self.sdk = botocore.session.get_session().create_client(
            "bedrock-runtime",
            region_name="eu-central-1",
            endpoint_url=self.url,
            aws_access_key_id="a",
            aws_secret_access_key="b",
            config=botocore.config.Config(retries={"total_max_attempts": 1}, read_timeout=30),
        )

    def user(self, text: str) -> Any:
        return {"role": "user", "content": [{"text": text}]}

    def picture(self, text: str, picture: bytes) -> Any:
        image = {"image": {"format": "png", "source": {"bytes": picture}}}
        return {"role": "user", "content": [{"text": text}, image]}

    def send(self, stream: bool, tools: tuple[str, ...]) -> Heard:
        specs = [
            {"toolSpec": {"name": name, "inputSchema": {"json": PARAMETERS}}} for name in tools
        ]
        asked = {
            "modelId": self.model, "toolConfig": {"tools": specs},
            "messages": self.edit(self.history),
        }  # fmt: skip
        if stream:
            with closing(self.sdk.converse_stream(**asked)["stream"]) as events:
                message, stop = self.collect(events)
        else:
            reply = self.sdk.converse(**asked)
            message, stop = reply["output"]["message"], reply["stopReason"]
        self.history.append(message)
        uses = [b["toolUse"] for b in message["content"] if "toolUse" in b]
        self.ids = [use["toolUseId"] for use in uses]
        text = "".join(b["text"] for b in message["content"] if "text" in b)
        reasoning = "".join(
            b["reasoningContent"].get("reasoningText", {}).get("text", "")
            for b in message["content"]
            if "reasoningContent" in b
        )
        return Heard(text, tuple((use["name"], use["input"]) for use in uses), reasoning, stop)

    def collect(self, events: Iterator[Any]) -> tuple[dict[str, Any], str]:
        blocks: dict[int, dict[str, Any]] = {}
        stop = ""
        for event in events:
            if found := event.get("contentBlockStart"):
                use = found["start"].get("toolUse")
                if use:
                    blocks[found["contentBlockIndex"]] = {"toolUse": {**use, "input": ""}}
            elif found := event.get("contentBlockDelta"):
                self.add(blocks.setdefault(found["contentBlockIndex"], {}), found["delta"])
            elif found := event.get("messageStop"):
                stop = found["stopReason"]
        for block in blocks.values():
            if "toolUse" in block:
                block["toolUse"]["input"] = json.loads(block["toolUse"]["input"] or "{}")
        return {"role": "assistant", "content": [blocks[i] for i in sorted(blocks)]}, stop

    def add(self, block: dict[str, Any], delta: dict[str, Any]) -> None:
        if "text" in delta:
            block["text"] = block.get("text", "") + delta["text"]
        elif "toolUse" in delta:
            block["toolUse"]["input"] += delta["toolUse"]["input"]
        elif "reasoningContent" in delta:
            held = block.setdefault("reasoningContent", {})
            more = delta["reasoningContent"]
            if "redactedContent" in more:
                held["redactedContent"] = more["redactedContent"]
                return
            text = held.setdefault("reasoningText", {"text": ""})
            text["text"] += more.get("text", "")
            if "signature" in more:
                text["signature"] = more["signature"]

    def results(self, texts: list[str], stream: bool, tools: tuple[str, ...] = ("look",)) -> Heard:
        content = [
            {"toolResult": {"toolUseId": call, "content": [{"text": text}]}}
            for call, text in zip(self.ids, texts, strict=True)
        ]
        self.history.append({"role": "user", "content": content})
        return self.send(stream, tools)


TALKS: dict[str, type[Talk]] = {
    "anthropic-messages": Anthropic,
    "openai-chat": Chat,
    "openai-responses": Responses,
    "gemini": Gemini,
    "ollama": Ollama,
    "bedrock-converse": Bedrock,
}


class Interactions(Talk):
    """Gemini's other API, whose history is a list of steps."""

    def begin(self) -> None:
        from google import genai
        from google.genai import types

        self.sdk = genai.Client(api_key="k", http_options=once(types, self.url))
        self.calls: list[Any] = []

    def user(self, text: str) -> Any:
        return {"type": "user_input", "content": [{"type": "text", "text": text}]}

    def picture(self, text: str, picture: bytes) -> Any:
        data = base64.b64encode(picture).decode()
        image = {"type": "image", "mime_type": "image/png", "data": data}
        return {"type": "user_input", "content": [{"type": "text", "text": text}, image]}

    def send(self, stream: bool, tools: tuple[str, ...]) -> Heard:
        listed = [{"type": "function", "name": name, "parameters": PARAMETERS} for name in tools]
        asked = {
            "model": self.model, "input": self.edit(self.history), "tools": listed, "store": False,
        }  # fmt: skip
        if stream:
            with self.sdk.interactions.create(**asked, stream=True) as events:
                steps, status = self.collect(events)
        else:
            reply = self.sdk.interactions.create(**asked)
            steps, status = [told(step) for step in reply.steps or ()], reply.status
        self.history += steps
        self.calls = [step for step in steps if step["type"] == "function_call"]
        texts = (
            part["text"] for s in steps if s["type"] == "model_output" for part in s["content"]
        )
        thoughts = (part["text"] for s in steps if s["type"] == "thought" for part in s["summary"])
        calls = tuple((call["name"], call["arguments"]) for call in self.calls)
        return Heard("".join(texts), calls, "".join(thoughts), str(status))

    def collect(self, events: Iterator[Any]) -> tuple[list[dict[str, Any]], str]:
        steps: list[dict[str, Any]] = []
        status = ""
        for event in events:
            if event.event_type == "step.start":
                steps.append(told(event.step))
            elif event.event_type == "step.delta":
                self.add(steps[-1], event.delta)
            elif event.event_type == "interaction.completed":
                status = event.interaction.status
            elif event.event_type == "error":
                raise RuntimeError(event.error.message)
        for step in steps:
            if isinstance(given := step.get("arguments"), str):
                step["arguments"] = json.loads(given)
        return steps, status

    def add(self, step: dict[str, Any], delta: Any) -> None:
        if delta.type == "arguments_delta":
            given = step.get("arguments") or ""
            step["arguments"] = given + delta.arguments
        elif delta.type == "thought_signature":
            step["signature"] = delta.signature
        elif delta.type == "thought_summary":
            step.setdefault("summary", []).append(told(delta.content))
        else:
            step.setdefault("content", []).append(told(delta))

    def results(self, texts: list[str], stream: bool, tools: tuple[str, ...] = ("look",)) -> Heard:
        self.history += [
            {"type": "function_result", "call_id": c["id"], "name": c["name"], "result": text}
            for c, text in zip(self.calls, texts, strict=True)
        ]
        return self.send(stream, tools)


def told(step: Any) -> dict[str, Any]:
    return dict(step.model_dump(exclude_none=True, mode="json"))


class Invoked(Anthropic):
    """Claude on Bedrock, as Claude Code asks for it there."""

    def begin(self) -> None:
        import anthropic

        self.sdk = anthropic.AnthropicBedrock(
            base_url=self.url, aws_access_key="a", aws_secret_key="b", aws_region="eu-central-1",
            max_retries=0, timeout=30,
        )  # fmt: skip


class Cohere(Talk):
    def begin(self) -> None:
        import cohere

        self.sdk = cohere.ClientV2(api_key="k", base_url=self.url, timeout=30)

    def close(self) -> None:
        """Its own way to close leaves the pool open."""
        self.sdk._client_wrapper.httpx_client.httpx_client.close()

    def picture(self, text: str, picture: bytes) -> Any:
        image = {"type": "image_url", "image_url": {"url": data_url(picture)}}
        return {"role": "user", "content": [{"type": "text", "text": text}, image]}

    def send(self, stream: bool, tools: tuple[str, ...]) -> Heard:
        listed = [
            {"type": "function", "function": {"name": name, "parameters": PARAMETERS}}
            for name in tools
        ]
        asked: dict[str, Any] = {
            "model": self.model, "messages": self.edit(self.history), "tools": listed,
            "request_options": {"max_retries": 0},
        }  # fmt: skip
        if stream:
            with closing(self.sdk.chat_stream(**asked)) as events:
                message, stop = self.collect(events)
        else:
            reply = self.sdk.chat(**asked)
            message = told(reply.message)
            stop = str(reply.finish_reason)
        calls = message.get("tool_calls") or []
        self.ids = [call["id"] for call in calls]
        parts = message.get("content") or []
        self.history.append(message)
        plan = message.get("tool_plan") or ""  # what is said beside calls
        return Heard(
            plan + "".join(part.get("text") or "" for part in parts),
            tuple((c["function"]["name"], json.loads(c["function"]["arguments"])) for c in calls),
            "".join(part.get("thinking") or "" for part in parts),
            stop,
        )

    def collect(self, events: Iterator[Any]) -> tuple[dict[str, Any], str]:
        parts: dict[int, dict[str, Any]] = {}
        calls: dict[int, dict[str, Any]] = {}
        stop = ""
        for event in events:
            if event.type == "content-start":
                parts[event.index] = told(event.delta.message.content)
            elif event.type == "content-delta":
                for key, text in told(event.delta.message.content).items():
                    if key in ("text", "thinking"):
                        part = parts[event.index]
                        part[key] = part.get(key, "") + text
            elif event.type == "tool-call-start":
                calls[event.index] = told(event.delta.message.tool_calls)
            elif event.type == "tool-call-delta":
                more = event.delta.message.tool_calls.function.arguments
                calls[event.index]["function"]["arguments"] += more
            elif event.type == "message-end":
                stop = str(event.delta.finish_reason)
                if event.delta.error:
                    raise RuntimeError(event.delta.error)
        message: dict[str, Any] = {"role": "assistant", "content": list(parts.values())}
        if calls:
            message["tool_calls"] = list(calls.values())
        return message, stop

    def results(self, texts: list[str], stream: bool, tools: tuple[str, ...] = ("look",)) -> Heard:
        for call, text in zip(self.ids, texts, strict=True):
            self.history.append({"role": "tool", "tool_call_id": call, "content": text})
        return self.send(stream, tools)


MORE: dict[str, type[Talk]] = {
    "gemini-interactions": Interactions,
    "anthropic-bedrock": Invoked,
    "cohere": Cohere,
}
"""Clients of doors that are tried with some upstreams, not with each."""
