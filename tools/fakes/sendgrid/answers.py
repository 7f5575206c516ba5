"""The answers of SendGrid: JSON, errors as a list, and an empty body for accepted mail."""

import json
from collections.abc import Mapping

from tools.fakes.http.exchanges import Answer
from tools.fakes.http.faults import BadBody
from tools.fakes.sendgrid.errors import SendGridError

# The value of X-Message-Id, None for none, and the body.
_BAD_ANSWERS: Mapping[BadBody, tuple[str | None, bytes]] = {
    BadBody.UNPARSABLE: ("<title>Accepted</title>", b""),
    BadBody.TRUNCATED: ("", b'{"errors": [{"mess'),
    BadBody.NO_MESSAGE_ID: (None, b'{"message": "queued"}'),
    BadBody.EMPTY: (None, b""),
}
_PLAIN = "text/plain; charset=utf-8"


def answer_document(document: object, status: int = 200) -> Answer:
    return Answer(status, json.dumps(document).encode())


def answer_error(error: SendGridError) -> Answer:
    return answer_document(error.to_document(), error.status)


def answer_accepted(message_id: str) -> Answer:
    return Answer(202, b"", _PLAIN, {"X-Message-Id": message_id})


def answer_badly(kind: BadBody) -> Answer:
    """A 202 whose X-Message-Id names no mail, or is missing."""
    message_id, body = _BAD_ANSWERS[kind]
    headers = {} if message_id is None else {"X-Message-Id": message_id}
    return Answer(202, body, _PLAIN, headers)
