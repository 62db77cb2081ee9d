"""The promises around the code: layers, registration, examples, docs."""

from __future__ import annotations

import ast
import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import dragoman
import places
import readme
from dragoman import dialects
from dragoman.dialect import Dialect
from dragoman.ledger import CODES

ROOT = places.ROOT
SOURCE = ROOT / "src" / "dragoman"

# Imports point one way: a layer may import from itself and from those above it. A folder stands for
# all that is in it and is not named itself.
LAYERS = [
    {"errors", "model", "core/capabilities", "core/lazy", "core/words"},
    {"core/models"},
    {
        "ledger",
        "core/reading",
        "core/resuming",
        "core/signers",
        "core/media",
        "core/dates",
        "core/times",
        "core/duplicates",
        "core/endpoint",
        "core/statuses",
        "core/surrogates",
        "core/lines",
        "streams/events",
        "streams/framing",
        "streams/received",
        "streams/splicing",
        "tools/llxprt_ids",
        "tools/pairing",
        "tools/tool_errors",
    },
    {
        "result",
        "core/parsed",
        "core/printed",
        "core/counts",
        "core/declared",
        "core/fields",
        "core/fitting",
        "core/heads",
        "core/lowering",
        "core/plain",
        "core/restoring",
        "core/turns",
        "core/writing",
        "tools/freeform",
        "tools/results",
        "tools/schemas",
    },
    {"dialect", "core/source", "core/walk", "lint/evidence"},
    {
        "capsule/patching",
        "capsule/units",
        "laws/aligning",
        "laws/changes",
        "laws/comparing",
        "laws/likeness",
        "lint/rules",
        "streams/base",
        "streams/keyed",
        "streams/orders",
    },
    {"laws/auditing", "streams/candidates"},
    {"dialects"},
    {"capsule", "check", "detect", "formats", "lint/json_repair", "streams/transcoder"},
    {"convert"},
    {"session"},
    {"exchange"},
    {"lint/passes"},
    {"repair", "explain", "survey"},
    {"laws"},
    {"testing"},
    {"views"},
    {"templates"},
    {"containers"},
    {"providers", "sessions"},
    {"datasets"},
    {"gateway"},
    {"workbench"},
    {"cli", "__main__"},
]
# The outer layers are where the world begins. Nothing below them imports their packages.
OUTER = {
    "templates",
    "containers",
    "providers",
    "sessions",
    "datasets",
    "gateway",
    "workbench",
    "cli",
}
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
# What no module of the core may touch: files, sockets, clocks, dice.
FORBIDDEN = {
    "os",
    "io",
    "socket",
    "time",
    "datetime",
    "random",
    "secrets",
    "uuid",
    "http",
    "asyncio",
    "threading",
    "aiohttp",
    "click",
}


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(SOURCE.rglob("*.py")):
        if path.name != "__init__.py" or path.parent != SOURCE:
            yield path.relative_to(SOURCE).as_posix(), path


def layer_of(parts: Sequence[str]) -> str:
    """What of ``LAYERS`` a module belongs to."""
    inner = "/".join(parts[:2])
    return inner if inner in RANK else parts[0] if parts else ""


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """What a file imports: the layer of a module of ours, or the name of another one."""
    package = path.relative_to(SOURCE).parts[:-1]
    tree = ast.parse(path.read_text("utf-8"))
    tree.body = [node for node in tree.body if not is_for_types_only(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, False
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or "", False
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1]
            parts = (*base, *(node.module or "").split(".")) if node.module else base
            if SOURCE.joinpath(*parts).is_dir():  # a package: a name may be a module of it
                yield from ((layer_of((*parts, alias.name)), True) for alias in node.names)
            else:
                yield layer_of(parts), True


def is_for_types_only(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


@pytest.mark.parametrize(
    ("name", "path"), list(modules()), ids=lambda x: x if isinstance(x, str) else ""
)
def test_layers_point_one_way(name: str, path: Path) -> None:
    parts = name.removesuffix(".py").split("/")
    if parts[-1] == "__init__" and layer_of(parts) not in RANK:
        assert not list(imports(path)), f"{name} is only a folder"
        return
    own = layer_of(parts)
    assert own in RANK, f"{own} has no layer"
    for imported, ours in imports(path):
        if ours:
            assert RANK[imported] <= RANK[own], f"{own} imports {imported}"
        elif own not in OUTER | {"testing", "laws"}:  # tests ask these: seeded randomness
            assert imported.split(".")[0] not in FORBIDDEN, f"{own} imports {imported}"


def test_only_those_who_talk_to_providers_need_their_packages() -> None:
    code = """
import sys
sys.modules["aiohttp"] = None  # as if it were not installed
import dragoman
try:
    import dragoman.providers
except ImportError as missing:
    assert isinstance(missing, dragoman.MissingExtra), missing
    print(missing)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.endswith("pip install 'dragoman[providers]'\n"), done.stderr


def test_the_core_does_not_load_what_the_outer_layers_need() -> None:
    code = "import sys, dragoman; print({'aiohttp', 'asyncio', 'click'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr


def parents(module: str) -> set[str]:
    """The dialects of which a dialect is a variant; it inherits from them, so it imports them."""
    if module.startswith("_"):
        return set()
    own = type(dialects.get(module.replace("_", "-")))
    names = (vars(base).get("name", "") for base in own.__mro__[1:])
    return {name.replace("-", "_") for name in names}


def test_dialects_do_not_know_each_other() -> None:
    names = {name.replace("-", "_") for name in dialects.names()}
    for name, path in modules():
        if not name.startswith("dialects/"):
            continue
        own = name.split("/")[1].removesuffix(".py")
        text = path.read_text("utf-8")
        for other in names - {own} - (parents(own) if own in names else set()):
            assert not re.search(rf"import .*\b{other}\b|from \.+{other}\b", text), (name, other)


def test_dialects_of_other_packages_register_by_entry_point(monkeypatch: Any) -> None:
    class Parrot(Dialect):
        name = "parrot"
        spec = "none"
        aliases = ("polly",)

    monkeypatch.setitem(sys.modules, "parrot_package", type("M", (), {"DIALECT": Parrot()}))
    point = EntryPoint("parrot", "parrot_package:DIALECT", dialects.GROUP)
    monkeypatch.setattr(dialects, "_installed", lambda: {"parrot": point})
    dialects.get.cache_clear()
    try:
        assert dialects.get("polly").name == "parrot"
        assert "parrot" in {form.name for form in dragoman.formats()}
        with pytest.raises(dragoman.Unsupported, match="parrot has no request to read"):
            dragoman.read({}, "parrot")
    finally:
        dialects.get.cache_clear()


def test_every_code_that_is_said_is_documented() -> None:
    written = set()
    for _, path in modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                kinds = ("dropped", "approximated", "invented", "moved", "renamed")
                if node.func.attr in kinds and node.args and isinstance(node.args[0], ast.Constant):
                    written.add(node.args[0].value)
    assert written <= CODES.keys(), written - CODES.keys()


@pytest.mark.parametrize(
    "module", [m.name for m in pkgutil.walk_packages(dragoman.__path__, "dragoman.")]
)
def test_examples_in_docstrings_run(module: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(module))
    assert not failed


def test_the_example_of_the_readme_runs_and_prints_what_it_says(
    capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.chdir(ROOT)
    text = (ROOT / "README.md").read_text("utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert code is not None
    exec(compile(code[1], "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    promised = [line[2:] for line in code[1].splitlines() if line.startswith("# ")]
    assert printed == promised


def test_the_commands_of_the_readme_print_what_it_shows() -> None:
    """``python tests/readme.py`` writes what they print now."""
    assert readme.written() == readme.README.read_text("utf-8")


def test_a_package_index_gets_the_readme_without_relative_links() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    text = (ROOT / "README.md").read_text("utf-8")
    hook = project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    assert re.search(RELATIVE, text)
    for each in hook["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    assert not re.search(RELATIVE, text)


RELATIVE = r"\]\((?!https?://)"

PAGES = [p for p in sorted((ROOT / "docs").rglob("*.md")) if "```python" in p.read_text("utf-8")]
# Examples that need a server have tests of their own, beside one.
PAGES.remove(ROOT / "docs" / "providers.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run_and_print_what_they_say(page: Path, capsys: Any) -> None:
    """The examples of a page are one program.

    Those with prompts are held to what they show; of the others, lines that begin with ``# `` are
    what they print.
    """
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        if ">>>" in code:
            test = doctest.DocTestParser().get_doctest(code, names, page.name, None, 0)
            runner = doctest.DocTestRunner(verbose=False)
            runner.run(test, clear_globs=False)
            assert not runner.failures, f"{page.name}: {code}"
            names = test.globs
            continue
        exec(compile(code, page.name, "exec"), names)
        printed = capsys.readouterr().out.splitlines()
        assert printed == [line[2:] for line in code.splitlines() if line.startswith("# ")]


def test_the_page_on_exchanges_has_the_proxy_as_it_is() -> None:
    page = (ROOT / "docs" / "exchange.md").read_text("utf-8")
    program = (ROOT / "examples" / "proxy.py").read_text("utf-8")
    shown = page.split("```py\n")[1].split("```")[0]
    assert shown in program
    assert "class Proxy" in shown


def test_every_dialect_has_a_page_with_an_example() -> None:
    pages = {path.stem: path for path in (ROOT / "docs" / "dialects").glob("*.md")}
    assert pages.keys() == set(dialects.names())
    assert set(pages.values()) <= set(PAGES)


def test_the_demo_shows_every_dialect_at_80_columns() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py")],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    titles = {line.split()[1] for line in lines if line.startswith("── ")}
    assert titles == set(dialects.names())
    requests = [name for name in dialects.names() if "request" in dialects.get(name).facets()]
    # functiongemma-teaching has one call in a turn, alpaca none
    assert done.stdout.count("\nrefused: ") == 2
    assert done.stdout.count("exactly the original") == len(requests) - 2
    assert "NOT the original" not in done.stdout
    assert max(map(len, lines)) <= 80


def test_all_tests_are_all_and_ci_runs_them() -> None:
    """Tests that node judges skip themselves without it, but not where CI is set."""
    assert "make check" in (ROOT / ".ci" / "run").read_text().splitlines()
    done = subprocess.run(
        ["make", "-n", "check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    runs = [line for line in done.stdout.splitlines() if line.endswith("-m pytest --most -n auto")]
    assert runs
    assert all(line.startswith("CI=1 ") for line in runs)


# The modules whose functions and classes users call; what only they use has an underscore.
PUBLIC = (
    "check", "convert", "detect", "dialect", "errors", "exchange", "formats", "ledger", "repair",
    "result", "streams/transcoder",
)  # fmt: skip


def defined(tree: ast.Module) -> Iterator[str]:
    """The names that a module gives to its functions, classes and constants."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (x.id for x in node.targets if isinstance(x, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


@pytest.mark.parametrize("name", PUBLIC)
def test_names_that_nobody_else_uses_begin_with_an_underscore(name: str) -> None:
    paths = [*SOURCE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    others = {path for path in paths if path != SOURCE / f"{name}.py"} - {Path(__file__)}
    used = set[str]().union(*map(words_of, others))
    tree = ast.parse((SOURCE / f"{name}.py").read_text("utf-8"))
    signatures = set(re.findall(r"\w+", " ".join(map(ast.unparse, types_of(tree)))))
    alone = {n for n in defined(tree) if not n.startswith("_")} - used - signatures
    assert not alone


@cache
def words_of(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", path.read_text("utf-8")))


def types_of(tree: ast.Module) -> Iterator[ast.expr]:
    """The types that callers of a module's functions and methods must give."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None:
            yield node.annotation


@pytest.mark.parametrize("each", [dragoman.Transcoder, dragoman.Exchange, dragoman.Result])
def test_methods_that_callers_see_are_described(each: type) -> None:
    methods = {k: v for k, v in vars(each).items() if callable(v) or isinstance(v, property)}
    assert [name for name, it in methods.items() if name[0] != "_" and not it.__doc__] == []
