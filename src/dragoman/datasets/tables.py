"""Shards as Parquet.

A column of Arrow has one type, and a struct has every key in every row, filled with null; so what
is an object here and a list there would come back as something else. Texts, numbers and truths are
columns of their type. Anything else is JSON, which ``datasets`` (from 4.7) reads as the objects
that were written, by what the schema says for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO

from ..containers import _tables
from ..core.reading import compact, decode, encode
from ..model import Json

ROWS = 1000
GROUP = 16 * 1024 * 1024
"""About how many bytes of lines are in a row group."""
DTYPES = {"text": "string", "bool": "bool", "int": "int64", "float": "float64", "null": "string"}


def write(lines: Iterable[bytes], columns: dict[str, str], out: BinaryIO) -> None:
    """Write lines as a table."""
    pa = _tables.arrow()
    import pyarrow.parquet

    schema = schema_of(columns, pa)
    with pyarrow.parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        for group in _groups(iter(lines)):
            rows = [decode(line) for line in group]
            arrays = [
                _array([_cell(row.get(name), columns[name]) for row in rows], field.type, pa)
                for name, field in zip(columns, schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def schema_of(columns: dict[str, str], pa: Any) -> Any:
    """The columns, and what `datasets` is told of them."""
    types = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64()}
    if hasattr(pa, "json_"):
        types["json"] = pa.json_(pa.string())
    fields = [pa.field(name, types.get(kind, pa.string())) for name, kind in columns.items()]
    features = {
        name: {"_type": "Json"} if kind == "json" else {"dtype": DTYPES[kind], "_type": "Value"}
        for name, kind in columns.items()
    }
    about = {"huggingface": encode({"info": {"features": features}})}
    return pa.schema(fields, about)


def _groups(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    while first := list(islice(lines, 1)):
        group, size = first, len(first[0])
        for line in islice(lines, ROWS - 1):
            group.append(line)
            size += len(line)
            if size > GROUP:
                break
        yield group


def _array(cells: list[Json], type: Any, pa: Any) -> Any:
    stored = getattr(type, "storage_type", None)
    if stored is None:
        return pa.array(cells, type)
    return pa.ExtensionArray.from_storage(type, pa.array(cells, stored))


def _cell(value: Json, kind: str) -> Json:
    if value is None:
        return None
    if kind == "json":
        return compact(value)
    return float(value) if kind == "float" else value
