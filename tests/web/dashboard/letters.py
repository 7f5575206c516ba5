"""Letters of the installation to the people who sign in: who carries them, and what they say."""

from collections.abc import Iterator

from django.db import connection

from postledger.accounts import provider_accounts, senders
from postledger.accounts.models import Workspace


def give_sender(workspace: str, *, kind: str = "smtp") -> None:
    """A sender of a workspace whose provider is its own server, or the sandbox."""
    tenant, _ = Workspace.objects.get_or_create(name=workspace)
    settings = {"host": "smtp.example"} if kind == "smtp" else {}
    account_id = provider_accounts.create_account(
        tenant.pk, name="own", kind=kind, settings=settings, actor="alice"
    )
    senders.create_sender(
        tenant.pk, address=f"desk@{workspace}.example", account_id=account_id, actor="alice"
    )


def list_letters() -> list[tuple[str, str]]:
    """Those in the ledger, by recipient, each with its text."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT d.address, b.text FROM deliveries_delivery d"
            " JOIN deliveries_body b USING (stream_id, position)"
            " ORDER BY d.stream_id, d.position"
        )
        return [(address, text) for address, text in cursor.fetchall()]


def letters_to(address: str) -> list[str]:
    return [text for to, text in list_letters() if to == address]


def find_links(text: str, origin: str = "https://mail.example") -> Iterator[str]:
    return (line for line in text.splitlines() if line.startswith(f"{origin}/"))


def carriers_to(address: str) -> list[str]:
    """The workspaces whose senders carry the letters to somebody."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT w.name FROM deliveries_delivery d"
            " JOIN deliveries_stream s ON s.id = d.stream_id"
            " JOIN accounts_workspace w ON w.id = s.workspace_id WHERE d.address = %s",
            [address],
        )
        return [name for (name,) in cursor.fetchall()]
