"""Why a notification or an event waits, and why a notification ended: as causes, in sentences."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import LiteralString

from django.utils.translation import gettext

from postledger.contacts import sql
from postledger.deliveries import queries
from postledger.deliveries.explanations import explain, why
from postledger.deliveries.explanations.explain import format_time
from postledger.deliveries.explanations.why import Cause
from postledger.deliveries.reasons import Reason
from postledger.notifications.fan_out import skip_texts
from postledger.notifications.fan_out.notification_facts import NotificationFacts
from postledger.notifications.models import Event, Notification
from postledger.notifications.subscriptions import standing as subscription_standing
from postledger.notifications.subscriptions.standing import SubscriptionStanding

_MOST_DIGITS = 18


def parse_number(text: str) -> int | None:
    """The number behind `notification:` or `event:`; None where it cannot be an id."""
    is_id = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if is_id else None


def list_notification_causes(facts: NotificationFacts, *, now: datetime) -> list[Cause]:
    """Why it waits; of one that has ended, why it ended so."""
    if facts.end is not None:
        return [_explain_end(facts)]
    if facts.mail is None:
        return [_explain_missing_job(facts.created_at, facts.expires_at)]
    stream = queries.find_stream(facts.mail.stream_id)
    delivery = queries.find_delivery(facts.mail.stream_id, facts.mail.position)
    if stream is None or delivery is None:
        return []
    causes = why.list_delivery_causes(delivery, stream, now=now)
    standing = subscription_standing.find_standing(facts.workspace_id, facts.subscription_id)
    if standing is None:
        return causes
    return [_name_preference(cause, standing, now) for cause in causes]


def list_event_causes(event: Event, *, now: datetime) -> list[Cause]:
    """Why not all of its notifications have ended; nothing if they have."""
    if event.planned_at is None:
        return [_explain_planning(event)]
    causes = [*_list_missing_jobs(event)]
    stream = None if event.stream_id is None else queries.find_stream(event.stream_id)
    if stream is not None and _has_waiting_mail(event):
        causes += why.list_stream_causes(stream, queries.summarise_waits(stream.id), now=now)
    return causes


def describe_notification(facts: NotificationFacts, *, now: datetime) -> list[str]:
    """What happened to it, for a person at the command line."""
    created_at, expires_at = format_time(facts.created_at), format_time(facts.expires_at)
    lines = [
        f"Notification {facts.id} of topic {facts.topic}, {facts.status}.",
        f"It tells subscription {facts.subscription_id} of event {facts.event_id}.",
        f"Created {created_at}; its time to live ends {expires_at}.",
    ]
    if facts.mail is not None:
        stream = queries.find_stream(facts.mail.stream_id)
        delivery = queries.find_delivery(facts.mail.stream_id, facts.mail.position)
        if stream is not None and delivery is not None:
            lines += explain.explain_delivery(delivery, stream, now=now)
    return lines


def describe_event(event: Event) -> list[str]:
    planned = (
        f"Its fan-out ended {format_time(event.planned_at)}."
        if event.planned_at
        else f"Its fan-out has told subscriptions up to {event.cursor}."
    )
    received_at, expires_at = format_time(event.received_at), format_time(event.expires_at)
    return [
        f"Event {event.pk} of topic {event.topic.list.key}.",
        f"Received {received_at}; its time to live ends {expires_at}.",
        planned,
    ]


def _explain_end(facts: NotificationFacts) -> Cause:
    code = facts.end_code or str(facts.end)
    return Cause(
        code,
        skip_texts.explain_code(code) or code,
        facts.created_at,
        None,
        "",
        gettext("Nothing: it is done."),
    )


def _explain_missing_job(since: datetime, expires_at: datetime) -> Cause:
    return Cause(
        "awaits_job",
        gettext("It waits for its mail job: mails of this topic are made from jobs."),
        since,
        expires_at,
        gettext("a program posts the job; without one it expires"),
        gettext("Look at the program that posts mail jobs (POST /v1/mail-jobs)."),
    )


def _explain_planning(event: Event) -> Cause:
    if event.trouble:
        return Cause(
            "not_planned",
            gettext("Its fan-out cannot go on: %(trouble)s") % {"trouble": event.trouble},
            event.trouble_since,
            None,
            gettext("the fan-out is tried again"),
            gettext("Mend what it names; nothing else is needed."),
        )
    return Cause(
        "not_planned",
        gettext("Its fan-out is not finished yet."),
        event.received_at,
        None,
        gettext("a worker plans it"),
        gettext("If it lasts, check that a worker runs: postledger doctor."),
    )


def _list_missing_jobs(event: Event) -> Iterator[Cause]:
    waiting = Notification.objects.filter(event=event, end=None, is_planned=False)
    first = waiting.order_by("subscription_id").first()
    if first is not None:
        yield _explain_missing_job(first.created_at, event.expires_at)


# From the live work of the stream, which is little once an event was told to all.
_HAS_WAITING_MAIL: LiteralString = """
SELECT EXISTS (
    SELECT FROM deliveries_batch AS batch
    JOIN deliveries_delivery AS delivery
      ON delivery.stream_id = batch.stream_id
      AND delivery.position >= batch.lo AND delivery.position < batch.hi
    JOIN notifications_notification AS n ON n.id = delivery.dedupe_key::bigint
    WHERE batch.stream_id = %(stream)s AND delivery.state = 'waiting' AND n.event_id = %(event)s
)
"""


def _has_waiting_mail(event: Event) -> bool:
    [(has_waiting,)] = sql.rows(_HAS_WAITING_MAIL, {"stream": event.stream_id, "event": event.pk})
    return bool(has_waiting)


def _name_preference(cause: Cause, standing: SubscriptionStanding, now: datetime) -> Cause:
    """A wait that the recipient's own preferences explain better than the ledger's word for it."""
    if cause.code == Reason.SCHEDULED and standing.is_snoozed(now):
        return replace(
            cause,
            code="snoozed",
            sentence=gettext("The recipient snoozed it."),
            resumed_by=gettext("the snooze ends"),
            advice=gettext("Nothing: the recipient chose it."),
        )
    if cause.code == Reason.SCHEDULED and standing.max_notifications is not None:
        return replace(
            cause,
            code="earlier_notifications",
            sentence=gettext("The recipient wants no more than those that are on their way."),
            resumed_by=gettext("the earlier notifications get their results"),
            advice=gettext("Nothing: the recipient chose it."),
        )
    if cause.code == Reason.OUTSIDE_HOURS and standing.window is not None:
        return replace(
            cause,
            code="outside_window",
            sentence=gettext("It is outside the recipient's delivery window."),
            resumed_by=gettext("the window opens"),
            advice=gettext("Nothing: the recipient chose it."),
        )
    return cause
