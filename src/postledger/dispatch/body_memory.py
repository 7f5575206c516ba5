"""Bounds how many bytes of bodies one process has in memory at once."""

from collections.abc import Sequence
from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(slots=True)
class BodyMemory:
    """A mail takes about three times its stored body while it is composed and sent.

    With the default limit, a worker whose mails have attachments of 7 MB stays under 400 MB.
    """

    limit: int = 48 * _MIB
    small_round: int = _MIB  # a round of so little goes beside any other, and is not counted
    _taken: int = 0

    def take(self, sizes: Sequence[int]) -> tuple[int, int]:
        """How many of the next mails fit, and the bytes to give back for them.

        Where nothing is taken one mail always fits, whatever its size.
        """
        count = total = 0
        for size in sizes:
            if total + size > self.small_round and not self._fits(total + size, is_first=not count):
                break
            count, total = count + 1, total + size
        taken = total if total > self.small_round else 0
        self._taken += taken
        return count, taken

    def give_back(self, taken: int) -> None:
        self._taken -= taken

    def _fits(self, total: int, *, is_first: bool) -> bool:
        return self._taken + total <= self.limit or (is_first and not self._taken)
