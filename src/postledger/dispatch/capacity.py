"""The bounds of one process: how many streams it serves at once, and how many bytes of bodies."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from postledger.deliveries.entries import StreamKind

# Mail that somebody waits for goes before mail that is sent in bulk.
_URGENT = (StreamKind.TRANSACTIONAL, StreamKind.TOPIC)


@dataclass(frozen=True, slots=True)
class Slot:
    """The stream that a worker serves."""

    stream_id: int
    workspace_id: int
    kind: StreamKind
    is_test: bool = False
    is_pacing: bool = False  # its mails wait for their moments, and it does nothing else


@dataclass(frozen=True, slots=True)
class Limits:
    """No kind of mail, no workspace and no stream may take every slot: bulk mail leaves four to
    urgent mail and the other way round, and of the urgent ones single mails leave two to topics.

    A stream of single mails gets more slots than a bulk one: each may be held up by one slow
    answer, and the next mail should not wait for it. Test mail takes half of a workspace's slots at
    most, so that no test key stops live mail.
    A worker whose mails only wait for their moments takes no slot: many senders with slow rates
    would keep all others waiting. It counts for its stream, and all workers are at most so many.
    """

    workers: int = 200
    slots: int = 16
    urgent: int = 12
    single: int = 10
    bulk: int = 12
    workspace: int = 8
    tests: int = 4  # of a workspace
    single_stream: int = 6
    bulk_stream: int = 2


class Capacity:
    """The free slots at one moment."""

    def __init__(self, taken: Iterable[Slot], limits: Limits) -> None:
        workers = list(taken)
        slots = [slot for slot in workers if not slot.is_pacing]
        self._limits = limits
        self._free = min(limits.slots - len(slots), limits.workers - len(workers))
        kinds = Counter(slot.kind for slot in slots)
        urgent = limits.urgent - sum(kinds[kind] for kind in _URGENT)
        self._free_of = {
            StreamKind.TRANSACTIONAL: min(urgent, limits.single - kinds[StreamKind.TRANSACTIONAL]),
            StreamKind.TOPIC: urgent,
            StreamKind.CAMPAIGN: limits.bulk - kinds[StreamKind.CAMPAIGN],
        }
        self._workspaces = Counter(slot.workspace_id for slot in slots)
        self._tests = Counter(slot.workspace_id for slot in slots if slot.is_test)
        self._streams = Counter((slot.stream_id, slot.kind) for slot in workers)

    def free(self, kind: StreamKind) -> int:
        """How many stream workers may still start for streams of this kind."""
        return max(0, min(self._free, self._free_of[kind]))

    def admits(self, slot: Slot) -> bool:
        return (
            self.free(slot.kind) > 0
            and self._workspaces[slot.workspace_id] < self._limits.workspace
            and not (slot.is_test and self._tests[slot.workspace_id] >= self._limits.tests)
            and self._streams[slot.stream_id, slot.kind] < self._most(slot.kind)
        )

    def full_workspaces(self) -> list[int]:
        most = self._limits.workspace
        return [id_ for id_, count in self._workspaces.items() if count >= most]

    def full_of_tests(self) -> list[int]:
        """The workspaces whose test mail must wait."""
        return [id_ for id_, count in self._tests.items() if count >= self._limits.tests]

    def full_streams(self) -> list[int]:
        return [id_ for (id_, kind), count in self._streams.items() if count >= self._most(kind)]

    def _most(self, kind: StreamKind) -> int:
        is_single = kind is StreamKind.TRANSACTIONAL
        return self._limits.single_stream if is_single else self._limits.bulk_stream


_MIB = 1024 * 1024


@dataclass(slots=True)
class BodyMemory:
    """A mail takes about three times its stored body while it is composed and sent.

    With the default limit, a worker whose mails have attachments of 7 MB stays under 400 MB.
    """

    limit: int = 40 * _MIB
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
