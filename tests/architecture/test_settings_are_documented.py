"""The settings page lists every variable with its default, and every check."""

import re
from pathlib import Path

from pydantic import SecretStr

from postledger.config import env

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/settings.md").read_text()
ROWS = {
    name: (marks, default, meaning)
    for name, marks, default, meaning in re.findall(
        r"^\| `([A-Z_]+)`(.*?) \| (.*?) \| (.*?) \|$", PAGE, re.MULTILINE
    )
}


def test_every_variable_is_documented_and_no_other() -> None:
    assert set(ROWS) == set(env.variables())
    for name, info in env.variables().items():
        default = info.default
        plain = default.get_secret_value() if isinstance(default, SecretStr) else default
        written = str(plain).lower() if isinstance(plain, bool) else str(plain)
        marks, shown, meaning = ROWS[name]
        assert ("secret" in marks) == env.is_secret(info), name
        assert shown == ("none" if plain in {"", ()} else f"`{written}`"), name
        assert " ".join(str(info.description).split()).rstrip(".") in meaning, name


def test_every_check_is_documented() -> None:
    source = (ROOT / "src/postledger/config/checks.py").read_text()
    ids = re.compile(r"postledger\.[EW]\d{3}")

    assert set(ids.findall(source)) == set(ids.findall(PAGE))
