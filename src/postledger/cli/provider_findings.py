"""Says what a check of a provider account has found, with the command that corrects settings."""

from postledger.lib.check_results import CheckResult
from postledger.providers.base import Finding


def describe(finding: Finding, *, update: str) -> CheckResult:
    """`update` is the command that changes the account, as it is typed."""
    changes = [f"--set {name}={name.upper()}" for name in finding.settings]
    changes += [f"--secret {name}=-" for name in finding.secrets]
    changes += [f"--unset {name}" for name in finding.removals]
    remedy = finding.remedy
    if changes:
        remedy = f"Run {update} {' '.join(changes)}. {remedy}"
    return CheckResult(finding.subject, finding.level, finding.message, remedy)
