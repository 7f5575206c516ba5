"""Whether the settings can work: asks the system checks, which know every one of them."""

from collections.abc import Iterator

from django.conf import settings
from django.core.checks import ERROR, CheckMessage, run_checks

from postledger.workers.doctor.findings import Finding, ok, problem, warning


def look() -> Iterator[Finding]:
    messages = run_checks()
    yield from (from_check("settings", message) for message in messages)
    if settings.DEBUG:
        found = "DEBUG is on: the secret key may be known to everyone, and errors are shown."
        yield warning("settings", found, "Unset DEBUG, and set SECRET_KEY.")
    elif not messages:
        yield ok("settings", "Every setting that is needed is there.")


def from_check(subject: str, message: CheckMessage) -> Finding:
    kind = problem if message.level >= ERROR else warning
    return kind(subject, str(message.msg), message.hint or "Run postledger check.")
