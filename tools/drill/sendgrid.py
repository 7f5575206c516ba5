"""SendGrid in a drill."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, override

from postledger.accounts.models import ProviderAccount
from postledger.feedback.report_setup.sendgrid import SendGridReports
from postledger.providers.sendgrid.requests import REFERENCE_ARGUMENT
from tools.drill import http_proxy
from tools.drill.http_fake import Fault, HttpFake
from tools.drill.http_proxy import LATER, REFUSED, TAKEN, Dialect
from tools.drill.saying import say
from tools.fakes.events.event_books import EventBooks
from tools.fakes.sendgrid.events import reported_mail
from tools.fakes.sendgrid.service import API_KEY

NAME = "sendgrid"  # of the workspace
_REFUSALS = {b"400", b"413"}
_MESSAGE_ID = re.compile(rb"^x-message-id: *[!-~]+\r?$", re.MULTILINE | re.IGNORECASE)


def _read_mail(document: Any) -> tuple[str, str]:
    [mail] = document["personalizations"]
    [to] = mail["to"]
    return to["email"], mail["custom_args"][REFERENCE_ARGUMENT]


def _judge(head: bytes, body: bytes) -> int | None:
    status = head[9:12]
    if status == b"202":
        return TAKEN if _MESSAGE_ID.search(head) else None
    if "errors" in http_proxy.read_object(body):
        return REFUSED if status in _REFUSALS else LATER
    return LATER if status == b"503" else None


DIALECT = Dialect(b"POST /v3/mail/send ", _read_mail, _judge)


@dataclass
class SendGrid(HttpFake):
    label: ClassVar[str] = "SendGrid"
    kind: ClassVar[str] = NAME
    dialect: ClassVar[Dialect] = DIALECT
    service_faults: ClassVar[Mapping[str, Fault]] = {
        name: {"kind": "error", "name": name}
        for name in ("unavailable", "internal_error", "bad_request", "too_many_requests")
    }

    @property
    @override
    def options(self) -> Mapping[str, str]:
        return {"identity": f"{NAME}.example"}

    @property
    @override
    def settings(self) -> dict[str, object]:
        return {"api_key": API_KEY, "endpoint": f"http://127.0.0.1:{self.proxy.port}"}

    @override
    def set_sending(self, *, is_enabled: bool) -> None:
        self.control("PUT", f"identities/{NAME}.example", {"is_verified": is_enabled})

    @override
    def listen(self, workspace_id: int, account_id: int) -> None:
        """By the same steps as the command."""
        account = ProviderAccount.objects.select_related("workspace").get(pk=account_id)
        for step in SendGridReports(account.workspace, account, "drill").create(self.url):
            say(f"{self.label}: {step.message}")

    @override
    def read_reference(self, entry: Mapping[str, Any]) -> str:
        [arguments] = entry["custom_args"]
        reference: str = arguments[REFERENCE_ARGUMENT]
        return reference

    @override
    def read_books(self) -> EventBooks[Any]:
        return reported_mail.read_books(self.journal)

    def shorten_rate_window(self) -> None:
        """A throttled account rests until its window ends: a minute, and nothing is proved."""
        self.control("PATCH", "account", {"rate_seconds": 2.0})
