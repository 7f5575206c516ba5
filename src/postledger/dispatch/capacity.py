"""How many streams one process serves at once, and which of them may start now."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from postledger.deliveries.entries import Kind

# Mail that somebody waits for goes before mail that is sent in bulk.
_URGENT = (Kind.TRANSACTIONAL, Kind.TOPIC)


@dataclass(frozen=True, slots=True)
class Slot:
    """What a stream worker works on."""

    stream_id: int
    workspace_id: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Limits:
    """No kind of mail, no workspace and no stream may take every slot: bulk mail leaves four to
    urgent mail and the other way round, and of the urgent ones single mails leave two to topics.

    A stream of single mails gets more slots than a bulk one: each may be held up by one slow
    answer, and the next mail should not wait for it.
    """

    slots: int = 16
    urgent: int = 12
    single: int = 10
    bulk: int = 12
    workspace: int = 8
    single_stream: int = 6
    bulk_stream: int = 2


class Capacity:
    """The free slots at one moment."""

    def __init__(self, taken: Iterable[Slot], limits: Limits) -> None:
        slots = list(taken)
        self._limits = limits
        self._free = limits.slots - len(slots)
        kinds = Counter(slot.kind for slot in slots)
        urgent = limits.urgent - sum(kinds[kind] for kind in _URGENT)
        self._free_of = {
            Kind.TRANSACTIONAL: min(urgent, limits.single - kinds[Kind.TRANSACTIONAL]),
            Kind.TOPIC: urgent,
            Kind.CAMPAIGN: limits.bulk - kinds[Kind.CAMPAIGN],
        }
        self._workspaces = Counter(slot.workspace_id for slot in slots)
        self._streams = Counter((slot.stream_id, slot.kind) for slot in slots)

    def free(self, kind: Kind) -> int:
        """How many stream workers may still start for streams of this kind."""
        return max(0, min(self._free, self._free_of[kind]))

    def admits(self, slot: Slot) -> bool:
        return (
            self.free(slot.kind) > 0
            and self._workspaces[slot.workspace_id] < self._limits.workspace
            and self._streams[slot.stream_id, slot.kind] < self._most(slot.kind)
        )

    def full_workspaces(self) -> list[int]:
        most = self._limits.workspace
        return [id_ for id_, count in self._workspaces.items() if count >= most]

    def full_streams(self) -> list[int]:
        return [id_ for (id_, kind), count in self._streams.items() if count >= self._most(kind)]

    def _most(self, kind: Kind) -> int:
        is_single = kind is Kind.TRANSACTIONAL
        return self._limits.single_stream if is_single else self._limits.bulk_stream
