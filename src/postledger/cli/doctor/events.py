"""Checks that what providers report arrives and is applied."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.db.models import Exists, OuterRef

from postledger.accounts.models import ProviderAccount, Sender
from postledger.feedback import event_flow
from postledger.feedback.event_flow import EventFlow
from postledger.feedback.models import InboxMessage, Topic, WebhookKey
from postledger.lib.check_results import CheckResult, ok, problem, warning

MOST_SENDERS = 50
_SENDGRID = "sendgrid"
_REPORTING = ("ses", _SENDGRID)  # kinds whose accounts have to be connected to report
_UNAPPLIED_AFTER = timedelta(minutes=5)


def check_events() -> Iterator[CheckResult]:
    now = datetime.now(UTC)
    results = [*_check_inbox(now), *_check_topics(), *_check_keys(), *_check_senders(now)]
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


def _check_keys() -> Iterator[CheckResult]:
    """Of several keys, those that have signed nothing since another one was last used."""
    believed = WebhookKey.objects.filter(removed_at=None)
    others = believed.filter(account=OuterRef("account"), last_used_at__gt=OuterRef("created_at"))
    unused = believed.filter(Exists(others), last_used_at=None).order_by("pk")
    for account, workspace, key in unused.values_list(
        "account__name", "workspace__name", "public_key"
    ):
        yield warning(
            "events",
            f"The account {account} has a webhook key that has signed nothing, and another one that"
            " signs.",
            "Switch the webhook to it, or remove it: postledger sendgrid connect"
            f" {workspace} {account} --remove-key {key}.",
        )


def _check_senders(now: datetime) -> Iterator[CheckResult]:
    senders = event_flow.list_reporting_senders().select_related("account", "workspace")
    by_id = {sender.pk: sender for sender in senders.order_by("pk")[:MOST_SENDERS]}
    for sender_id, flow in event_flow.find_flows(list(by_id), now=now).items():
        yield from _check_flow(by_id[sender_id], flow, now)


def _check_flow(sender: Sender, flow: EventFlow, now: datetime) -> Iterator[CheckResult]:
    if flow.silent_since is not None:
        sentence = event_flow.describe(flow, now=now)
        message = f"{sender.address}: {sentence}. Bounces and complaints go unnoticed."
        yield problem("events", message, _advise_on_silence(sender))
    elif flow.missing_count:
        message = f"{sender.address}: {flow.missing_count:,} accepted mails have no event."
        yield warning("events", message, _advise_on_losses(sender))


def _advise_on_silence(sender: Sender) -> str:
    if sender.account is not None and sender.account.kind == _SENDGRID:
        return (
            f"Run postledger feedback-test {sender.address}, and see whether its event webhook is"
            " on, signed, and posts to this installation: postledger sendgrid connect"
            f" {sender.workspace.name} {sender.account.name}."
        )
    return f"Run postledger feedback-test {sender.address}, and look at the topic of its account."


def _advise_on_losses(sender: Sender) -> str:
    if sender.account is not None and sender.account.kind == _SENDGRID:
        return (
            "SendGrid posts an event for 24 hours, and then loses it. Keep /sendgrid-events"
            " reachable for it."
        )
    return (
        "Events that were lost do not come again. A queue (SQS) loses none: postledger ses connect"
        " WORKSPACE ACCOUNT --create makes one."
    )


def _describe_expected() -> str:
    topics = Topic.objects.filter(removed_at=None).values("account")
    keys = WebhookKey.objects.filter(removed_at=None).values("account")
    used = ProviderAccount.objects.filter(kind__in=_REPORTING, sender__archived_at=None)
    deaf = used.exclude(pk__in=topics).exclude(pk__in=keys)
    names = ", ".join(deaf.distinct().order_by("name").values_list("name", flat=True))
    return (
        f"No events are expected of accounts without a topic or a webhook: {names}."
        if names
        else "No accepted mail misses its events."
    )
