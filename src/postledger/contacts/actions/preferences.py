"""Keeps when, how often and about what a subscriber wants to be mailed."""

from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from django.db import transaction

from postledger.contacts import details, lists
from postledger.contacts.actions import standing, subscriptions
from postledger.contacts.actions.standing import Step
from postledger.contacts.consent import Origin, Preferences
from postledger.contacts.models import Subscription
from postledger.contacts.states import ConsentAction
from postledger.lib.errors import RefusedError

MOST_EVENTS = 50
LAST_MINUTE = 1_440


class InvalidPreferencesError(RefusedError):
    code = "invalid_preferences"


def set_preferences(  # noqa: PLR0913  each part by its name
    workspace_id: int,
    *,
    contact_id: int,
    list_key: str,
    preferences: Preferences,
    origin: Origin,
    now: datetime,
) -> bool:
    """Sets all preferences of a subscription; False when they were so already."""
    check(preferences)
    fields = asdict(preferences)
    if preferences.notify_on is not None:
        fields["notify_on"] = list(preferences.notify_on)
    step = Step(ConsentAction.PREFERENCES_CHANGED, origin, now)
    return _set(workspace_id, contact_id, list_key, fields, step)


def snooze(  # noqa: PLR0913  each part by its name
    workspace_id: int,
    *,
    contact_id: int,
    list_key: str,
    until: datetime | None,
    origin: Origin,
    now: datetime,
) -> bool:
    """Lets mail of a list wait until a moment, or ends that; the other preferences stay."""
    step = Step(ConsentAction.PREFERENCES_CHANGED, origin, now)
    return _set(workspace_id, contact_id, list_key, {"snooze_until": until}, step)


def _set(
    workspace_id: int, contact_id: int, list_key: str, fields: dict[str, Any], step: Step
) -> bool:
    with transaction.atomic():
        list_id = lists.named(workspace_id, list_key)
        known, state = subscriptions.locked(workspace_id, contact_id, list_id)
        row = Subscription.objects.filter(pk=known)
        old = row.values(*fields).get()
        changed = [name for name, value in fields.items() if old[name] != value]
        if not changed:
            return False
        row.update(**fields, changed_at=step.at)
        standing.record(
            workspace_id,
            replace(step, detail=", ".join(changed)),
            contact_id=contact_id,
            list_id=list_id,
            before=state,
            after=state,
        )
    return True


def check(preferences: Preferences) -> None:
    """Refuses what no mail could be timed by."""
    window = (preferences.window_from, preferences.window_until)
    if None in window and window != (None, None):
        raise InvalidPreferencesError("A delivery window has a start and an end: give both.")
    if any(minute is not None and not 0 <= minute <= LAST_MINUTE for minute in window):
        raise InvalidPreferencesError(
            f"A delivery window is given in minutes of the day, 0 to {LAST_MINUTE}."
        )
    if preferences.max_notifications is not None and preferences.max_notifications < 1:
        raise InvalidPreferencesError(
            "The most notifications are 1 or more; to get none, pause or unsubscribe."
        )
    if preferences.locale is not None:
        details.check_locale(preferences.locale)
    _check_events(preferences.notify_on or ())


def _check_events(words: tuple[str, ...]) -> None:
    if len(words) > MOST_EVENTS or not all(details.is_key(word) for word in words):
        raise InvalidPreferencesError(
            f"Name at most {MOST_EVENTS} kinds of events, each in 1 to {details.LONGEST_KEY}"
            " visible characters."
        )
