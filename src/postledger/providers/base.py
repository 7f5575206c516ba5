"""The protocol of providers: a window of messages goes in, one outcome for each comes out."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from postledger.lib.check_results import Level

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Mailbox:
    """An address and the name shown beside it."""

    address: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Attachment:
    filename: str
    content_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one mail; `mime.compose` makes wire bytes of them.

    `date` is given, not read from a clock, so that composing twice gives the same bytes.
    """

    sender: Mailbox
    to: Mailbox
    subject: str
    date: datetime
    html: str = ""
    text: str = ""
    reply_to: tuple[Mailbox, ...] = ()
    headers: Mapping[str, str] = _NOTHING
    attachments: tuple[Attachment, ...] = ()


class Form(StrEnum):
    """The form of content that is the cheapest for a provider."""

    MIME = "mime"  # finished bytes
    PARTS = "parts"  # for JSON APIs that take no MIME


# The tags of notifications, by the names of the job contract, and the header that bears each of
# them, for services without tags. A service may keep them for ever.
JOB_TAGS: Mapping[str, str] = MappingProxyType(
    {
        "dedupeKey": "X-Dedupe-Key",
        "traceId": "X-Trace-Id",
        "subscriptionId": "X-Subscription-Id",
        "openEventId": "X-Open-Event-Id",
        "term": "X-Term",
        "campus": "X-Campus",
    }
)


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """One mail for one recipient: the envelope and the content.

    Every provider takes Parts; a provider whose form is MIME also takes finished bytes.
    """

    id: str  # the outside id with its try, as lib.ids writes it
    reference: str  # the same with epoch and MAC, as lib.references writes it: what events prove
    sender: str  # envelope sender: where bounces go
    recipient: str
    content: Parts | bytes
    tags: Mapping[str, str] = _NOTHING  # come back in events, where the provider has them


class Category(StrEnum):
    """What kind of error a failure is, in the words of the logs."""

    PERMANENT = "PERMANENT_ERROR"
    CONFIGURATION = "CONFIGURATION_ERROR"
    QUOTA = "QUOTA_ERROR"
    TRANSIENT = "TRANSIENT_ERROR"
    TIMEOUT = "TIMEOUT_ERROR"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """The fields that every outcome has."""

    original_code: str = ""  # the provider's own name for it, where `code` is ours
    # Of the hand-over, where the provider measured it.
    duration: timedelta | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failed(_Result):
    category: Category = Category.TRANSIENT


@dataclass(frozen=True, slots=True)
class Accepted(_Result):
    """The provider took it, under this id."""

    id: str


@dataclass(frozen=True, slots=True)
class Refused(_Failed):
    """The provider will never take this message; others may go.

    `bounce_code` is set where the answer says that the recipient's address does not work: the
    enhanced status code that says so.
    """

    code: str
    detail: str
    bounce_code: str = field(default="", kw_only=True)
    category: Category = field(default=Category.PERMANENT, kw_only=True)


@dataclass(frozen=True, slots=True)
class TryLater(_Failed):
    """Certainly not taken, may be taken later."""

    code: str
    detail: str
    retry_after: timedelta | None = None
    is_outage: bool = False  # nothing reached the service: no other message would


@dataclass(frozen=True, slots=True)
class Throttled(_Failed):
    """Certainly not taken, because of the sender's rate or quota.

    `is_quota` says that a quota is used up. Then `retry_after` is the moment, known from the
    service's own figures, at which it is reset, and is believed as it is; None where that moment
    is not known. Any other wish is bounded.
    `may_be_quoted` is explained at `SenderBlocked`.
    """

    detail: str
    retry_after: timedelta | None = None
    is_quota: bool = False
    may_be_quoted: bool = field(default=False, kw_only=True)
    is_lone: bool = field(default=False, kw_only=True)  # too few others got this answer
    code: str = field(default="throttled", kw_only=True)
    category: Category = field(default=Category.QUOTA, kw_only=True)


@dataclass(frozen=True, slots=True)
class SenderBlocked(_Failed):
    """Certainly not taken, and no other message of this sender would be: a person must act.

    `is_account` says that the account is refused, and with it every sender that uses it.
    `may_be_quoted` says that the answer came after the recipient was named, so that the service may
    only repeat what the recipient's own server said.
    """

    code: str
    detail: str
    is_account: bool = False
    may_be_quoted: bool = field(default=False, kw_only=True)
    category: Category = field(default=Category.CONFIGURATION, kw_only=True)


@dataclass(frozen=True, slots=True)
class InDoubt(_Failed):
    """Handed over, perhaps taken, and no complete answer came."""

    detail: str
    code: str = field(default="no_answer", kw_only=True)


@dataclass(frozen=True, slots=True)
class NotSent(_Failed):
    """Nothing was handed over: the deadline, a cancellation or another failure came first."""

    detail: str
    code: str = field(default="not_sent", kw_only=True)
    category: Category = field(default=Category.TIMEOUT, kw_only=True)


type Failure = Refused | TryLater | Throttled | SenderBlocked | InDoubt | NotSent
type Outcome = Accepted | Failure


class EventKind(StrEnum):
    """What happened; an event of an unknown kind is kept as unknown, never dropped."""

    ACCEPTED = "accepted"  # the provider took it: proof when the answer was lost
    DELIVERED = "delivered"  # the recipient's server took it
    DEFERRED = "deferred"  # the recipient's server said not now; the provider goes on trying
    BOUNCED = "bounced"  # refused for good: the address does not work
    SOFT_BOUNCED = "soft_bounced"  # given up for now: mailbox full, server away, or no reason given
    DROPPED = "dropped"  # the provider took it and then chose not to send it
    COMPLAINED = "complained"  # the recipient called it spam
    UNSUBSCRIBED = "unsubscribed"  # the recipient used the provider's own unsubscribe link
    OPENED = "opened"  # a picture was loaded, by a person or a machine
    CLICKED = "clicked"  # a link was followed, by a person or a machine
    REFUSED = "refused"  # never sent: the provider could not make the mail
    PREFERENCES_CHANGED = "preferences_changed"  # in the provider's own list of contacts
    UNKNOWN = "unknown"  # anything else


# As `bounce_subtype`: the account's own list at the provider stopped the mail, and no server was
# asked.
ON_SUPPRESSION_LIST = "OnAccountSuppressionList"
# As `bounce_type`: refused because of its sender or its content, which says nothing of the address.
BLOCKED = "Blocked"


@dataclass(frozen=True, slots=True)
class ProviderEvent:
    """What a provider reports of a mail afterwards. Its texts are bounded, and can be stored."""

    kind: EventKind
    name: str  # the provider's own name for it
    key: str  # the same for every repetition of this event
    reference: str | None = None  # of the message, where the provider gives it back
    provider_id: str | None = None
    address: str | None = None
    at: datetime | None = None
    code: str = ""  # of a server, as 5.1.1
    detail: str = ""
    bounce_type: str = ""  # in the words of SES: Permanent, Transient or Undetermined; or BLOCKED
    bounce_subtype: str = ""
    feedback_type: str = ""  # what the recipient called it in a complaint


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check has found out about one thing of an account, and the settings to correct."""

    subject: str  # one word for the examined thing
    level: Level
    message: str  # one sentence
    remedy: str = ""  # what to do at the service; lines to copy may follow its sentence
    settings: Sequence[str] = ()  # one of them may be wrong
    secrets: Sequence[str] = ()
    removals: Sequence[str] = ()  # settings that may have to be left out


@runtime_checkable
class EmitsEvents(Protocol):
    """A provider inside this process, which hands over its events itself."""

    def emit_to(self, sink: Callable[[str, str], None]) -> None:
        """From now on calls `sink` with an id and the body of every report, for `parse_events`.

        The sink must not block.
        """
        ...


@dataclass(frozen=True, slots=True)
class QuotaReading:
    """What a service still takes of an account, by its own count."""

    remaining: int | None  # mails; None: unlimited
    size: int | None = None  # of the whole quota; None: unlimited, or not said
    max_rate: float | None = None  # mails a second; None: unlimited, or not said
    is_limit: bool = True  # False: the service may take more than remains, and charge for it


class QuotaUnreadError(Exception):
    """The quota could not be read. The message says why in one sentence, and holds no secret."""


class QuotaHiddenError(QuotaUnreadError):
    """The service does not show its quota to these keys: nothing is broken, mail goes without."""


@runtime_checkable
class ReadsQuota(Protocol):
    """A provider whose service says how much of its quota is left."""

    async def read_quota(self) -> QuotaReading:
        """Asks the service, within seconds, once the provider is open.

        Raises QuotaUnreadError.
        """
        ...


class Provider(Protocol):
    """One account at one service; may send several windows at the same time."""

    @property
    def form(self) -> Form:
        """The form in which the dispatcher gives it the content of messages."""
        ...

    @property
    def window_size(self) -> int:
        """How many messages one window should have."""
        ...

    @property
    def call_time(self) -> float:
        """Seconds one hand-over may take; with a nearer deadline none is started."""
        ...

    async def open(self) -> None:
        """Prepares for sending; called once, before the first `send`. Sends nothing.

        Raises OSError if the machine lacks something that the settings name, such as a file; the
        sender is held until a person changes that. Any other exception is a bug of the provider.
        """
        ...

    async def close(self) -> None:
        """Ends its connections; nothing may be sent afterwards."""
        ...

    def send(
        self, window: Sequence[OutgoingMessage], deadline: float
    ) -> AsyncGenerator[tuple[int, Outcome]]:
        """Hands the window over, without retries, and yields (index, outcome) as each is known.

        Guarantees exactly one outcome for each message before the iterator ends.
        `deadline` is a moment of lib.clock.boottime by which the iterator has ended: a message that
        was not handed over by then is NotSent, one that may have been is InDoubt. The clock is read
        directly before each hand-over: after a suspension of the machine or a stop of the process
        nothing more is begun. The answer to an earlier hand-over is still read: it ends a doubt.
        The same holds when the iterating task is cancelled: the remaining outcomes are still
        yielded, and then CancelledError is raised.
        A caller that stops earlier closes the generator (contextlib.aclosing), which ends the
        calls.
        """
        ...
