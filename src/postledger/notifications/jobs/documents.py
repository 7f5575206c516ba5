"""Writes the mail job of a notification from its rows; what it writes is valid by the schema."""

from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from math import ceil
from typing import Any

from django.conf import settings

from postledger.contacts import unsubscribe_links
from postledger.deliveries import queries
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.queries import MailContent
from postledger.lib.errors import ConflictError
from postledger.mailing.models import Variant
from postledger.notifications.fan_out import notification_facts
from postledger.notifications.fan_out.notification_facts import NotificationFacts
from postledger.notifications.jobs import contract
from postledger.notifications.jobs.contract import InvalidJobError
from postledger.notifications.models import Event, Notification, Topic
from postledger.notifications.subscriptions import standing as subscription_standing
from postledger.notifications.subscriptions.standing import SubscriptionStanding
from postledger.notifications.topics import letters as topic_letters
from postledger.notifications.topics import topics

_SHORTEST_LOCK = 30  # seconds, by the contract


class NoMailJobError(ConflictError):
    code = "no_mail_job"


def build_job(notification_id: int, *, workspace_id: int) -> dict[str, Any]:
    """The document of a notification. Refused where the contract has no words for it."""
    facts = notification_facts.get_notification(notification_id, workspace_id=workspace_id)
    row = Notification.objects.select_related("event__topic__list").get(pk=facts.id)
    template = row.event.template or row.event.topic.template
    if template != contract.TEMPLATE:
        raise NoMailJobError(
            f"The topic {facts.topic} has the template {template}, and mail jobs have"
            f" {contract.TEMPLATE} alone. Read the notification itself."
        )
    standing = _read_standing(facts)
    mail = facts.mail
    content = queries.find_content(mail.stream_id, mail.position) if mail else None
    document = _write_job(row, facts, standing, content)
    try:
        return contract.validate_job(document)
    except InvalidJobError as error:
        raise NoMailJobError(
            f"The event {facts.event_id} does not have what a mail job needs. {error}"
        ) from None


def _read_standing(facts: NotificationFacts) -> SubscriptionStanding:
    standing = subscription_standing.find_standing(facts.workspace_id, facts.subscription_id)
    if standing is None or standing.address is None:
        raise NoMailJobError("The contact was deleted, so there is nobody to address a job to.")
    return standing


def _write_job(
    row: Notification,
    facts: NotificationFacts,
    standing: SubscriptionStanding,
    content: MailContent | None,
) -> dict[str, Any]:
    event = row.event
    address = content.address if content else str(standing.address)
    links = _make_links(event.topic, address)
    values = _leave_out_empty({"name": standing.name, "from_name": standing.from_name})
    given = topics.choose_variables(event.data)
    variables = {**links, **given, **values, **((content and content.variables) or {})}
    version, locale = _find_version_and_locale(event, facts, standing, content)
    return {
        "version": contract.VERSION,
        "notificationId": facts.id,
        "openEventId": facts.event_id,
        "subscriptionId": facts.subscription_id,
        "dedupeKey": facts.dedupe_key,
        **_leave_out_empty({"traceId": event.trace_id}),
        "locale": locale,
        "recipient": {"email": address, **_leave_out_empty({"name": standing.name})},
        "template": {"id": contract.TEMPLATE, "version": f"v{version}", "variables": variables},
        "event": {"eventAt": _format(event.occurred_at), **event.data},
        "subscription": _write_subscription(standing, event),
        "links": links,
        "deliveryPolicy": _write_policy(row),
    }


def _make_links(topic: Topic, address: str) -> dict[str, str]:
    """None before the workspace has an address for its links."""
    links = unsubscribe_links.workspace_links(topic.workspace_id)
    if not links.is_complete:
        return {}
    link, manage_link = links.urls(address, list_key=topic.list.key)
    return {"manageUrl": manage_link, "unsubscribeUrl": link}


def _find_version_and_locale(
    event: Event,
    facts: NotificationFacts,
    standing: SubscriptionStanding,
    content: MailContent | None,
) -> tuple[int, str]:
    """Of its letter, where it has one."""
    if content is not None and facts.mail is not None:
        variant = Variant.objects.filter(
            stream_id=facts.mail.stream_id, letter=content.letter
        ).first()
        if variant is not None:
            number, locale, *_ = variant.variant.split("/")
            return int(number), locale
    pinned = event if event.template else event.topic
    version = pinned.template_version
    if version is None:
        text = topic_letters.read_text(event.topic, template=pinned.template, version=None)
        version = text.version.number
    return version, standing.locale


def _write_subscription(standing: SubscriptionStanding, event: Event) -> dict[str, Any]:
    address = str(standing.address)
    return {
        "status": standing.status,
        "contactType": "email",
        "contactValue": address,
        "contactHash": sha256(address.lower().encode()).hexdigest(),
        "lastKnownSectionStatus": str(event.data.get(event.topic.status_field, "")),
        "preferences": _write_preferences(standing),
    }


def _write_preferences(standing: SubscriptionStanding) -> dict[str, Any]:
    preferences: dict[str, Any] = {"notifyOn": list(standing.notify_on)}
    if standing.max_notifications is not None:
        preferences["maxNotifications"] = standing.max_notifications
    if standing.window_from is not None:
        window = {"startMinutes": standing.window_from, "endMinutes": standing.window_until}
        preferences["deliveryWindow"] = window
    if standing.snooze_until is not None:
        preferences["snoozeUntil"] = _format(standing.snooze_until)
    return preferences


def _write_policy(row: Notification) -> dict[str, Any]:
    """What applies to it: what its job said, and else what the operator set for notifications.

    A lock only caps delays. The operator's may be shorter than the contract allows, or there is
    none: it is applied to the delays here.
    """
    policy = settings.DISPATCH_OPTIONS.policies[StreamKind.TOPIC]
    delays, lock = row.retry_schedule_ms, row.lock_ttl_seconds
    if delays is None:
        delays = [round(seconds * 1000) for seconds in policy.delays]
    if lock is None:
        cap = max(delays, default=0) if policy.longest is None else round(policy.longest * 1000)
        delays = [min(delay, cap) for delay in delays]
        lock = max(_SHORTEST_LOCK, ceil(cap / 1000))
    return {
        "maxAttempts": policy.attempts if row.max_attempts is None else row.max_attempts,
        "lockTtlSeconds": lock,
        "retryScheduleMs": delays,
    }


def _leave_out_empty(fields: Mapping[str, str | None]) -> dict[str, str]:
    return {name: text for name, text in fields.items() if text}


def _format(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
