"""What services say to people can be translated: refusals are made with `say`, of literal forms."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from postledger.lib.errors import RefusedError

PACKAGE = Path(__file__).parents[2] / "src" / "postledger"
# Packages, and modules of packages, whose refusals reach a page.
SPOKEN = ["contacts", "imports"]


def list_refusals(kind: type[RefusedError] = RefusedError) -> set[str]:
    """The names of all classes of refusals."""
    return {kind.__name__}.union(*map(list_refusals, kind.__subclasses__()))


def list_spoken_files() -> list[Path]:
    paths = [PACKAGE / spoken for spoken in SPOKEN]
    return sorted(
        file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path])
    )


def list_calls(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            yield node


def name_callee(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def is_bare_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    )


@pytest.mark.parametrize(
    "path", list_spoken_files(), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_a_refusal_that_reaches_a_page_is_a_sentence(path: Path) -> None:
    refusals = list_refusals()

    bare = [
        f"{path.name}:{call.lineno}"
        for call in list_calls(path)
        if name_callee(call) in refusals and any(map(is_bare_text, call.args))
    ]

    assert bare == []


def test_the_form_of_a_sentence_is_a_literal() -> None:
    made = [
        f"{path.relative_to(PACKAGE)}:{call.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if "postledger.lib.sentences" in path.read_text("utf-8")
        for call in list_calls(path)
        if name_callee(call) == "say"
        and not (isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str))
    ]

    assert made == []
