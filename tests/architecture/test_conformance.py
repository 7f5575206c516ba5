"""What the documentation names exists: tests, files, and sections of pages."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]

FULL_NAME = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
SHORT_NAME = re.compile(r"`(test_\w+)`")
CODE = re.compile(r'^    code = "(test_\w+)"$', re.MULTILINE)
LINK = re.compile(r"\]\((?!\w+:)([^)\s]+)\)")
ROW = re.compile(r"^\| ([A-Z]\d+) \|(.*)\|$", re.MULTILINE)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@cache
def functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@cache
def names() -> frozenset[str]:
    """Tests, and codes of the API that begin like one."""
    tests = {name for path in (ROOT / "tests").rglob("test_*.py") for name in functions(path)}
    sources = (ROOT / "src").rglob("*.py")
    return frozenset(tests.union(*(CODE.findall(path.read_text()) for path in sources)))


def missing_tests(text: str) -> Iterator[str]:
    """The tests a page names, with or without their file, that are not there."""
    for file, name in FULL_NAME.findall(text):
        path = ROOT / file
        if not path.is_file() or name not in functions(path):
            yield f"{file}::{name}"
    yield from (name for name in SHORT_NAME.findall(text) if name not in names())


def anchors(path: Path) -> set[str]:
    plain = (re.sub(r"[^\w\s-]", "", title) for title in HEADING.findall(path.read_text()))
    return {heading.strip().lower().replace(" ", "-") for heading in plain}


def missing_links(page: Path, text: str) -> Iterator[str]:
    """The links of a page that lead to no file, or to no heading of it."""
    for link in LINK.findall(text):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link


def test_every_test_and_file_a_page_names_is_there() -> None:
    for page in PAGES:
        text = page.read_text()
        assert [*missing_tests(text), *missing_links(page, text)] == [], page


def test_every_requirement_stands_once_and_what_is_held_names_a_test() -> None:
    rows = ROW.findall((ROOT / "docs" / "conformance.md").read_text())

    ids = [name for name, _ in rows]
    promised = [(name, rest) for name, rest in rows if not rest.endswith("| to come ")]
    unproved = [name for name, rest in promised if not FULL_NAME.search(rest)]

    assert promised
    assert len(ids) == len(set(ids))
    assert unproved == []
