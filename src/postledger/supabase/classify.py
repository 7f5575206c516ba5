"""Compares a page of subscribers with our contacts, and writes our stronger states to Supabase."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.contacts import sql
from postledger.contacts.states import ContactState
from postledger.supabase import errors, rows
from postledger.supabase.client import SubscribersTable
from postledger.supabase.models import RowFailure
from postledger.supabase.page import ClassifiedPage, RowIssue
from postledger.supabase.rows import InvalidRow, Record, SubscriberRow, SyncDecision

_ERASED = "Its owner asked to be erased here. Delete the row in Supabase as well."
_DELETED = "The contact was deleted here. Delete the row in Supabase, or create the contact anew."
_MOVED = "The row changed in Supabase meanwhile. The next pass reads it again."


@dataclass(frozen=True, slots=True)
class LocalContact:
    """Our contact of a row's address."""

    state: ContactState
    from_name: str | None
    bounce_type: str | None
    bounce_subtype: str | None
    changed_at: datetime | None
    is_unconfirmed: bool
    has_left: bool  # its owner unsubscribed, perhaps under a stronger reason
    taken_back_at: datetime | None  # when the state that Supabase has was taken back here


@dataclass(frozen=True, slots=True)
class NoContact:
    is_deleted: bool
    gone_id: int | None  # the contact that a pass deleted because the row was missing
    is_erased: bool


# LIMIT says what the planner does not know of partial indexes. Served by contacts_contact_once,
# contacts_consent_newest, contacts_suppression_once and contacts_contact_deleted. An undo under a
# bounce leaves the state as it is, and takes nothing back but an unsubscribe.
_CONTACTS: LiteralString = """
WITH given AS MATERIALIZED (
    SELECT number, state, lower(address) COLLATE "C" AS key,
           contacts_fingerprint(%(hash_key)s::bytea, address) AS hash
    FROM unnest(%(addresses)s::text[], %(states)s::text[])
         WITH ORDINALITY AS given (address, state, number)
)
SELECT c.state, c.from_name, c.bounce_type, c.bounce_subtype,
       coalesce(c.state_changed_at, kept.created_at), c.is_unconfirmed,
       coalesce(kept.has_left, false), back.at, deleted.at IS NOT NULL,
       (
           SELECT s.contact_id FROM supabase_subscriber AS s
           WHERE s.contact_id = deleted.id AND s.gone_at = deleted.at
       ),
       c.id IS NULL AND EXISTS (
           SELECT FROM contacts_suppression AS s
           WHERE s.workspace_id = %(workspace)s AND s.address_hash = given.hash
             AND s.list_id IS NULL AND s.address IS NULL
       )
FROM given
LEFT JOIN LATERAL (
    SELECT * FROM contacts_contact
    WHERE workspace_id = %(workspace)s AND lower(address) COLLATE "C" = given.key
      AND deleted_at IS NULL
    LIMIT 1
) AS c ON true
LEFT JOIN LATERAL (
    SELECT d.id, d.deleted_at AS at FROM contacts_contact AS d
    WHERE c.id IS NULL AND d.workspace_id = %(workspace)s
      AND lower(d.address) COLLATE "C" = given.key AND d.deleted_at IS NOT NULL
    ORDER BY d.deleted_at DESC LIMIT 1
) AS deleted ON true
LEFT JOIN LATERAL (
    SELECT has_left, created_at FROM contacts_suppression
    WHERE c.id IS NOT NULL AND workspace_id = %(workspace)s AND address_hash = given.hash
      AND list_id IS NULL
    LIMIT 1
) AS kept ON true
LEFT JOIN LATERAL (
    SELECT max(event.at) AS at FROM contacts_consentevent AS event
    WHERE (c.state_changed_at IS NOT NULL OR c.state <> 'active')
      AND event.contact_id = c.id AND event.list_id IS NULL
      AND (
          event.action IN ('undone', 'restored') AND event.before = given.state
          OR event.action = 'undone' AND given.state = 'unsubscribed'
      )
) AS back ON true
ORDER BY given.number
"""


def find_contacts(
    workspace_id: int, subscribers: Sequence[SubscriberRow]
) -> list[LocalContact | NoContact]:
    """Our contact of each row, in their order."""
    params = {
        "workspace": workspace_id,
        "addresses": [row.address for row in subscribers],
        "states": [row.state.value for row in subscribers],
    }
    return [
        NoContact(is_deleted, gone_id, is_erased)
        if state is None
        else LocalContact(ContactState(state), *columns)
        for state, *columns, is_deleted, gone_id, is_erased in sql.rows(_CONTACTS, params)
    ]


def classify_page(
    workspace_id: int,
    records: Sequence[Record],
    *,
    after: str,
    table: SubscribersTable,
    now: datetime,
) -> ClassifiedPage:
    """What must change here for each row; our stronger states are written to Supabase at once."""
    read = [rows.read_row(record) for record in records]
    page = ClassifiedPage(after=after, last=read[-1].email, row_count=len(read))
    page.addresses += [row.address for row in read if row.address is not None]
    page.issues += [
        _not_applied(row.email, row.problem) for row in read if isinstance(row, InvalidRow)
    ]
    usable = [row for row in read if isinstance(row, SubscriberRow)]
    for row, contact in zip(usable, find_contacts(workspace_id, usable), strict=True):
        if not row.is_name_usable:
            page.issues.append(_not_applied(row.email, rows.INVALID_NAME))
        match contact:
            case NoContact():
                _classify_new(page, row, contact)
            case LocalContact():
                _compare(page, row, contact, table=table, now=now)
    return page


def _not_applied(email: str, problem: str) -> RowIssue:
    return RowIssue(email, RowFailure.NOT_APPLIED, problem)


def _classify_new(page: ClassifiedPage, row: SubscriberRow, absent: NoContact) -> None:
    if absent.is_erased:
        page.issues.append(_not_applied(row.email, _ERASED))
    elif absent.gone_id is not None:
        page.to_restore.append((absent.gone_id, row))
    elif absent.is_deleted:
        page.issues.append(_not_applied(row.email, _DELETED))
    else:
        page.new.append(row)


def _compare(
    page: ClassifiedPage,
    row: SubscriberRow,
    contact: LocalContact,
    *,
    table: SubscribersTable,
    now: datetime,
) -> None:
    if row.is_name_usable and row.from_name != contact.from_name:
        page.to_rename.append(row)
    if contact.is_unconfirmed and row.state is ContactState.ACTIVE:
        page.to_confirm.append(row)
    # A row with our own time was written by us, perhaps for a complaint: it is not a wish.
    is_own = row.at is not None and row.at == contact.changed_at
    decision = rows.decide(
        ours=contact.state,
        theirs=row.state,
        their_at=row.at,
        taken_back_at=contact.taken_back_at,
        is_wish_known=contact.has_left or is_own,
    )
    if decision is SyncDecision.TAKE:
        page.to_end.append(row)
    elif decision is SyncDecision.WRITE:
        _write(page, row, contact, table=table, now=now)


def _write(
    page: ClassifiedPage,
    row: SubscriberRow,
    contact: LocalContact,
    *,
    table: SubscribersTable,
    now: datetime,
) -> None:
    values = {
        "status": contact.state.value,
        "bounce_type": contact.bounce_type,
        "bounce_subtype": contact.bounce_subtype,
        "status_updated_at": (contact.changed_at or now).isoformat(),
    }
    try:
        has_changed = table.update_if_same(row.record, values)
    except errors.SupabaseRequestRefusedError as refused:
        page.issues.append(RowIssue(row.email, RowFailure.NOT_WRITTEN, str(refused)))
        return
    if has_changed:
        page.written_count += 1
    else:
        page.issues.append(RowIssue(row.email, RowFailure.NOT_WRITTEN, _MOVED))
