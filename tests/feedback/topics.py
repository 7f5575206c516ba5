"""Accounts at SES with topics, for tests of what comes in."""

from uuid import uuid4

from postledger.accounts import provider_accounts, workspaces
from postledger.accounts.models import Workspace
from postledger.feedback import topics

KEYS = {"access_key_id": "ASIAEXAMPLE", "secret_access_key": "made-up"}
SETTINGS = {"region": "eu-west-1", **KEYS}


def new_arn(region: str = "eu-west-1", *, partition: str = "aws") -> str:
    """Of no other test: processes remember topics for some seconds."""
    return f"arn:{partition}:sns:{region}:123456789012:events-{uuid4()}"


def find_workspace(name: str) -> int:
    row = Workspace.objects.filter(name=name).first()
    return row.pk if row else workspaces.create_workspace(name, actor="alice")


def new_account(workspace: str = "acme", **settings: object) -> tuple[int, int]:
    """The ids of a workspace and of its new account."""
    workspace_id = find_workspace(workspace)
    account_id = provider_accounts.create_account(
        workspace_id,
        name=f"ses {uuid4()}",
        kind="ses",
        settings={**SETTINGS, **settings},
        actor="alice",
    )
    return workspace_id, account_id


def listen(arn: str, *, workspace: str = "acme", queue_url: str = "", **settings: object) -> int:
    """Registers a topic for a new account, and returns the account's id."""
    workspace_id, account_id = new_account(workspace, **settings)
    topics.register_topic(workspace_id, account_id, arn=arn, queue_url=queue_url, actor="alice")
    return account_id
