"""The result of one check: its level, a message, and the remedy."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

SETTINGS_TAG = "postledger"  # of Django's system checks that examine settings and need no server


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"  # mail is sent, perhaps later, but an operator should look
    PROBLEM = "problem"  # mail is not sent, or could be lost or sent twice


@dataclass(frozen=True, slots=True)
class CheckResult:
    subject: str  # one word for the examined thing
    level: Level
    message: str  # one sentence
    remedy: str = ""  # empty only when the level is ok; lines to copy may follow its sentence
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


def format_lines(result: CheckResult) -> Iterator[str]:
    """The result as commands print it, with the remedy below."""
    yield f"{result.level.value:<9}{result.subject:<14}{result.message}"
    for line in result.remedy.splitlines():
        yield f"{'':<23}{line}"
