"""Subscribes contacts to lists: request, confirmation, pause and preferences."""

from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any, LiteralString

from django.db import transaction

from postledger.contacts import details, lists, queries, sql, states, suppressions
from postledger.contacts.actions import contact_state, restoration
from postledger.contacts.consent import ConsentChange, Origin, Preferences
from postledger.contacts.models import Subscription
from postledger.contacts.states import ConsentAction, ContactState, SubscriptionState
from postledger.lib.errors import ConflictError, RefusedError
from postledger.lib.sentences import say

MOST_EVENTS = 50
LAST_MINUTE = 1_440
LONGEST_SNOOZE = timedelta(days=5 * 365)


class SubscriptionUnknownError(RefusedError):
    code = "subscription_unknown"


class SubscriptionSuppressedError(ConflictError):
    code = "subscription_suppressed"


class InvalidPreferencesError(RefusedError):
    code = "invalid_preferences"


def subscribe(  # noqa: PLR0913  each part of a consent by its name
    workspace_id: int,
    *,
    contact_id: int,
    list_key: str,
    is_confirmed: bool = False,
    origin: Origin,
    now: datetime,
) -> SubscriptionState:
    """Records that a contact requested a list, and returns the state of the subscription.

    It is pending until it is confirmed; `is_confirmed` says that this has happened. After an
    unsubscribe the contact confirms in any case.
    """
    with transaction.atomic():
        sql.share_consent_lock(workspace_id)
        list_id = lists.get_active_id(workspace_id, list_key)
        address = queries.get_contact(workspace_id, contact_id=contact_id).address
        status = suppressions.find_status(workspace_id, address=address, list_id=list_id)
        if is_confirmed:
            contact_state.lock_unconfirmed(contact_id)
        before = None
        after = states.requested_state(None, status, is_confirmed=is_confirmed)
        if after is None or not _insert(contact_id, list_id, after, now):
            locked = contact_state.lock_subscription(
                workspace_id, contact_id=contact_id, list_id=list_id
            )
            before = SubscriptionState(locked.state) if locked else None
            after = states.requested_state(before, status, is_confirmed=is_confirmed)
            if after is None:
                raise SubscriptionSuppressedError(
                    say(
                        "This contact is suppressed for the list '%(list_key)s'. Restore it first.",
                        list_key=list_key,
                    )
                )
            if locked is None or after is before:
                return after
            contact_state.set_subscription(locked, state=after, at=now)
        change = ConsentChange(ConsentAction.SUBSCRIBED, origin, now)
        contact_state.record(
            workspace_id,
            change,
            contact_id=contact_id,
            list_id=list_id,
            before=before,
            after=after,
        )
    return after


_INSERT: LiteralString = """
INSERT INTO contacts_subscription (contact_id, list_id, state, created_at, changed_at)
VALUES (%(contact)s, %(list)s, %(state)s, %(at)s, %(at)s)
ON CONFLICT (contact_id, list_id) DO NOTHING
"""


def _insert(contact_id: int, list_id: int, state: SubscriptionState, now: datetime) -> bool:
    params = {"contact": contact_id, "list": list_id, "state": state.value, "at": now}
    is_new = bool(sql.execute(_INSERT, params))
    if is_new and state is SubscriptionState.ACTIVE:
        contact_state.confirm_contact(contact_id)
    return is_new


def confirm(
    workspace_id: int, *, contact_id: int, list_key: str, origin: Origin, now: datetime
) -> bool:
    """The owner of the address confirms: pending becomes active. False when it was not pending.

    After an unsubscribe from everything only this list becomes active: the others end now.
    """
    change = ConsentChange(ConsentAction.CONFIRMED, origin, now)
    with transaction.atomic():
        sql.take_consent_lock(workspace_id)
        list_id = lists.get_active_id(workspace_id, list_key)
        contact = queries.get_contact(workspace_id, contact_id=contact_id)
        if not _move(workspace_id, contact_id, list_id, change):
            return False
        undo = ConsentChange(ConsentAction.UNDONE, origin, now)
        restoration.lift_for_list(
            workspace_id, address=contact.address, list_id=list_id, change=undo
        )
        if contact.state == ContactState.UNSUBSCRIBED:
            _end_others(workspace_id, contact_id, list_id, change)
            restoration.lift_for_all(workspace_id, address=contact.address, change=undo)
    return True


_END_OTHERS: LiteralString = """
WITH old AS MATERIALIZED (
    SELECT id, list_id, state AS before FROM contacts_subscription
    WHERE contact_id = %(contact)s AND list_id <> %(list)s
      AND state IN ('pending', 'active', 'paused')
    FOR NO KEY UPDATE
), ended AS (
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


def _end_others(workspace_id: int, contact_id: int, list_id: int, change: ConsentChange) -> None:
    params = {"workspace": workspace_id, "contact": contact_id, "list": list_id, "at": change.at}
    sql.execute(_END_OTHERS, {**params, **asdict(change.origin)})


def pause(
    workspace_id: int, *, contact_id: int, list_key: str, origin: Origin, now: datetime
) -> bool:
    """Pauses an active subscription; False when it was not active."""
    change = ConsentChange(ConsentAction.PAUSED, origin, now)
    list_id = lists.get_active_id(workspace_id, list_key)
    with transaction.atomic():
        return _move(workspace_id, contact_id, list_id, change)


def resume(
    workspace_id: int, *, contact_id: int, list_key: str, origin: Origin, now: datetime
) -> bool:
    """Ends a pause; False when the subscription was not paused."""
    change = ConsentChange(ConsentAction.RESUMED, origin, now)
    list_id = lists.get_active_id(workspace_id, list_key)
    with transaction.atomic():
        return _move(workspace_id, contact_id, list_id, change)


_MOVES = {
    ConsentAction.CONFIRMED: (SubscriptionState.PENDING, SubscriptionState.ACTIVE),
    ConsentAction.PAUSED: (SubscriptionState.ACTIVE, SubscriptionState.PAUSED),
    ConsentAction.RESUMED: (SubscriptionState.PAUSED, SubscriptionState.ACTIVE),
}


def _move(workspace_id: int, contact_id: int, list_id: int, change: ConsentChange) -> bool:
    before, after = _MOVES[change.action]
    subscription = _lock(workspace_id, contact_id, list_id)
    if subscription.state != before:
        return False
    contact_state.set_subscription(subscription, state=after, at=change.at)
    contact_state.record(
        workspace_id, change, contact_id=contact_id, list_id=list_id, before=before, after=after
    )
    return True


def _lock(workspace_id: int, contact_id: int, list_id: int) -> Subscription:
    locked = contact_state.lock_subscription(workspace_id, contact_id=contact_id, list_id=list_id)
    if locked is None:
        raise SubscriptionUnknownError(
            say(
                "The contact does not exist, or is not subscribed to this list. Subscribe it first."
            )
        )
    return locked


def set_preferences(  # noqa: PLR0913  each part by its name
    workspace_id: int,
    *,
    contact_id: int,
    list_key: str,
    preferences: Preferences,
    origin: Origin,
    now: datetime,
) -> bool:
    """Replaces all preferences of a subscription; False when they were so already."""
    check_preferences(preferences, now=now)
    columns = asdict(preferences)
    if preferences.notify_on is not None:
        columns["notify_on"] = list(preferences.notify_on)
    change = ConsentChange(ConsentAction.PREFERENCES_CHANGED, origin, now)
    return _set(workspace_id, contact_id, list_key, columns, change)


def snooze(  # noqa: PLR0913  each part by its name
    workspace_id: int,
    *,
    contact_id: int,
    list_key: str,
    until: datetime | None,
    origin: Origin,
    now: datetime,
) -> bool:
    """Sets or ends a snooze; the other preferences stay."""
    _check_snooze(until, now)
    change = ConsentChange(ConsentAction.PREFERENCES_CHANGED, origin, now)
    return _set(workspace_id, contact_id, list_key, {"snooze_until": until}, change)


def _set(
    workspace_id: int,
    contact_id: int,
    list_key: str,
    columns: dict[str, Any],
    change: ConsentChange,
) -> bool:
    with transaction.atomic():
        list_id = lists.get_active_id(workspace_id, list_key)
        subscription = _lock(workspace_id, contact_id, list_id)
        state = SubscriptionState(subscription.state)
        changed = [name for name in columns if getattr(subscription, name) != columns[name]]
        if not changed:
            return False
        rows = Subscription.objects.filter(pk=subscription.pk)
        rows.update(**columns, changed_at=change.at)
        contact_state.record(
            workspace_id,
            replace(change, detail=", ".join(changed)),
            contact_id=contact_id,
            list_id=list_id,
            before=state,
            after=state,
        )
    return True


def check_preferences(preferences: Preferences, *, now: datetime) -> None:
    """Refuses preferences that nobody can follow, of a subscription to a list or to a topic."""
    window = (preferences.window_from, preferences.window_until)
    if None in window and window != (None, None):
        raise InvalidPreferencesError(say("A delivery window needs both a start and an end."))
    if any(minute is not None and not 0 <= minute <= LAST_MINUTE for minute in window):
        raise InvalidPreferencesError(
            say(
                "A delivery window is given in minutes of the day, 0 to %(last_minute)s.",
                last_minute=str(LAST_MINUTE),
            )
        )
    if preferences.max_notifications is not None and preferences.max_notifications < 1:
        raise InvalidPreferencesError(
            say(
                "max_notifications must be 1 or more. To get no notifications, pause or"
                " unsubscribe."
            )
        )
    _check_snooze(preferences.snooze_until, now)
    if preferences.locale is not None:
        details.check_locale(preferences.locale)
    kinds = preferences.notify_on or ()
    if len(kinds) > MOST_EVENTS or not all(details.is_key(kind) for kind in kinds):
        raise InvalidPreferencesError(
            say(
                "Name at most %(most_events)s kinds of events, each with 1 to %(longest_key)s"
                " visible characters.",
                most_events=MOST_EVENTS,
                longest_key=details.LONGEST_KEY,
            )
        )


def _check_snooze(until: datetime | None, now: datetime) -> None:
    if until is not None and until > now + LONGEST_SNOOZE:
        raise InvalidPreferencesError(
            say(
                "A snooze ends within %(years)s years, and this one would end on %(until)s. To"
                " get nothing for longer, pause or unsubscribe.",
                years=LONGEST_SNOOZE.days // 365,
                until=f"{until:%Y-%m-%d}",
            )
        )
