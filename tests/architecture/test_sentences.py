"""What services say to people can be translated: refusals are made with `say`, of literal forms."""

import ast
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from postledger.lib.errors import RefusedError

PACKAGE = Path(__file__).parents[2] / "src" / "postledger"
# Packages, and modules of packages, whose refusals reach a page.
SPOKEN = [
    "accounts",
    "campaigns",
    "contacts",
    "content",
    "deliveries/attention",
    "deliveries/ledger/opening.py",
    "deliveries/sender_setup.py",
    "feedback",
    "imports",
    "lib/secrets.py",
    "mailing",
    "providers/addresses.py",
    "providers/registry.py",
    "providers/sendgrid",
    "providers/ses",
    "providers/set_up.py",
    "providers/smtp",
]
# What else a page shows: steps of a set-up, what keeps a provider from sending, and errors of
# settings.
SET_UP = [
    "feedback/report_setup",
    "providers/sendgrid/event_setup.py",
    "providers/ses/events/event_setup.py",
]
CHECKED = ["accounts/sender_checks.py", "providers"]
SETTINGS = [
    "accounts/integrations.py",
    *(f"providers/{kind}/settings.py" for kind in ("http", "sendgrid", "ses", "smtp")),
]


def list_refusals(kind: type[RefusedError] = RefusedError) -> set[str]:
    """The names of all classes of refusals."""
    return {kind.__name__}.union(*map(list_refusals, kind.__subclasses__()))


def list_files(spoken: Sequence[str]) -> list[Path]:
    paths = [PACKAGE / each for each in spoken]
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


def test_what_a_page_shows_of_services_and_rules_is_a_sentence() -> None:
    refusals = list_refusals()
    bare = [
        *list_bare(SPOKEN, lambda call: name_callee(call) in refusals),
        *list_bare(SET_UP, lambda call: name_callee(call) == "Step"),
        *list_bare(CHECKED, is_problem),
        *list_bare(SETTINGS, lambda call: name_callee(call) == "ValueError"),
    ]

    assert bare == []


def is_problem(call: ast.Call) -> bool:
    """Pages show no other findings."""
    return name_callee(call) == "Finding" and "Level.PROBLEM" in ast.unparse(call)


def list_bare(spoken: Sequence[str], is_said: Callable[[ast.Call], bool]) -> list[str]:
    return [
        f"{path.relative_to(PACKAGE)}:{call.lineno}"
        for path in list_files(spoken)
        for call in list_calls(path)
        if is_said(call) and any(map(is_bare_text, call.args))
    ]


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
