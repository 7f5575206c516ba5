"""Decides about each request: whose key it has, which fault it meets, whether mail is accepted."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar, override
from urllib.parse import parse_qs

from tools.fakes.http import service as http
from tools.fakes.http.exchanges import Answer, Handled, Request
from tools.fakes.http.faults import BadBody
from tools.fakes.http.routing import Call
from tools.fakes.sendgrid import answers, documents, mail_send, set_up
from tools.fakes.sendgrid.account import Account, ApiKey, Caller
from tools.fakes.sendgrid.answers import answer_error
from tools.fakes.sendgrid.errors import SendGridError
from tools.fakes.sendgrid.events import reported_mail
from tools.fakes.sendgrid.events.publisher import Publisher
from tools.fakes.sendgrid.mail import Accepted, Mail
from tools.fakes.sendgrid.operations.table import ALL_SCOPES, SCOPES, TABLE

# Made up, with the form of real ones; the second may only send.
API_KEY = "SG.fakefakefakefakefakefa.fakefakefakefakefakefakefakefakefakefakefak"
SENDING_KEY = "SG.sendsendsendsendsendse.sendsendsendsendsendsendsendsendsendsendsen"


def _make_account() -> Account:
    keys = {API_KEY: ApiKey(ALL_SCOPES), SENDING_KEY: ApiKey(frozenset({"mail.send"}))}
    return Account(keys)


@dataclass(slots=True)
class Service(http.Service[Accepted]):
    table: ClassVar = TABLE
    error_type: ClassVar = SendGridError
    max_body: ClassVar = 30 * 1024 * 1024
    account: Account = field(default_factory=_make_account)
    publisher: Publisher = field(init=False)  # of events

    def __post_init__(self) -> None:
        self.publisher = Publisher(self.account, self.note)

    @override
    def handle(self, request: Request) -> Handled[Accepted]:
        now = datetime.now(UTC)
        try:
            self.account.rate_limit.count(now)
            handled = self._run(request, now)
        except SendGridError as error:
            handled = Handled(answer_error(error))
        answer = handled.answer
        return replace(handled, answer=self._add_limits(answer) if answer else None)

    @override
    def answer_too_large(self) -> Answer:
        return self._add_limits(answer_error(SendGridError("too_large")))

    @override
    def answer_badly(self, body: BadBody) -> Answer:
        return self._add_limits(answers.answer_badly(body))

    @override
    def write_set_up(self) -> Mapping[str, object]:
        return set_up.write(self.account, self.publisher)

    @override
    def report(self, accepted: Accepted) -> None:
        self.publisher.take(reported_mail.from_accepted(accepted))

    @override
    def start(self, _endpoint: str) -> None:
        self.publisher.start()

    @override
    async def stop(self) -> None:
        await self.publisher.stop()

    def _add_limits(self, answer: Answer) -> Answer:
        limits = self.account.rate_limit.write_headers()
        return replace(answer, headers={**answer.headers, **limits})

    def _run(self, request: Request, now: datetime) -> Handled[Accepted]:
        name, key = self._authenticate(request)
        match = TABLE.find(request)
        if match is None:
            has_path = TABLE.has_path(request)
            raise SendGridError("method_not_allowed" if has_path else "not_found")
        route, parameters = match
        key.check(SCOPES.get(route.name, ""))
        if route.run is None:
            mail = mail_send.read_mail(request.body)
            accept = partial(self._accept, mail, name, now)
            return self.meet_fault(route.operation, mail.recipients, accept, answer_error)
        document = documents.parse(request.body or b"{}")
        call = Call(parameters, parse_qs(request.raw_query), document, now)
        run = partial(route.run, Caller(self.account, key), call)
        change = partial(self._change, route.name, run)
        return self.meet_fault(route.operation, (), change, answer_error)

    def _change(self, name: str, run: Callable[[], Answer]) -> Handled[Accepted]:
        answer = run()
        is_set_up = "EventWebhook" in name and not name.startswith(("Get", "List"))
        if is_set_up:
            self.publisher.end_removed()
        return Handled(answer, is_set_up=is_set_up)

    def _authenticate(self, request: Request) -> tuple[str, ApiKey]:
        """The public part of the key, and the key."""
        scheme, _, value = request.headers.get("authorization", "").partition(" ")
        if not value:
            raise SendGridError("no_key")
        key = self.account.keys.get(value)
        if scheme.lower() != "bearer" or key is None:
            raise SendGridError("unauthorized")
        return value.split(".")[1], key

    def _accept(self, mail: Mail, key_id: str, now: datetime) -> Handled[Accepted]:
        self.account.accept(mail)
        if mail.is_sandboxed:
            return Handled(Answer(200, b""))
        message_id = secrets.token_urlsafe(16)
        outcomes = self.publisher.choose_outcomes(mail)
        accepted = Accepted(message_id, mail, now, key_id, outcomes)
        return Handled(answers.answer_accepted(message_id), accepted=accepted)
