"""Reads and sets how one contact or subscription stands, and records it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from django.db.models.functions import Now
from psycopg import sql as pg

from postledger.contacts import sql
from postledger.contacts.consent import Origin
from postledger.contacts.models import ConsentEvent
from postledger.contacts.states import ConsentAction, ContactState, SubscriptionState


@dataclass(frozen=True, slots=True)
class Step:
    """One change of consent, as it is recorded."""

    action: ConsentAction
    origin: Origin
    at: datetime | None = None  # None: now
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Whose:
    """The contact of an address and how it stands; locked until the transaction ends."""

    contact_id: int | None
    state: ContactState | None
    address_hash: bytes | None = None  # where there is no contact


_BY_ADDRESS = """
SELECT id, state FROM contacts_contact
WHERE workspace_id = %(workspace)s AND deleted_at IS NULL
  AND lower(address) COLLATE "C" = lower(%(address)s) COLLATE "C"
FOR NO KEY UPDATE
"""
_FINGERPRINT = "SELECT contacts_fingerprint((SELECT salt FROM contacts_salt), %(address)s)"


def whose(workspace_id: int, *, address: str) -> Whose:
    row = sql.one(_BY_ADDRESS, {"workspace": workspace_id, "address": address})
    if row is not None:
        return Whose(row[0], ContactState(row[1]))
    [(address_hash,)] = sql.rows(_FINGERPRINT, {"address": address})
    return Whose(None, None, bytes(address_hash))


_SET_STATE = """
UPDATE contacts_contact
SET state = %(state)s, state_changed_at = coalesce(%(at)s, statement_timestamp()),
    updated_at = statement_timestamp()
WHERE id = %(contact)s AND workspace_id = %(workspace)s
"""


def set_state(
    workspace_id: int, *, contact_id: int, state: ContactState, at: datetime | None
) -> None:
    params = {"state": state.value, "at": at, "contact": contact_id, "workspace": workspace_id}
    sql.changed(_SET_STATE, params)


def record(  # noqa: PLR0913  what an event is, each part by its name
    workspace_id: int,
    step: Step,
    *,
    contact_id: int | None,
    address_hash: bytes | None = None,
    list_id: int | None = None,
    before: ContactState | SubscriptionState | None = None,
    after: ContactState | SubscriptionState | None = None,
) -> None:
    """Adds one event to the history, in the transaction of the change itself."""
    ConsentEvent.objects.create(
        workspace_id=workspace_id,
        contact_id=contact_id,
        address_hash=address_hash,
        list_id=list_id,
        action=step.action.value,
        before=before and before.value,
        after=after and after.value,
        source=step.origin.source,
        actor=step.origin.actor,
        text_version=step.origin.text_version,
        ip=step.origin.ip,
        detail=step.detail,
        at=step.at or Now(),
    )


_SUBSCRIPTION = """
SELECT s.id, s.state
FROM contacts_subscription AS s JOIN contacts_contact AS c ON c.id = s.contact_id
WHERE s.contact_id = %(contact)s AND s.list_id = %(list)s
  AND c.workspace_id = %(workspace)s AND c.deleted_at IS NULL
FOR NO KEY UPDATE OF s
"""


def subscription(
    workspace_id: int, *, contact_id: int, list_id: int
) -> tuple[int, SubscriptionState] | None:
    """A subscription's id and state, locked until the transaction ends."""
    params = {"workspace": workspace_id, "contact": contact_id, "list": list_id}
    row = sql.one(_SUBSCRIPTION, params)
    return None if row is None else (row[0], SubscriptionState(row[1]))


# Part of every statement whose `line` makes subscriptions active, but for that of imports: whoever
# agreed to a list is no longer known by a form alone.
CONFIRM = pg.SQL("""
UPDATE contacts_contact AS c SET is_unconfirmed = false, updated_at = statement_timestamp()
FROM line WHERE c.id = line.contact_id AND line.state = 'active' AND c.is_unconfirmed
""")
_SET_SUBSCRIPTION = pg.SQL("""
WITH line AS (
    UPDATE contacts_subscription
    SET state = %(state)s, changed_at = coalesce(%(at)s, statement_timestamp())
    WHERE id = %(id)s
    RETURNING contact_id, state
)
{confirm}
""").format(confirm=CONFIRM)


def set_subscription(
    subscription_id: int, *, state: SubscriptionState, at: datetime | None
) -> None:
    """Sets the state of a subscription that `subscription` has locked."""
    sql.changed(_SET_SUBSCRIPTION, {"id": subscription_id, "state": state.value, "at": at})


_LOCK_UNCONFIRMED: LiteralString = """
SELECT FROM contacts_contact WHERE id = ANY(%(contacts)s::bigint[]) AND is_unconfirmed
ORDER BY lower(address) COLLATE "C"
FOR NO KEY UPDATE
"""


def lock_unconfirmed(contact_ids: Sequence[int]) -> None:
    """Comes before subscriptions that may confirm them are added.

    An import locks contacts first, too, by their addresses, and then waits for subscriptions that
    others add: neither order alone would do.
    """
    sql.changed(_LOCK_UNCONFIRMED, {"contacts": list(contact_ids)})
