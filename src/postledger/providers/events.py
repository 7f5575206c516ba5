"""What providers report afterwards, in one vocabulary."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Kind(StrEnum):
    """What happened; an event of a kind we do not know is kept as unknown, never dropped."""

    ACCEPTED = "accepted"  # the provider took it: proof when the answer was lost
    DELIVERED = "delivered"  # the recipient's server took it
    DEFERRED = "deferred"  # the recipient's server said not now; the provider goes on trying
    BOUNCED = "bounced"  # refused for good: the address does not work
    SOFT_BOUNCED = "soft_bounced"  # given up for now: mailbox full, server away, or not told why
    DROPPED = "dropped"  # the provider took it and then chose not to send it
    COMPLAINED = "complained"  # the recipient called it spam
    UNSUBSCRIBED = "unsubscribed"  # the recipient used the provider's own unsubscribe link
    OPENED = "opened"  # a picture was loaded, by a person or a machine
    CLICKED = "clicked"  # a link was followed, by a person or a machine
    UNKNOWN = "unknown"  # anything else


@dataclass(frozen=True, slots=True)
class ProviderEvent:
    """One report; `raw` keeps what the words above do not say."""

    kind: Kind
    name: str  # the provider's own word for it
    key: str  # the same for every repetition of this event
    raw: Mapping[str, object]
    id: str | None = None  # our outside id, where the provider gives it back
    provider_id: str | None = None
    address: str | None = None
    at: datetime | None = None
    code: str = ""  # bounce type and subtype, or a status code
    detail: str = ""
