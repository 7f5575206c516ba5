"""Workspaces whose mail goes to the fake SES of a drill, set up by the commands that people use."""

from collections import Counter
from dataclasses import dataclass
from io import StringIO

from django.core.management import call_command
from django.db import connection

from postledger.accounts import workspaces
from postledger.accounts.models import Sender
from postledger.accounts.queries import Organisation
from postledger.feedback.models import Topic
from tools.drill import ses
from tools.drill.drill import Drill
from tools.fakes.events.event_books import MailBooks
from tools.fakes.ses.events import reported_mail
from tools.fakes.ses.events.reported_mail import ReportedMail
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY


@dataclass(frozen=True, slots=True)
class Tenant:
    name: str
    workspace_id: int
    sender_id: int
    address: str


def create(
    drill: Drill, name: str, *, sqs_endpoint: str = "", url: str = "", port: int | None = None
) -> Tenant:
    """A workspace that SES reports to: by the queue, or by the URL. `port`: not by the proxy."""
    workspace_id = workspaces.create_workspace(name, actor="proof")
    workspaces.set_organisation(
        workspace_id,
        Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe"),
        actor="proof",
    )
    secret = drill.folder / "secret"
    secret.write_text(SECRET_ACCESS_KEY)
    address = f"news@{name}.{ses.NAME}.example"
    call_command(
        *("ses", "connect", name, "ses", "--region", "us-east-1", "--from", address),
        *("--endpoint", f"http://127.0.0.1:{port or drill.ses.proxy.port}"),
        *("--access-key-id", ACCESS_KEY_ID, "--secret", f"secret_access_key={secret}"),
        *(("--set", f"sqs_endpoint={sqs_endpoint}") if sqs_endpoint else ()),
        *("--create", *(("--url", url) if url else ())),
        stdout=StringIO(),  # what it tells people, once for each tenant
    )
    sender = Sender.objects.get(workspace_id=workspace_id)
    return Tenant(name, workspace_id, sender.pk, address)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The events of a tenant's mail, as the fake has published and as we have booked them."""

    mails: int  # that the fake accepted
    published: int
    delivered: int
    failed: int  # the fake gave them up
    booked: int
    reported_mails: int  # of which at least one event is booked
    silent_mails: int  # of which the fake delivered no event


def compare(drill: Drill, tenant: Tenant) -> Comparison:
    own = [
        mail_books
        for mail_books in reported_mail.read_books(drill.ses.journal).mails.values()
        if mail_books.mail.sender == tenant.address
    ]
    states: Counter[str] = sum((mail_books.states for mail_books in own), Counter())
    booked, reported = _count_booked(tenant)
    return Comparison(
        mails=len(own),
        published=states["published"],
        delivered=states["delivered"],
        failed=states["failed"],
        booked=booked,
        reported_mails=reported,
        silent_mails=sum(map(_is_silent, own)),
    )


def _is_silent(mail_books: MailBooks[ReportedMail]) -> bool:
    return not mail_books.is_reported


def _count_booked(tenant: Tenant) -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*), count(DISTINCT (f.stream_id, f.position)) FROM deliveries_feedback f"
            " JOIN deliveries_stream s ON s.id = f.stream_id WHERE s.workspace_id = %s",
            [tenant.workspace_id],
        )
        [(events, mails)] = cursor.fetchall()
    return int(events), int(mails)


def is_confirmed(tenant: Tenant) -> bool:
    return Topic.objects.filter(
        workspace_id=tenant.workspace_id, confirmed_at__isnull=False
    ).exists()
