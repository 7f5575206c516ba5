"""What the documentation names exists: tests, decisions, files, and sections of pages."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tools.model.rules import Rule

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
DECISIONS = ROOT / "docs" / "decisions"
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
def error_codes() -> frozenset[str]:
    """Codes of the API that begin like the name of a test."""
    sources = (ROOT / "src").rglob("*.py")
    return frozenset(code for path in sources for code in CODE.findall(path.read_text()))


def missing_tests(text: str) -> Iterator[str]:
    """The tests a page names, with or without their file, that are not there."""
    for file, name in FULL_NAME.findall(text):
        path = ROOT / file
        if not path.is_file() or name not in functions(path):
            yield f"{file}::{name}"
    everywhere = {name for path in TESTS.rglob("test_*.py") for name in functions(path)}
    names = everywhere | error_codes()
    yield from (name for name in SHORT_NAME.findall(text) if name not in names)


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_test_and_file_a_page_names_is_there(page: Path) -> None:
    text = page.read_text()

    assert list(missing_tests(text)) == []
    assert list(missing_links(page, text)) == []


def test_a_name_that_is_nowhere_is_noticed() -> None:
    here = "tests/architecture/test_conformance.py"
    text = f"`{here}::test_no_such`, `tests/none.py::test_x`, `test_no_such`, [a](b.md), [c](#d)"

    assert list(missing_tests(text)) == [
        *(f"{here}::test_no_such", "tests/none.py::test_x", "test_no_such")
    ]
    assert list(missing_links(ROOT / "README.md", text)) == ["b.md", "#d"]
    assert list(missing_tests("`test_emails_empty`")) == []  # an error code


def test_every_requirement_stands_once_and_what_is_held_names_a_test() -> None:
    rows = ROW.findall((ROOT / "docs" / "conformance.md").read_text())

    ids = [name for name, _ in rows]
    promised = [(name, rest) for name, rest in rows if not rest.endswith("| to come ")]
    unproved = [name for name, rest in promised if not FULL_NAME.search(rest)]

    assert promised
    assert len(ids) == len(set(ids))
    assert unproved == []


def test_the_index_lists_exactly_the_decisions_by_number_and_title() -> None:
    index = (DECISIONS / "README.md").read_text()
    listed = re.findall(r"^\| \[(\d{4})\]\(([^)]+)\) \| (.+) \|$", index, re.MULTILINE)

    files = sorted(path for path in DECISIONS.glob("*.md") if path.name != "README.md")
    titles = [path.read_text().partition("\n")[0] for path in files]

    assert [file for _, file, _ in listed] == [path.name for path in files]
    assert [f"# {number} · {title}" for number, _, title in listed] == titles
    assert [number for number, _, _ in listed] == [f"{n:04}" for n in range(1, len(files) + 1)]


def test_the_page_about_the_ledger_names_every_rule_of_the_model_and_no_other() -> None:
    page = (ROOT / "docs" / "ledger.md").read_text()
    proofs = re.findall(r"\| (model: .*?)(?:`test_|\|$)", page, re.MULTILINE)

    named = {name for proof in proofs for name in re.findall(r"`([a-z-]+)`", proof)}

    assert named == {rule.value for rule in Rule}
