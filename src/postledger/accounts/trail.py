"""The audit trail: who changed what in a workspace, noted in the transaction of the change."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.db.models import Q, QuerySet

from postledger.accounts.models import AuditEntry

# What a person, a program or the system did; the page of the audit log has a sentence for each.
type Action = Literal[
    "account.created",
    "account.updated",
    "account.rate_set",
    "account.archived",
    "account.restored",
    "account.resealed",
    "account.quota_source_set",
    "account.quota_source_removed",
    "address.suppressed",
    "address.restored",
    "article.created",
    "article.updated",
    "article.deleted",
    "branding.changed",
    "campaign.created",
    "campaign.changed",
    "campaign.deleted",
    "campaign.launched",
    "campaign.tested",
    "campaign.paused",
    "campaign.resumed",
    "campaign.cancelled",
    "campaign.retried",
    "campaign.closed",
    "campaign.sent",
    "campaign.report_downloaded",
    "contact.created",
    "contact.changed",
    "contact.deleted",
    "contact.restored",
    "contact.erased",
    "contact.unconfirmed",
    "contacts.subscribed",
    "contacts.unsubscribed",
    "contacts.suppressed",
    "contacts.exported",
    "doubt.count_as_sent",
    "doubt.count_as_not_sent",
    "doubt.send_again",
    "failure.requeued",
    "failure.discarded",
    "form.blocked",
    "import.uploaded",
    "import.started",
    "import.finished",
    "import.abandoned",
    "integration.set",
    "integration.removed",
    "integration.filled",
    "integration.resealed",
    "key.created",
    "key.rotated",
    "key.revoked",
    "list.created",
    "list.changed",
    "list.archived",
    "list.restored",
    "member.added",
    "member.invited",
    "member.joined",
    "member.role_changed",
    "member.limit_changed",
    "member.removed",
    "member.address_changed",
    "member.reset_link",
    "picture.added",
    "segment.created",
    "segment.renamed",
    "segment.changed",
    "segment.deleted",
    "sender.created",
    "sender.renamed",
    "sender.attached",
    "sender.limits_changed",
    "sender.hours_changed",
    "sender.made_default",
    "sender.archived",
    "sender.restored",
    "sender.held",
    "sender.released",
    "slice.added",
    "slice.changed",
    "slice.deleted",
    "source.created",
    "source.changed",
    "source.archived",
    "stream.held",
    "stream.released",
    "stream.stopped",
    "stream.cancelled",
    "template.created",
    "template.version_added",
    "template.archived",
    "template.restored",
    "topic.created",
    "topic.changed",
    "topic.registered",
    "topic.removed",
    "webhook_key.registered",
    "webhook_key.removed",
    "workspace.created",
    "workspace.renamed",
    "workspace.organisation_changed",
    "workspace.unsubscribe_page_changed",
    "workspace.tests_changed",
    "workspace.zone_changed",
    "workspace.hours_changed",
]
type Fact = str | int | float | bool | list[str] | None

# Entries that one search reads: an index serves their order, and none what they say.
MOST_READ = 20_000

_NOTHING: Mapping[str, Fact] = {}


def note(
    workspace_id: int,
    *,
    actor: str,
    action: Action,
    subject: str,
    data: Mapping[str, Fact] = _NOTHING,
) -> None:
    """Writes one entry. Entries never change, so `data` holds no secret and no recipient."""
    AuditEntry.objects.create(
        workspace_id=workspace_id, actor=actor, action=action, subject=subject, data=dict(data)
    )


def note_all(workspace_id: int, *, actor: str, action: Action, subjects: Iterable[str]) -> None:
    """Writes one entry without data for each subject."""
    AuditEntry.objects.bulk_create(
        AuditEntry(workspace_id=workspace_id, actor=actor, action=action, subject=subject)
        for subject in subjects
    )


def find_last(
    workspace_id: int, *, subjects: Collection[str], actions: Collection[Action]
) -> tuple[str, datetime] | None:
    """Who did one of these things last to one of these subjects, and when."""
    entries = AuditEntry.objects.filter(
        workspace_id=workspace_id, subject__in=subjects, action__in=actions
    )
    return entries.order_by("-at", "-pk").values_list("actor", "at").first()


def list_contact_changes(workspace_id: int, contact_id: int, *, limit: int) -> list[AuditEntry]:
    """The newest changes of what is known about a contact, the newest first."""
    entries = AuditEntry.objects.filter(
        workspace_id=workspace_id, subject=f"contact {contact_id}", action="contact.changed"
    )
    return list(entries.order_by("-at", "-pk")[:limit])


@dataclass(frozen=True, slots=True)
class EntryPage:
    """Some entries, the newest first."""

    entries: Sequence[AuditEntry]
    older: int | None  # the older ones come after this entry; None: there are none
    searched_to: datetime | None = None  # how far a search went that ended before the last entry


def page_entries(
    workspace_id: int, *, words: str = "", actor: str = "", before: int | None = None, limit: int
) -> EntryPage:
    """The newest entries, or those older than one; actions or subjects begin with the words.

    A search reads no more than `MOST_READ` entries, and says how far it went.
    """
    newest = _list_before(workspace_id, before)
    if not words and not actor:
        entries = list(newest[: limit + 1])
        return EntryPage(entries[:limit], entries[limit - 1].pk if len(entries) > limit else None)
    matching = AuditEntry.objects.filter(pk__in=newest.values("pk")[:MOST_READ])
    if words:
        matching = matching.filter(Q(action__startswith=words) | Q(subject__startswith=words))
    if actor:
        matching = matching.filter(actor=actor)
    entries = list(matching.order_by("-at", "-pk")[: limit + 1])
    if len(entries) > limit:
        return EntryPage(entries[:limit], entries[limit - 1].pk)
    last_read = next(iter(newest[MOST_READ - 1 : MOST_READ]), None)
    if last_read is None:
        return EntryPage(entries, None)
    return EntryPage(entries, last_read.pk, last_read.at)


def _list_before(workspace_id: int, before: int | None) -> QuerySet[AuditEntry]:
    own = AuditEntry.objects.filter(workspace_id=workspace_id).order_by("-at", "-pk")
    last = None if before is None else own.filter(pk=before).first()
    if last is None:
        return own
    # The first condition leads into the index, the second one leaves out what was shown.
    return own.filter(at__lte=last.at).filter(Q(at__lt=last.at) | Q(pk__lt=last.pk))
