"""The result of one check: its level, a message, and the remedy."""

from dataclasses import dataclass
from enum import StrEnum

from django.core.checks import ERROR, CheckMessage


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"  # mail is sent, perhaps later, but an operator should look
    PROBLEM = "problem"  # mail is not sent, or could be lost or sent twice


@dataclass(frozen=True, slots=True)
class CheckResult:
    subject: str  # one word for the examined thing
    level: Level
    message: str  # one sentence
    remedy: str = ""  # one sentence; empty only when the level is ok
    is_out_of_reach: bool = False  # a server does not answer, or refuses the login


def ok(subject: str, message: str) -> CheckResult:
    return CheckResult(subject, Level.OK, message)


def warning(subject: str, message: str, remedy: str) -> CheckResult:
    return CheckResult(subject, Level.WARNING, message, remedy)


def out_of_reach(subject: str, message: str, remedy: str) -> CheckResult:
    """A warning, about a server that mail is also sent without."""
    return CheckResult(subject, Level.WARNING, message, remedy, is_out_of_reach=True)


def problem(subject: str, message: str, remedy: str) -> CheckResult:
    return CheckResult(subject, Level.PROBLEM, message, remedy)


def from_system_check(subject: str, message: CheckMessage) -> CheckResult:
    level = problem if message.level >= ERROR else warning
    return level(subject, str(message.msg), message.hint or "Run postledger check.")
