"""One mail that was given to SendEmail, and its line in the journal."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Mail:
    senders: tuple[str, ...]  # the address of the request, and those of the From header
    recipients: tuple[str, ...]  # To, Cc and Bcc, addresses alone
    raw: bytes  # the message as it came, or as it was composed of Simple
    message_id_header: str = ""
    tags: tuple[tuple[str, str], ...] = ()
    configuration_set: str = ""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A mail that SES took, under its own id."""

    message_id: str
    mail: Mail
    at: datetime
    access_key_id: str
    configuration_set: str = ""  # its own, or that of its identity
    suppressed: Sequence[str] = ()  # taken, and never sent to these
    outcomes: tuple[str, ...] = ()  # of each recipient; none if nothing is reported

    @property
    def raw(self) -> bytes:
        return self.mail.raw

    def to_entry(self) -> Mapping[str, object]:
        return {
            "time": self.at.isoformat(),
            "message_id": self.message_id,
            "from": self.mail.senders[0],
            "destination": self.mail.recipients,
            "tags": dict(self.mail.tags),
            "configuration_set": self.configuration_set,
            "message_id_header": self.mail.message_id_header,
            "sha256": hashlib.sha256(self.mail.raw).hexdigest(),
            "size": len(self.mail.raw),
            "suppressed": self.suppressed,
            "outcomes": self.outcomes,
            "access_key_id": self.access_key_id,
        }
