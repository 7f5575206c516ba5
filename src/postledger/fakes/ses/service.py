"""Decides about each request: who signed it, which fault it meets, whether its mail is accepted."""

import uuid
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs

from postledger.fakes.ses import documents, send_email, set_up, sigv4
from postledger.fakes.ses.account import Account
from postledger.fakes.ses.errors import SesError
from postledger.fakes.ses.events import reported_mail
from postledger.fakes.ses.events.publisher import Publisher
from postledger.fakes.ses.faults import (
    AnswerError,
    CutRequest,
    Fault,
    IdleLimit,
    Script,
    Stage,
    is_refusal,
)
from postledger.fakes.ses.http import Answer, Request, answer_document, answer_error
from postledger.fakes.ses.journal import Journal
from postledger.fakes.ses.mail import Accepted, Mail
from postledger.fakes.ses.operations import table
from postledger.fakes.ses.routing import Call, Route
from postledger.fakes.ses.sigv4 import Credential
from postledger.fakes.ses.sns import handling as sns

ACCESS_KEY_ID = "AKIAFAKEFAKEFAKEFAKE"
SECRET_ACCESS_KEY = "made-up-secret-access-key-for-the-fake"  # noqa: S105  it opens nothing
# Those of a session, with its token.
SESSION_KEY_ID = "ASIAFAKEFAKEFAKEFAKE"
SESSION_TOKEN = "made-up-session-token"  # noqa: S105  it opens nothing


@dataclass(frozen=True, slots=True)
class Handled:
    """What is to be done about a request: record, then answer, as the fault has it."""

    answer: Answer | None  # None: the fault leaves nothing to answer
    fault: Fault | None = None
    accepted: Accepted | None = None
    is_set_up: bool = False  # something that a restart must not forget


@dataclass(slots=True)
class Service:
    account: Account = field(default_factory=Account)
    credentials: dict[str, Credential] = field(
        default_factory=lambda: {
            ACCESS_KEY_ID: Credential(SECRET_ACCESS_KEY),
            SESSION_KEY_ID: Credential(SECRET_ACCESS_KEY, SESSION_TOKEN),
        }
    )
    journal: Journal | None = None
    eml_folder: Path | None = None
    script: Script = field(default_factory=Script)
    idle_limit: IdleLimit | None = None
    kept: deque[Accepted] = field(default_factory=lambda: deque(maxlen=100))  # the last mails
    publisher: Publisher = field(init=False)  # of events
    _idle_count: int = 0

    def __post_init__(self) -> None:
        self.publisher = Publisher(self.account, self._note)

    def count_idle(self) -> int:
        """The number of this wait of an idle connection."""
        self._idle_count += 1
        return self._idle_count

    def choose_cut(self, request: Request) -> CutRequest | None:
        """The fault that a request meets before its body is read."""
        found = table.find(request) if self.script.rules else None
        fault = self.script.choose(Stage.HEAD, found[0].name) if found else None
        return fault if isinstance(fault, CutRequest) else None

    def handle(self, request: Request) -> Handled:
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

    async def record(self, accepted: Accepted) -> None:
        """Returns when the mail is in the journal; only then it may be answered.

        Its events follow, also if the client has left by then.
        """
        self.kept.append(accepted)
        if self.eml_folder is not None:
            (self.eml_folder / f"{accepted.message_id}.eml").write_bytes(accepted.mail.raw)
        report = partial(self._report, accepted) if accepted.outcomes else None
        if self.journal is not None:
            await self.journal.append(accepted.to_entry(), report)
        elif report is not None:
            report()

    async def record_set_up(self) -> None:
        """Returns when a restart would find what is set up now."""
        if self.journal is not None:
            await self.journal.append({"set_up": set_up.write(self.account, self.publisher)})

    def _report(self, accepted: Accepted) -> None:
        self.publisher.take(reported_mail.from_accepted(accepted))

    def _note(self, entry: Mapping[str, object]) -> None:
        if self.journal is not None:
            self.journal.note(entry)

    def _handle_query(self, request: Request, request_id: str, now: datetime) -> Handled:
        gate = sns.Gate(self.account.topics, self.credentials, self.script)
        handled = sns.handle(request, gate, request_id, now)
        for confirmation in handled.confirmations:
            self.publisher.fanout.confirm(confirmation)
        if handled.is_change:
            self.publisher.fanout.end_removed()
        return Handled(handled.answer, handled.fault, is_set_up=handled.is_change)

    def _run(self, request: Request, request_id: str, access_key_id: str, now: datetime) -> Handled:
        found = table.find(request)
        if found is None:
            raise SesError("UnknownOperationException")
        route, parameters = found
        document = documents.parse(request.body)
        mail = send_email.read_mail(document) if route is table.SEND_EMAIL else None
        fault = self.script.choose(Stage.REQUEST, route.name, mail.recipients if mail else ())
        if isinstance(fault, AnswerError):
            raise SesError(fault.name, fault.message, fault.status)
        if fault is not None and is_refusal(fault):
            return Handled(None, fault)
        try:
            if mail is not None:
                return self._accept(mail, request_id, access_key_id, now, fault)
            call = Call(parameters, parse_qs(request.raw_query), document, now)
            answer = answer_document(_run_operation(route, self.account, call), request_id)
            return Handled(answer, fault, is_set_up=self._follow(route, document))
        except SesError as error:
            return Handled(answer_error(error, request_id), fault)

    def _follow(self, route: Route, document: documents.Document) -> bool:
        """Does what follows from an operation; whether it changed what a restart must find."""
        destination = documents.structure(document, "EventDestination")
        topic_arn = destination.get("SnsDestination", {}).get("TopicArn")
        if topic_arn is not None:
            self.publisher.validate_topic(topic_arn)
        return "ConfigurationSet" in route.name and not route.name.startswith(("Get", "List"))

    def _accept(
        self, mail: Mail, request_id: str, access_key_id: str, now: datetime, fault: Fault | None
    ) -> Handled:
        configuration_set = self.account.accept(mail, now)
        message_id = f"0100{int(now.timestamp() * 1000):012x}-{request_id}-000000"
        suppressed = [name for name in mail.recipients if self.account.is_suppressed(name)]
        outcomes = self.publisher.choose_outcomes(mail, configuration_set)
        accepted = Accepted(
            message_id, mail, now, access_key_id, configuration_set, suppressed, outcomes
        )
        return Handled(answer_document({"MessageId": message_id}, request_id), fault, accepted)


def _run_operation(route: Route, account: Account, call: Call) -> object:
    if route.run is None:
        raise SesError("UnknownOperationException")
    return route.run(account, call)
