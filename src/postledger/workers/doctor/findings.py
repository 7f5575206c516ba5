"""What a check says of one thing: how it stands, what was found, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"  # mail goes, but somebody should look
    PROBLEM = "problem"  # mail does not go, or could be lost or doubled


@dataclass(frozen=True, slots=True)
class Finding:
    subject: str  # one word for what was looked at
    level: Level
    found: str  # one sentence
    remedy: str = ""  # one sentence; only a finding that is ok has none


def ok(subject: str, found: str) -> Finding:
    return Finding(subject, Level.OK, found)


def warning(subject: str, found: str, remedy: str) -> Finding:
    return Finding(subject, Level.WARNING, found, remedy)


def problem(subject: str, found: str, remedy: str) -> Finding:
    return Finding(subject, Level.PROBLEM, found, remedy)
