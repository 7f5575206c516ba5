"""A person's decision about mails: applied while they are as they were seen, noted, explained.

The command line, the API and the dashboard decide by these functions alike. Each chunk is a
transaction of its own: what was decided stays decided if the rest is interrupted.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import batched, groupby

from django.db import transaction

from postledger.accounts import trail
from postledger.deliveries import queries, undecided
from postledger.deliveries.entries import SeenDelivery
from postledger.deliveries.explanations import explain
from postledger.deliveries.queries import StreamFacts
from postledger.deliveries.states import State
from postledger.lib import wake
from postledger.lib.errors import ConflictError, NotFoundError
from postledger.lib.ids import DeliveryId
from postledger.lib.sentences import say

MOST = 1_000  # mails that one call decides
CHUNK = 500  # mails of one transaction


class MailUnknownError(NotFoundError):
    code = "mail_unknown"


class StreamUnknownError(NotFoundError):
    code = "stream_unknown"


class NotDecidedError(ConflictError):
    """A mail is not as the decision needs it; the message says how it is."""

    code = "mail_not_decided"


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a person may decide about mails in one state."""

    name: trail.Action
    before: State
    makes_wait: bool
    # Applies it to mails of one stream that are as they were seen; returns their positions.
    apply: Callable[[int, Sequence[SeenDelivery], str], list[int]]


@dataclass(frozen=True, slots=True, order=True)
class MailKey:
    """The place of a mail in lists over several streams."""

    stream_id: int
    position: int


BEFORE_ALL = MailKey(-1, -1)


class OpenMail:
    """How a mail that waits for a decision is named, whatever else is known of it."""

    __slots__ = ()

    stream_id: int
    position: int
    last_try: int

    @property
    def key(self) -> MailKey:
        return MailKey(self.stream_id, self.position)

    @property
    def id(self) -> str:
        return DeliveryId(self.stream_id, self.position).text()

    @property
    def try_id(self) -> str:
        """Decides only while this is still its last try."""
        return DeliveryId(self.stream_id, self.position, self.last_try).text()


@dataclass(frozen=True, slots=True)
class SeenMail:
    key: MailKey
    last_try: int


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of a decision about many mails."""

    count: int  # it applied to so many
    unchanged: Mapping[str, int]  # how many it left alone, by the reason
    left: int = 0  # mails of the selection that were not looked at
    after: MailKey | None = None  # where the next call goes on; None: all were looked at


def decide_one(action: Action, workspace_id: int, id_: DeliveryId, *, actor: str) -> None:
    """Decides one mail, or raises `NotDecidedError` with the reason why nothing changed.

    An id with a try counts only while that is the mail's last one.
    """
    [seen] = find_mails(workspace_id, [id_])
    stream = _read_stream(seen.key.stream_id)
    subject = f"delivery {DeliveryId(stream.id, seen.key.position).uuid()}"
    if not _apply(action, stream, [_seen(seen)], actor=actor, subject=subject):
        [reason] = _list_reasons(action, stream, [seen.key.position])
        raise NotDecidedError(say("Nothing changed: %(reason)s.", reason=reason))


def decide_mails(
    action: Action, workspace_id: int, ids: Sequence[DeliveryId], *, actor: str
) -> Decided:
    """Decides some mails; refuses all of them if one does not exist in the workspace."""
    return decide(action, find_mails(workspace_id, ids), actor=actor)


def decide_stream(  # noqa: PLR0913  a selection and who decides, each by its name
    action: Action,
    workspace_id: int,
    stream_id: int,
    *,
    code: str | None = None,
    after: int = -1,
    actor: str,
) -> Decided:
    """Decides the mails of a stream that are in the state of the action, up to `MOST` of them."""
    stream = find_own_stream(workspace_id, stream_id)
    mails = undecided.find_undecided(
        stream.id, action.before, after=after, code=code, limit=MOST + 1
    )
    seen = [SeenMail(MailKey(stream.id, mail.position), mail.last_try) for mail in mails[:MOST]]
    decided = decide(action, seen, actor=actor)
    if len(mails) <= MOST:
        return decided
    last = seen[-1].key
    left = undecided.count_undecided(stream.id, action.before, after=last.position, code=code)
    return Decided(decided.count, decided.unchanged, left, last)


def decide(action: Action, mails: Sequence[SeenMail], *, actor: str) -> Decided:
    """Decides mails that were read just now, whatever streams they are of."""
    count, reasons = 0, Counter[str]()
    ordered = sorted(mails, key=lambda mail: mail.key)
    for stream_id, of_stream in groupby(ordered, key=lambda mail: mail.key.stream_id):
        stream = _read_stream(stream_id)
        for chunk in batched(of_stream, CHUNK):
            seen = [_seen(mail) for mail in chunk]
            done = _apply(action, stream, seen, actor=actor, subject=f"stream {stream_id}")
            unchanged = {mail.position for mail in seen}.difference(done)
            reasons.update(_list_reasons(action, stream, sorted(unchanged)))
            count += len(done)
    return Decided(count, dict(reasons.most_common()))


def find_mails(workspace_id: int, ids: Sequence[DeliveryId]) -> list[SeenMail]:
    """Mails of a workspace as they are now; one that does not exist there refuses all."""
    keys = {MailKey(id_.stream_id, id_.position): id_.try_number for id_ in ids}
    tries = dict(_read_tries(workspace_id, keys))
    unknown = sorted(keys.keys() - tries.keys())
    if unknown:
        first = DeliveryId(unknown[0].stream_id, unknown[0].position).text()
        raise MailUnknownError(say("There is no mail %(id)s in this workspace.", id=first))
    return [SeenMail(key, given or tries[key]) for key, given in keys.items()]


def _read_tries(workspace_id: int, keys: Mapping[MailKey, int]) -> Iterator[tuple[MailKey, int]]:
    streams = queries.find_streams(sorted({key.stream_id for key in keys}))
    own = [id_ for id_, stream in streams.items() if stream.workspace_id == workspace_id]
    for stream_id in own:
        positions = [key.position for key in keys if key.stream_id == stream_id]
        for position, last_try in undecided.read_last_tries(stream_id, positions).items():
            yield MailKey(stream_id, position), last_try


def find_own_stream(workspace_id: int, stream_id: int) -> StreamFacts:
    stream = queries.find_stream(stream_id)
    if stream is None or stream.workspace_id != workspace_id:
        raise StreamUnknownError(
            say("There is no stream %(stream_id)s in this workspace.", stream_id=str(stream_id))
        )
    return stream


def _read_stream(stream_id: int) -> StreamFacts:
    """A stream that has mail, so it exists."""
    return queries.find_streams([stream_id])[stream_id]


def _seen(mail: SeenMail) -> SeenDelivery:
    return SeenDelivery(mail.key.position, mail.last_try)


def _apply(
    action: Action, stream: StreamFacts, seen: Sequence[SeenDelivery], *, actor: str, subject: str
) -> list[int]:
    with transaction.atomic():
        positions = action.apply(stream.id, seen, actor)
        if positions:
            trail.note(
                stream.workspace_id,
                actor=actor,
                action=action.name,
                subject=subject,
                data={"count": len(positions)},
            )
    if positions and action.makes_wait:
        wake.notify(stream.id)
    return positions


def _list_reasons(action: Action, stream: StreamFacts, positions: Sequence[int]) -> list[str]:
    if not positions:
        return []
    fresh = _read_stream(stream.id)  # it may have been cancelled meanwhile
    return [
        explain.explain_unchanged(mail, fresh, before=action.before, makes_wait=action.makes_wait)
        for mail in undecided.find_unchanged(stream.id, positions)
    ]
