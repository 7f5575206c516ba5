"""The audit of dependencies fails for a known vulnerability, and says so if it could not run."""

from typing import Any

import pytest

from tools import audit

CLEAN: dict[str, Any] = {"name": "django", "version": "5.2.19", "vulns": []}
FLAWED: dict[str, Any] = {
    "name": "liquid",
    "version": "2.3.1",
    "vulns": [{"id": "PYSEC-2026-1", "fix_versions": ["2.3.2"]}],
}
SKIPPED: dict[str, Any] = {"name": "granian", "skip_reason": "not found"}


def test_a_known_vulnerability_fails_with_its_fix() -> None:
    result = audit.judge([CLEAN, FLAWED])

    assert not result.is_clean
    assert result.lines[0] == "liquid 2.3.1: PYSEC-2026-1, fixed in 2.3.2"


@pytest.mark.parametrize("items", [[], [SKIPPED, SKIPPED]])
def test_an_audit_of_nothing_is_called_none(items: list[dict[str, Any]]) -> None:
    result = audit.judge(items)

    assert result.is_clean
    assert result.lines[0].startswith("No audit ran")


def test_packages_that_were_not_audited_are_counted() -> None:
    assert audit.judge([CLEAN, SKIPPED]).lines == ("1 of 2 packages audited, 0 vulnerabilities.",)
