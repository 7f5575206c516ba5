"""The audit trail: who changed what in a workspace, noted in the transaction of the change."""

from collections.abc import Iterable, Mapping

from postledger.accounts.models import AuditEntry

type Fact = str | int | float | bool | list[str] | None

_NOTHING: Mapping[str, Fact] = {}


def note(
    workspace_id: int,
    *,
    actor: str,
    action: str,
    subject: str,
    data: Mapping[str, Fact] = _NOTHING,
) -> None:
    """Writes one entry. Entries never change, so `data` holds no secret and no recipient."""
    AuditEntry.objects.create(
        workspace_id=workspace_id, actor=actor, action=action, subject=subject, data=dict(data)
    )


def note_all(workspace_id: int, *, actor: str, action: str, subjects: Iterable[str]) -> None:
    """Writes one entry without data for each subject."""
    AuditEntry.objects.bulk_create(
        AuditEntry(workspace_id=workspace_id, actor=actor, action=action, subject=subject)
        for subject in subjects
    )
