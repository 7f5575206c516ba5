"""Headers that tell mail programs which list a mail belongs to, and how to unsubscribe."""

import re

from postledger.lib.sentences import say
from postledger.providers.headers import InvalidHeaderError

_URL = re.compile(r"https?://[!#-;=?-~]{1,900}")


def identify_list(
    list_key: str, *, workspace_id: int, stream_id: int, domain: str, is_campaign: bool
) -> dict[str, str]:
    """The headers that all mails of a list share; its name ends with the sender's domain."""
    mail_class = "campaign" if is_campaign else "notification"
    headers = {
        "List-Id": f"<{list_key}.{workspace_id}.{domain}>",
        "Feedback-ID": f"{stream_id}:{list_key}:{mail_class}:{workspace_id}",
    }
    return headers if is_campaign else {**headers, "Auto-Submitted": "auto-generated"}


def write_unsubscribe(url: str) -> str:
    """The two headers of RFC 8058, ready to send, in the order in which they are signed."""
    # Mail programs take "=?" for the start of an encoded word, and decode the text behind it.
    if not _URL.fullmatch(url) or "=?" in url:
        raise InvalidHeaderError(
            say(
                "The unsubscribe link does not fit into a header. Set a shorter URL in the settings"
                " of the workspace, or with postledger workspace footer WORKSPACE --unsubscribe-url"
                " URL."
            )
        )
    return f"List-Unsubscribe: <{url}>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"
