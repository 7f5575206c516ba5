"""Every regular expression of the source: what it is called, and how the code applies it."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import postledger

SOURCE = Path(postledger.__file__).parent
METHODS = frozenset({"search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"})
_MAKING = METHODS | {"compile"}


@dataclass(frozen=True, slots=True)
class FoundPattern:
    """A call of `re`, the module it stands in, and the methods by which its pattern is applied."""

    module: str
    name: str  # of the constant, or the pattern as it is written
    call: ast.Call
    methods: frozenset[str]

    @property
    def key(self) -> str:
        return f"{self.module}: {self.name}"

    def compiled(self, names: Mapping[str, object]) -> "re.Pattern[str] | re.Pattern[bytes]":
        """`names` are the locals that the call needs where it stands in a function."""
        scope = {**vars(import_module(f"postledger.{self.module}")), **names}
        pattern, *others = self.call.args
        is_compiled = isinstance(self.call.func, ast.Attribute) and self.call.func.attr == "compile"
        flags = others[:1] if is_compiled else []
        written, *given = (
            eval(compile(ast.Expression(part), self.module, "eval"), scope)  # noqa: S307  our own
            for part in (pattern, *flags)
        )
        return re.compile(written, *given)


@cache
def find_patterns() -> tuple[FoundPattern, ...]:
    return tuple(pattern for path in sorted(SOURCE.rglob("*.py")) for pattern in _patterns_of(path))


def _patterns_of(path: Path) -> Iterator[FoundPattern]:
    text = path.read_text("utf-8")
    if "re." not in text:
        return
    tree = ast.parse(text)
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    names = {
        node.value: _target(node.targets[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
    }
    for node in ast.walk(tree):
        if _is_call_of_re(node):
            assert isinstance(node, ast.Call)
            assert isinstance(node.func, ast.Attribute)
            name = names.get(node, "")
            applied = {node.func.attr} & METHODS or _methods_of(tree, name) or {"search"}
            yield FoundPattern(module, name or ast.unparse(node.args[0]), node, frozenset(applied))


def _is_call_of_re(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name("re"), attr=attr)):
            return attr in _MAKING
        case _:
            return False


def _target(target: ast.expr) -> str:
    match target:
        case ast.Name(name):
            return name
        case ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _methods_of(tree: ast.Module, name: str) -> set[str]:
    """How a module applies its own constant."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in METHODS and _target(node.value) == name
    }


def find_other_imports() -> list[str]:
    """The modules that use `re` under another name, where its patterns would not be found."""
    return [
        str(path)
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if (isinstance(node, ast.ImportFrom) and node.module in {"re", "regex"})
        or (
            isinstance(node, ast.Import)
            and any(
                name.name == "regex" or (name.name == "re" and name.asname) for name in node.names
            )
        )
    ]
