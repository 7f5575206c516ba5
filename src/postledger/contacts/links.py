"""The links that let a workspace's recipients go: the page is the workspace's, the secret ours."""

from django.conf import settings

from postledger.accounts import queries as accounts
from postledger.contacts.unsubscribe import Leaving


def leaving(workspace_id: int) -> Leaving:
    found = accounts.organisation(workspace_id)
    return Leaving(
        base_url=found.unsubscribe_base_url,
        secret=settings.UNSUBSCRIBE_SECRET.encode(),
        workspace_id=None if found.is_default else workspace_id,
    )
