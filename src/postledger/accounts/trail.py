"""The audit trail: who changed what in a workspace, noted in the transaction of the change."""

from collections.abc import Iterable, Mapping

from django.db.models import Q

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


def page_entries(
    workspace_id: int, *, words: str = "", actor: str = "", before: int | None = None, limit: int
) -> list[AuditEntry]:
    """The newest entries, or those older than one; actions or subjects begin with the words."""
    entries = AuditEntry.objects.filter(workspace_id=workspace_id)
    if words:
        entries = entries.filter(Q(action__startswith=words) | Q(subject__startswith=words))
    if actor:
        entries = entries.filter(actor=actor)
    own = AuditEntry.objects.filter(workspace_id=workspace_id)
    last = None if before is None else own.filter(pk=before).first()
    if last is not None:
        entries = entries.filter(Q(at__lt=last.at) | Q(at=last.at, pk__lt=last.pk))
    return list(entries.order_by("-at", "-pk")[:limit])
