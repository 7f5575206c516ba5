"""Workspaces that send through a proxy."""

from postledger.accounts import provider_accounts, senders, workspaces
from postledger.accounts.queries import Organisation
from tools.drill.drill import ANSWER_TIME, CONNECTIONS, PASSWORD
from tools.drill.http_fake import HttpFake
from tools.drill.http_proxy import CALL_TIME, REQUEST_TIME


def create(name: str, port: int) -> tuple[int, int]:
    """A workspace that sends by SMTP; returns its id and that of its sender."""
    settings = {
        "host": "127.0.0.1",
        "port": port,
        "tls": "none",
        "username": "drill",
        "password": PASSWORD,
        "connections": CONNECTIONS,
        "messages_per_connection": 20,
        # A call fits a lease of ten seconds: the answer and two commands, and time to settle.
        "timeouts": {
            "connect": 1.3,
            "command": 1.3,
            "body": 1.3,
            "answer": ANSWER_TIME,
            "quit": 0.5,
        },
    }
    return _create(name, "smtp", settings)


def create_on(fake: HttpFake) -> tuple[int, int]:
    """A workspace that sends through a vendor; returns its id and that of its sender."""
    settings = {
        **fake.settings,
        "connections": CONNECTIONS,
        "timeouts": {"connect": 1.3, "request": REQUEST_TIME, "call": CALL_TIME},
    }
    return _create(fake.kind, fake.kind, settings)


def _create(name: str, kind: str, settings: dict[str, object]) -> tuple[int, int]:
    """A workspace with a footer and one sender."""
    workspace_id = workspaces.create_workspace(name, actor="drill")
    workspaces.set_organisation(
        workspace_id,
        Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe"),
        actor="drill",
    )
    account_id = provider_accounts.create_account(
        workspace_id, name="server", kind=kind, settings=settings, actor="drill"
    )
    sender_id = senders.create_sender(
        workspace_id, address=f"news@{name}.example", account_id=account_id, actor="drill"
    )
    return workspace_id, sender_id
