"""A workspace whose members are told: senders on the sandbox, members, and what went wrong."""

from datetime import UTC, datetime, timedelta

from postledger.accounts import provider_accounts, senders
from postledger.accounts.models import Member, Sender, Workspace
from postledger.alerts.models import Alert
from postledger.deliveries import ledger
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.dispatch.models import Worker
from tests import cast
from tests.deliveries.models import Body, Delivery


def after(**length: float) -> datetime:
    """A moment in the future: what goes on then has lasted that long."""
    return datetime.now(UTC) + timedelta(**length)


def start_worker() -> None:
    """A worker that has lived for days, and is alive however long a test takes."""
    Worker.objects.update_or_create(
        name="worker",
        defaults={
            "started_at": after(days=-10),
            "seen_at": after(days=1),
            "busy_streams": 0,
        },
    )


def end_worker() -> None:
    Worker.objects.all().delete()


def open_house(workspace: str = "acme", *, members: int = 1) -> Workspace:
    """A workspace with a default sender on the sandbox, owners, and a worker."""
    start_worker()
    sender = cast.sender(workspace)
    account_id = provider_accounts.create_account(
        sender.workspace_id, name="sandbox", kind="sandbox", settings={}, actor="alice"
    )
    attach(sender, account_id)
    for number in range(members):
        add_member(sender.workspace, f"owner{number}@{workspace}.example")
    return sender.workspace


def attach(sender: Sender, account_id: int) -> None:
    senders.attach_sender(
        sender.workspace_id, sender_id=sender.pk, account_id=account_id, actor="alice"
    )


def add_member(workspace: Workspace, email: str, *, role: str = "owner") -> None:
    Member.objects.create(workspace=workspace, email=email, role=role)


def add_sender(workspace: Workspace, address: str) -> Sender:
    """Another sender with an account of its own."""
    sender = Sender.objects.create(workspace=workspace, address=address)
    account_id = provider_accounts.create_account(
        workspace.pk, name=address, kind="sandbox", settings={}, actor="alice"
    )
    attach(sender, account_id)
    return sender


def break_down(workspace: str = "acme") -> None:
    """Only a person ends this hold."""
    ledger.hold_sender(cast.sender(workspace).pk, reason=Reason.SENDER_BLOCKED, actor="dispatcher")


def mend(workspace: str = "acme") -> None:
    ledger.release_sender(cast.sender(workspace).pk)


def alerts(workspace: str = "acme") -> list[tuple[str, str, bool, bool]]:
    """Cause, subject, whether it is open, and whether it was told; the oldest first."""
    rows = Alert.objects.filter(workspace__name=workspace).order_by("pk")
    return [
        (row.cause, row.subject, row.closed_at is None, row.told_at is not None) for row in rows
    ]


def told_mails() -> list[tuple[str, str]]:
    """Who got a mail about alerts, and its subject."""
    return sorted((row.address, subject) for row, subject in _list_told())


def list_told_states() -> list[State]:
    """What became of the mails about alerts."""
    return [State(row.state) for row, _ in _list_told()]


def _list_told() -> list[tuple[Delivery, str]]:
    bodies = Body.objects.filter(tags__contains=["alert"])
    return [
        (Delivery.objects.get(stream_id=body.stream_id, position=body.position), body.subject)
        for body in bodies
    ]
