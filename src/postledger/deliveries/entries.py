"""The values that go into the books and come out of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.providers.base import Attachment, Category


class StreamKind(StrEnum):
    """What a stream is a flow of."""

    CAMPAIGN = "campaign"  # one run of a campaign, in batches
    TOPIC = "topic"  # the notifications of one topic
    TRANSACTIONAL = "transactional"  # one workspace's and sender's mail by API, one batch a mail


class AttemptOutcome(StrEnum):
    """What one hand-over, or the gates before it, came to; kept for ever with its attempt."""

    ACCEPTED = "accepted"  # the provider took it
    REFUSED = "refused"  # the provider will never take this message
    TRY_LATER = "try_later"  # certainly not taken, may be taken later; counts as an attempt
    THROTTLED = "throttled"  # rate or quota said no; does not count
    SENDER_BLOCKED = "sender_blocked"  # the sender is refused, not the message; does not count
    NOT_SENT = "not_sent"  # the call was never started; does not count
    IN_DOUBT = "in_doubt"  # the connection broke after hand-over
    LOST_TIME = "lost_time"  # it was due in a time that a restore has lost
    LEASE_LOST = "lease_lost"  # its worker was lost while the window was armed
    INVALID = "invalid"  # failed a validation
    SKIPPED = "skipped"  # the recipient's settings say no
    SUPPRESSED = "suppressed"  # the address must not be mailed
    EXPIRED = "expired"  # its time to live ended
    POISON = "poison"  # workers died of it, repeatedly
    GIVEN_UP = "given_up"  # its sender stayed blocked


# The code of a mail whose contact was deleted, or has another address than the mail.
RECIPIENT_NOT_FOUND = "RECIPIENT_NOT_FOUND"
# Outcomes that are themselves about doubt.
DOUBTFUL = frozenset({AttemptOutcome.IN_DOUBT, AttemptOutcome.LEASE_LOST, AttemptOutcome.LOST_TIME})
# Outcomes that the retry policy does not count as an attempt.
UNCOUNTED = frozenset(
    {
        AttemptOutcome.THROTTLED,
        AttemptOutcome.SENDER_BLOCKED,
        AttemptOutcome.NOT_SENT,
        AttemptOutcome.POISON,
        AttemptOutcome.GIVEN_UP,
    }
)
# The outcomes of which a failed delivery had at least one: a failure may have been a doubt that a
# person or evidence ended.
LEADS_TO_FAILURE = DOUBTFUL | {
    AttemptOutcome.REFUSED,
    AttemptOutcome.TRY_LATER,
    AttemptOutcome.INVALID,
    AttemptOutcome.POISON,
    AttemptOutcome.GIVEN_UP,
}


class Decision(StrEnum):
    """The three buttons of a doubt."""

    COUNT_AS_SENT = "count_as_sent"
    COUNT_AS_NOT_SENT = "count_as_not_sent"
    SEND_AGAIN = "send_again"


class Cancellation(StrEnum):
    """What became of the wish to cancel one mail."""

    CANCELLED = "cancelled"  # now, or before
    ARMED = "armed"  # it is with the provider
    IN_DOUBT = "in_doubt"  # the provider may have it
    ENDED = "ended"  # it has another result
    FENCED = "fenced"  # a time that a restore has lost may have sent it


@dataclass(frozen=True, slots=True)
class Body:
    """The content of one transactional mail, or of all mails of a stream.

    One mail's is finished; that of all may name the letter which each of them is filled in from.
    """

    subject: str = ""
    html: str = ""
    text: str = ""
    headers: Mapping[str, str] | None = None
    request_id: str = ""
    to_name: str = ""
    reply_to: str = ""
    tags: Sequence[str] = ()
    attachments: Sequence[Attachment] = ()
    letter: str = ""  # the digest of the letter it was, or will be, made from, in hex
    list_key: str = ""  # of the list its recipients may leave; then it says how
    # It holds a link that works until then, which only its reader may see: workers alone read its
    # HTML and text, which are forgotten once the mail is sent. None: it holds no such link.
    secret_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """One delivery to plan; a repeated dedupe key plans nothing."""

    address: str
    dedupe_key: str | None = None
    contact_id: int | None = None
    variables: Mapping[str, object] | None = None
    body: Body | None = None
    letter: int = 0  # which of its stream's letters it is filled in from


@dataclass(frozen=True, slots=True)
class Batch:
    """Work under a lease: the positions lo to hi (not included) of one stream."""

    id: int
    stream_id: int
    lo: int
    hi: int
    try_number: int
    version: int
    body_size: int = 0  # bytes of a single mail's own content


@dataclass(frozen=True, slots=True)
class Claim:
    """What one claim took, all under one fencing token."""

    lease: int
    batches: Sequence[Batch]
    epoch: int = 1
    is_alone: bool = False  # one suspect, composed with nothing beside it
    has_suspects: bool = False  # other due batches of the stream lost a worker before arming
    is_probe: bool = False  # one mail of it tries a provider that did not answer


@dataclass(frozen=True, slots=True)
class Window:
    """The positions batch.lo to `to` (not included), to be armed or settled together."""

    batch: Batch
    to: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Positions of a batch that is given back in pieces; without a due time they wait as before."""

    lo: int
    hi: int  # not included
    due_at: datetime | None = None  # by the database's clock
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One position's result; built by the functions below, which keep its fields consistent."""

    position: int
    outcome: AttemptOutcome
    state: State
    counts: bool = True
    code: str | None = None
    detail: str | None = None
    message_id: str | None = None
    duration_ms: int | None = None
    delay: timedelta | None = None
    reason: Reason | None = None
    category: Category | None = None  # of an error; a result that is none has no category
    original_code: str | None = None  # the provider's own name for it, where `code` is ours
    bounce_code: str | None = None  # of a refusal that says that the address does not work


def accepted(position: int, *, message_id: str | None, duration_ms: int | None = None) -> Entry:
    return Entry(
        position,
        AttemptOutcome.ACCEPTED,
        State.ACCEPTED,
        message_id=message_id,
        duration_ms=duration_ms,
    )


def refused(position: int, *, code: str, detail: str = "", bounce_code: str = "") -> Entry:
    entry = _failed(position, AttemptOutcome.REFUSED, Category.PERMANENT, code, detail)
    return replace(entry, bounce_code=bounce_code) if bounce_code else entry


def exhausted(position: int, *, code: str, detail: str = "") -> Entry:
    """The last attempt the policy allows asked to try later: given up."""
    return _failed(position, AttemptOutcome.TRY_LATER, Category.TRANSIENT, code, detail)


def try_later(position: int, *, delay: timedelta, code: str, detail: str = "") -> Entry:
    outcome, category = AttemptOutcome.TRY_LATER, Category.TRANSIENT
    return _again(position, outcome, Reason.RETRY, delay, code, detail, category)


def throttled(
    position: int,
    *,
    delay: timedelta,
    code: str | None = None,
    detail: str = "",
    is_quota: bool = False,
) -> Entry:
    reason = Reason.QUOTA_EXHAUSTED if is_quota else Reason.THROTTLED
    return _again(position, AttemptOutcome.THROTTLED, reason, delay, code, detail, Category.QUOTA)


def sender_blocked(position: int, *, code: str, detail: str = "") -> Entry:
    """Goes back to the queue at once; the hold on the sender keeps it there."""
    outcome, category = AttemptOutcome.SENDER_BLOCKED, Category.CONFIGURATION
    return _again(position, outcome, Reason.SENDER_BLOCKED, timedelta(), code, detail, category)


def not_sent(position: int, *, code: str | None = None, detail: str = "") -> Entry:
    outcome = AttemptOutcome.NOT_SENT
    return _again(position, outcome, Reason.NOT_SENT, timedelta(), code, detail, None)


def in_doubt(position: int, *, code: str | None = None, detail: str = "") -> Entry:
    return Entry(
        position,
        AttemptOutcome.IN_DOUBT,
        State.IN_DOUBT,
        code=code,
        detail=detail,
        category=Category.TRANSIENT,
    )


def invalid(position: int, *, code: str, detail: str = "") -> Entry:
    return _failed(position, AttemptOutcome.INVALID, Category.PERMANENT, code, detail)


def skipped(position: int, *, code: str, detail: str = "") -> Entry:
    return Entry(position, AttemptOutcome.SKIPPED, State.SKIPPED, code=code, detail=detail)


def suppressed(position: int, *, code: str, detail: str = "") -> Entry:
    return Entry(position, AttemptOutcome.SUPPRESSED, State.SUPPRESSED, code=code, detail=detail)


def expired(position: int, *, detail: str = "") -> Entry:
    return Entry(position, AttemptOutcome.EXPIRED, State.EXPIRED, code="expired", detail=detail)


def _failed(
    position: int, outcome: AttemptOutcome, category: Category, code: str, detail: str
) -> Entry:
    return Entry(position, outcome, State.FAILED, code=code, detail=detail, category=category)


def _again(  # noqa: PLR0913, PLR0917  private, called above only
    position: int,
    outcome: AttemptOutcome,
    reason: Reason,
    delay: timedelta,
    code: str | None,
    detail: str,
    category: Category | None,
) -> Entry:
    return Entry(
        position,
        outcome,
        State.WAITING,
        counts=outcome not in UNCOUNTED,
        code=code,
        detail=detail,
        delay=delay,
        reason=reason,
        category=category,
    )


@dataclass(frozen=True, slots=True)
class Evidence:
    """What became known of one try outside its lease: an event, or an answer that came too late.

    `entry` says what the provider did with that try; `source` who says so.
    """

    try_number: int
    entry: Entry
    source: str
    epoch: int | None = None  # in which that try was made; None is the current one
    address: str | None = None  # to which the provider says it went


class Mismatch(StrEnum):
    """Why an event is about no mail that it may act on."""

    NO_REFERENCE = "no_reference"  # other mail of the account, or feedback without tags
    WRONG_MAC = "wrong_mac"  # no reference that this installation wrote
    OTHER_WORKSPACE = "other_workspace"
    OTHER_EPOCH = "other_epoch"  # of a time that this database does not know
    NEVER_ARMED = "never_armed"  # of a try that was not handed over
    OTHER_ADDRESS = "other_address"
    UNKNOWN_DELIVERY = "unknown_delivery"


@dataclass(frozen=True, slots=True)
class Feedback:
    """One fact that a provider reports of one try; the same fact has the same key."""

    position: int
    try_number: int
    epoch: int
    address: str | None
    key: str
    kind: str
    name: str
    happened_at: datetime
    received_at: datetime
    counts_as: str | None  # a counter of the stream
    is_proof: bool  # that the provider accepted the try
    code: str = ""
    detail: str = ""
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class TakenFeedback:
    """Which of the facts were new, and which name no mail; by their place among those given."""

    new: Sequence[int]
    mismatches: Mapping[int, Mismatch]
    erased: frozenset[int] = frozenset()  # of the new ones: about a person who was erased


@dataclass(frozen=True, slots=True)
class SeenDelivery:
    """A delivery as a person saw it before clicking: the click counts only while it still is so."""

    position: int
    last_try: int


@dataclass(frozen=True, slots=True)
class Recipient:
    """A waiting delivery as composing reads it."""

    position: int
    address: str
    contact_id: int | None
    variables: Mapping[str, object] | None
    attempts: int
    letter: int = 0  # which of its stream's letters it is filled in from
    dedupe_key: str | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """What a settle wrote, and the windows whose lease was lost before it."""

    counts: Mapping[State, int]
    retried: int
    lost: Sequence[Window]


@dataclass(frozen=True, slots=True)
class Block:
    """What a provider refuses a sender with; mail that waits too long for its end fails with it."""

    code: str
    category: Category
    original_code: str | None = None


class HoldScope(StrEnum):
    """What is held together."""

    ACCOUNT = "account"  # every sender of it
    SENDER = "sender"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Hold:
    """One cause of a hold in force, as people are told of it."""

    reason: Reason
    since: datetime
    until: datetime | None
    actor: str
    detail: str
    scope: HoldScope
    # Of a block: what waiting mail fails with, and from when on if nobody acts.
    code: str | None = None
    fails_at: datetime | None = None
