"""What is written: whole or not at all, never over an input, packed by its name.

A file is written beside its place under another name and renamed when it is complete. Whoever
stops on the way, by an error or by Ctrl-C, leaves nothing after and nothing changed.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from . import terminal
from .faults import IO, Fault, io_fault, usage
from .inputs import CONTAINERS, PACKED, Input, open_zstd, suffix_of


class Discard(Exception):
    """Raised inside of ``write_to``: the file is not to be, and nothing went wrong."""


class Sink(Protocol):
    """Where bytes go; ``flush`` lets whoever waits for them have them."""

    def write(self, data: bytes, /) -> object: ...

    def flush(self) -> None: ...


class Plan:
    """Where the results of inputs go: one file, one file each in a folder, or standard output.

    ``in_place`` is None for commands that never write over an input. ``suffix`` is what the names
    in a folder end in, where it is not what the inputs end in.
    """

    def __init__(
        self,
        inputs: list[Input],
        output: str | None,
        *,
        in_place: bool | None = None,
        suffix: str | None = None,
        append: bool = False,
        whole: bool = False,
    ) -> None:
        self.whole = whole
        """Whether containers are written as containers, and not as the documents in them."""
        if append and in_place:
            raise usage("--append and --in-place cannot be combined")
        if in_place and output is not None:
            raise usage("--in-place and --output cannot be combined")
        if in_place and any(input.path is None for input in inputs):
            raise usage("--in-place needs files, not standard input")
        if in_place and any(input.session is not None for input in inputs):
            raise usage("--in-place needs files: the session of an agent is never written over")
        self.inputs = inputs
        self.in_place = bool(in_place)
        self.hint = "choose another name" + (", or use --in-place" if in_place is False else "")
        self.suffix = suffix
        self.folder = Path(output) if _is_folder(output, inputs) and output else None
        self.file = Path(output) if output not in (None, "-") and self.folder is None else None
        self.append = append
        if append and (self.file is None or not is_jsonl(self.file)):
            raise usage("--append needs an output file", "-o FILE.jsonl --append")
        self.check()

    @property
    def in_lines(self) -> bool:
        """Whether the file that is written has one document per line, by its name."""
        return self.file is not None and is_jsonl(self.file)

    def is_in_lines(self, input: Input) -> bool:
        """Whether the file that an input becomes has one document per line, by its name."""
        if self.folder is None and not self.in_place:
            return self.in_lines
        place = self.place(input)
        return place is not None and is_jsonl(place)

    @property
    def together(self) -> bool:
        """Whether everything goes to one place."""
        return self.folder is None and not self.in_place

    def check(self) -> None:
        """Refuse beforehand what would write over an input, or twice to the same file."""
        if self.in_place:
            return
        written: dict[Path, Input] = {}
        if self.folder is not None:
            for input in self.inputs:
                place = self.place(input)
                assert place is not None
                if place in written:
                    names = f"{written[place].name} and {input.name}"
                    raise usage(
                        f"{names} would both be written to {place}",
                        "write them to different folders",
                    )
                written[place] = input
        self.refuse(self.inputs, *written)

    def beside(self, *others: str | None) -> None:
        """Refuse other files that are to be written if they are inputs, or one another."""
        places = [Path(other) for other in others if other is not None]
        self.refuse(self.inputs, *places, hint="choose another name")
        known = [self.file] if self.file else [self.place(i) for i in self.inputs if self.folder]
        for index, place in enumerate(places):
            for other in [*known, *places[:index]]:
                if other is not None and is_same(place, other):
                    raise usage(f"{place} would be written twice", "choose another name")

    def refuse(self, inputs: Iterable[Input], *places: Path, hint: str = "") -> None:
        """Refuse to write over any of these inputs."""
        known = Known(inputs)
        for place in [*places, *([self.file] if self.file else [])]:
            if place.exists() and not place.is_file():
                continue  # a device is no file that could be lost
            if place in known:
                raise usage(f"{place} is an input and would be overwritten", hint or self.hint)

    def place(self, input: Input) -> Path | None:
        """The file that the result of an input becomes; None: standard output."""
        if self.in_place:
            return input.path
        if self.folder is None:
            return self.file
        if input.path is None:
            raise usage("standard input has no file name; use -o FILE")
        within = input.path.relative_to(input.base).parent if input.base else Path()
        return self.folder / within / self.renamed(input.path)

    def renamed(self, path: Path) -> str:
        keeps = self.whole and suffix_of(path) != ".zip"  # an export is only read
        if self.suffix is None and (keeps or suffix_of(path) not in (".har", *CONTAINERS)):
            return path.name
        if self.suffix is None:
            packing = path.suffix if path.suffix.lower() in PACKED else ""
            return f"{path.name.removesuffix(packing)}.jsonl{packing}"  # its documents, a line each
        name, packed = path.name, ""
        if path.suffix.lower() in PACKED:
            name, packed = path.stem, path.suffix
        known = suffix_of(path)
        return (name[: -len(known)] if known else name) + self.suffix + packed

    def writing(
        self, place: Path | None, inputs: list[Input], *, harmless: bool = False
    ) -> contextlib.AbstractContextManager[Sink]:
        """The file that these inputs become, as ``write_to`` has it."""
        return write_to(
            place,
            append=self.append,
            inputs=inputs,
            within=inputs[0].within if self.in_place else self.folder,
            harmless=harmless,
        )

    def groups(self) -> Iterator[tuple[list[Input], Path | None]]:
        """What goes where: the inputs of each file that is written."""
        if self.together:
            yield self.inputs, self.file
        else:
            if self.folder is not None:
                with guarded(self.folder):
                    self.folder.mkdir(parents=True, exist_ok=True)
            for input in self.inputs:
                place = self.place(input)
                if input.base is not None and place is not None and not self.in_place:
                    make_parent(place, self.folder)
                yield [input], place


class Known:
    """The files of inputs, by what they are and by their names: each is looked at once."""

    def __init__(self, inputs: Iterable[Input]) -> None:
        paths = [input.path for input in inputs if input.path is not None]
        self.names = {os.path.abspath(path) for path in paths}
        self.files = {identity for path in paths if (identity := _identity(path)) is not None}

    def __contains__(self, place: Path) -> bool:
        identity = _identity(place)
        return os.path.abspath(place) in self.names if identity is None else identity in self.files


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_jsonl(path: Path) -> bool:
    """Whether a file has one document per line, by its name."""
    return suffix_of(path) in (".jsonl", ".ndjson")


def _is_folder(output: str | None, inputs: list[Input]) -> bool:
    if output is None or output == "-":
        return False
    if output.endswith(("/", os.sep)) or os.path.isdir(output):
        return True
    several = len(inputs) > 1 or any(input.base for input in inputs)
    if several and is_jsonl(Path(output)):
        return False
    if several:
        raise usage(
            f"several inputs, but {output} is not a folder",
            f"-o {output}/ writes one file per input, -o {output}.jsonl one line each",
        )
    return False


def is_same(one: Path, other: Path) -> bool:
    """Whether two names are of one file."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.abspath(one) == os.path.abspath(other)


@contextlib.contextmanager
def write_to(
    path: Path | None,
    *,
    append: bool = False,
    inputs: Iterable[Input] = (),
    within: Path | None = None,
    harmless: bool = False,
) -> Iterator[Sink]:
    """A file that is there when all went well, and not at all otherwise; None: standard output.

    With ``append``, what it held is copied first: it is as it was until all is written. The file
    is readable by nobody who may not read all of the ``inputs``. Where it is to stand ``within`` a
    folder, no link leads out of that. What is written is JSON, or ``harmless`` to a terminal.
    """
    if path is None:
        if sys.stdout is None:
            raise Fault("standard output is closed", IO, hint="-o FILE")
        stdout = sys.stdout.buffer
        with contextlib.suppress(Discard):
            is_raw = harmless or not terminal.is_terminal(sys.stdout)
            yield stdout if is_raw else terminal.Escaped(stdout)
        stdout.flush()
        return
    real = Path(os.path.realpath(path))
    stay(path, within)
    try:
        mode = os.stat(real).st_mode
    except OSError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):  # a device or a pipe cannot be renamed to
        if stat.S_ISDIR(mode):
            raise Fault("is a directory", IO, where=str(path))
        with contextlib.suppress(Discard), guarded(path), open(real, "wb") as device:
            yield device
        return
    with _beside(real, path, _allowed(inputs, mode)) as file:
        if append and mode is not None:
            with guarded(path):
                _copy(real, file)
        with _packing(file, path) as sink:
            yield sink


def stay(path: Path, within: Path | None, place: Path | None = None) -> None:
    """Refuse a place that a link leads out of a folder to."""
    real = os.path.realpath(place or path)
    if within is not None and not Path(real).is_relative_to(os.path.realpath(within)):
        raise Fault(f"a link to a place outside {within}", IO, where=str(path), hint="remove it")


def make_parent(path: Path, within: Path | None) -> None:
    """Make the folder that a file stands in, and none outside of ``within``."""
    stay(path, within, path.parent)
    with guarded(path):
        path.parent.mkdir(parents=True, exist_ok=True)


def _allowed(inputs: Iterable[Input], mode: int | None) -> int:
    """The permissions of a file: as it had them or as usual, but for those to read that an input
    does not give."""
    allowed = 0o666 & ~_umask() if mode is None else stat.S_IMODE(mode)
    kept = 0o600 if mode is None else ~0o044
    for input in inputs:
        with contextlib.suppress(OSError, ValueError):
            told = os.stat(input.path) if input.path is not None else os.fstat(sys.stdin.fileno())
            if stat.S_ISREG(told.st_mode):
                allowed &= told.st_mode | kept
    return allowed


def _copy(path: Path, file: BinaryIO) -> None:
    """What a file holds, with the end of its last line; packed files may follow each other."""
    import shutil

    with open(path, "rb") as old:
        shutil.copyfileobj(old, file)
        if path.suffix.lower() not in PACKED and old.tell():
            old.seek(-1, os.SEEK_END)
            if old.read(1) != b"\n":
                file.write(b"\n")


@contextlib.contextmanager
def _beside(real: Path, path: Path, mode: int) -> Iterator[BinaryIO]:
    with guarded(path):
        if not real.parent.is_dir():
            hint = f"mkdir -p {path.parent}"
            raise Fault(f"the folder {path.parent} does not exist", IO, where=str(path), hint=hint)
        number, name = tempfile.mkstemp(
            prefix=f".{real.name[:100]}.", suffix=".part", dir=real.parent
        )
    try:
        with guarded(path):  # closing writes what is left, and fails again where writing failed
            with open(number, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())  # a new name never stands for what is not on the disk
            os.chmod(name, mode)
            os.replace(name, real)
    except BaseException as problem:
        with contextlib.suppress(OSError):
            os.unlink(name)
        if not isinstance(problem, Discard):
            raise


@contextlib.contextmanager
def _packing(file: BinaryIO, path: Path) -> Iterator[Sink]:
    with guarded(path):
        match path.suffix.lower():
            case ".gz":
                import gzip

                # Neither name nor time: the same input gives the same bytes.
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    yield cast(Sink, packed)
            case ".zst" | ".zstd":
                with open_zstd(file, "wb") as packed_file:
                    yield packed_file
            case _:
                yield file
                file.flush()


@contextlib.contextmanager
def guarded(path: Path) -> Iterator[None]:
    """What fails here is the fault of that file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise io_fault(problem, str(path)) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
