"""Tables of parameters: what one row says, both ways, and what every table must say."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import dragoman
from dragoman import dialects
from dragoman.core.fields import NAMES, Field, Fields, flag, labels, number, strings, text, whole
from dragoman.core.writing import Writing
from dragoman.errors import Malformed
from dragoman.ledger import Ledger
from dragoman.model import Cache, OutputFormat, Params

TABLE = Fields(
    Field("max_tokens", whole, "limit", also=("old_limit", "older_limit"), least=1),
    Field("temperature", number, least=0, most=1.0),
    Field("stream", flag),
    Field("stop", strings, "stops", single=True, count=2),
    Field("metadata", labels, only=lambda key, value: value == "x", why="{target} takes x alone"),
    Field("store", flag, silent=False),
    Field("service_tier", text, "about/tier", among=("fast", "slow")),
    Field("seed", whole, "about/seed", refused="{target} ignores {name}"),
    methods={"output": ("form",)},
    keys=("model",),
)


class Read:
    """What a table makes of a document."""

    def __init__(self, doc: dict[str, Any], table: Fields = TABLE) -> None:
        self.ats: dict[str, str] = {}
        self.spelling: dict[str, Any] = {}
        self.taken: set[str] = set()
        self.partly: dict[str, Any] = {}
        self.given = table.read(doc, self.ats, self.spelling, self.taken, self.partly)


def write(
    params: Params, same: bool = False, table: Fields = TABLE, **spelling: Any
) -> tuple[Any, list[str]]:
    log, out = Ledger(), dict[str, Any]()
    rule = (".", 64)
    table.write(out, params, Writing(log, rule, rule, same), "here-api", spelling)
    return out, [f"{loss.kind} {loss.what} {loss.path}: {loss.why}" for loss in log.losses]


# -- reading ---------------------------------------------------------------------------------------


def test_a_row_reads_its_key_and_tells_where_it_stood() -> None:
    read = Read({"limit": 5, "temperature": 0.5, "about": {"tier": "fast", "else": 1}, "x": 1})
    assert read.given == {"max_tokens": 5, "temperature": 0.5, "service_tier": "fast"}
    assert read.ats == {"max_tokens": "/limit", "service_tier": "/about/tier"}
    assert set(read.partly["about"]) == {"tier", "seed"}


@pytest.mark.parametrize(
    ("doc", "value", "key"),
    [
        ({"limit": 1, "old_limit": 2}, 1, None),
        ({"old_limit": 2, "limit": 1}, 1, None),
        ({"limit": None, "old_limit": 2}, 2, "old_limit"),
        ({"older_limit": 3, "old_limit": 2}, 2, "old_limit"),
    ],
)
def test_of_several_keys_the_first_of_the_row_counts(
    doc: dict[str, Any], value: int, key: str | None
) -> None:
    read = Read(doc)
    assert read.given == {"max_tokens": value}
    assert read.spelling.get("max_tokens") == key
    assert read.taken == ({key} if key else set())


def test_two_keys_may_be_an_error() -> None:
    table = Fields(Field("top_p", number, "topP", also=("top_p",)), once=True)
    with pytest.raises(Malformed, match="given twice"):
        Read({"topP": 1, "top_p": 1}, table)


def test_what_a_row_does_not_expect_is_malformed_at_its_place() -> None:
    with pytest.raises(Malformed, match="expected an integer") as wrong:
        Read({"about": {"seed": "one"}})
    assert wrong.value.at == "/about/seed"


def test_a_string_may_stand_for_a_list() -> None:
    assert Read({"stops": "a"}).given == Read({"stops": ["a"]}).given == {"stop": ("a",)}
    assert Read({"stops": "a"}).spelling == {"stop": "string"}
    assert Read({"stops": []}).given == {}


def test_a_silent_value_is_no_value_but_is_remembered() -> None:
    read = Read({"store": False})
    assert (read.given, read.spelling) == ({}, {"store": False})
    assert Read({"store": True}).given == {"store": True}


def test_a_value_in_an_object_that_is_no_value_of_the_tree_is_not_taken() -> None:
    table = Fields(Field("stop", strings, "options/stop"))
    assert "stop" not in Read({"options": {"stop": []}}, table).partly["options"]


@pytest.mark.parametrize("doc", [{}, {"limit": 7}, {"temperature": 0, "stream": True, "x": 1}])
def test_the_usual_parameters_are_read_as_all_others(doc: dict[str, Any]) -> None:
    usual, read = TABLE.usual(doc), Read(doc)
    assert usual == Params(**read.given, ats=read.ats)


@pytest.mark.parametrize("key", ["old_limit", "stops", "store", "about", "form"])
def test_any_other_parameter_is_not_usual(key: str) -> None:
    assert TABLE.usual({"limit": 1, key: None}) is None


# -- writing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "out", "losses"),
    [
        (Params(temperature=1.7), {"temperature": 1.0},
         ["approximated temperature /temperature: temperature 1.7 lowered to 1.0, the maximum of "
          "here-api"]),
        (Params(max_tokens=0), {"limit": 1},
         ["approximated max_tokens /max_tokens: max_tokens 0 raised to 1, the minimum of "
          "here-api"]),
        (Params(service_tier="flex"), {},
         ["dropped service_tier /service_tier: service_tier 'flex' is not supported by here-api"]),
        (Params(service_tier="slow"), {"about": {"tier": "slow"}}, []),
        (Params(stop=("a", "b", "c")), {"stops": ["a", "b"]},
         ["approximated stop /stop: stop has 3 entries, and here-api accepts 2 of them at most; "
          "the first 2 are kept"]),
        (Params(metadata={"a": "x", "b": "y"}), {"metadata": {"a": "x"}},
         ["approximated metadata /metadata: here-api takes x alone"]),
        (Params(metadata={"b": "y"}), {}, ["dropped metadata /metadata: here-api takes x alone"]),
        (Params(seed=1), {}, ["dropped seed /seed: here-api ignores seed"]),
        (Params(top_k=1), {}, ["dropped top_k /top_k: here-api has no field for top_k"]),
        (Params(previous_id="r"), {},
         ["dropped previous_id /previous_id: here-api has no field for previous_id; send the whole "
          "conversation"]),
        (Params(cache=Cache(at="/mark")), {},
         ["dropped cache /mark: here-api has no field for cache"]),
        (Params(candidates=1), {}, []),
        (Params(candidates=2), {},
         ["dropped candidates /candidates: here-api has no field for candidates"]),
        (Params(output=OutputFormat("json")), {}, []),  # a method writes it
    ],
)  # fmt: skip
def test_a_value_of_another_dialect_is_made_to_fit(
    params: Params, out: dict[str, Any], losses: list[str]
) -> None:
    assert write(params) == (out, losses)


def test_the_same_dialect_writes_every_value_as_it_was() -> None:
    params = Params(
        max_tokens=0, temperature=1.7, stop=("a", "b", "c"), metadata={"b": "y"}, seed=1,
        service_tier="flex",
    )  # fmt: skip
    out, losses = write(params, same=True)
    assert losses == []
    assert out == {
        "limit": 0, "temperature": 1.7, "stops": ["a", "b", "c"], "metadata": {"b": "y"},
        "about": {"tier": "flex", "seed": 1},
    }  # fmt: skip


def test_a_document_is_written_under_the_keys_that_it_had() -> None:
    doc = {"old_limit": 3, "stops": "a", "store": False}
    read = Read(doc)
    assert write(Params(**read.given, ats=read.ats), True, TABLE, **read.spelling) == (doc, [])


LIMITS, HEATS = (None, 0, 5), (None, -1, 0.5, 3)


@pytest.mark.parametrize(("limit", "heat", "same"), [*product(LIMITS, HEATS, (False, True))])
def test_the_usual_parameters_are_written_as_all_others(
    limit: int | None, heat: float | None, same: bool
) -> None:
    """The quick way is taken for them alone: a harmless parameter more takes the long one."""
    for stream in (None, True):
        params = Params(limit, heat, stream=stream)
        longer = Params(limit, heat, stream=stream, candidates=1)
        assert write(params, same) == write(longer, same)


def test_what_is_left_for_methods() -> None:
    log, rule = Ledger(), (".", 64)
    w = Writing(log, rule, rule, False)
    form = OutputFormat("json", at="/form")
    assert TABLE.write({}, Params(max_tokens=3), w, "api") is None
    assert TABLE.write({}, Params(output=form), w, "api") == Params(output=form)
    refusing = TABLE.refusing("output")
    assert refusing.write({}, Params(output=form), w, "api") == Params()
    assert [str(loss) for loss in log.losses] == [
        "dropped output at /form (output is not supported by api)"
    ]


# -- variants --------------------------------------------------------------------------------------


def test_a_variant_replaces_rows_and_adds_others() -> None:
    variant = TABLE.but(Field("temperature", number), Field("top_k", whole, "k"))
    assert write(Params(temperature=7, top_k=2), table=variant) == ({"temperature": 7, "k": 2}, [])
    assert write(Params(temperature=7))[0] == {"temperature": 1.0}  # the first is as it was
    assert variant.taken == TABLE.taken | {"k"}
    assert {"model", "stream"} < TABLE.taken


def test_one_candidate_is_what_no_value_means() -> None:
    table = TABLE.but(Field("candidates", whole, "n"))
    assert write(Params(candidates=1), table=table) == ({}, [])
    assert write(Params(candidates=1), True, table)[0] == {"n": 1}
    assert write(Params(candidates=2), table=table)[0] == {"n": 2}


def test_what_a_variant_refuses_it_still_reads_and_writes_back() -> None:
    variant = TABLE.refusing("temperature", "max_tokens")
    assert Read({"temperature": 1}, variant).given == {"temperature": 1}
    assert write(Params(temperature=1), True, variant)[0] == {"temperature": 1}
    assert write(Params(3, 1), table=variant) == (
        {},
        [
            "dropped max_tokens /max_tokens: max_tokens is not supported by here-api",
            "dropped temperature /temperature: temperature is not supported by here-api",
        ],
    )


def test_a_variant_without_limits() -> None:
    variant = TABLE.without_limits("temperature")
    assert write(Params(0, 7), table=variant)[0] == {"limit": 1, "temperature": 7}
    assert write(Params(0, 7), table=TABLE.without_limits())[0] == {"limit": 0, "temperature": 7}


def test_ranges() -> None:
    assert TABLE.ranges == {"limit": (1, None), "temperature": (0, 1.0)}
    assert TABLE.describe() == "limit from 1, temperature 0..1"


# -- the tables of the dialects --------------------------------------------------------------------

VALUES: dict[str, Any] = {
    "max_tokens": 50, "temperature": 0.5, "top_p": 0.5, "top_k": 5, "stop": ["x"], "seed": 1,
    "frequency_penalty": 0.5, "presence_penalty": 0.5, "logit_bias": {"1": 1}, "logprobs": True,
    "top_logprobs": 2, "candidates": 2, "output": {"kind": "json"}, "verbosity": "low",
    "thinking": {"mode": "on", "budget": 2000}, "metadata": {"a": "b"}, "user_id": "u",
    "service_tier": "auto", "cache_key": "k", "cache": {}, "store": True, "previous_id": "r",
    "conversation_id": "c", "truncation": "auto", "stream": True,
}  # fmt: skip
# functiongemma-teaching writes no conversation but one that ends in a call; its table is the same
TARGETS = [n for n in dialects.names() if "write" in dialects.get(n).facets().get("request", ())]
TARGETS.remove("functiongemma-teaching")
for name in (
    "alpaca",
    "sharegpt",
    "mistral-finetune",
    "vertex-tuning",
):  # no conversation without a reply
    TARGETS.remove(name)  # their table is that of all records


def test_every_parameter_is_tried() -> None:
    assert VALUES.keys() == set(NAMES)


def converted(target: str, **params: Any) -> dragoman.Result:
    written = [{"role": "user", "content": [{"block": "text", "text": "JSON, please"}]}]
    tree = {"model": "m", "messages": written, "params": params}
    document = {"dragoman": 1, "facet": "request", "tree": tree}
    return dragoman.convert(document, source="native", target=target)


@pytest.mark.parametrize(("target", "name"), [*product(TARGETS, VALUES)])
def test_no_parameter_vanishes(target: str, name: str) -> None:
    """It is in the document, or in the ledger."""
    before, after = converted(target), converted(target, **{name: VALUES[name]})
    if any(loss.what.partition(".")[0] == name for loss in after.losses):
        return
    assert after.document != before.document


CHECKED = ["anthropic-messages", "cohere", "gemini", "openai-chat", "openai-responses"]


@pytest.mark.parametrize(
    ("target", "name", "value"),
    [*product(CHECKED, ("temperature", "top_p", "presence_penalty", "top_logprobs"), (-3, 1000))],
)
def test_what_is_written_is_in_the_range_that_check_knows(
    target: str, name: str, value: int
) -> None:
    result = converted(target, logprobs=True, max_tokens=50, **{name: value})
    found = dragoman.check(result.document, target, facet="request")
    assert [problem for problem in found if problem.rule == "range"] == []
