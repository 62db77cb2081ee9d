"""A job: from the files that are named to the shards, the manifest, the rejects and the report.

What a job needs while it runs lies in a folder beside what it writes (``.dragoman-job``, or
``NAME.dragoman-job`` where one file is written), and is removed at its end:

    job.json       what job this is: options, inputs with sizes and dates, version
    0000012.jsonl  the lines of chunk 12; 0000012.note, when they are whole
    data-00003.shard   a shard that is written, as the manifest has it

A job that was killed is started again by the same command. It finds its ``job.json``, takes the
chunks and shards that are there, and does the others. Nothing else than whole shards is ever under
the name of one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import msgspec
from msgspec import Struct

from dragoman import __version__

from ..core.reading import encode
from ..errors import Unsupported
from . import noting, report, shards
from .card import card as card_of
from .converting import Converter
from .engines.base import Engine, Plan, Task, encoded
from .engines.embedded import cores
from .engines.embedded import engine as embedded
from .inputs import Chunk, Input, Piece, chunks, expand
from .noting import ChunkNote, Reject, Summary
from .options import Options
from .options import toml as _text
from .selecting import Selection, Shard

FORMS = {
    suffix: shards.Form(suffix) for suffix in (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")
}
WORK = ".dragoman-job"
ENOUGH = 2 * 1024 * 1024
"""For so many bytes it is worth while to start another process."""


class Run(Struct, frozen=True, kw_only=True):
    """Where a job writes and how it runs: what does not change a byte of the result."""

    output: str
    form: str = "jsonl"
    """of the shards of a folder; that of a file is what its name ends in"""
    workers: int = 0
    """0: as many as there are processors"""
    engine: str = "embedded"
    address: str | None = None
    """of a cluster of Ray; None: one on this machine, for this job alone"""
    overwrite: bool = False


class State(Struct):
    """How far a job is."""

    total: int
    """bytes of the inputs"""
    done: int = 0
    records: int = 0
    lines: int = 0
    rejected: int = 0
    losses: Counter[str] = msgspec.field(default_factory=Counter)
    shards: int = 0


class Finished(Struct):
    """What a job has done."""

    manifest: dict[str, Any]
    folder: Path
    files: dict[str, Path]
    again: bool = False
    """It had been done before, and nothing was."""


class Layout:
    """Where everything is: in a folder, or beside one file."""

    def __init__(self, run: Run) -> None:
        output = Path(run.output)
        ending = next(
            (s for s in sorted(FORMS, key=len, reverse=True) if output.name.endswith(s)), ""
        )
        self.single = bool(ending) and not run.output.endswith(os.sep) and not output.is_dir()
        if self.single:
            self.form = FORMS[ending]
            self.folder, self.stem = output.parent, output.name.removesuffix(ending)
            self.work = self.folder / (output.name + WORK)
        else:
            if output.suffix and not output.is_dir() and not run.output.endswith(os.sep):
                known = ", ".join(FORMS)
                raise Unsupported(f"{run.output}: a file ends in {known}, a folder in /")
            form = "." + run.form
            if form not in FORMS:
                raise Unsupported(f"unknown form {run.form!r}; known: {', '.join(FORMS)}")
            self.form, self.folder, self.stem = FORMS[form], output, ""
            self.work = output / WORK
        self.output = output

    def beside(self, name: str) -> Path:
        """A file that goes with the shards: ``manifest.json``, or ``NAME.manifest.json``."""
        return self.folder / (f"{self.stem}.{name}" if self.stem else name)

    @property
    def manifest(self) -> Path:
        return self.beside("manifest.json")

    @property
    def files(self) -> dict[str, Path]:
        names = ("manifest.json", "rejects.jsonl", "report.html", "recipe.toml")
        return {name.partition(".")[0]: self.beside(name) for name in names}

    @property
    def card(self) -> Path | None:
        """What tells others how to read a folder; it may be edited, and is theirs then."""
        return None if self.single else self.folder / "README.md"

    def place(self, shard: str) -> Path:
        return self.output if self.single else self.folder / (shard + self.form.suffix)


class Job:
    """One run. ``watch`` is called with the ``State`` whenever something is done."""

    def __init__(
        self,
        paths: Iterable[str],
        options: Options,
        run: Run,
        watch: Callable[[State], None] | None = None,
    ) -> None:
        self.options, self.run = options, run
        self.layout = Layout(run)
        if self.layout.single and options.split:
            raise Unsupported("a split is several files: name a folder as the output")
        Converter(options)  # which says what is wrong with them
        self.paths = tuple(paths)
        self.inputs = without_output(expand(self.paths), self.layout)
        self.state = State(sum(input.size for input in self.inputs))
        self.watch = watch or (lambda state: None)
        self.work = self.layout.work
        self.summary = Summary()
        self.rejects: Counter[str] = Counter()
        self.first: dict[str, dict[str, Any]] = {}  # of each code, the first record
        self.done: dict[str, shards.Finished] = {}
        self.held: TextIO | None = None
        self.wanted: Counter[int] = Counter()  # chunk -> shards that still need its part
        self.lines: dict[int, int] = {}  # of each input, in the chunks so far
        late = self.layout.form.is_table
        self.selection = Selection(options, single=self.layout.single, late=late)
        columns = late or self.layout.card is not None
        form = self.layout.form
        self.plan = Plan(encoded(options), tuple(self.inputs), str(self.work), form, columns)
        self.files = {path: digest(Path(path).read_bytes()) for path in options.files()}
        self.job = encode({
            "version": __version__,
            "form": self.layout.form.suffix,
            "options": msgspec.to_builtins(options),
            "files": self.files,
            "inputs": msgspec.to_builtins(self.inputs),
        })  # fmt: skip

    def start(self) -> Finished:
        """Do the work, or what is left of it."""
        if (known := self.known()) is not None:
            return known
        self.prepare()
        hashes = Hashes(self.inputs)
        engine = self.engine()
        try:
            with (self.work / "rejects.jsonl").open("wb") as rejects:
                for number, note in self.notes(engine):
                    self.take(note, rejects)
                    for shard in self.selection.feed(number, note):
                        self.order(engine, shard)
                    self.collect(engine.written())
            for shard in self.selection.finish():
                self.order(engine, shard)
            self.collect(engine.finish())
            return self.conclude(hashes.all())
        finally:
            engine.close()
            if self.held is not None:
                self.held.close()

    def engine(self) -> Engine:
        if self.run.engine == "ray":
            from .engines.ray import engine as on_ray

            return on_ray(self.plan, self.run.address, self.run.workers)
        if self.run.engine != "embedded":
            raise Unsupported(f"unknown engine {self.run.engine!r}; known: embedded, ray")
        return embedded(self.plan, self.run.workers or self.workers())

    def workers(self) -> int:
        """As many as there are processors, and no more than there is work for."""
        return max(min(cores(), self.state.total // ENOUGH), 1)

    # -- what is there already ---------------------------------------------------------------------

    def known(self) -> Finished | None:
        """What this very job has done before; None where it has not, or not all of it."""
        manifest = self.layout.manifest
        if self.run.overwrite or self.work.exists() or not manifest.exists():
            return None
        written = self.written()
        if written.get("job") != digest(self.job):
            hint = "--overwrite replaces it"
            raise Unsupported(f"{manifest} is there already, of another job; {hint}")
        places = [self.layout.folder / shard["path"] for shard in written["shards"]]
        if not all(place.exists() for place in places):
            self.discard()
            return None
        return Finished(written, self.layout.folder, self.layout.files, again=True)

    def written(self) -> dict[str, Any]:
        """The manifest that is there; empty where it is none of ours."""
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            found = msgspec.json.decode(self.layout.manifest.read_bytes())
            if isinstance(found, dict) and isinstance(found.get("shards"), list) and "job" in found:
                return found
        return {}

    def prepare(self) -> None:
        """The folder of the job: a new one, or that of the run that was killed."""
        mark = self.work / "job.json"
        if self.work.exists() and not self.run.overwrite:
            if mark.exists() and mark.read_bytes() != self.job:
                why = "an unfinished job of other options or inputs is there"
                raise Unsupported(f"{self.layout.output}: {why}; --overwrite discards it")
            self.lock()
            if not mark.exists() or self.lacks():
                self.discard()
        else:
            if self.work.exists():
                self.lock()
            self.refuse_foreign()
            self.discard()
        self.work.mkdir(parents=True, exist_ok=True)
        self.lock()
        shards.put(mark, self.job)

    def lock(self) -> None:
        """One process at a time; what a killed one held is free again."""
        if self.held is not None:
            self.held.close()
        self.held = (self.work / "lock").open("w")
        try:
            import fcntl

            fcntl.flock(self.held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # not on Windows
            pass
        except OSError:
            self.held.close()
            raise Unsupported(f"{self.layout.output}: another process is writing it") from None

    def lacks(self) -> bool:
        """Whether a shard is gone that was written, and perhaps the parts with it."""
        names = [mark.stem for mark in self.work.glob("*.shard")]
        return not all(self.layout.place(name).exists() for name in names)

    def refuse_foreign(self) -> None:
        """Files of others are never written over unless that was asked for."""
        if self.run.overwrite:
            return
        layout = self.layout
        for path in (layout.output, *layout.files.values()) if layout.single else ():
            if path.exists():
                raise Unsupported(f"{path} is there already; --overwrite replaces it")
        if not layout.single and layout.folder.is_dir() and any(layout.folder.iterdir()):
            raise Unsupported(f"{layout.folder} is not empty; --overwrite writes into it")

    def discard(self) -> None:
        """Away with what an earlier job has left: what its manifest names, and no more."""
        shutil.rmtree(self.work, ignore_errors=True)
        if not (written := self.written()):
            return
        for name in (str(shard.get("path")) for shard in written["shards"]):
            if Path(name).name == name:
                (self.layout.folder / name).unlink(missing_ok=True)
        for path in self.layout.files.values():
            path.unlink(missing_ok=True)
        card = self.layout.card
        if card is not None and card.exists() and digest(card.read_bytes()) == written.get("card"):
            card.unlink()

    # -- chunks ------------------------------------------------------------------------------------

    def notes(self, engine: Engine) -> Iterator[tuple[int, ChunkNote]]:
        """The notes of all chunks in their order, each as soon as those before it are there."""
        ready: dict[int, Chunk] = {}
        count = 0

        def missing() -> Iterator[Chunk]:
            for chunk in chunks(self.inputs, self.options):
                if self.is_done(chunk.number):
                    ready[chunk.number] = bare(chunk)
                else:
                    yield chunk

        def in_order() -> Iterator[tuple[int, ChunkNote]]:
            nonlocal count
            while count in ready:
                self.state.done += ready.pop(count).size
                data = shards.note(self.work, count).read_bytes()
                yield count, noting.from_bytes(data)
                count += 1

        for chunk in engine.convert(missing()):
            ready[chunk.number] = bare(chunk)
            yield from in_order()
        yield from in_order()

    def is_done(self, number: int) -> bool:
        """Whether the lines of a chunk are there, or in shards that are."""
        told, part = shards.note(self.work, number), shards.part(self.work, number)
        if not told.exists():
            return False
        if not part.exists():  # which goes when all its shards are written
            return True
        try:
            note = noting.from_bytes(told.read_bytes())
        except msgspec.MsgspecError:
            return False
        return part.stat().st_size == sum(each.length for each in note.notes)

    def take(self, note: ChunkNote, rejects: BinaryIO) -> None:
        """Count what became of a chunk, and write its rejects."""
        note.place(self.lines)
        self.summary.add(note)
        for each in note.rejects:
            told = rejected(each, self.inputs)
            self.rejects[each.code] += 1
            self.first.setdefault(each.code, told)
            rejects.write(encode(told) + b"\n")
        state = self.state
        state.records = sum(self.summary.read.values())
        state.lines, state.rejected = self.summary.converted, self.summary.rejected
        for table in note.losses.values():
            for key, lost in table.items():
                state.losses[key.partition(" ")[0]] += lost.times
        self.watch(state)

    # -- shards ------------------------------------------------------------------------------------

    def order(self, engine: Engine, shard: Shard) -> None:
        """Have a shard written, unless it is there."""
        for chunk in shard.chunks:
            self.wanted[chunk] += 1
        place = self.layout.place(shard.name)
        task = Task(shard, str(place), self.summary.columns)
        about = self.standing(shard.name)
        if about is not None and place.exists():
            self.finished(task, about)
        else:
            engine.write(task)

    def standing(self, name: str) -> shards.Finished | None:
        """A shard that an earlier run of this job has written."""
        mark = self.work / f"{name}.shard"
        if not mark.exists():
            return None
        return msgspec.json.decode(mark.read_bytes(), type=shards.Finished)

    def collect(self, written: Iterable[tuple[Task, shards.Finished]]) -> None:
        for task, about in written:
            shards.put(self.work / f"{task.shard.name}.shard", msgspec.json.encode(about))
            self.finished(task, about)

    def finished(self, task: Task, about: shards.Finished) -> None:
        """A shard is there; parts that nobody needs any more are not."""
        self.done[task.shard.name] = about
        for chunk in task.shard.chunks:
            self.wanted[chunk] -= 1
            if not self.wanted[chunk] and not self.selection.holds(chunk):
                shards.part(self.work, chunk).unlink(missing_ok=True)
        self.state.shards = len(self.done)
        self.watch(self.state)

    # -- the end -----------------------------------------------------------------------------------

    def conclude(self, hashes: list[str]) -> Finished:
        """The manifest, the rejects, the report, the recipe; then the work is done."""
        for input in self.inputs:
            if changed(input):
                raise Unsupported(f"{input.path} has changed while it was read; start anew")
        layout, manifest = self.layout, self.manifest(hashes)
        files = layout.files
        if layout.card is not None:
            text = card_of(manifest, self.summary.columns, layout.form.suffix).encode()
            manifest["card"] = digest(text)
            if not layout.card.exists():
                shards.put(layout.card, text)
        os.replace(self.work / "rejects.jsonl", files["rejects"])
        shards.put(files["report"], report.page(manifest).encode())
        shards.put(files["recipe"], recipe(self.paths, self.run, self.options).encode())
        shards.put(files["manifest"], msgspec.json.format(encode(manifest), indent=2) + b"\n")
        shutil.rmtree(self.work)
        return Finished(manifest, layout.folder, files)

    def manifest(self, hashes: list[str]) -> dict[str, Any]:
        """All that is known of the result. Nothing in it depends on who did it, or when."""
        summary, selection = self.summary, self.selection
        written = [msgspec.to_builtins(self.done[name]) for name in sorted(self.done)]
        return {
            "job": digest(self.job),
            "versions": versions(self.options, self.layout.form),
            "options": self.options.told(),
            "files": self.files,
            "inputs": [
                {"path": input.path, "bytes": input.size, "sha256": hash, "records": count}
                for input, hash, count in zip(self.inputs, hashes, self.counts(), strict=True)
            ],
            "records": {
                "read": sum(summary.read.values()),
                "rejected": summary.rejected,
                "converted": summary.converted,
                "written": sum(about["records"] for about in written),
            },
            "rejected": ordered(self.rejects),
            "first_rejected": dict(sorted(self.first.items())),
            "filtered": ordered(summary.filtered),
            "dropped": ordered(selection.dropped),
            "redacted": ordered(summary.redacted),
            "edits": ordered(summary.edits),
            "renamed": summary.renamed,
            "losses": losses(summary, self.inputs),
            "splits": {name: split.told() for name, split in selection.splits.items()},
            "shards": written,
        }

    def counts(self) -> list[int]:
        return [self.summary.read[index] for index in range(len(self.inputs))]


class Hashes:
    """The SHA-256 of all inputs, while others work."""

    def __init__(self, inputs: list[Input]) -> None:
        self.inputs, self.found = inputs, list[str]()
        self.problem: OSError | None = None
        self.thread = threading.Thread(target=self._hash, daemon=True)
        self.thread.start()

    def _hash(self) -> None:
        try:
            for input in self.inputs:
                with open(input.path, "rb") as file:
                    self.found.append(hashlib.file_digest(file, "sha256").hexdigest())
        except OSError as problem:
            self.problem = problem

    def all(self) -> list[str]:
        self.thread.join()
        if self.problem is not None:
            raise self.problem
        return self.found


def bare(chunk: Chunk) -> Chunk:
    """A chunk without the lines that it carries."""
    return Chunk(chunk.number, (Piece(0, "lines", size=chunk.size),))


def without_output(inputs: list[Input], layout: Layout) -> list[Input]:
    """The inputs, but for what this job itself writes into one of their folders."""
    own = {os.path.realpath(path) for path in (layout.output, *layout.files.values())}
    folder = None if layout.single else os.path.realpath(layout.folder) + os.sep
    left = [
        input
        for input in inputs
        if (path := os.path.realpath(input.path)) not in own
        and (folder is None or not path.startswith(folder))
    ]
    if not left:
        raise Unsupported("the output is the only input; write somewhere else")
    return left


def changed(input: Input) -> bool:
    about = os.stat(input.path)
    return (about.st_size, about.st_mtime_ns) != (input.size, input.changed)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def rejected(each: Reject, inputs: list[Input]) -> dict[str, Any]:
    """A record of which no line was made, as ``rejects.jsonl`` has it."""
    return {
        "input": inputs[each.input].path,
        "line": each.line,
        "at": each.at,
        "code": each.code,
        "why": each.why,
    }


def losses(summary: Summary, inputs: list[Input]) -> list[dict[str, Any]]:
    """The losses of all records by source, kind and code, and where each was met first."""
    return [
        {
            "source": source,
            "kind": key.partition(" ")[0],
            "code": key.partition(" ")[2],
            "times": count.times,
            "records": count.records,
            "why": count.why,
            "first": {"input": inputs[count.input].path, "line": count.line, "at": count.at},
        }
        for source, table in sorted(summary.losses.items())
        for key, count in sorted(table.items(), key=lambda item: (-item[1].times, item[0]))
    ]


def ordered(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def versions(options: Options, form: shards.Form) -> dict[str, str]:
    """What took part in the bytes of the result."""
    packages = ["msgspec"]
    packages += ["pyarrow"] * form.is_table
    packages += ["zstandard"] * form.suffix.endswith("zst")
    packages += ["datasketch"] * (options.dedup == "near")
    packages += ["tokenizers"] * (options.tokenizer is not None)
    found = {package: metadata.version(package) for package in packages}
    return {"dragoman": __version__, "python": platform.python_version(), **found}


def recipe(paths: Iterable[str], run: Run, options: Options) -> str:
    """The whole job as a recipe, which can be run again."""
    head = f"inputs = {_text(list(paths))}\noutput = {_text(run.output)}\n"
    form = "" if run.form == "jsonl" else f"form = {_text(run.form)}\n"
    return head + form + options.recipe()
