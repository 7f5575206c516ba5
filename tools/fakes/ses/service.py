"""Decides about each request: who signed it, which fault it meets, whether its mail is accepted."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar, override
from urllib.parse import parse_qs

from tools.fakes.http import service as http
from tools.fakes.http.exchanges import Answer, Handled, Request
from tools.fakes.http.faults import BadBody
from tools.fakes.http.routing import Call, Document
from tools.fakes.ses import documents, send_email, set_up, sigv4
from tools.fakes.ses.account import Account
from tools.fakes.ses.answers import answer_document, answer_error
from tools.fakes.ses.errors import SesError
from tools.fakes.ses.events import reported_mail
from tools.fakes.ses.events.publisher import Publisher
from tools.fakes.ses.mail import Accepted, Mail
from tools.fakes.ses.operations.table import TABLE
from tools.fakes.ses.sigv4 import Credential
from tools.fakes.ses.sns import handling as sns

ACCESS_KEY_ID = "AKIAFAKEFAKEFAKEFAKE"
SECRET_ACCESS_KEY = "made-up-secret-access-key-for-the-fake"
# Those of a session, with its token.
SESSION_KEY_ID = "ASIAFAKEFAKEFAKEFAKE"
SESSION_TOKEN = "made-up-session-token"
_BAD_BODIES = {
    BadBody.UNPARSABLE: b"<MessageId>0100-made-up</MessageId>",
    BadBody.TRUNCATED: b'{"MessageId": "0100',
    BadBody.NO_MESSAGE_ID: b"{}",
    BadBody.EMPTY: b"",
}


@dataclass(slots=True)
class Service(http.Service[Accepted]):
    table: ClassVar = TABLE
    error_type: ClassVar = SesError
    max_body: ClassVar = 60 * 1024 * 1024  # the largest message in base64, and its envelope
    account: Account = field(default_factory=Account)
    credentials: dict[str, Credential] = field(
        default_factory=lambda: {
            ACCESS_KEY_ID: Credential(SECRET_ACCESS_KEY),
            SESSION_KEY_ID: Credential(SECRET_ACCESS_KEY, SESSION_TOKEN),
        }
    )
    publisher: Publisher = field(init=False)  # of events

    def __post_init__(self) -> None:
        self.publisher = Publisher(self.account, self.note)

    @override
    def handle(self, request: Request) -> Handled[Accepted]:
        request_id, now = str(uuid.uuid4()), datetime.now(UTC)
        if sns.is_query(request):
            return self._handle_query(request, request_id, now)
        if sns.is_certificate(request):
            return Handled(sns.answer_certificate(request))
        try:
            access_key_id = sigv4.verify(request, self.credentials, self.account.region, now)
            return self._run(request, request_id, access_key_id, now)
        except SesError as error:
            return Handled(answer_error(error, request_id))

    @override
    def answer_too_large(self) -> Answer:
        return answer_error(SesError("RequestEntityTooLarge"), "")

    @override
    def answer_badly(self, body: BadBody) -> Answer:
        return Answer(200, _BAD_BODIES[body])

    @override
    def write_set_up(self) -> Mapping[str, object]:
        return set_up.write(self.account, self.publisher)

    @override
    def report(self, accepted: Accepted) -> None:
        self.publisher.take(reported_mail.from_accepted(accepted))

    @override
    def start(self, endpoint: str) -> None:
        self.publisher.fanout.endpoint = endpoint
        self.publisher.start()

    @override
    async def stop(self) -> None:
        await self.publisher.stop()

    def _handle_query(self, request: Request, request_id: str, now: datetime) -> Handled[Accepted]:
        gate = sns.Gate(self.account.topics, self.credentials, self.script)
        handled = sns.handle(request, gate, request_id, now)
        for confirmation in handled.confirmations:
            self.publisher.fanout.confirm(confirmation)
        if handled.is_change:
            self.publisher.fanout.end_removed()
        return Handled(handled.answer, handled.fault, is_set_up=handled.is_change)

    def _run(
        self, request: Request, request_id: str, access_key_id: str, now: datetime
    ) -> Handled[Accepted]:
        match = TABLE.find(request)
        if match is None:
            raise SesError("UnknownOperationException")
        route, parameters = match
        document = documents.parse(request.body)
        explain = partial(answer_error, request_id=request_id)
        if route.run is None:
            mail = send_email.read_mail(document)
            accept = partial(self._accept, mail, request_id, access_key_id, now)
            return self.meet_fault(route.operation, mail.recipients, accept, explain)
        call = Call(parameters, parse_qs(request.raw_query), document, now)
        run = partial(route.run, self.account, call)
        change = partial(self._change, route.name, document, run, request_id)
        return self.meet_fault(route.operation, (), change, explain)

    def _change(
        self, name: str, document: Document, run: Callable[[], object], request_id: str
    ) -> Handled[Accepted]:
        answer = answer_document(run(), request_id)
        return Handled(answer, is_set_up=self._follow(name, document))

    def _follow(self, name: str, document: Document) -> bool:
        """Does what follows from an operation; whether it changed what a restart must find."""
        destination = documents.structure(document, "EventDestination")
        topic_arn = destination.get("SnsDestination", {}).get("TopicArn")
        if topic_arn is not None:
            self.publisher.validate_topic(topic_arn)
        return "ConfigurationSet" in name and not name.startswith(("Get", "List"))

    def _accept(
        self, mail: Mail, request_id: str, access_key_id: str, now: datetime
    ) -> Handled[Accepted]:
        configuration_set = self.account.accept(mail, now)
        message_id = f"0100{int(now.timestamp() * 1000):012x}-{request_id}-000000"
        suppressed = [name for name in mail.recipients if self.account.is_suppressed(name)]
        outcomes = self.publisher.choose_outcomes(mail, configuration_set)
        accepted = Accepted(
            message_id, mail, now, access_key_id, configuration_set, suppressed, outcomes
        )
        answer = answer_document({"MessageId": message_id}, request_id)
        return Handled(answer, accepted=accepted)
