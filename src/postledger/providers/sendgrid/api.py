"""SendGrid's API as one account uses it: writes requests, and judges the answers."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from postledger.providers.base import Failure, Outcome, OutgoingMessage
from postledger.providers.http.exchange import Break
from postledger.providers.http.messages import Answer, Request
from postledger.providers.sendgrid import outcomes, requests
from postledger.providers.sendgrid.settings import SendGridSettings


class SendGridApi:
    def __init__(self, settings: SendGridSettings) -> None:
        self._read_headers = (
            ("Host", settings.actual_endpoint.authority),
            ("Authorization", f"Bearer {settings.api_key.get_secret_value()}"),
            ("User-Agent", "Postledger"),
        )
        self._send_headers = (*self._read_headers, ("Content-Type", "application/json"))

    async def write_request(self, message: OutgoingMessage) -> Request | Failure:
        body = requests.write_body(message)
        if not isinstance(body, bytes):
            return body
        return Request("POST", requests.SEND_PATH, self._send_headers, body)

    async def write_read_request(self, path: str) -> Request:
        return Request("GET", path, self._read_headers, b"")

    def write_change_request(
        self, method: str, path: str, document: Mapping[str, object] | None
    ) -> Request:
        body = b"" if document is None else json.dumps(document).encode()
        return Request(method, path, self._send_headers, body)

    def judge_answer(self, answer: Answer, _message: OutgoingMessage) -> Outcome:
        return outcomes.judge_answer(answer, now=datetime.now(UTC))

    def judge_break(self, broken: Break) -> Failure:
        return outcomes.judge_break(broken)
