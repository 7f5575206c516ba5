"""Failed calls to another service's API: whether to repeat them, and after how long."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from postledger.lib.errors import RefusedError


@dataclass(frozen=True, slots=True)
class FailedCall:
    error: RefusedError
    is_transient: bool = False
    retry_after: float | None = None  # the seconds that the service asked to wait
    was_not_executed: bool = False  # the service certainly ignored the request


def call_with_retries[T](
    call: Callable[[], T | FailedCall],
    *,
    pauses: Iterable[float],
    longest_wait: float,
    sleep: Callable[[float], None],
    is_repeatable: bool = True,
) -> T:
    """The answer of the first call that succeeds; raises the error of the last one otherwise.

    Repeats a call after a transient failure, once for each pause, unless the service asks to wait
    longer than `longest_wait`. A call that is not repeatable is repeated only if the service
    certainly did not execute it.
    """
    remaining = iter(pauses)
    while isinstance(result := call(), FailedCall):
        failure = result
        pause = next(remaining, None)
        may_repeat = failure.is_transient and (is_repeatable or failure.was_not_executed)
        if pause is None or not may_repeat:
            raise failure.error
        wait = pause if failure.retry_after is None else failure.retry_after
        if wait > longest_wait:
            raise failure.error
        sleep(wait)
    return result


def parse_retry_after(header: str) -> float | None:
    """The seconds of a Retry-After header; None for a date, or for no header."""
    return float(header) if header.isascii() and header.isdigit() else None


def fits_header(secret: str) -> bool:
    """Whether a token can be sent as a header.

    HTTP libraries quote a header that they refuse, so an unusable token would be logged.
    """
    return bool(secret) and secret.isascii() and secret.isprintable() and " " not in secret
