"""The passes over the subscribers that launches wait for.

A launch requests the pass after the current one, by its number, and is planned when that pass or a
later one has read every row. So no contact is mailed, or left out, by what Supabase said before.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.accounts import integrations, queries
from postledger.accounts.integrations import IntegrationKind
from postledger.contacts import sql
from postledger.supabase import errors
from postledger.supabase.models import Sync


@dataclass(frozen=True, slots=True)
class PassFailure:
    """Why no pass ends."""

    detail: str
    since: datetime | None  # None: not known


def find_connected_workspace() -> int | None:
    """The first workspace, if it has a project."""
    first = queries.first_workspace_id()
    return first if first in integrations.workspaces(IntegrationKind.SUPABASE) else None


# The row stays locked until the launch is committed: the pass begins after it.
_REQUEST: LiteralString = """
INSERT INTO supabase_sync AS sync (workspace_id, requested_pass) VALUES (%(workspace)s, 1)
ON CONFLICT (workspace_id) DO UPDATE SET requested_pass = sync.pass_count + 1
RETURNING requested_pass
"""


def request_pass(workspace_id: int) -> int | None:
    """The number of the next pass, which a worker begins at once; None without a project."""
    if workspace_id != find_connected_workspace():
        return None
    [(number,)] = sql.rows(_REQUEST, {"workspace": workspace_id})
    return int(number)


def is_complete(workspace_id: int, number: int) -> bool:
    """Whether this pass or a later one has read every row and ended without a failure."""
    return Sync.objects.filter(workspace_id=workspace_id, complete_pass__gte=number).exists()


def find_failure(workspace_id: int) -> PassFailure | None:
    """What keeps passes from ending; None while nothing does."""
    if workspace_id != find_connected_workspace():
        return PassFailure(f"{errors.not_set_up()} {_OR_CANCEL}", None)
    sync = Sync.objects.filter(workspace_id=workspace_id).exclude(trouble=None).first()
    return None if sync is None else PassFailure(sync.trouble or "", sync.troubled_at)


_OR_CANCEL = "Or cancel the run, and launch it again for the contacts that are here."
