"""What people are shown of the sync: how far it is, and what could not be taken or written."""

from collections.abc import Sequence
from dataclasses import dataclass

from postledger.accounts import queries
from postledger.contacts.supabase.models import SupabaseProblem, SupabaseSync


@dataclass(frozen=True, slots=True)
class Overview:
    sync: SupabaseSync
    problems: Sequence[SupabaseProblem]  # the oldest ones
    problem_count: int


def overview(*, most: int) -> Overview | None:
    """None when nothing was ever synced."""
    sync = SupabaseSync.objects.filter(workspace_id=queries.default_workspace_id() or 0).first()
    if sync is None:
        return None
    problems = SupabaseProblem.objects.filter(workspace_id=sync.workspace_id)
    return Overview(sync, list(problems.order_by("since", "pk")[:most]), problems.count())
