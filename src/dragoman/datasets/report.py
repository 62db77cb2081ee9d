"""The report: one page with plots, made of the manifest alone. It has no script and asks nobody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

from .plots import Part, bars, histogram, spelled, text

KINDS = ("dropped", "approximated", "invented", "moved", "renamed")
TOOLS = 20
LOSSES = 200


def page(manifest: dict[str, Any]) -> str:
    """The whole page."""
    options = manifest["options"]
    inputs = manifest["inputs"]
    about = f"{len(inputs):,} input file{'s' * (len(inputs) != 1)} → {options['target']}"
    body = [
        f"<h1>Data set for {text(options['target'])}</h1>",
        f'<p class="about">{text(about)} · dragoman {text(manifest["versions"]["dragoman"])}</p>',
        tiles(manifest),
        f'<div class="cards">{"".join(cards(manifest))}</div>',
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>Data set for {text(options['target'])}</title><style>{style()}</style></head>"
        "<body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def style() -> str:
    return resources.files(__package__ or "").joinpath("report.css").read_text("utf-8")


def tiles(manifest: dict[str, Any]) -> str:
    """The numbers that are asked for first."""
    counts = manifest["records"]
    splits = manifest["splits"].values()
    tokens = [split["tokens"] for split in splits if split["tokens"] is not None]
    shown = [
        ("read", counts["read"], ""),
        ("written", counts["written"], ""),
        ("rejected", counts["rejected"], "bad" if counts["rejected"] else ""),
        ("characters of text", sum(split["chars"] for split in splits), ""),
        *([("tokens", sum(tokens), "")] if tokens else []),
        ("shards", len(manifest["shards"]), ""),
        ("losses", sum(loss["times"] for loss in manifest["losses"]), ""),
    ]
    made = (
        f'<div class="tile {kind}" title="{count:,}"><b>{brief(count)}</b><span>{name}</span></div>'
        for name, count, kind in shown
    )
    return f'<div class="tiles">{"".join(made)}</div>'


def brief(number: int) -> str:
    """A number in few characters.

    >>> brief(87736), brief(1330669)
    ('87,736', '1.3M')
    """
    return f"{number:,}" if number < 10**6 else spelled(number)


def cards(manifest: dict[str, Any]) -> Iterable[str]:
    splits = manifest["splits"]
    yield card("What became of the records", fates(manifest))
    if len(splits) > 1:
        rows = [(name, [Part("", split["records"])]) for name, split in splits.items()]
        yield card("Splits", bars(rows, "records"))
    for what, title in (("chars", "characters"), ("tokens", "tokens"), ("messages", "messages")):
        sizes: Counter[int] = Counter()
        for split in splits.values():
            for size, count in split["lengths"].get(what, {}).items():
                sizes[int(size)] += count
        if sizes:
            yield card(f"Length in {title}", histogram(sizes, title))
    yield from counted("Messages by role", splits, "roles", "messages")
    yield from counted("Tools called", splits, "tools", "calls")
    yield from counted("Sources", splits, "sources", "records")
    if manifest["first_rejected"]:
        yield card("Rejected", rejected(manifest), wide=True)
    if manifest["losses"]:
        yield card("Losses by source", by_source(manifest["losses"]))
        yield card("Losses", listed(manifest["losses"]), wide=True)
    for key, title in (("redacted", "Redacted"), ("edits", "Edits")):
        if manifest[key]:
            rows = [(name, [Part("", count)]) for name, count in manifest[key].items()]
            yield card(title, bars(rows, "times"))
    yield card("Shards", shards(manifest["shards"]), wide=True)
    yield card("Options", options(manifest["options"]), wide=True)


def card(title: str, inner: str, *, wide: bool = False) -> str:
    return f'<section class="card{" wide" * wide}"><h2>{text(title)}</h2>{inner}</section>'


def fates(manifest: dict[str, Any]) -> str:
    rows = [("written", [Part("written", manifest["records"]["written"])])]
    for key, kind in (("rejected", "rejected"), ("filtered", "filtered"), ("dropped", "left-out")):
        for name, count in manifest[key].items():
            word = "left out" if kind == "left-out" else kind
            rows.append((f"{word}: {name}", [Part(kind, count)]))
    return bars(rows, "records")


def counted(title: str, splits: Mapping[str, Any], key: str, unit: str) -> Iterable[str]:
    """Bars of what all splits have together, the longest first."""
    counts: Counter[str] = Counter()
    for split in splits.values():
        counts.update(split[key])
    if counts:
        found = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        rows = [(name, [Part("", count)]) for name, count in found[:TOOLS]]
        more = len(found) - len(rows)
        rest = f'<p class="legend">and {more:,} more</p>' if more else ""
        yield card(title, bars(rows, unit) + rest)


def by_source(losses: list[dict[str, Any]]) -> str:
    sources: dict[str, Counter[str]] = {}
    for loss in losses:
        sources.setdefault(loss["source"], Counter())[loss["kind"]] += loss["times"]
    rows = [
        (source, [Part(kind, counts[kind]) for kind in KINDS if counts[kind]])
        for source, counts in sorted(sources.items(), key=lambda item: -item[1].total())
    ]
    used = [kind for kind in KINDS if any(kind in counts for counts in sources.values())]
    legend = "".join(f'<span><i class="dot {kind}"></i>{kind}</span>' for kind in used)
    return f'{bars(rows, "losses")}<p class="legend">{legend}</p>'


def listed(losses: list[dict[str, Any]]) -> str:
    order = sorted(losses, key=lambda loss: (KINDS.index(loss["kind"]), -loss["times"]))
    rows = "".join(map(_row, order[:LOSSES]))
    heads = '<th class="n">times</th><th class="n">records</th><th>source</th>'
    more = len(order) - LOSSES
    rest = f'<p class="legend">and {more:,} more in the manifest</p>' if more > 0 else ""
    return (
        f"<table><thead><tr><th>loss</th>{heads}<th>first met at</th><th>why</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>{rest}"
    )


def _row(loss: dict[str, Any]) -> str:
    return (
        f'<tr><td class="k"><i class="dot {loss["kind"]}"></i>{loss["kind"]} '
        f'<b>{text(loss["code"])}</b></td><td class="n">{loss["times"]:,}</td>'
        f'<td class="n">{loss["records"]:,}</td><td class="k">{text(loss["source"])}</td>'
        f"<td><code>{text(where(loss['first']))}</code></td>"
        f'<td class="dim">{text(loss["why"])}</td></tr>'
    )


def rejected(manifest: dict[str, Any]) -> str:
    rows = "".join(
        f'<tr><td class="k"><b>{text(code)}</b></td><td class="n">{manifest["rejected"][code]:,}'
        f"</td><td><code>{text(where(first))}</code></td>"
        f'<td class="dim">{text(first["why"])}</td></tr>'
        for code, first in manifest["first_rejected"].items()
    )
    return (
        '<table><thead><tr><th>code</th><th class="n">records</th><th>first met at</th>'
        f"<th>why</th></tr></thead><tbody>{rows}</tbody></table>"
        '<p class="legend">All of them are in the file of rejects.</p>'
    )


def where(first: dict[str, Any]) -> str:
    """The place of a record, as people write it."""
    line = "" if first["line"] is None else f":{first['line']}"
    return f"{first['input']}{line} {first['at'] or '/'}"


def shards(found: list[dict[str, Any]]) -> str:
    rows = "".join(
        f'<tr><td class="k">{text(shard["path"])}</td><td class="n">{shard["records"]:,}</td>'
        f'<td class="n">{shard["bytes"]:,}</td><td><code>{shard["sha256"]}</code></td></tr>'
        for shard in found
    )
    return (
        '<table><thead><tr><th>file</th><th class="n">records</th><th class="n">bytes</th>'
        f"<th>SHA-256</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def options(values: Mapping[str, Any]) -> str:
    rows = "".join(
        f'<tr><td class="k">{text(name)}</td><td><code>{text(value)}</code></td></tr>'
        for name, value in values.items()
    )
    return f"<table><tbody>{rows}</tbody></table>"
