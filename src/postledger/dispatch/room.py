"""How many carriers one process runs at once, and for whom there is room."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from postledger.deliveries.entries import Kind

# Mail that somebody waits for goes before mail that is sent in bulk.
URGENT = (Kind.TRANSACTIONAL, Kind.TOPIC)
BULK = (Kind.CAMPAIGN,)


@dataclass(frozen=True, slots=True)
class Post:
    """What a carrier works on."""

    stream_id: int
    workspace_id: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Limits:
    """Neither urgent nor bulk mail, no workspace and no stream may take every place.

    A stream of single mails gets more carriers than a bulk one: each may be held up by one slow
    answer, and the next mail should not wait for it.
    """

    carriers: int = 16
    urgent: int = 12
    bulk: int = 12
    workspace: int = 8
    single_stream: int = 6
    bulk_stream: int = 2


class Room:
    """The places of one moment, given the posts that are taken."""

    def __init__(self, taken: Iterable[Post], limits: Limits) -> None:
        posts = list(taken)
        self._limits = limits
        self._free = limits.carriers - len(posts)
        self._urgent = sum(post.kind in URGENT for post in posts)
        self._bulk = len(posts) - self._urgent
        self._workspaces = Counter(post.workspace_id for post in posts)
        self._streams = Counter((post.stream_id, post.kind) for post in posts)

    def free(self, kinds: Collection[Kind]) -> int:
        """How many carriers may still start for streams of these kinds."""
        if Kind.CAMPAIGN in kinds:
            return max(0, min(self._free, self._limits.bulk - self._bulk))
        return max(0, min(self._free, self._limits.urgent - self._urgent))

    def admits(self, post: Post) -> bool:
        return (
            self.free((post.kind,)) > 0
            and self._workspaces[post.workspace_id] < self._limits.workspace
            and self._streams[post.stream_id, post.kind] < self._most(post.kind)
        )

    def full_workspaces(self) -> list[int]:
        most = self._limits.workspace
        return [id_ for id_, count in self._workspaces.items() if count >= most]

    def full_streams(self) -> list[int]:
        return [id_ for (id_, kind), count in self._streams.items() if count >= self._most(kind)]

    def _most(self, kind: Kind) -> int:
        is_single = kind is Kind.TRANSACTIONAL
        return self._limits.single_stream if is_single else self._limits.bulk_stream
