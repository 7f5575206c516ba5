"""Subscribes contacts to lists: asked for, confirmed, imported, paused."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from psycopg import sql as pg

from postledger.contacts import lists, locks, queries, sql, states
from postledger.contacts.actions import applying, contacts, returning, standing
from postledger.contacts.actions.standing import Step
from postledger.contacts.consent import Origin
from postledger.contacts.states import ConsentAction, ContactState, SubscriptionState
from postledger.lib.errors import RefusedError

MOST = 10_000


class SubscriptionUnknownError(RefusedError):
    code = "subscription_unknown"


class SubscriptionSuppressedError(RefusedError):
    code = "subscription_suppressed"


def subscribe(  # noqa: PLR0913  each part of a consent by its name
    workspace_id: int,
    *,
    contact_id: int,
    list_key: str,
    is_confirmed: bool = False,
    origin: Origin,
    now: datetime,
) -> SubscriptionState:
    """Records that a contact asked for a list, and returns how the subscription stands then.

    It is pending until it is confirmed, unless that is known to have happened. Who had left the
    list confirms in any case.
    """
    with transaction.atomic():
        locks.joining(workspace_id)
        list_id = lists.named(workspace_id, list_key)
        address, _ = _contact(workspace_id, contact_id)
        kept = queries.suppression(workspace_id, address=address, list_id=list_id)
        if is_confirmed:
            standing.lock_unconfirmed([contact_id])
        before = None
        after = states.asked(None, kept, is_confirmed=is_confirmed)
        if after is None or not _insert(contact_id, list_id, after, now):
            known = standing.subscription(workspace_id, contact_id=contact_id, list_id=list_id)
            before = known and known[1]
            after = states.asked(before, kept, is_confirmed=is_confirmed)
            if after is None:
                raise SubscriptionSuppressedError(
                    f"This contact is kept back from the list {list_key!r}: restore it first."
                )
            if known is None or after is before:
                return after
            standing.set_subscription(known[0], state=after, at=now)
        step = Step(ConsentAction.SUBSCRIBED, origin, now)
        _record(workspace_id, step, contact_id, list_id, before, after)
    return after


def confirm(
    workspace_id: int, *, contact_id: int, list_key: str, origin: Origin, now: datetime
) -> bool:
    """The owner of the address says yes: pending becomes active. False when it was not pending.

    Who had left everything comes back for this list alone: the others end now.
    """
    step = Step(ConsentAction.CONFIRMED, origin, now)
    with transaction.atomic():
        locks.leaving(workspace_id)
        list_id = lists.named(workspace_id, list_key)
        address, state = _contact(workspace_id, contact_id)
        if not _move(workspace_id, contact_id, list_id, step):
            return False
        back = Step(ConsentAction.UNDONE, origin, now)
        returning.to_list(workspace_id, address=address, list_id=list_id, step=back)
        if state is ContactState.UNSUBSCRIBED:
            _end_others(workspace_id, contact_id, list_id, step)
            returning.to_all(workspace_id, address=address, step=back)
    return True


def pause(
    workspace_id: int, *, contact_id: int, list_key: str, origin: Origin, now: datetime
) -> bool:
    """Takes a break from a list; False when there was no active subscription."""
    step = Step(ConsentAction.PAUSED, origin, now)
    with transaction.atomic():
        return _move(workspace_id, contact_id, lists.named(workspace_id, list_key), step)


def resume(
    workspace_id: int, *, contact_id: int, list_key: str, origin: Origin, now: datetime
) -> bool:
    """Ends a break; False when there was none."""
    step = Step(ConsentAction.RESUMED, origin, now)
    with transaction.atomic():
        return _move(workspace_id, contact_id, lists.named(workspace_id, list_key), step)


# Whoever is kept back, from the list or from everything, is passed over, and so is every
# subscription there is already: an import makes no consent that was ended.
_ENROL = pg.SQL("""
WITH who AS MATERIALIZED (
    SELECT DISTINCT c.id, c.address
    FROM unnest(%(contacts)s::bigint[]) AS given (id) JOIN contacts_contact AS c USING (id)
    WHERE c.workspace_id = %(workspace)s AND c.deleted_at IS NULL AND c.state = 'active'
), line AS (
    INSERT INTO contacts_subscription (contact_id, list_id, state, created_at, changed_at)
    SELECT id, %(list)s, 'active', %(at)s, %(at)s FROM who
    WHERE NOT EXISTS (
        SELECT FROM contacts_suppression AS s
        WHERE s.workspace_id = %(workspace)s
          AND s.address_hash
              = contacts_fingerprint((SELECT salt FROM contacts_salt), who.address)
          AND (s.list_id IS NULL OR s.list_id = %(list)s)
    )
    ORDER BY id
    ON CONFLICT (contact_id, list_id) DO NOTHING
    RETURNING contact_id, state
), event AS (
    INSERT INTO contacts_consentevent (
        workspace_id, contact_id, list_id, action, after, source, actor, text_version, ip, at
    )
    SELECT %(workspace)s, contact_id, %(list)s, 'imported', 'active', %(source)s, %(actor)s,
           %(text_version)s, %(ip)s::inet, %(at)s
    FROM line
), confirmed AS (
    {confirm}
)
SELECT count(*) FROM line
""").format(confirm=standing.CONFIRM)


def enrol(
    workspace_id: int,
    contact_ids: Sequence[int],
    *,
    list_key: str,
    origin: Origin,
    now: datetime,
) -> int:
    """Subscribes many contacts whose consent was given elsewhere; returns how many are new.

    Never raises a consent: who left, paused, bounced or is pending stays so.
    """
    if len(contact_ids) > MOST:
        raise ValueError(f"at most {MOST} contacts can be enrolled at once")
    with transaction.atomic():
        locks.joining(workspace_id)
        params = {
            "workspace": workspace_id,
            "contacts": list(contact_ids),
            "list": lists.named(workspace_id, list_key),
            "at": now,
            **applying.facts(origin),
        }
        standing.lock_unconfirmed(contact_ids)
        [(enrolled,)] = sql.rows(_ENROL, params)
    return int(enrolled)


_MOVES = {
    ConsentAction.CONFIRMED: (SubscriptionState.PENDING, SubscriptionState.ACTIVE),
    ConsentAction.PAUSED: (SubscriptionState.ACTIVE, SubscriptionState.PAUSED),
    ConsentAction.RESUMED: (SubscriptionState.PAUSED, SubscriptionState.ACTIVE),
}


def _move(workspace_id: int, contact_id: int, list_id: int, step: Step) -> bool:
    before, after = _MOVES[step.action]
    known = locked(workspace_id, contact_id, list_id)
    if known[1] is not before:
        return False
    standing.set_subscription(known[0], state=after, at=step.at)
    _record(workspace_id, step, contact_id, list_id, before, after)
    return True


def locked(workspace_id: int, contact_id: int, list_id: int) -> tuple[int, SubscriptionState]:
    known = standing.subscription(workspace_id, contact_id=contact_id, list_id=list_id)
    if known is None:
        raise SubscriptionUnknownError(
            "This workspace has no such contact, or it is not subscribed to this list:"
            " subscribe it first."
        )
    return known


def _contact(workspace_id: int, contact_id: int) -> tuple[str, ContactState]:
    found = queries.find(workspace_id, contact_id=contact_id)
    if found is None:
        raise contacts.unknown(contact_id)
    return found.address, found.state


_INSERT = pg.SQL("""
WITH line AS (
    INSERT INTO contacts_subscription (contact_id, list_id, state, created_at, changed_at)
    VALUES (%(contact)s, %(list)s, %(state)s, %(at)s, %(at)s)
    ON CONFLICT (contact_id, list_id) DO NOTHING
    RETURNING contact_id, state
), confirmed AS (
    {confirm}
)
SELECT count(*) FROM line
""").format(confirm=standing.CONFIRM)


def _insert(contact_id: int, list_id: int, state: SubscriptionState, now: datetime) -> bool:
    params = {"contact": contact_id, "list": list_id, "state": state.value, "at": now}
    [(inserted,)] = sql.rows(_INSERT, params)
    return bool(inserted)


_END_OTHERS = """
WITH old AS MATERIALIZED (
    SELECT id, list_id, state AS before FROM contacts_subscription
    WHERE contact_id = %(contact)s AND list_id <> %(list)s
      AND state IN ('pending', 'active', 'paused')
    FOR NO KEY UPDATE
), line AS (
    UPDATE contacts_subscription AS s SET state = 'unsubscribed', changed_at = %(at)s
    FROM old WHERE s.id = old.id
)
INSERT INTO contacts_consentevent (
    workspace_id, contact_id, list_id, action, before, after, source, actor, text_version, ip,
    detail, at
)
SELECT %(workspace)s, %(contact)s, list_id, 'unsubscribed', before, 'unsubscribed', %(source)s,
       %(actor)s, %(text_version)s, %(ip)s::inet, 'left with everything', %(at)s
FROM old
"""


def _end_others(workspace_id: int, contact_id: int, list_id: int, step: Step) -> None:
    params = {"workspace": workspace_id, "contact": contact_id, "list": list_id, "at": step.at}
    sql.changed(_END_OTHERS, {**params, **applying.facts(step.origin)})


def _record(  # noqa: PLR0913, PLR0917  private, called above only
    workspace_id: int,
    step: Step,
    contact_id: int,
    list_id: int,
    before: SubscriptionState | None,
    after: SubscriptionState,
) -> None:
    standing.record(
        workspace_id, step, contact_id=contact_id, list_id=list_id, before=before, after=after
    )
