"""Statements that look up the hash of many addresses compute each hash once."""

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "postledger"
BARE_CALL = re.compile(
    r"address_hash\s*=\s*contacts_fingerprint\(\s*%\(hash_key\)s::bytea,\s*[a-z_]+\.address"
)


def test_no_hash_is_computed_for_each_suppression() -> None:
    """PostgreSQL reads a small table whole for each contact, and calls the function for each of its
    rows: with 100 suppressions, trying an import took four times as long. A SELECT around the call
    has it made once.
    """
    calls = [
        f"{path.relative_to(PACKAGE)}: {match.group()}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for match in BARE_CALL.finditer(path.read_text())
    ]

    assert calls == []
