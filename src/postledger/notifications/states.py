"""The states of topic subscriptions, and the ends of notifications that get no delivery."""

from enum import StrEnum


class TopicSubscriptionState(StrEnum):
    """What the contact wants of one topic subscription; consent to the topic's list comes first."""

    ACTIVE = "active"
    PAUSED = "paused"  # gets none until it resumes
    UNSUBSCRIBED = "unsubscribed"  # ended by the contact, or by the workspace


class FanOutEnd(StrEnum):
    """How a notification ends that is never planned into the ledger."""

    SKIPPED = "skipped"
    EXPIRED = "expired"


class Failure(StrEnum):
    """Why no mail can be made of a notification: it is planned, and fails at the hand-over."""

    NO_LOCALE = "template_missing_locale"


class Skip(StrEnum):
    """Why a notification is skipped or expires; the ledger's entries bear the same codes."""

    CONTACT_TYPE = "contact_type"  # it is not an email contact
    CONTACT_GONE = "contact_gone"  # the contact was deleted
    PENDING = "subscription_pending"  # the consent was not confirmed yet
    PAUSED = "subscription_paused"
    UNSUBSCRIBED = "subscription_unsubscribed"
    SUPPRESSED = "subscription_suppressed"
    NOT_WANTED = "notify_on"  # the event's status is not among those that matter
    MOST_REACHED = "max_notifications"
    DUPLICATE = "duplicate"  # the same dedupe key within the window, or one that still waits
    EXPIRED = "expired"  # its time to live ends before it could go
    CANCELLED = "cancelled"  # the stream was cancelled while the event was planned
