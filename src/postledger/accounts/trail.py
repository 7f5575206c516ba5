"""Notes who changed what of a workspace, in the transaction of the change itself."""

from collections.abc import Iterable, Mapping

from postledger.accounts.models import AuditEntry

type Fact = str | int | bool | list[str] | None

_NOTHING: Mapping[str, Fact] = {}


def note(
    workspace_id: int,
    *,
    actor: str,
    action: str,
    subject: str,
    data: Mapping[str, Fact] = _NOTHING,
) -> None:
    """Writes one entry. It is never changed, so `data` holds no secret and no recipient."""
    AuditEntry.objects.create(
        workspace_id=workspace_id, actor=actor, action=action, subject=subject, data=dict(data)
    )


def note_all(workspace_id: int, *, actor: str, action: str, subjects: Iterable[str]) -> None:
    """Writes an entry for each of many, about whom there is nothing else to say."""
    AuditEntry.objects.bulk_create(
        AuditEntry(workspace_id=workspace_id, actor=actor, action=action, subject=subject)
        for subject in subjects
    )
