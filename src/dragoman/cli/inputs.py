"""What is read: files, globs, ``-``; JSON, one document per line, streams; gzip and zstd.

Nothing is read before it is needed. A file with one document per line, or a stream, is never in
memory as a whole.
"""

from __future__ import annotations

import codecs
import glob
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple, TypeAlias, cast

import click
from msgspec.structs import replace

from .. import dialects
from ..core.lines import as_list
from ..detect import begins_lines
from ..errors import MissingExtra
from ..ledger import Loss
from . import terminal
from .faults import IO as IO_FAILED
from .faults import MALFORMED, Fault, io_fault, usage

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ..containers._documents import Put
    from ..sessions import Session

Form: TypeAlias = Literal["json", "jsonl", "lines", "stream", "container"]
"""One document, one on each line, one that is all lines, a stream, a container that is no JSON."""

PACKED = (".gz", ".zst", ".zstd")
FORMS: dict[str, Form] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".sse": "stream"}
CONTAINERS = (".yaml", ".yml", ".flow", ".flows", ".mitm", ".parquet", ".arrow", ".feather", ".zip")
"""What the names of files end in that hold documents and are not JSON."""
KNOWN = (".json", ".jsonl", ".ndjson", ".sse", ".har", *CONTAINERS)
"""What the files of a folder end in that may hold conversations."""
CAPSULE = ".capsule.json"
SESSION = re.compile(r"[a-z][a-z-]*:\w[\w-]*")
CHUNK = 64 * 1024
LIMIT = 256 * 1024 * 1024
"""How many bytes one document, line, frame or collected stream may have, unless --max-size says."""
ENDLESS = sys.maxsize
MAX_SIZE = "dragoman.max_size"
# How the lines of server-sent events begin.
EVENTS = (b"data:", b"event:", b"id:", b"retry:", b":")
WIDE = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Input:
    """One file, or standard input. ``name`` is what messages call it."""

    __slots__ = ("base", "file", "name", "path", "session", "taken")

    def __init__(self, path: str, base: str | None = None) -> None:
        self.base = base
        """The folder that it was found in, if the folder was named and not the file."""
        self.file: io.RawIOBase | None = None
        self.session = session_named(path)
        """The session that is named by its agent, as in ``codex:latest``: it is only read."""
        self.path = None if path == "-" else Path(self.session.path if self.session else path)
        self.name = "stdin" if path == "-" else path
        self.taken = 0
        """How many bytes of the file have been read; for the progress."""

    @property
    def within(self) -> Path | None:
        """The folder that was named: where the input is replaced, no link leads out of it."""
        return Path(self.base) if self.base else None

    @property
    def size(self) -> int | None:
        """The bytes of the file, as they lie on the disk."""
        try:
            return os.stat(self.path).st_size if self.path is not None else None
        except OSError:
            return None

    @property
    def suffix(self) -> str:
        """What the name ends in, whatever it is packed in: ``.jsonl`` of ``a.jsonl.gz``."""
        return "" if self.path is None else suffix_of(self.path)

    def open(self) -> io.BufferedReader:
        """The bytes, unpacked and as UTF-8 without its mark; for one reading."""
        if self.path is None:
            if sys.stdin is None:
                raise Fault("standard input is closed", IO_FAILED)
            return _plain(_buffered(sys.stdin.buffer), self.name)
        if self.session is not None and self.session.path.suffix == ".db":
            from ..sessions import data_of

            return _plain(_buffered(io.BytesIO(data_of(self.session))), self.name)
        if glob.has_magic(self.name) and not os.path.lexists(self.name):
            raise Fault("no matching file", IO_FAILED, where=self.name, hint="check the path")
        try:
            if self.path.is_dir():
                os.scandir(self.path).close()  # one that cannot be read says so
                written = ", ".join(KNOWN)
                raise Fault(
                    "no conversations found", IO_FAILED, where=self.name, hint=f"{written}?"
                )
            self.file = _Counted(io.FileIO(self.path), self)
            return _plain(_buffered(unpack(cast(BinaryIO, self.file), self.path)), self.name)
        except OSError as problem:
            raise io_fault(problem, self.name) from None

    def close(self) -> None:
        """The file is not needed any more, whatever was made of it."""
        if self.file is not None:
            self.file.close()

    def guarded(self, read: Callable[[], bytes]) -> bytes:
        """What a reading gives; what fails on the way is this file's fault."""
        try:
            return read()
        except _damaged() as problem:
            raise _is_damaged(problem, self.name) from None
        except OSError as problem:
            raise io_fault(problem, self.name) from None


class Nothing(Fault):
    """No conversation. In a folder that is not an error: the file is skipped."""


class Hint(NamedTuple):
    """What a document is by what stands around it, e.g. by the path of a capture."""

    dialect: str
    facet: str
    why: str
    asks_stream: str = ""
    """Where the address stands that asks for a stream, if the document does not say so."""
    is_joined: bool = False
    """It is a request with the response to it."""


class Document:
    """One JSON text: of a file, of a line of it (``line``, from 1), or inside of one of these.

    ``outer`` is the text it stands in; ``place`` tells where a pointer into the document points in
    that. ``notes`` are losses that it has had before it was a document.
    """

    __slots__ = (
        "data",
        "hint",
        "id",
        "input",
        "is_packed",
        "label",
        "line",
        "notes",
        "outer",
        "place",
        "problem",
        "put",
    )

    def __init__(
        self,
        input: Input,
        data: bytes,
        line: int | None = None,
        *,
        hint: Hint | None = None,
        outer: bytes | None = None,
        label: str = "",
        notes: tuple[Loss, ...] = (),
        place: Callable[[str], str] = str,
    ) -> None:
        self.input = input
        self.data = data
        self.line = line
        self.hint = hint
        self.outer = outer
        self.label = label
        self.notes = notes
        self.place = place
        self.is_packed = False
        """It is a container that is not JSON, and no text."""
        self.problem: Exception | None = None
        """Why there is no document here: a record of a container that cannot be read."""
        self.id: str | None = None
        """The id of a record of a batch."""
        self.put: Put | None = None
        """The record of a container around a converted document."""

    @property
    def name(self) -> str:
        """The file and the line, for messages."""
        name = f"{self.input.name}:{self.line}" if self.line else self.input.name
        return f"{name} at {self.label}" if self.label else name

    @property
    def text(self) -> bytes:
        """The text that pointers of messages point into."""
        return self.data if self.outer is None else self.outer

    def inside(
        self,
        at: str,
        data: bytes,
        hint: Hint | None,
        *,
        label: str = "",
        notes: tuple[Loss, ...] = (),
    ) -> Document:
        """A document that stands in this one."""
        return Document(
            self.input,
            data,
            self.line,
            hint=hint,
            outer=b"" if self.is_packed else self.data,
            label=label,
            notes=notes,
            place=at.__add__,
        )

    def placed(self, losses: Iterable[Loss]) -> tuple[Loss, ...]:
        """Losses of this document, by their places in the text it stands in."""
        if self.place is str:
            return (*self.notes, *losses)
        return (*self.notes, *(replace(loss, path=self.place(loss.path)) for loss in losses))


def session_named(path: str) -> Session | None:
    """The session that is named by its agent, e.g. ``codex:latest``."""
    if not SESSION.fullmatch(path) or os.path.lexists(path):
        return None
    from ..sessions import find, is_reference

    return find(path, os.environ) if is_reference(path) else None


def expand(paths: Iterable[str]) -> list[Input]:
    """The inputs that the command line names: globs that no shell has expanded, and ``-``.

    Nothing named means standard input, unless that is a terminal.
    """
    named = list(paths)
    if not named:
        if terminal.is_terminal(sys.stdin):
            raise usage("no input: name a file, or use standard input", "dragoman COMMAND --help")
        named = ["-"]
    found: dict[str, str | None] = {}
    for path in named:
        if path != "-" and os.path.isdir(path):
            inside = list(walk(path))
            found.update(dict.fromkeys(inside, path) if inside else {path: None})
            continue
        if path == "-" or not glob.has_magic(path) or os.path.lexists(path):
            found[path] = None
            continue
        matches = sorted(glob.glob(path, recursive=True))
        if not matches:
            found[path] = None  # which is written when its turn comes; the others are done
        found.update(dict.fromkeys(match for match in matches if not os.path.isdir(match)))
    return [Input(path, base) for path, base in found.items()]


def walk(folder: str) -> Iterator[str]:
    """The files of a folder and of those in it that may hold conversations, by their names.

    What is hidden is passed over, and so are capsules that stand beside documents. A folder that
    cannot be read is among them: it is written when its turn comes.
    """
    closed: list[OSError] = []
    for place, folders, names in os.walk(folder, onerror=closed.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.startswith(".") or suffix_of(Path(name)) not in KNOWN:
                continue
            if not is_capsule(name):
                yield os.path.join(place, name)
    yield from (problem.filename for problem in closed)


def is_capsule(name: str) -> bool:
    """Whether a file is what `migrate` writes beside a document."""
    return name.endswith(CAPSULE)


class Reading:
    """An input while it is read: ``form`` tells whether ``documents`` or ``chunks`` is to be asked.

    The form is as told, or as the name says, or as the bytes look: a first line that is a whole
    document, with more after it, is one document per line. Close it, or use it as a context.
    """

    def __init__(self, input: Input, form: Form | None = None) -> None:
        self.input = input
        self.ahead: list[bytes] = []  # lines that were read to see what they are
        self.looked_at = 0  # bytes of these
        try:
            self.file = input.open()
            self.form: Form = self.packed() or form or self.guess()
        except BaseException:
            input.close()
            raise

    def __enter__(self) -> Reading:
        return self

    def __exit__(self, *_: object) -> None:
        self.input.close()

    def documents(self) -> Iterator[Document]:
        """The documents, one after the other. A stream is not made of documents: a ``Fault``."""
        if self.form == "stream":
            raise Fault(
                "a stream of events, not a document",
                MALFORMED,
                where=self.input.name,
                hint="dragoman collect writes a document; convert --facet stream, a stream",
            )
        if self.form in ("json", "container"):
            document = Document(self.input, self.all())
            document.is_packed = self.form == "container"
            yield document
            return
        if self.form == "lines":
            yield Document(self.input, as_list(self.all()))
            return
        for number, line in enumerate(self.lines(), 1):
            if line.strip():
                yield Document(self.input, line.rstrip(b"\r\n"), number)

    def chunks(self) -> Iterator[bytes]:
        """The bytes of a stream, as they arrive."""
        yield from (line for line in self.ahead if line)
        while data := self.input.guarded(lambda: self.file.read1(CHUNK)):
            yield data

    def lines(self) -> Iterator[bytes]:
        yield from (line for line in self.ahead if line)
        while line := self.line():
            yield line

    def line(self) -> bytes:
        """The next line; nothing at the end."""
        most = limit()
        line = self.input.guarded(lambda: self.file.readline(min(most + 1, ENDLESS)))
        if len(line) > most:
            raise too_large("a line", most, self.input.name)
        return line

    def all(self) -> bytes:
        """The whole file. It may have no end, or none in sight: a device, a pipe, a packed file."""
        parts, left, most = list(self.ahead), limit(), limit()
        left -= sum(map(len, parts))
        while data := self.input.guarded(lambda: self.file.read(CHUNK * 16)):
            parts.append(data)
            left -= len(data)
            if left < 0:
                raise too_large("a document", most, self.input.name)
        return b"".join(parts)

    def packed(self) -> Form | None:
        """Whether it is a container that is not JSON: by its name, or by its first bytes."""
        if self.input.suffix in CONTAINERS:
            return "container"
        if self.input.suffix in (*FORMS, ".json", ".har"):
            return None
        from ..containers import coding_of

        try:
            start = self.file.peek(4096)[:4096]
        except Exception:  # which says itself what is wrong when it is read
            return None
        return None if coding_of(start) is None else "container"

    def guess(self) -> Form:
        """What the file is: by its name, or as its bytes look."""
        form = FORMS.get(self.input.suffix) or self.look()
        return "lines" if form == "jsonl" and self.is_session() else form

    def is_session(self) -> bool:
        """Whether all lines are one document; no more are read than are needed to tell."""
        while not any(line.strip() for line in self.ahead):
            if not self.next() or self.looked_at > CHUNK:
                return False
        return begins_lines(b"".join(self.ahead))

    def look(self) -> Form:
        """What the bytes are, by the look of the first lines."""
        first = self.next()
        while first and not first.strip() and self.looked_at < CHUNK:
            first = self.next()
        if first.startswith(EVENTS):
            return "stream"
        if not _may_be_whole(first):
            return "json"
        enough = self.looked_at + CHUNK  # of blank lines, which may have no end
        while more := self.next():
            if more.strip():
                return "jsonl" if _is_whole(first) else "json"
            if self.looked_at > enough:
                break
        return "json"

    def next(self) -> bytes:
        line = self.line()  # a document may be one line; it is in memory as a whole anyway
        self.ahead.append(line)
        self.looked_at += len(line)
        if self.looked_at > limit():
            raise too_large("a document", limit(), self.input.name)
        return line


def form_of(lines: bool | None, source: str | None, facet: str | None = None) -> Form | None:
    """What the inputs are, as the options tell; None: each as it looks."""
    if facet == "stream":
        return "stream"
    if lines is not None:
        return "jsonl" if lines else "json"
    return "lines" if source is not None and dialects.get(source).lines else None


def limit() -> int:
    """How many bytes one document may have, as the command line has it."""
    ctx = click.get_current_context(silent=True)
    most: int = ctx.meta.get(MAX_SIZE, LIMIT) if ctx is not None else LIMIT
    return most


def too_large(what: str, most: int, name: str) -> Fault:
    """Something is larger than is taken; ``what`` names it."""
    hint = "raise the limit with --max-size SIZE, e.g. 2G"
    return Fault(f"{what} of more than {most:,} bytes", MALFORMED, where=name, hint=hint)


def _may_be_whole(line: bytes) -> bool:
    return line[:1] in b"{[" and line.rstrip()[-1:] in b"}]"


def _is_whole(line: bytes) -> bool:
    from ..core.surrogates import parse_leniently
    from ..errors import Malformed

    try:
        parse_leniently(line)
    except Malformed:
        return False
    return True


# -- packing ---------------------------------------------------------------------------------------


def suffix_of(path: Path) -> str:
    """The last suffix of a name that is not how it is packed."""
    name = path.name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return os.path.splitext(name)[1]


def unpack(file: BinaryIO, path: Path) -> BinaryIO:
    """The file as it was before it was packed, by its name."""
    match path.suffix.lower():
        case ".gz":
            import gzip

            return cast(BinaryIO, gzip.GzipFile(fileobj=file, mode="rb"))
        case ".zst" | ".zstd":
            return open_zstd(file, "rb")
    return file


def open_zstd(file: BinaryIO, mode: Literal["rb", "wb"]) -> BinaryIO:
    """zstd, from the standard library (3.14) or a package."""
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]

        return cast(BinaryIO, zstd.ZstdFile(file, mode))
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError:
        raise MissingExtra("zstd", "zstd") from None
    if mode == "rb":
        from ..sessions.packed import Unpacked

        return cast(BinaryIO, Unpacked(file, zstandard.ZstdDecompressor().decompressobj))
    return cast(BinaryIO, zstandard.ZstdCompressor().stream_writer(file, closefd=False))


def _damaged() -> tuple[type[Exception], ...]:
    """What reading a packed file raises when its bytes make no sense; only what is loaded can."""
    found: list[type[Exception]] = [EOFError, UnicodeError]
    if zlib := sys.modules.get("zlib"):
        found.append(zlib.error)
    if gzip := sys.modules.get("gzip"):
        found.append(gzip.BadGzipFile)
    if zstandard := sys.modules.get("zstandard"):
        found.append(zstandard.ZstdError)
    if zstd := sys.modules.get("compression.zstd"):
        found.append(zstd.ZstdError)
    return tuple(found)


def _is_damaged(problem: Exception, name: str) -> Fault:
    hint = "check that the file is complete and that its suffix is right"
    return Fault(f"damaged: {problem}", MALFORMED, where=name, hint=hint)


class _Counted(io.RawIOBase):
    """A file that tells its input how far it was read."""

    def __init__(self, file: io.FileIO, input: Input) -> None:
        self._file, self._input = file, input

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int | None:
        count = self._file.readinto(buffer)
        self._input.taken += count or 0
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


class _Recoded(io.RawIOBase):
    """Bytes of another encoding as UTF-8."""

    def __init__(self, file: io.BufferedReader, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
        self._ready = memoryview(b"")
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer).cast("B")
        while not self._ready and not self._ended:
            data = self._file.read1(CHUNK)
            self._ended = not data
            text = self._decoder.decode(data, final=not data)
            self._ready = memoryview(text.encode("utf-8", "backslashreplace"))  # as JSON has it
        taken, self._ready = self._ready[: len(view)], self._ready[len(view) :]
        view[: len(taken)] = taken
        return len(taken)


def _buffered(file: BinaryIO) -> io.BufferedReader:
    if isinstance(file, io.BufferedReader):
        return file
    return io.BufferedReader(cast(io.RawIOBase, file), CHUNK)


def _plain(file: io.BufferedReader, name: str) -> io.BufferedReader:
    """Without a byte order mark; UTF-16, as some shells write it, becomes UTF-8."""
    try:
        start = file.peek(4)[:4]
    except _damaged() as problem:
        raise _is_damaged(problem, name) from None
    except OSError as problem:
        raise io_fault(problem, name) from None
    if start.startswith(codecs.BOM_UTF8):
        file.read(len(codecs.BOM_UTF8))
    elif start.startswith(WIDE):
        encoding = "utf-32" if start.startswith(WIDE[:2]) else "utf-16"
        terminal.say(terminal.dim(f"{name}: read as {encoding.upper()}"))
        return io.BufferedReader(_Recoded(file, encoding), CHUNK)
    return file
