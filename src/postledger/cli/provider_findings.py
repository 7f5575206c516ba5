"""Says what a check of a provider account has found, with the command that corrects settings."""

from collections.abc import Iterable

from postledger.lib.check_results import CheckResult, Level
from postledger.providers.base import Finding


def has_no_access(findings: Iterable[Finding]) -> bool:
    """Whether the provider would say nothing more."""
    return any(item.subject == "access" and item.level is Level.PROBLEM for item in findings)


def describe(finding: Finding, *, update: str) -> CheckResult:
    """`update` is the command that changes the account, as it is typed."""
    changes = [f"--set {name}={name.upper()}" for name in finding.settings]
    changes += [f"--secret {name}=-" for name in finding.secrets]
    changes += [f"--unset {name}" for name in finding.removals]
    remedy = finding.remedy
    if changes:
        remedy = f"Run {update} {' '.join(changes)}. {remedy}"
    return CheckResult(finding.subject, finding.level, finding.message, remedy)
