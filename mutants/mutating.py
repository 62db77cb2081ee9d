"""Mutants of a module: its syntax tree with one small fault each.

A mutant is known by its function and by the statement before and after, never by a line number.
Not mutated are annotations, docstrings and prose: a reason may be worded otherwise.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef
Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Edit = tuple[tuple[Any, str, Any], ...]
"""Fields of nodes and what they become."""

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
BODIES = ("body", "orelse", "finalbody")
DETECTION = ("sniff", "signs", "guesses")
WEIGHED = ("Evidence", "Verdict")
"""Functions of dialects that only weigh evidence: tests/test_detect.py is about them."""
UNREACHED = ("assert_never",)
"""Functions whose calls are for the type checker."""


class Mutant(NamedTuple):
    """One fault: where it is, and the statement before and after."""

    path: str
    function: str
    """qualified name; empty for a table of the module"""
    line: int
    lines: tuple[int, int]
    """the first and the last line of the statement, without its body"""
    was: str
    now: str
    twin: int
    """how many mutants of the function have the same texts and stand before it"""

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        return (self.path, self.function, self.was, self.now, self.twin)

    def __str__(self) -> str:
        where = f"{self.path}:{self.line} {self.function}".rstrip()
        return f"{where}\n    - {self.was}\n    + {self.now}"


class Module:
    """A source file, of which one mutant at a time is compiled."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        self.tree = ast.parse(path.read_text("utf-8"))
        self.edits: list[Edit] = []
        self.mutants: list[Mutant] = []
        seen: dict[tuple[str, str, str], int] = {}
        for function, statement, line, edit in _edits(self.tree):
            was = _header(statement)
            with _applied(edit):
                now = _header(statement) if edit[0][1] not in BODIES else _other(statement)
            if was == now:
                continue
            twin = seen[function, was, now] = seen.get((function, was, now), -1) + 1
            self.edits.append(edit)
            lines = (statement.lineno, _last_line(statement))
            self.mutants.append(Mutant(name, function, line, lines, was, now, twin))

    def unchanged(self) -> Module:
        """The same module with mutants that change nothing."""
        other = copy(self)
        other.edits = [()] * len(self.edits)
        return other

    def compiled(self, number: int) -> CodeType:
        """The whole module with one mutant in it."""
        with _applied(self.edits[number]):
            code: CodeType = compile(ast.fix_missing_locations(self.tree), str(self.path), "exec")
        return code

    def table(self, number: int) -> tuple[str, CodeType]:
        """The name of a table of the module, and the expression that gives its other value."""
        first = self.mutants[number].lines[0]
        statement = next(s for s in self.tree.body if s.lineno == first)
        assert isinstance(statement, ast.Assign | ast.AnnAssign)
        assert statement.value is not None
        with _applied(self.edits[number]):
            value = ast.fix_missing_locations(ast.Expression(statement.value))
            code: CodeType = compile(value, str(self.path), "eval")
        return ast.unparse(_target(statement)), code

    def function(self, qualname: str) -> Function | None:
        """The function of that name; the last of several."""
        scope: list[ast.stmt] = self.tree.body
        found: ast.stmt | None = None
        for name in qualname.split("."):
            same = [s for s in scope if isinstance(s, Named) and s.name == name]
            if not same:
                return None
            found = same[-1]
            scope = same[-1].body
        return found if isinstance(found, Function) else None

    def words(self, number: int) -> list[str]:
        """The words of a mutant's function, and of the tables that it names."""
        node: ast.AST | None = self.function(self.mutants[number].function)
        first = self.mutants[number].lines[0]
        nodes = [node] if node else [s for s in self.tree.body if s.lineno == first]
        names = {each.id for each in ast.walk(nodes[0]) if isinstance(each, ast.Name)}
        for statement in self.tree.body:
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                if ast.unparse(_target(statement)) in names:
                    nodes.append(statement)
        found = [c.value for each in nodes for c in ast.walk(each) if isinstance(c, ast.Constant)]
        return sorted({word for word in found if isinstance(word, str) and is_word(word)})


def is_word(text: str) -> bool:
    return 0 < len(text) <= 40 and " " not in text


def _target(statement: ast.Assign | ast.AnnAssign) -> ast.expr:
    return statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]


def names_at_load(tree: ast.Module) -> tuple[frozenset[str], frozenset[str]]:
    """The names and the attributes that are looked up while a module is loaded."""
    inside = {
        each
        for node in ast.walk(tree)
        if isinstance(node, Function)
        for statement in node.body
        for each in ast.walk(statement)
    }
    names, attributes = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node not in inside:
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and node not in inside:
            attributes.add(node.attr)
    return frozenset(names), frozenset(attributes)


def function_code(code: CodeType, qualname: str) -> Iterator[CodeType]:
    """The code of the functions of that name, in the code of a module."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_qualname == qualname:
                yield constant
            elif qualname.startswith(constant.co_qualname + "."):
                yield from function_code(constant, qualname)


@contextmanager
def _applied(edit: Edit) -> Iterator[None]:
    old = [(node, field, getattr(node, field)) for node, field, _ in edit]
    for node, field, new in edit:
        setattr(node, field, new)
    try:
        yield
    finally:
        for node, field, value in old:
            setattr(node, field, value)


def _set(node: ast.AST, field: str, value: Any) -> Edit:
    return ((node, field, value),)


def _header(statement: ast.stmt) -> str:
    """A statement in one line; of a compound one what stands before its body."""
    match statement:
        case ast.If(test=test):
            return f"if {ast.unparse(test)}:"
        case ast.While(test=test):
            return f"while {ast.unparse(test)}:"
        case ast.For(target=target, iter=found):
            return f"for {ast.unparse(target)} in {ast.unparse(found)}:"
        case ast.With(items=items):
            return f"with {', '.join(map(ast.unparse, items))}:"
        case ast.Match(subject=subject, cases=cases):
            told = [
                ast.unparse(c.pattern) + (f" if {ast.unparse(c.guard)}" if c.guard else "")
                for c in cases
            ]
            return f"match {ast.unparse(subject)}: {' / '.join(told)}"
        case ast.FunctionDef(args=arguments, name=name):
            return f"def {name}({ast.unparse(arguments)}):"
        case ast.Try():
            return "try:"
        case _:
            return " ".join(ast.unparse(statement).split("\n"))


def _last_line(statement: ast.stmt) -> int:
    body: list[ast.stmt] | None = getattr(statement, "body", None)
    if not body:
        return statement.end_lineno or statement.lineno
    return max(statement.lineno, body[0].lineno - 1)


def _other(statement: ast.stmt) -> str:
    match statement:
        case ast.Break():
            return "continue"
        case ast.Continue():
            return "break"
        case _:
            return "pass"


Found = tuple[str, ast.stmt, int, Edit]


def _edits(tree: ast.Module) -> Iterator[Found]:
    weights = _weights(tree)
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and _is_named(statement):
            if isinstance(name := _target(statement), ast.Name) and name.id in weights:
                continue
            for line, edit in _in_table(statement):
                yield "", statement, line, edit
    yield from _in_scope(tree, "")


def _is_named(statement: ast.Assign | ast.AnnAssign) -> bool:
    """Whether one name is given; of several there is no table to be put in."""
    return isinstance(_target(statement), ast.Name)


def _in_scope(scope: ast.Module | ast.ClassDef, prefix: str) -> Iterator[Found]:
    for node in scope.body:
        if isinstance(node, ast.ClassDef):
            yield from _in_scope(node, f"{prefix}{node.name}.")
        elif isinstance(node, Function) and not _is_detection(node):
            for statement, line, edit in _in_body(node):
                yield prefix + node.name, statement, line, edit


def _is_detection(function: Function) -> bool:
    """By its name, or by the types that it takes and returns."""
    words = [each for each in (function.args, function.returns) if each is not None]
    named = {each.id for word in words for each in ast.walk(word) if isinstance(each, ast.Name)}
    return function.name in DETECTION or not named.isdisjoint(WEIGHED)


def _weights(tree: ast.Module) -> frozenset[str]:
    """The tables that only functions look at which weigh evidence."""
    inside: set[str] = set()
    outside: set[str] = set()
    scopes: list[tuple[ast.AST, bool]] = [(tree, False)]
    while scopes:
        node, weighs = scopes.pop()
        weighs = weighs or (isinstance(node, Function) and _is_detection(node))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            (inside if weighs else outside).add(node.id)
        scopes += [(child, weighs) for child in ast.iter_child_nodes(node)]
    return frozenset(inside - outside)


def _in_table(statement: ast.Assign | ast.AnnAssign) -> Iterator[tuple[int, Edit]]:
    """Faults in a table: an entry is missing, or a value is another."""
    value = statement.value
    if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
        value = value.args[0]  # frozenset(...), tuple(...)
    if not isinstance(value, ast.Dict | ast.Set | ast.Tuple | ast.List):
        return
    for node in ast.walk(value):
        if isinstance(node, ast.Dict | ast.Set | ast.Tuple | ast.List):
            for edit in _shorter(node):
                yield node.lineno, edit
        elif isinstance(node, ast.Constant):
            for edit in _other_constant(node):
                yield node.lineno, edit


def _in_body(function: Function) -> Iterator[tuple[ast.stmt, int, Edit]]:
    """Faults in a function; those of functions inside it too."""
    assigned = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    for block, field in _blocks(function):
        statements: list[ast.stmt] = getattr(block, field)
        for number, statement in enumerate(statements):
            if isinstance(statement, ast.ClassDef) or _is_unreached(statement):
                continue
            if _is_text(statement):
                continue
            other = _instead(statement, assigned)
            if other is not None:
                rest = [*statements[:number], other, *statements[number + 1 :]]
                yield statement, statement.lineno, _set(block, field, rest)
            for line, edit in _in_statement(statement):
                yield statement, line, edit
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                assigned.add(statement.targets[0].id)
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                assigned.add(statement.target.id)


def _blocks(function: Function) -> Iterator[tuple[Any, str]]:
    """Every list of statements in a function, in the order of the source."""
    queue: list[Any] = [function]
    while queue:
        node = queue.pop(0)
        inner: list[Any] = []
        for field in BODIES:
            statements = getattr(node, field, None)
            if isinstance(statements, list) and statements and isinstance(statements[0], ast.stmt):
                yield node, field
                inner += statements
        inner += getattr(node, "handlers", ())
        inner += getattr(node, "cases", ())
        queue[:0] = [each for each in inner if not isinstance(each, ast.ClassDef)]


def _is_unreached(statement: ast.stmt) -> bool:
    match statement:
        case (
            ast.Expr(value=ast.Call(func=ast.Name(id=name)))
            | ast.Return(value=ast.Call(func=ast.Name(id=name)))
        ):
            return name in UNREACHED
        case ast.Assert():
            return True
        case _:
            return False


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _instead(statement: ast.stmt, assigned: set[str]) -> ast.stmt | None:
    """What stands for a statement that is missing; None if a name would be missing then."""
    match statement:
        case ast.Break():
            return ast.Continue()
        case ast.Continue():
            return ast.Break()
        case ast.Assign(targets=[ast.Name(id=name)]):
            return ast.Pass() if name in assigned else None
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return ast.Pass()
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Delete():
            return ast.Pass()
        case _:
            return None


def _in_statement(statement: ast.stmt) -> Iterator[tuple[int, Edit]]:
    """Faults in a statement, but not in those that it holds."""
    match statement:
        case ast.If(test=test) | ast.While(test=test) if not _is_negated_below(test):
            yield test.lineno, _set(statement, "test", _negated(test))
        case ast.Return(value=value) if value is not None and not _is_false(value):
            yield statement.lineno, _set(statement, "value", ast.Constant(None))
        case ast.Assign(targets=[ast.Name()], value=value):
            if not _is_false(value) and not _is_prose(value):
                yield statement.lineno, _set(statement, "value", ast.Constant(None))
        case ast.Match(cases=cases):
            for case in cases if len(cases) > 1 else ():
                if not _is_default(case):
                    yield case.pattern.lineno, _set(case, "guard", ast.Constant(False))
                if case.guard is not None:
                    yield case.pattern.lineno, _set(case, "guard", None)
        case _:
            pass
    for node in _expressions(statement):
        for edit in _in_expression(node):
            yield getattr(node, "lineno", statement.lineno), edit


def _is_default(case: ast.match_case) -> bool:
    return isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def _expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, without its body, annotations and prose."""
    queue: list[ast.AST] = [statement]
    while queue:
        node = queue.pop(0)
        if node is not statement:
            yield node
        for field, value in ast.iter_fields(node):
            if field == "keywords" and _is_zip(node):
                continue
            if field in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.match_case):
                    queue += [child.guard] if child.guard is not None else []
                elif isinstance(child, ast.stmt | ast.excepthandler | ast.JoinedStr):
                    continue
                elif isinstance(child, ast.AST):
                    queue.append(child)


def _in_expression(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.Compare(ops=[*first, last], comparators=[*_, right]):
            yield _set(node, "ops", [*first, COMPARISONS[type(last)]()])
            if isinstance(right, ast.Tuple | ast.Set | ast.List):
                yield from _shorter(right)
        case ast.BoolOp(op=op, values=values):
            yield _set(node, "op", ast.Or() if isinstance(op, ast.And) else ast.And())
            for number in range(len(values)):
                rest = values[:number] + values[number + 1 :]
                yield _set(node, "values", rest if len(rest) > 1 else rest * 2)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _set(node, "operand", _negated(operand))
        case ast.IfExp(test=test) if not _is_negated_below(test):
            yield _set(node, "test", _negated(test))
        case ast.BinOp(op=op) if type(op) in OPERATORS:
            yield _set(node, "op", OPERATORS[type(op)]())
        case ast.comprehension(ifs=ifs):
            for number in range(len(ifs)):
                yield _set(node, "ifs", ifs[:number] + ifs[number + 1 :])
        case ast.Dict():
            yield from _shorter(node)
        case ast.Call(keywords=keywords):
            for number in range(0 if _is_zip(node) else len(keywords)):
                yield _set(node, "keywords", keywords[:number] + keywords[number + 1 :])
        case ast.Constant():
            yield from _other_constant(node)
        case _:
            return


def _is_zip(node: ast.AST) -> bool:
    """Whether its keyword, ``strict``, is an assertion."""
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "zip"


def _shorter(node: ast.Dict | ast.Set | ast.Tuple | ast.List) -> Iterator[Edit]:
    """A display without one of its elements."""
    if isinstance(node, ast.Dict):
        for number in range(len(node.keys)):
            keys = node.keys[:number] + node.keys[number + 1 :]
            values = node.values[:number] + node.values[number + 1 :]
            yield ((node, "keys", keys), (node, "values", values))
    elif len(node.elts) > 1:
        for number in range(len(node.elts)):
            yield _set(node, "elts", node.elts[:number] + node.elts[number + 1 :])


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _is_negated_below(test: ast.expr) -> bool:
    """Whether a mutant of the expression itself is its negation."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Compare(ops=[op]):
            return not isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE)
        case _:
            return False


def _is_false(value: ast.expr) -> bool:
    """Whether it says None, or what nobody tells from it: False becomes True."""
    return isinstance(value, ast.Constant) and (value.value is None or value.value is False)


def _is_prose(value: ast.expr) -> bool:
    match value:
        case ast.JoinedStr():
            return True
        case ast.Constant(value=str(text)):
            return " " in text.strip()
        case ast.IfExp(body=body, orelse=other):
            return _is_prose(body) or _is_prose(other)
        case _:
            return False


def _other_constant(node: ast.Constant) -> Iterator[Edit]:
    match node.value:
        case bool(value):
            yield _set(node, "value", not value)
        case int(value) | float(value):
            yield _set(node, "value", value + 1)
        case str(text) if not _is_prose(node):
            yield _set(node, "value", text + "x")
        case bytes(data):
            yield _set(node, "value", data + b"x")
        case _:
            return
