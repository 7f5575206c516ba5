"""Headers that tell mail programs which list a mail belongs to, and how to leave it."""

import re
from dataclasses import dataclass
from enum import StrEnum

from postledger.providers.headers import InvalidHeaderError


class Class(StrEnum):
    """What a mail is to its reader."""

    CAMPAIGN = "campaign"  # sent to a list
    NOTIFICATION = "notification"  # sent because something happened


@dataclass(frozen=True, slots=True)
class Listing:
    """One list of one workspace, as mail programs are to know it."""

    workspace_id: int
    list_key: str
    domain: str  # the sender's: names of lists end with it
    mail_class: Class
    stream_id: int

    def fixed(self) -> dict[str, str]:
        """The headers that all mails of the list share."""
        found = {
            "List-Id": f"<{self.list_key}.{self.workspace_id}.{self.domain}>",
            "Feedback-ID": (
                f"{self.stream_id}:{self.list_key}:{self.mail_class.value}:{self.workspace_id}"
            ),
        }
        if self.mail_class is Class.NOTIFICATION:
            found["Auto-Submitted"] = "auto-generated"
        return found


_URL = re.compile(r"https?://[!#-;=?-~]{1,900}")


def leaving(unsubscribe_url: str) -> str:
    """The two headers of RFC 8058, finished, in the order in which they are signed."""
    # Readers take "=?" for the start of an encoded word, and decode what follows.
    if not _URL.fullmatch(unsubscribe_url) or "=?" in unsubscribe_url:
        raise InvalidHeaderError("The unsubscribe link cannot stand in a header; shorten its page.")
    return (
        f"List-Unsubscribe: <{unsubscribe_url}>\r\n"
        "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"
    )
