"""One mail that was given to mail/send, and its line in the journal."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from tools.fakes.http.routing import Document
from tools.fakes.sendgrid import composing


@dataclass(frozen=True, slots=True)
class Mail:
    senders: tuple[str, ...]  # of the mail, then of personalizations that have their own
    recipients: tuple[str, ...]  # to, cc and bcc of all personalizations, addresses alone
    custom_args: tuple[Mapping[str, str], ...]  # of each recipient
    categories: tuple[str, ...]
    document: Document  # the request
    sha256: str  # of the request
    size: int
    is_sandboxed: bool = False  # checked, and not sent


@dataclass(frozen=True)
class Accepted:
    """A mail that SendGrid took, under its own id."""

    message_id: str  # as X-Message-Id
    mail: Mail
    at: datetime
    key_id: str
    outcomes: tuple[str, ...] = ()  # of each recipient; none if nothing is reported

    @cached_property
    def raw(self) -> bytes:
        """The message that SendGrid would send for the first personalization."""
        return composing.compose(self.mail.document, self.message_id)

    def to_entry(self) -> Mapping[str, object]:
        return {
            "time": self.at.isoformat(),
            "message_id": self.message_id,
            "from": self.mail.senders[0],
            "destination": self.mail.recipients,
            "custom_args": self.mail.custom_args,
            "categories": self.mail.categories,
            "sha256": self.mail.sha256,
            "size": self.mail.size,
            "outcomes": self.outcomes,
            "key_id": self.key_id,
        }
