"""Checks that what providers report arrives and is applied."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from postledger.accounts.models import ProviderAccount, Sender
from postledger.feedback import event_flow
from postledger.feedback.event_flow import EventFlow
from postledger.feedback.models import InboxMessage, Topic
from postledger.lib.check_results import CheckResult, ok, problem, warning

MOST_SENDERS = 50
_UNAPPLIED_AFTER = timedelta(minutes=5)


def check_events() -> Iterator[CheckResult]:
    now = datetime.now(UTC)
    results = [*_check_inbox(now), *_check_topics(), *_check_senders(now)]
    yield from results or [ok("events", _describe_expected())]


def _check_inbox(now: datetime) -> Iterator[CheckResult]:
    waiting = InboxMessage.objects.filter(fault="")
    oldest = waiting.order_by("id").values_list("received_at", flat=True).first()
    if oldest is not None and oldest < now - _UNAPPLIED_AFTER:
        message = f"{waiting.count():,} messages of providers wait to be applied."
        yield problem("events", message, "Start a worker: postledger worker.")
    faulty = InboxMessage.objects.exclude(fault="")
    if count := faulty.count():
        message = f"{count:,} messages of providers cannot be applied."
        remedy = "Run postledger feedback faulty, remove the cause, then postledger feedback retry."
        yield warning("events", message, remedy)


def _check_topics() -> Iterator[CheckResult]:
    listened = Topic.objects.filter(removed_at=None).order_by("pk")
    for account, workspace, trouble in listened.exclude(trouble="").values_list(
        "account__name", "workspace__name", "trouble"
    ):
        remedy = f"Run postledger ses connect {workspace} {account} --create."
        yield problem("events", f"Events of the account {account}: {trouble}", remedy)
    unconfirmed = listened.filter(queue_url="", confirmed_at=None, trouble="")
    for account, workspace in unconfirmed.values_list("account__name", "workspace__name"):
        yield warning(
            "events",
            f"The topic of the account {account} has not been confirmed, so no event arrives.",
            f"Run postledger ses connect {workspace} {account} --create.",
        )


def _check_senders(now: datetime) -> Iterator[CheckResult]:
    senders = event_flow.list_reporting_senders().order_by("pk")[:MOST_SENDERS]
    by_id = {sender.pk: sender for sender in senders}
    for sender_id, flow in event_flow.find_flows(list(by_id), now=now).items():
        yield from _check_flow(by_id[sender_id], flow, now)


def _check_flow(sender: Sender, flow: EventFlow, now: datetime) -> Iterator[CheckResult]:
    if flow.silent_since is not None:
        sentence = event_flow.describe(flow, now=now)
        yield problem(
            "events",
            f"{sender.address}: {sentence}. Bounces and complaints go unnoticed.",
            f"Run postledger feedback-test {sender.address}, and look at the topic of its account.",
        )
    elif flow.missing_count:
        yield warning(
            "events",
            f"{sender.address}: {flow.missing_count:,} accepted mails have no event.",
            "Events that were lost do not come again. A queue (SQS) loses none: postledger ses"
            " connect WORKSPACE ACCOUNT --create makes one.",
        )


def _describe_expected() -> str:
    listening = Topic.objects.filter(removed_at=None).values("account")
    deaf = ProviderAccount.objects.filter(kind="ses", sender__archived_at=None).exclude(
        pk__in=listening
    )
    names = ", ".join(deaf.distinct().order_by("name").values_list("name", flat=True))
    return (
        f"No events are expected of accounts that listen to no topic: {names}."
        if names
        else "No accepted mail misses its events."
    )
