"""Wakes those who hand mail over, by name: code that plans mail does not know who they are.

A lost call costs time, never mail: work that nobody was woken for is found by looking.
"""

from collections.abc import Callable

type Bell = Callable[[int], None]


def _silent(_: int) -> None:
    """Nobody listens: commands, tests and shells plan mail without a broker."""


_bell: Bell = _silent


def install(bell: Bell) -> None:
    global _bell  # noqa: PLW0603  one bell for each process, hung up once at its start
    _bell = bell


def ring(stream_id: int) -> None:
    """Says that a stream has work now; call it after the commit."""
    _bell(stream_id)
