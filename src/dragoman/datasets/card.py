"""The card of a data set: ``README.md``, which tells ``datasets`` what the files of the folder are.

Without it, ``load_dataset`` takes every file for data, the manifest and the rejects as well, and
learns the types of a column from the rows that it sees first: objects of other keys do not fit, or
come back filled with null. The card names the files of each split, and says of columns that hold
objects that they are JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..core.reading import compact
from .selecting import ALL
from .tables import DTYPES

DIGITS = "[0-9]" * 5


def card(manifest: Mapping[str, Any], columns: Mapping[str, str], suffix: str) -> str:
    """The card of what a manifest tells; the same for the same data."""
    target, counts = manifest["options"]["target"], manifest["records"]
    splits = {name: told["records"] for name, told in manifest["splits"].items()}
    filled = {name: count for name, count in splits.items() if count}
    lines = ["---", *front(filled, columns, suffix), "---", "", f"# Training records for {target}"]
    lines += ["", f"{counts['written']:,} records, written by `dragoman dataset`. `manifest.json`"]
    lines[-1] += " and `report.html` tell what they were made from and what was lost;"
    lines += ["`recipe.toml` makes them again.", "", "| split | records |", "| --- | ---: |"]
    lines += [f"| {name} | {count:,} |" for name, count in splits.items()]
    return "\n".join(lines) + "\n"


def front(splits: Mapping[str, int], columns: Mapping[str, str], suffix: str) -> list[str]:
    """What ``datasets`` reads of it. A text of JSON is one of YAML."""
    if not splits:
        return []
    lines = ["configs:", "- config_name: default", "  data_files:"]
    for name in splits:
        path = f"{name}-{DIGITS}{suffix}"
        lines += [f"  - split: {compact(split_of(name))}", f"    path: {compact(path)}"]
    lines += ["dataset_info:", "  features:"]
    for name, kind in columns.items():
        lines += [f"  - name: {compact(name)}", f"    dtype: {DTYPES.get(kind, 'json')}"]
    return lines


def split_of(name: str) -> str:
    """A split as ``datasets`` may call it; one that has no name is for training.

    >>> split_of("data"), split_of("hold-out")
    ('train', 'hold_out')
    """
    return "train" if name == ALL else re.sub(r"\W", "_", name)
