"""Makes a tree fit a target that cannot say all of it; every change is in the ledger.

What is lowered here, once for all dialects, is what a dialect either can express or cannot
(``Dialect.can``, see ``capabilities``). Of messages:

- names of speakers, where there is no field for them;
- the ``developer`` role, which is ``system`` where there is none;
- system messages where none may stand, which are the user's;
- blocks that a message of a role cannot hold;
- refusals and retrieved passages, which are texts where there is no form for them;
- reasoning: signatures that the target does not accept, ids, summaries, several texts in a block;
- second ids of calls;
- citations: whose texts have them, of what, and what is told of it;
- prompt-cache marks: what may have one, and how long a cache lives;
- media: which kinds are taken, from where, and what is told of them; documents of plain text are
  texts where there are no others;
- names of tools in results, where a result names its call alone;
- texts of a result, where it has one, and errors, where there is no flag for them;
- blocks that a result cannot hold;
- the order of blocks, where there is a field for each kind of them.

Of tools:

- ``namespace``: tools in a namespace. Elsewhere both names become one, ``namespace__name``.
- ``deferred``: tools that are loaded when a tool search finds them. Elsewhere they are loaded at
  once; so they are where the search itself cannot be expressed, as nothing would load them.
- tools of a provider, where the target is not that provider;
- freeform tools, which are functions with one string where there are none;
- ``strict``: schemas that are enforced.
- ``search``: a tool search that the client runs. Elsewhere it is a function, and what it finds is
  named in its result and joins the tools of the request.

Of the form that a response should have: JSON without a schema, schemas that are no objects, names
and descriptions of schemas.

Of tool choices: modes, subsets of tools, whether calls may be parallel, and choices that only one
dialect knows.

Of requests: how reasoning is asked for, by mode, effort, budget and display, and whether the model
continues the last message.

And blocks of another dialect: tools that they bring join those of the request, what they say in
plain words is text, and a compacted history that nobody else can read is reported as such.

A tree that fits passes after one scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...ledger import Ledger
from ...model import History, Request, Response, Toolbox, ToolChoice, Tree
from ..capabilities import ALL_MARKS, ANY_OUTPUT, FLAGGED
from . import (
    caching,
    choices,
    messages,
    outputs,
    prefill,
    responses,
    results,
    roles,
    thinking,
    training,
)
from .messages import Messages, is_usual, plain_texts, usual_marks
from .opening import Opening
from .roles import omit
from .tools import SEARCH, Tools, are_special

if TYPE_CHECKING:
    from ...dialect import Dialect

__all__ = [
    "SEARCH",
    "Opening",
    "are_special",
    "is_usual",
    "lower",
    "omit",
    "plain_texts",
    "spell",
    "usual_marks",
]


def lower(tree: Tree, to: Dialect, log: Ledger) -> Tree:
    """The tree without what the target has no form for."""
    if isinstance(tree, Request):
        can, params, listed, writes = to.can, tree.params, tree.tools, to.writes
        fit = not listed or (writes is not None and writes.fit is listed)  # nothing to lower
        if can.caching is not ALL_MARKS and not (fit and params.cache is None):
            tree = caching.request(tree, to, log)
        if params.thinking is not None:
            tree = thinking.lower(tree, to, to.facts_of(tree.model, log), log)
        if tree.tool_choice is not None:
            tree = choices.omitted(tree, to, log)
        if not fit and writes is not None:
            fit = writes.fit is tree.tools
        special = not fit and tree.tools and are_special(tree.tools, can)
        if writes is not None and not special:
            writes.fit = tree.tools
        passed = None if writes is None else writes.fitting
        odd: int | None = -1
        marked: Sequence[int] | None = None
        if special:
            pass
        elif tree.messages is log.usual:
            marked = log.marked if can.caching is not ALL_MARKS else ()
            odd = marked[0] if marked else None
        else:
            odd = messages.unfit(tree.messages, can, "history", passed)
        if odd is not None:
            lowering = Messages(to, log, "history", tree.model)
            lowering.odd = odd
            if marked is None:
                tree = _request(tree, lowering, bool(special))
            else:  # they are as usual then
                log.usual = lowering.only_marks(tree.messages, marked)
                tree = replace(tree, messages=log.usual)
        if params.output is not None and can.outputs is not ANY_OUTPUT:
            tree = outputs.request(tree, to, log)
        if tree.prefill and can.prefill != "told":
            tree = prefill.lower(tree, to, log)
        if tree.training is not None:
            tree = training.lower(tree, to, log)
        return tree if tree.tool_choice is None else choices.lower_request(tree, to, log)
    if isinstance(tree, Response):
        return responses.lower(tree, to, log)
    if isinstance(tree, History):
        if messages.fit(tree.messages, to.can, "history"):
            return tree
        return replace(tree, messages=Messages(to, log, "history").all(tree.messages))
    if isinstance(tree, Toolbox) and any(tool.cache is not None for tool in tree.tools):
        tree = replace(tree, tools=caching.tools(tree.tools, to, log))
    if isinstance(tree, Toolbox) and are_special(tree.tools, to.can):
        lowered = Tools(to, log)
        lowered.define(tree.tools)
        return replace(tree, tools=lowered.all(tree.tools))
    if isinstance(tree, ToolChoice):
        return choices.lower_choice(tree, to, log)
    return tree


def spell(tree: Tree, to: Dialect, log: Ledger) -> Tree:
    """A tree of the target itself, in the forms that its reader knows; that is no loss."""
    if isinstance(tree, Request | History) and to.can.results is not FLAGGED:
        own = log.apart()
        tree = results.spell(tree, to, own)
        log.losses += [loss for loss in own.losses if loss.kind != "moved"]
    return tree


def _request(tree: Request, lowering: Messages, special: bool) -> Request:
    own, named = tree.tools or (), lowering.tools
    brought = [tool for raw in lowering.carriers(tree.messages) for tool in raw.tools]
    lowering.calm = not brought
    whole = special or bool(brought)
    found = named.begin(own, brought) if whole else named.begin_plain(own)
    spelled = lowering.all(tree.messages)
    if tree.prefill and (not spelled or spelled[-1].at != tree.messages[-1].at):
        roles.omit_prefill(tree.messages[-1], lowering.to, lowering.log)
        tree = replace(tree, prefill=None)
    written = named.end(found, brought) if whole else ()
    choice = None if tree.tool_choice is None else named.choice(tree.tool_choice)
    if not whole or (tree.tools is None and not written):  # the tools stay as they are
        return replace(tree, messages=spelled, tool_choice=choice)
    return replace(tree, messages=spelled, tools=written, tool_choice=choice)
