"""Workspaces that send through a proxy."""

from postledger.accounts import provider_accounts, senders, workspaces
from postledger.accounts.queries import Organisation
from postledger.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY
from tools.drill import ses
from tools.drill.drill import ANSWER_TIME, CONNECTIONS, PASSWORD
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


def create_on_ses(name: str, port: int, *, sqs_endpoint: str = "") -> tuple[int, int]:
    """A workspace that sends by SES; returns its id and that of its sender."""
    settings = {
        "region": "us-east-1",
        "endpoint": f"http://127.0.0.1:{port}",
        "access_key_id": ACCESS_KEY_ID,
        "secret_access_key": SECRET_ACCESS_KEY,
        "configuration_set": ses.CONFIGURATION_SET,
        "sqs_endpoint": sqs_endpoint,
        "connections": CONNECTIONS,
        "timeouts": {"connect": 1.3, "request": REQUEST_TIME, "call": CALL_TIME},
    }
    return _create(name, "ses", settings)


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
