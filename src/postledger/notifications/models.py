"""Topics and their subscriptions, events, the notifications about these, and sources of events.

A topic's recipients consent to its list: the list's key is the topic's, and links in its mail name
it. A delivery of a topic's stream has the id of its notification as its dedupe key, in decimal.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from postledger.accounts.models import Sender, Workspace
from postledger.contacts.models import Contact, List
from postledger.notifications.states import FanOutEnd, TopicSubscriptionState


def _minute(field: str) -> models.Q:
    return models.Q((f"{field}__gte", 0), (f"{field}__lte", 1440))


class Topic(models.Model):
    """What events are about: their shape, and the mail that they become."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    list = models.OneToOneField(List, on_delete=models.PROTECT)  # its key, name and consents
    sender = models.ForeignKey(Sender, on_delete=models.PROTECT, null=True)  # None: the default
    template = models.TextField()  # the key of one of the workspace, or a built-in one
    template_version = models.IntegerField(null=True)  # None: the newest at the event
    event_schema = models.JSONField(db_default={})  # JSON Schema, Draft 2020-12, of `Event.data`
    match_fields = ArrayField(models.TextField())  # of an event, by which people choose
    status_field = models.TextField(db_default="statusAfter")  # what `notify_on` is about
    notify_on = ArrayField(models.TextField(), db_default=["Open"])  # where nobody chose others
    fallback_locale = models.TextField(db_default="")  # for languages without a text; empty: none
    dedupe_seconds = models.IntegerField(db_default=180)
    ttl_seconds = models.IntegerField(db_default=86_400)
    # Its mails are made from the jobs that a producer posts, not by the fan-out.
    is_by_job = models.BooleanField(db_default=False)
    created_at = models.DateTimeField(db_default=Now())


class TopicStream(models.Model):
    """A stream that carries a topic's notifications from one sender in one month: the newest."""

    topic = models.ForeignKey(Topic, on_delete=models.PROTECT, db_index=False)
    sender = models.ForeignKey(Sender, on_delete=models.PROTECT)
    month = models.IntegerField()
    stream_id = models.BigIntegerField()

    class Meta:
        constraints = (
            # Serves the way from a stream to its topic.
            models.UniqueConstraint(fields=["stream_id"], name="notifications_stream_of_topic"),
        )
        indexes = (
            # Serves the look-up of the stream for new mail, the newest.
            models.Index(
                fields=["topic", "sender", "month", "id"], name="notifications_stream_newest"
            ),
        )


class TopicSubscription(models.Model):
    """What one contact wants to be told of a topic, and when; a contact may have several.

    Preferences that are None are those of the contact's subscription to the topic's list.
    """

    topic = models.ForeignKey(Topic, on_delete=models.PROTECT, db_index=False)
    # None: the person was erased.
    contact = models.ForeignKey(Contact, on_delete=models.PROTECT, null=True, db_index=False)
    contact_type = models.TextField(db_default="email")  # nothing is sent to other types
    match = models.JSONField(db_default={})  # fields of an event and their values, all of them
    match_digest = models.BinaryField()
    state = models.TextField(
        db_default=TopicSubscriptionState.ACTIVE.value
    )  # its own; consent to the list comes first
    notify_on = ArrayField(models.TextField(), null=True)
    max_notifications = models.IntegerField(null=True)
    # Minutes of the local day; until < from wraps midnight, equal ones are always open.
    window_from = models.SmallIntegerField(null=True)
    window_until = models.SmallIntegerField(null=True)
    snooze_until = models.DateTimeField(null=True)
    locale = models.TextField(db_default="")  # empty: the setting DEFAULT_LOCALE
    # Notifications that were sent in months that were dropped since: a maximum counts them, too.
    forgotten_sent = models.IntegerField(db_default=0)
    created_at = models.DateTimeField(db_default=Now())
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            # Serves a contact's topic subscriptions.
            models.UniqueConstraint(
                fields=["contact", "topic", "match_digest"], name="notifications_subscription_once"
            ),
            models.CheckConstraint(
                condition=models.Q(window_from=None, window_until=None)
                | (_minute("window_from") & _minute("window_until")),
                name="notifications_subscription_window",
            ),
            models.CheckConstraint(
                condition=models.Q(max_notifications=None) | models.Q(max_notifications__gte=1),
                name="notifications_subscription_most",
            ),
        )
        indexes = (
            # Serves the fan-out: those that match, in the order of ids.
            models.Index(fields=["topic", "match_digest", "id"], name="notifications_matching"),
        )


class Event(models.Model):
    """Something that happened; the subscriptions that match it are told, in the order of ids."""

    topic = models.ForeignKey(Topic, on_delete=models.PROTECT, db_index=False)
    key = models.TextField(null=True)  # the publisher's own id: one event for each
    data = models.JSONField()
    digest = models.BinaryField()  # of what was published: other data under the key is refused
    trace_id = models.TextField(db_default="")
    dedupe_key = models.TextField()
    occurred_at = models.DateTimeField()
    received_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    # When the source was last seen before its change; NULL: a publisher told of it.
    unchanged_at = models.DateTimeField(null=True)
    actor = models.TextField()  # who published it
    # Of the matches that it has: of every subset of the topic's match fields.
    match_digests = ArrayField(models.BinaryField())
    # The fan-out, from its first chunk on.
    stream_id = models.BigIntegerField(null=True)
    template = models.TextField(db_default="")  # empty: the topic's, until it is planned
    template_version = models.IntegerField(null=True)
    cursor = models.BigIntegerField(db_default=0)  # the last subscription that was planned
    planned_at = models.DateTimeField(null=True)  # of the last chunk
    trouble = models.TextField(db_default="")
    trouble_since = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["topic", "key"], name="notifications_event_once"),
        )
        indexes = (
            # Serves a topic's events, newest first.
            models.Index(fields=["topic", "-id"], name="notifications_event_newest"),
            # Serves the fan-out; of few rows.
            models.Index(
                fields=["topic", "id"],
                condition=models.Q(planned_at=None),
                name="notifications_unplanned",
            ),
            # Serves the way from a stream to its events, and the end of a month.
            models.Index(fields=["stream_id"], name="notifications_event_of_stream"),
        )


class Notification(models.Model):
    """One event told to one subscription: by a delivery, or not, and then it says why."""

    event = models.ForeignKey(Event, on_delete=models.PROTECT, db_index=False, db_constraint=False)
    subscription = models.ForeignKey(
        TopicSubscription, on_delete=models.PROTECT, db_index=False, db_constraint=False
    )
    dedupe_key = models.TextField()  # the event's
    # None: it was planned into the event's stream, or waits for its job.
    end = models.TextField(null=True)
    # Why it ended so; of one that was planned, why no mail can be made of it.
    code = models.TextField(db_default="")
    is_planned = models.BooleanField(db_default=False)
    created_at = models.DateTimeField(db_default=Now())
    # The delivery policy of its job; None: the topics' own.
    max_attempts = models.SmallIntegerField(null=True)
    lock_ttl_seconds = models.IntegerField(null=True)
    retry_schedule_ms = ArrayField(models.IntegerField(), null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["event", "subscription"], name="notifications_once"),
            models.CheckConstraint(
                condition=models.Q(end=None)
                | models.Q(end__in=tuple(sorted(end.value for end in FanOutEnd))),
                name="notifications_end",
            ),
        )
        indexes = (
            # Serves the dedupe window, and a subscription's history.
            models.Index(
                fields=["subscription", "-created_at"], name="notifications_of_subscription"
            ),
            # Serves the end of those whose job never comes; of few rows.
            models.Index(
                fields=["event"],
                condition=models.Q(end=None, is_planned=False),
                name="notifications_without_job",
            ),
        )


class Source(models.Model):
    """Snapshots whose changes are events: who polls them, and how an item becomes an event."""

    topic = models.ForeignKey(Topic, on_delete=models.PROTECT)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    key = models.TextField()
    url = models.TextField(db_default="")  # empty: snapshots are posted
    interval_seconds = models.IntegerField(db_default=60)
    items_path = models.TextField(db_default="")  # of the array in the answer; empty: it is one
    id_fields = ArrayField(models.TextField())  # of an item, which tell it from others
    watched_field = models.TextField()  # its change is an event
    fields = models.JSONField(db_default={})  # fields of the event, each by that of the item
    # Since when nothing is read any more.
    archived_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    next_poll_at = models.DateTimeField(db_default=Now())
    last_snapshot_at = models.DateTimeField(null=True)
    snapshot_hash = models.TextField(db_default="")  # of the last one
    trouble = models.TextField(db_default="")
    trouble_since = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["workspace", "key"], name="notifications_source_once"),
        )
        indexes = (
            models.Index(
                fields=["next_poll_at"],
                condition=models.Q(archived_at=None) & ~models.Q(url=""),
                name="notifications_source_due",
            ),
        )


class SourceItem(models.Model):
    """An item of a source, as the last snapshot had it."""

    pk = models.CompositePrimaryKey("source_id", "key")
    source = models.ForeignKey(Source, on_delete=models.PROTECT, db_index=False)
    key = models.TextField(db_collation="C")  # the values of the id fields
    value = models.TextField()  # of the watched field
    changed_at = models.DateTimeField(db_default=Now())
    missing_since = models.DateTimeField(null=True)  # the first snapshot without it
