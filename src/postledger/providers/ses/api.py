"""SES's API as one account uses it: writes and signs requests, and judges the answers."""

import errno
from datetime import UTC, datetime

from botocore.credentials import ReadOnlyCredentials

from postledger.providers.base import Failure, Outcome, OutgoingMessage, SenderBlocked
from postledger.providers.http.exchange import Break
from postledger.providers.http.messages import Answer, Request
from postledger.providers.ses import credentials, outcomes, requests
from postledger.providers.ses.credentials import NoCredentialsError
from postledger.providers.ses.settings import SesSettings
from postledger.providers.ses.signing import Signer


class SesApi:
    def __init__(self, settings: SesSettings) -> None:
        self._settings = settings
        self._source = credentials.open_source(settings)
        self._signed_with: ReadOnlyCredentials | None = None
        self._signer: Signer | None = None

    async def load_credentials(self) -> None:
        """Raises OSError if the machine has to have credentials, and has none."""
        try:
            await self._source.get()
        except NoCredentialsError as error:
            raise FileNotFoundError(errno.ENOENT, error.args[0]) from None

    def close(self) -> None:
        self._source.close()

    async def write_request(self, message: OutgoingMessage) -> Request | Failure:
        body = requests.write_body(message, self._settings)
        if not isinstance(body, bytes):
            return body
        try:
            credentials = await self._source.get()
        except NoCredentialsError as error:
            return outcomes.without_credentials(str(error))
        if self._signer is None or credentials is not self._signed_with:
            self._signer = self._make_signer(credentials, "POST", requests.SEND_PATH)
            self._signed_with = credentials
        headers = self._signer.sign(body, datetime.now(UTC))
        return Request("POST", requests.SEND_PATH, headers, body)

    async def write_read_request(self, path: str) -> Request:
        """A request that reads, after `load_credentials`; the path is percent-encoded."""
        signer = self._make_signer(await self._source.get(), "GET", path)
        return Request("GET", path, signer.sign(b"", datetime.now(UTC)), b"")

    def judge_answer(self, answer: Answer, message: OutgoingMessage) -> Outcome:
        outcome = outcomes.judge_answer(answer, sender=message.sender)
        if isinstance(outcome, SenderBlocked) and outcome.code == outcomes.CREDENTIALS:
            self._source.distrust()
        return outcome

    def judge_break(self, broken: Break) -> Failure:
        return outcomes.judge_break(broken)

    def _make_signer(self, credentials: ReadOnlyCredentials, method: str, path: str) -> Signer:
        endpoint = self._settings.actual_endpoint
        return Signer(
            credentials,
            region=self._settings.region,
            method=method,
            url=f"{endpoint.url}{path}",
            host=endpoint.authority,
        )
