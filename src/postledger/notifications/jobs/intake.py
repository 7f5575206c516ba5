"""Takes a posted mail job: plans the mail of its notification, once, however often it is posted."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db import transaction
from django.db.models import Model, QuerySet

from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import NewDelivery
from postledger.lib import wake
from postledger.lib.ids import LAST_ID
from postledger.mailing.content_source import ContentUnknownError
from postledger.notifications.fan_out import chunks, notification_facts
from postledger.notifications.fan_out.notification_facts import NotificationFacts
from postledger.notifications.jobs import contract
from postledger.notifications.jobs.contract import InvalidJobError, JobIssue, MailJob
from postledger.notifications.models import Event, Notification, Topic, TopicSubscription
from postledger.notifications.states import FanOutEnd, Skip
from postledger.notifications.subscriptions import standing as subscription_standing
from postledger.notifications.subscriptions.standing import SubscriptionStanding
from postledger.notifications.subscriptions.windows import Expired, GoNow, WaitUntil
from postledger.notifications.topics import letters as topic_letters
from postledger.notifications.topics import streams as topic_streams
from postledger.notifications.topics import topics

_PENDING = "pending"
_POLICY = ["max_attempts", "lock_ttl_seconds", "retry_schedule_ms"]


class JobResult(StrEnum):
    """What a posted job changed."""

    PLANNED = "planned"  # the mail of the notification waits to be sent now
    POLICY_CHANGED = "policy_changed"  # the mail was planned before; its delivery policy is new
    UNCHANGED = "unchanged"  # the mail was planned before, or the notification has ended


@dataclass(frozen=True, slots=True)
class TakenJob:
    result: JobResult
    notification: NotificationFacts


def take_job(workspace_id: int, document: object, *, now: datetime) -> TakenJob:
    """Refuses a document that is no job, or whose ids do not belong together in the workspace."""
    job = contract.parse_job(document)
    with transaction.atomic():
        target = _lock_target(workspace_id, job)
        result = _apply_job(target, job, now)
    if result is JobResult.PLANNED and target.event.stream_id is not None:
        wake.notify(target.event.stream_id)
    facts = notification_facts.get_notification(job.notification_id, workspace_id=workspace_id)
    return TakenJob(result, facts)


@dataclass(frozen=True, slots=True)
class _Target:
    """The rows that a job is about."""

    row: Notification
    standing: SubscriptionStanding

    @property
    def event(self) -> Event:
        return self.row.event

    @property
    def address(self) -> str:
        return self.standing.address or ""


def _lock_target(workspace_id: int, job: MailJob) -> _Target:
    row = _lock_notification(workspace_id, job.notification_id)
    issues = list(_check_ids(workspace_id, row, job))
    standing = None
    if row is not None:
        standing = subscription_standing.find_standing(workspace_id, row.subscription_id)
        issues += _check_fields(row, standing, job)
    if row is None or standing is None or issues:
        raise InvalidJobError(issues)
    return _Target(row, standing)


def _lock_notification(workspace_id: int, notification_id: int) -> Notification | None:
    """Locks the topic first, as the fan-out does; so letters are made one after another, too."""
    own = Notification.objects.filter(event__topic__workspace_id=workspace_id)
    if not _has(own, notification_id):
        return None
    topic_id = own.values_list("event__topic_id", flat=True).get(pk=notification_id)
    Topic.objects.select_for_update(no_key=True).get(pk=topic_id)
    locked = Notification.objects.select_for_update(of=("self",))
    return locked.select_related("event__topic__list", "subscription").get(pk=notification_id)


def _check_ids(workspace_id: int, row: Notification | None, job: MailJob) -> Iterator[JobIssue]:
    if row is None:
        yield JobIssue("notificationId", "The workspace has no notification with this id.")
    if not _has(Event.objects.filter(topic__workspace_id=workspace_id), job.event_id):
        yield JobIssue("openEventId", "The workspace has no event with this id.")
    elif row is not None and row.event_id != job.event_id:
        yield JobIssue("openEventId", "The notification is about another event.")
    subscriptions = TopicSubscription.objects.filter(topic__workspace_id=workspace_id)
    if not _has(subscriptions, job.subscription_id):
        yield JobIssue("subscriptionId", "The workspace has no subscription with this id.")
    elif row is not None and row.subscription_id != job.subscription_id:
        yield JobIssue("subscriptionId", "The notification is for another subscription.")


def _has[M: Model](rows: QuerySet[M], id_: int) -> bool:
    return id_ <= LAST_ID and rows.filter(pk=id_).exists()


def _check_fields(
    row: Notification, standing: SubscriptionStanding | None, job: MailJob
) -> Iterator[JobIssue]:
    if row.dedupe_key != job.dedupe_key:
        yield JobIssue("dedupeKey", "The notification has another dedupe key.")
    address = standing.address if standing else None
    if address is None or address.lower() != job.email.lower():
        # Says no more: who hands jobs over may lack the right to read contacts.
        yield JobIssue("recipient.email", "The recipient does not fit the notification.")
    template = row.event.template or row.event.topic.template
    if template != contract.TEMPLATE:
        yield JobIssue("template.id", f"The topic of the event has the template {template}.")


def _apply_job(target: _Target, job: MailJob, now: datetime) -> JobResult:
    row, event = target.row, target.event
    if row.end is not None:
        return JobResult.UNCHANGED
    if row.is_planned:
        return _change_policy(target, job)
    departure = target.standing.decide_departure(expires_at=event.expires_at, now=now)
    if isinstance(departure, Expired):
        return _end(row, FanOutEnd.EXPIRED, Skip.EXPIRED)
    stream = None if event.stream_id is None else queries.find_stream(event.stream_id)
    if stream is not None and stream.cancelled_at is not None:
        return _end(row, FanOutEnd.SKIPPED, Skip.CANCELLED)
    _plan_mail(target, job, departure)
    return JobResult.PLANNED


def _change_policy(target: _Target, job: MailJob) -> JobResult:
    """A job without a policy changes none, and neither does one that comes after the result."""
    row = target.row
    facts = notification_facts.find_notification(row.pk)
    if facts is None or facts.status != _PENDING or not _set_policy(row, job):
        return JobResult.UNCHANGED
    row.save(update_fields=_POLICY)
    return JobResult.POLICY_CHANGED


def _set_policy(row: Notification, job: MailJob) -> bool:
    """Whether the row has another policy then. What a job leaves out stays."""
    before = [getattr(row, name) for name in _POLICY]
    policy = job.policy
    if policy.max_attempts is not None:
        row.max_attempts = policy.max_attempts
    if policy.lock_ttl_seconds is not None:
        row.lock_ttl_seconds = policy.lock_ttl_seconds
    if policy.retry_schedule_ms is not None:
        row.retry_schedule_ms = list(policy.retry_schedule_ms)
    return before != [getattr(row, name) for name in _POLICY]


def _end(row: Notification, end: FanOutEnd, code: Skip) -> JobResult:
    row.end, row.code = end.value, code.value
    row.save(update_fields=["end", "code"])
    return JobResult.UNCHANGED


def _plan_mail(target: _Target, job: MailJob, departure: GoNow | WaitUntil) -> None:
    """Who must wait now is asked again when the mail is handed over."""
    row = target.row
    stream_id = _keep_stream(target.event)
    delivery = NewDelivery(
        target.address,
        dedupe_key=str(row.pk),
        contact_id=row.subscription.contact_id,
        variables=_collect_variables(target, job),
        letter=_resolve_letter(target.event.topic, stream_id, job),
    )
    # A restore may have lost the same job, which was sent in the lost time.
    is_interrupted = chunks.was_interrupted(target.event)
    match departure:
        case GoNow():
            ledger.enqueue(stream_id, [delivery], is_interrupted=is_interrupted)
        case WaitUntil(due_at, reason):
            ledger.enqueue(
                stream_id,
                [delivery],
                due_at=due_at,
                reason=reason,
                is_interrupted=is_interrupted,
            )
    row.is_planned = True
    _set_policy(row, job)
    row.save(update_fields=["is_planned", *_POLICY])


def _keep_stream(event: Event) -> int:
    """The event's stream; its first mail chooses it."""
    if event.stream_id is None:
        event.stream_id = topic_streams.find_stream(event.topic)
        event.save(update_fields=["stream_id"])
    return event.stream_id


def _resolve_letter(topic: Topic, stream_id: int, job: MailJob) -> int:
    try:
        text = topic_letters.read_text(
            topic, template=contract.TEMPLATE, version=job.template_version
        )
    except ContentUnknownError:
        detail = f"The template has no version {job.template_version}."
        raise InvalidJobError([JobIssue("template.version", detail)]) from None
    letter = topic_letters.resolve_letters(topic, stream_id, text, [job.locale])[job.locale]
    if letter is None:
        detail = f"The template has no text for the locale {job.locale[:35]!r}."
        raise InvalidJobError([JobIssue("locale", detail)])
    return letter


def _collect_variables(target: _Target, job: MailJob) -> dict[str, object]:
    """The job's own win; the event sets nothing that belongs to the recipient."""
    person = {"name": job.name or target.standing.name, "from_name": target.standing.from_name}
    given = {name: text for name, text in person.items() if text is not None}
    return {**topics.choose_variables(target.event.data), **given, **job.variables}
