"""Files, folders, modules and functions that a document names exist."""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "postledger"
FOLDERS = ("docs", "examples", "src", "tests", "tools")
# A page of evidence records one run: later changes of the code do not change it.
RECORDS = ROOT / "docs" / "evidence"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.parent != RECORDS),
]
# They are about fields, files and commands of their readers, not about the code.
FOR_USERS = {"guides", "reference", "runbook"}
ABOUT_CODE = [page for page in PAGES if page.parent.name not in FOR_USERS]
ARCHITECTURE = ROOT / "docs" / "architecture.md"
# They look like names in a module.
FILES_OF_READERS = {"postledger.env"}

CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(
    r"[\w.-]+(?:/[\w.-]+)*\.(?:py|sql|toml|yaml)|(?:docs|examples|src|tests|tools)/[\w./-]+"
)
FOLDER = re.compile(r"[a-z_]+(?:/[a-z_]+)*/")
NAME = re.compile(r"([A-Za-z_]\w*)\.([A-Za-z_]\w*)(?:\(\))?")
# A step on the page about the architecture: a file, and functions that are defined in it.
STEP = re.compile(r"\*\*`([\w/]+\.py)`\*\* · ((?:`[\w.]+`(?:, )?)+)")


@cache
def paths() -> frozenset[str]:
    """The files of the repository and their folders, under every end of their paths."""
    files = [*ROOT.iterdir(), *(path for name in FOLDERS for path in (ROOT / name).rglob("*.*"))]
    parts = [path.relative_to(ROOT).parts for path in files if path.suffix != ".pyc"]
    return frozenset(
        "/".join(names[start:end])
        for names in parts
        for end in range(1, len(names) + 1)
        for start in range(end)
    )


@cache
def modules() -> dict[str, list[Path]]:
    """Modules by name; a package has the name of its folder."""
    by_name: defaultdict[str, list[Path]] = defaultdict(list)
    for path in [*SOURCE.rglob("*.py"), *(ROOT / "tools").rglob("*.py")]:
        by_name[path.parent.name if path.stem == "__init__" else path.stem].append(path)
    return by_name


@cache
def definitions(path: Path) -> frozenset[str]:
    """What a module defines or imports, and what its classes define, as `Class.name`."""
    return frozenset(_defined(ast.parse(path.read_text()).body))


def _defined(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    for node in body:
        match node:
            case ast.ClassDef(name=name, body=inner):
                yield prefix + name
                yield from _defined(inner, f"{prefix}{name}.")
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield prefix + name
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield prefix + name
            case ast.ImportFrom(names=names):
                yield from (prefix + (alias.asname or alias.name) for alias in names)
            case _:
                pass


@cache
def all_definitions() -> frozenset[str]:
    return frozenset().union(*(definitions(path) for of in modules().values() for path in of))


def missing_files(text: str) -> Iterator[str]:
    for code in CODE.findall(text):
        file, _, _ = code.partition("::")
        is_path = FILE.fullmatch(file) or FOLDER.fullmatch(file)
        if is_path and file.rstrip("/") not in paths():
            yield code


def missing_names(text: str) -> Iterator[str]:
    """Names as `module.function` and `Class.field` whose owner is ours and does not have them."""
    for code in CODE.findall(text):
        match = NAME.fullmatch(code)
        is_file = code in FILES_OF_READERS or FILE.fullmatch(code)
        if match and not is_file and not _is_defined(match[1], match[2]):
            yield code


def _is_defined(owner: str, name: str) -> bool:
    if owner in modules():
        named = modules()[owner]
        is_module = any((path.parent / f"{name}.py").is_file() for path in named)
        return is_module or any(name in definitions(path) for path in named)
    return owner not in all_definitions() or f"{owner}.{name}" in all_definitions()


def missing_steps(text: str) -> Iterator[str]:
    """Steps whose file is not there, or does not define a function that the step names."""
    for file, functions in STEP.findall(text):
        path = SOURCE / file
        known = definitions(path) if path.is_file() else frozenset[str]()
        names = re.findall(r"`([\w.]+)`", functions)
        yield from (f"{file}: {name}" for name in names if name not in known)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_a_document_names_exists(page: Path) -> None:
    assert list(missing_files(page.read_text())) == []


@pytest.mark.parametrize("page", ABOUT_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_function_that_a_document_names_exists(page: Path) -> None:
    assert list(missing_names(page.read_text())) == []


def test_every_step_of_the_architecture_names_a_file_and_functions_of_it() -> None:
    text = ARCHITECTURE.read_text()

    assert len(STEP.findall(text)) > 40
    assert list(missing_steps(text)) == []


def test_the_architecture_lists_every_package() -> None:
    listed = re.findall(r"^[├└]── (\w+)/", ARCHITECTURE.read_text(), re.MULTILINE)

    assert set(listed) == {path.parent.name for path in SOURCE.glob("*/__init__.py")}


def test_the_architecture_shows_the_layers_and_every_contract() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = config["tool"]["importlinter"]["contracts"]
    [layers] = [contract["layers"] for contract in contracts if contract["id"] == "layers"]
    page = ARCHITECTURE.read_text()

    section = page.partition("\n## The import order\n")[2].partition("\n## ")[0]

    assert "\n".join(["```", *layers, "```"]) in section
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [
        contract["id"] for contract in contracts
    ]


def test_a_file_or_a_name_that_is_nowhere_is_noticed() -> None:
    there = "`arming.py`, `ledger/arming.py`, `tests/races/`, `books.SPAN`, `Claim.epoch`, `a.b`"
    files = "`carrier.py`, `web/arming.py`, `tests/rooms/`, `tools/none`, `tests/none.py::test_it`"
    names = "`books.LINES`, `Claim.turn`, `supervisor.none()`"
    steps = "**`lib/bell.py`** · `ring`\n**`lib/wake.py`** · `notify`, `ring`, `WakeSender.notify`"

    assert [*missing_files(there), *missing_names(there)] == []
    assert list(missing_files(files)) == CODE.findall(files)
    assert list(missing_names(names)) == CODE.findall(names)
    assert list(missing_steps(steps)) == ["lib/bell.py: ring", "lib/wake.py: ring"]
