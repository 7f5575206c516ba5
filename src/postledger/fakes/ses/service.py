"""Decides about each request: who signed it, which fault it meets, whether its mail is accepted."""

import uuid
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs

from postledger.fakes.ses import documents, send_email, sigv4
from postledger.fakes.ses.account import Account
from postledger.fakes.ses.errors import SesError
from postledger.fakes.ses.faults import (
    AnswerError,
    AnswerGarbage,
    AnswerGateway,
    CutRequest,
    Fault,
    IdleLimit,
    Script,
    Stage,
)
from postledger.fakes.ses.http import Answer, Request, answer_document, answer_error
from postledger.fakes.ses.journal import Journal
from postledger.fakes.ses.mail import Accepted, Mail
from postledger.fakes.ses.operations import table
from postledger.fakes.ses.routing import Call, Route
from postledger.fakes.ses.sigv4 import Credential

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
    _idle_count: int = 0

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
        try:
            access_key_id = sigv4.verify(request, self.credentials, self.account.region, now)
            return self._run(request, request_id, access_key_id, now)
        except SesError as error:
            return Handled(answer_error(error, request_id))

    async def record(self, accepted: Accepted) -> None:
        """Returns when the mail is in the journal; only then it may be answered.

        What SES reports of an accepted mail to its configuration set's event destinations would
        begin after this.
        """
        self.kept.append(accepted)
        if self.eml_folder is not None:
            (self.eml_folder / f"{accepted.message_id}.eml").write_bytes(accepted.mail.raw)
        if self.journal is not None:
            await self.journal.append(accepted.to_entry())

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
            return Handled(
                answer_document(_run_operation(route, self.account, call), request_id), fault
            )
        except SesError as error:
            return Handled(answer_error(error, request_id), fault)

    def _accept(
        self, mail: Mail, request_id: str, access_key_id: str, now: datetime, fault: Fault | None
    ) -> Handled:
        configuration_set = self.account.accept(mail, now)
        message_id = f"0100{int(now.timestamp() * 1000):012x}-{request_id}-000000"
        suppressed = [name for name in mail.recipients if self.account.is_suppressed(name)]
        accepted = Accepted(message_id, mail, now, access_key_id, configuration_set, suppressed)
        return Handled(answer_document({"MessageId": message_id}, request_id), fault, accepted)


def is_refusal(fault: Fault) -> bool:
    """Whether a request that meets the fault has no effect."""
    match fault:
        case CutRequest() | AnswerError():
            return True
        case AnswerGateway(is_accepted=is_accepted) | AnswerGarbage(is_accepted=is_accepted):
            return not is_accepted
        case _:
            return False


def _run_operation(route: Route, account: Account, call: Call) -> object:
    if route.run is None:
        raise SesError("UnknownOperationException")
    return route.run(account, call)
