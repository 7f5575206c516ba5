"""Every change of who may be mailed; each is recorded in the same transaction."""

from postledger.contacts.actions.applying import apply_state
from postledger.contacts.actions.contacts import (
    ContactExistsError,
    ContactUnknownError,
    create_contact,
    delete_contact,
    update_contact,
)
from postledger.contacts.actions.leaving import (
    RestoreReasonMissingError,
    restore,
    undo,
    unsubscribe,
)
from postledger.contacts.actions.lists import (
    InvalidListKeyError,
    ListExistsError,
    archive_list,
    create_list,
    unarchive_list,
    update_list,
)
from postledger.contacts.actions.preferences import (
    InvalidPreferencesError,
    set_preferences,
    snooze,
)
from postledger.contacts.actions.subscriptions import (
    SubscriptionSuppressedError,
    SubscriptionUnknownError,
    confirm,
    enrol,
    pause,
    resume,
    subscribe,
)
from postledger.contacts.actions.suppressing import suppress
from postledger.contacts.actions.wanted import SubscriptionNotActiveError, Wanted, bring
from postledger.contacts.lists import ListUnknownError
from postledger.contacts.states import SuppressionReason

__all__ = [
    "ContactExistsError",
    "ContactUnknownError",
    "InvalidListKeyError",
    "InvalidPreferencesError",
    "ListExistsError",
    "ListUnknownError",
    "RestoreReasonMissingError",
    "SubscriptionNotActiveError",
    "SubscriptionSuppressedError",
    "SubscriptionUnknownError",
    "SuppressionReason",
    "Wanted",
    "apply_state",
    "archive_list",
    "bring",
    "confirm",
    "create_contact",
    "create_list",
    "delete_contact",
    "enrol",
    "pause",
    "restore",
    "resume",
    "set_preferences",
    "snooze",
    "subscribe",
    "suppress",
    "unarchive_list",
    "undo",
    "unsubscribe",
    "update_contact",
    "update_list",
]
