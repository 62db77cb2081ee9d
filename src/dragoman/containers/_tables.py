"""Tables of Arrow: Parquet, and Arrow's own files (also called Feather) and streams.

Read batch by batch; what a column is packed in may not unpack to more than the limit allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import Malformed, MissingExtra
from ..model import Json

ROWS = 256
"""How many rows are in memory at once."""
PARQUET, ARROW = b"PAR1", b"ARROW1"


class Table:
    """A table that is read when its rows are asked for."""

    def __init__(self, data: bytes, limit: int | None) -> None:
        self.data, self.limit = data, limit

    def __len__(self) -> int:
        return sum(batch.num_rows for batch in self.batches())

    def batches(self) -> Iterator[Any]:
        """The record batches of Arrow."""
        pa = arrow()
        try:
            for batch in self._batches(pa):
                if self.limit is not None and batch.nbytes > self.limit:
                    raise Malformed(f"rows of more than {self.limit:,} bytes")
                yield batch
        except (pa.ArrowException, OSError, EOFError, MemoryError) as problem:
            first = " ".join(str(problem).split())[:200]
            raise Malformed(f"damaged: {first}") from None

    def _batches(self, pa: Any) -> Iterator[Any]:
        source = pa.BufferReader(self.data)
        if self.data.startswith(PARQUET):
            import pyarrow.parquet

            file = pyarrow.parquet.ParquetFile(source)
            for index in range(file.metadata.num_row_groups):
                size = file.metadata.row_group(index).total_byte_size
                if self.limit is not None and size > self.limit:
                    raise Malformed(f"a row group of more than {self.limit:,} bytes")
            yield from file.iter_batches(batch_size=ROWS)
            return
        import pyarrow.ipc

        reader = pyarrow.ipc.open_file(source)
        for index in range(reader.num_record_batches):
            whole = reader.get_batch(index)
            for start in range(0, whole.num_rows, ROWS):
                yield whole.slice(start, ROWS)

    def rows(self) -> Iterator[dict[str, Json]]:
        """The rows as objects."""
        for batch in self.batches():
            for row in batch.to_pylist():
                yield {name: plain(value) for name, value in row.items()}


def arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra("Parquet and Arrow", "parquet") from None
    return pyarrow


def is_table(data: bytes) -> bool:
    return data.startswith((PARQUET, ARROW))


def plain(value: Any) -> Json:
    """A cell as JSON has it: times and numbers of other kinds are texts."""
    if value is None or value.__class__ in (bool, int, str):
        return value
    if value.__class__ is float:
        return value if value - value == 0 else None  # neither endless nor no number
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)


def rewritten(table: Table, columns: dict[str, dict[int, bytes]]) -> bytes:
    """The file with texts of JSON in some cells of some columns, by the numbers of their rows."""
    pa = arrow()
    sink = pa.BufferOutputStream()
    writer: Any = None
    done = 0
    for batch in table.batches():
        arrays, fields = [], []
        for index, field in enumerate(batch.schema):
            array = batch.column(index)
            if field.name in columns:
                cells = columns[field.name]
                array = pa.array(
                    [
                        cells[done + row].decode()
                        if done + row in cells
                        else _text(array[row].as_py())
                        for row in range(batch.num_rows)
                    ],
                    pa.large_string() if pa.types.is_large_string(field.type) else pa.string(),
                )
                field = pa.field(field.name, array.type, field.nullable, field.metadata)
            arrays.append(array)
            fields.append(field)
        # What pandas and datasets note of types would contradict a column that has another one.
        changed = any(f.type != b.type for f, b in zip(fields, batch.schema, strict=True))
        schema = pa.schema(fields, None if changed else batch.schema.metadata)
        new = pa.record_batch(arrays, schema=schema)
        if writer is None:
            writer = _writer(table, sink, schema)
        writer.write_batch(new)
        done += batch.num_rows
    if writer is None:
        return table.data
    writer.close()
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _writer(table: Table, sink: Any, schema: Any) -> Any:
    if table.data.startswith(PARQUET):
        import pyarrow.parquet

        return pyarrow.parquet.ParquetWriter(sink, schema)
    import pyarrow.ipc

    return pyarrow.ipc.new_file(sink, schema)


def _text(value: Any) -> str | None:
    """A cell that is not converted, in a column of texts."""
    if value is None or isinstance(value, str):
        return value
    from ..core.reading import compact

    return compact(plain(value))
