"""What an operator wants changed in requests to an upstream; each change is in the ledger.

Chat templates of local models often refuse or swallow a system turn after the first: Claude Code
sends system, user, system, and Codex two developer turns. Moving a later turn to the front would
change the beginning of the conversation with each turn, and void the prefix cache; so it stays in
its place, as text of the user.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from msgspec.structs import replace

from ..dialects import get
from ..ledger import Ledger
from ..model import Block, Cache, Message, Request
from .config import System, Upstream

Prepare = Callable[[Request, Ledger], Request]

ONE_PROMPT = frozenset({"llama-cpp", "vllm", "ollama", "groq"})
"""Dialects of servers that run open models, whose templates have one system turn."""
PROMPTS = ("system", "developer")


USER = re.compile(rb'"(?:user_id|user|safety_identifier)"\s*:')
"""Keys under which requests have the id of an end user."""


def prepare(
    upstream: Upstream, client: str, most: int | None = None, *, user: bool = True
) -> Prepare | None:
    """All changes for an upstream; None: there are none, and documents may pass as they are.

    ``most`` is the limit of tokens that a route gives; ``user`` is whether a request may have the
    id of an end user.
    """
    steps = list(steps_of(upstream, client, most if most is not None else upstream.max_tokens))
    if user and not shares_user(upstream, client):
        steps.append(without_user)
    if not steps:
        return None

    def prepared(tree: Request, log: Ledger) -> Request:
        for step in steps:
            tree = step(tree, log)
        return tree

    return prepared


def steps_of(upstream: Upstream, client: str, most: int | None) -> Iterator[Prepare]:
    system = upstream.system or ("user" if upstream.dialect in ONE_PROMPT else "keep")
    if system != "keep":
        yield lambda tree, log: with_prompts(tree, system, log)
    if upstream.merge_turns:
        yield merged
    if most is not None:
        limit = most
        yield lambda tree, log: limited(tree, limit, log)
    if upstream.cache:
        yield cached


def shares_user(upstream: Upstream, client: str) -> bool:
    """Whether ids of end users are passed on: by default only to the vendor whose client sent it,
    not to a server that speaks the same dialect.
    """
    if upstream.share_user is not None:
        return upstream.share_user
    if upstream.dialect != client:
        return False
    vendors = {urlsplit(row.base or "").hostname for row in get(client).endpoints}
    return upstream.url is None or urlsplit(upstream.url).hostname in vendors


def with_prompts(tree: Request, system: System, log: Ledger) -> Request:
    """A request whose system turns stand at its beginning, or are text of the user."""
    first = 0
    while first < len(tree.messages) and tree.messages[first].role in PROMPTS:
        first += 1
    head, rest = tree.messages[:first], tree.messages[first:]
    late = [message for message in rest if message.role in PROMPTS]
    if system == "user":
        if len(head) > 1:
            head = (joined(head, log),)
        told = tuple(as_user(m, log) if m.role in PROMPTS else m for m in rest)
        return tree if not late and len(head) == first else replace(tree, messages=(*head, *told))
    if not late and (system == "first" or first < 2):
        return tree
    for message in late:
        log.moved("message.position", message.at, "a later system turn written before all others")
    prompts = (*head, *late)
    if system == "merge" and len(prompts) > 1:
        prompts = (joined(prompts, log),)
    return replace(tree, messages=(*prompts, *(m for m in rest if m.role not in PROMPTS)))


def as_user(message: Message, log: Ledger) -> Message:
    why = f"a later {message.role} turn written as one of the user, in its place"
    log.approximated("message.role", message.at, why)
    return replace(message, role="user")


def joined(messages: tuple[Message, ...], log: Ledger) -> Message:
    """Several turns as one."""
    for message in messages[1:]:
        log.approximated("message.boundary", message.at, "joined with the turn before it")
    content: tuple[Block, ...] = tuple(block for m in messages for block in m.content)
    return replace(messages[0], content=content)


def merged(tree: Request, log: Ledger) -> Request:
    """Turns of one role that follow each other, as one: some servers demand alternation."""
    groups: list[list[Message]] = []
    for message in tree.messages:
        if groups and message.role == groups[-1][0].role != "tool":
            groups[-1].append(message)
        else:
            groups.append([message])
    if len(groups) == len(tree.messages):
        return tree
    turns = (g[0] if len(g) == 1 else joined(tuple(g), log) for g in groups)
    return replace(tree, messages=tuple(turns))


def limited(tree: Request, most: int, log: Ledger) -> Request:
    if tree.params.max_tokens is not None:
        return tree
    log.invented("max_tokens", "", f"the request has no limit; {most} by configuration")
    return replace(tree, params=replace(tree.params, max_tokens=most))


def cached(tree: Request, log: Ledger) -> Request:
    """Caching of the whole conversation, where the client never asks for it."""
    if tree.params.cache is not None or any(marks(tree)):
        return tree
    log.invented("cache", tree.at, "a cache mark for the whole request, by configuration")
    return replace(tree, params=replace(tree.params, cache=Cache()))


def marks(tree: Request) -> Iterator[Cache]:
    for tool in tree.tools or ():
        if tool.cache is not None:
            yield tool.cache
    for message in tree.messages:
        for block in message.content:
            if (mark := getattr(block, "cache", None)) is not None:
                yield mark


def without_user(tree: Request, log: Ledger) -> Request:
    """Ids of end users and their devices are not given to others unless that is asked for."""
    if tree.params.user_id is None:
        return tree
    why = "ids of end users are not passed on (share_user)"
    log.dropped("user_id", tree.params.where("user_id"), why)
    return replace(tree, params=replace(tree.params, user_id=None))
