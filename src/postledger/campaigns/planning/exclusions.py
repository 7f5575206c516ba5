"""The contacts of a run's audience that got no mail of it, each with the reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from postledger.campaigns.models import ExcludedContact, Run
from postledger.campaigns.runs.run_lookup import find_run
from postledger.contacts.models import Contact
from postledger.lib import ids

PAGE = 100


@dataclass(frozen=True, slots=True)
class ExclusionFacts:
    contact_id: int
    address: str | None  # None: the contact was deleted
    reason: str


def store(run_id: UUID, kept_back: Mapping[str, Sequence[int | None]]) -> None:
    """Stores the contacts of one chunk by reason, in the caller's transaction.

    A contact that two waves exclude is stored once.
    """
    rows = [
        ExcludedContact(run_id=run_id, contact_id=contact_id, reason=reason)
        for reason, contact_ids in kept_back.items()
        for contact_id in contact_ids
        if contact_id is not None
    ]
    ExcludedContact.objects.bulk_create(rows, ignore_conflicts=True)


def list_exclusions(
    workspace_id: int,
    run_id: UUID,
    *,
    reason: str | None = None,
    after: int = 0,
    limit: int = PAGE,
) -> list[ExclusionFacts]:
    """A page in the order of contact ids; `after` is the last id of the previous page."""
    run = find_run(workspace_id, run_id)
    rows = ExcludedContact.objects.filter(run_id=run.pk, contact_id__gt=after)
    if reason is not None:
        rows = rows.filter(reason=reason)
    page = list(rows.order_by("contact_id")[:limit])
    contacts = Contact.objects.filter(
        workspace_id=workspace_id, pk__in=[row.contact_id for row in page], deleted_at=None
    )
    addresses = dict(contacts.values_list("pk", "address"))
    return [
        ExclusionFacts(row.contact_id, addresses.get(row.contact_id), row.reason) for row in page
    ]


@dataclass(frozen=True, slots=True)
class MissedRun:
    """A run that left a contact out."""

    run_id: UUID
    campaign_name: str
    reason: str
    launched_at: datetime


def list_missed_runs(
    workspace_id: int, contact_id: int, *, until: datetime, limit: int
) -> list[MissedRun]:
    """The newest runs before a moment that left the contact out, without tests."""
    rows = ExcludedContact.objects.filter(
        contact_id=contact_id,
        run__workspace_id=workspace_id,
        run__is_test=False,
        run__launched_at__lt=until,
    )
    newest = rows.select_related("run__campaign").order_by("-run__launched_at")[:limit]
    return [
        MissedRun(row.run_id, row.run.campaign.name, row.reason, row.run.launched_at)
        for row in newest
    ]


def list_of_contacts(contact_ids: Sequence[int]) -> list[dict[str, object]]:
    """The runs that left these contacts out, for an export."""
    rows = ExcludedContact.objects.filter(contact_id__in=list(contact_ids)).order_by("run_id")
    return [{"run_id": row.run_id, "reason": row.reason} for row in rows]


def forget_contacts(contact_ids: Sequence[int]) -> None:
    """Deletes the rows of erased people; the counts of their runs stay."""
    ExcludedContact.objects.filter(contact_id__in=list(contact_ids)).delete()


def forget_month(month: int) -> None:
    """Deletes the rows of runs whose mail was dropped with its month."""
    first = ids.first_stream_of(month)
    runs = Run.objects.filter(stream_id__gte=first, stream_id__lt=ids.first_stream_of(month + 1))
    ExcludedContact.objects.filter(run__in=runs).delete()
