"""Workspaces that send through the proxy."""

from postledger.accounts import provider_accounts, senders, workspaces
from postledger.accounts.queries import Organisation
from tools.drill.drill import ANSWER_TIME, CONNECTIONS, PASSWORD


def create(name: str, port: int) -> tuple[int, int]:
    """A workspace with a footer and one sender; returns the ids of both."""
    workspace_id = workspaces.create_workspace(name, actor="drill")
    workspaces.set_organisation(
        workspace_id,
        Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe"),
        actor="drill",
    )
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
    account_id = provider_accounts.create_account(
        workspace_id, name="server", kind="smtp", settings=settings, actor="drill"
    )
    sender_id = senders.create_sender(
        workspace_id, address=f"news@{name}.example", account_id=account_id, actor="drill"
    )
    return workspace_id, sender_id
