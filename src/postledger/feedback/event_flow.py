"""Whether the events of a sender arrive, how soon, and which accepted mails have none.

The absence of an event proves nothing about one mail. It says something about the way that events
take: a sender of which mail is accepted for an hour, and nothing is reported, is not listened to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext, gettext_noop, npgettext

from postledger.accounts.models import Sender
from postledger.deliveries import queries
from postledger.deliveries.queries import FirstEvent
from postledger.feedback.models import Topic, WebhookKey
from postledger.lib import ids

# Younger mail is not counted as missing its events.
LATE_AFTER = timedelta(minutes=15)
SILENT_AFTER = timedelta(hours=1)
_USUAL_SHARE = 0.999
# The provider that reports to itself: its events never leave the process.
_OWN_EVENTS = "sandbox"

NOT_LISTENING = gettext_noop("no events are expected: its account has no topic and no webhook")


@dataclass(frozen=True, slots=True)
class EventFlow:
    """The events of a sender's latest mails, and the mails that have none."""

    mail_count: int  # accepted, of those looked at
    missing_count: int  # of all its mails: accepted a while ago, and no event came
    usually_within: timedelta | None  # 99.9 % of the first events came so soon
    latest: timedelta | None  # none came later
    silent_since: datetime | None  # mail was accepted for an hour from then on without any event


def measure(mails: Sequence[FirstEvent], *, unreported: int, now: datetime) -> EventFlow:
    """`unreported` is how many of all mails have no event, young ones included."""
    delays = sorted(
        max(mail.event_at - mail.accepted_at, timedelta())
        for mail in mails
        if mail.event_at is not None
    )
    young = sum(mail.event_at is None and mail.accepted_at > now - LATE_AFTER for mail in mails)
    return EventFlow(
        mail_count=len(mails),
        missing_count=max(0, unreported - young),
        usually_within=delays[int(_USUAL_SHARE * (len(delays) - 1))] if delays else None,
        latest=delays[-1] if delays else None,
        silent_since=_find_silence(mails, now),
    )


def _find_silence(mails: Sequence[FirstEvent], now: datetime) -> datetime | None:
    """When the first mail was accepted of which, or after which, nothing came for an hour."""
    last_event_at = max((mail.event_at for mail in mails if mail.event_at), default=None)
    since = min(
        (
            mail.accepted_at
            for mail in mails
            if mail.event_at is None and (last_event_at is None or mail.accepted_at > last_event_at)
        ),
        default=None,
    )
    return since if since is not None and since <= now - SILENT_AFTER else None


def describe(flow: EventFlow | None, *, now: datetime) -> str:
    """One sentence without its full stop, for people who look at a doubt."""
    if flow is None:
        return gettext(NOT_LISTENING)
    if flow.silent_since is not None:
        hours = (now - flow.silent_since) / timedelta(hours=1)
        sentence = gettext("no event has arrived for %(hours)s h, although mail was accepted")
        return sentence % {"hours": f"{hours:.0f}"}
    if flow.usually_within is None or flow.latest is None:
        return gettext("no event of this sender has arrived yet")
    return gettext(
        "events of this sender arrive, 99.9 %% within %(usual)s; none after %(latest)s"
    ) % {"usual": _minutes(flow.usually_within), "latest": _minutes(flow.latest)}


def _minutes(delay: timedelta) -> str:
    """Rounded up: what is said to be over is over."""
    count = max(1, -(-delay // timedelta(minutes=1)))
    return npgettext("within or after so long", "%(count)s minute", "%(count)s minutes", count) % {
        "count": count
    }


def find_flow(sender_id: int, *, now: datetime) -> EventFlow | None:
    """The flow of one sender; None where no events are expected."""
    return find_flows([sender_id], now=now).get(sender_id)


def find_flows(sender_ids: Sequence[int], *, now: datetime) -> Mapping[int, EventFlow]:
    """The flows of those senders whose events are expected."""
    expected = list_reporting_senders().filter(pk__in=sender_ids).values_list("pk", flat=True)
    since = ids.month_of(now) - 1
    unreported = queries.count_unreported(list(expected), since_month=since)
    return {
        sender_id: measure(queries.read_first_events(sender_id), unreported=count, now=now)
        for sender_id, count in unreported.items()
    }


def describe_senders(sender_ids: Sequence[int], *, now: datetime) -> dict[int, str]:
    """Beside doubts: for each sender a sentence whether the events arrive that would end them."""
    flows = find_flows(sender_ids, now=now)
    return {
        sender_id: f"{sentence[0].upper()}{sentence[1:]}."
        for sender_id in sender_ids
        for sentence in [describe(flows.get(sender_id), now=now)]
    }


def list_reporting_senders() -> QuerySet[Sender]:
    """The senders in use whose account listens, or is the sandbox: events are expected."""
    return _list_reporting().filter(archived_at=None)


def reports_back(sender_id: int) -> bool:
    """Whether events are expected of the mail of a sender, in use or not."""
    return _list_reporting().filter(pk=sender_id).exists()


def _list_reporting() -> QuerySet[Sender]:
    topics = Topic.objects.filter(account=OuterRef("account"), removed_at=None)
    keys = WebhookKey.objects.filter(account=OuterRef("account"), removed_at=None)
    return Sender.objects.filter(Q(account__kind=_OWN_EVENTS) | Exists(topics) | Exists(keys))


@dataclass(frozen=True, slots=True)
class FlowSummary:
    unreported_count: int  # young mail is among them
    silent_count: int  # senders


_MOST_EXAMINED = 20


def summarise(now: datetime) -> FlowSummary:
    """Of all senders whose events are expected; cheap enough to be asked every few seconds."""
    unreported = _count_unreported(now)
    return FlowSummary(sum(unreported.values()), len(_find_silences(unreported, now)))


@dataclass(frozen=True, slots=True)
class Silence:
    """Mail of a sender was accepted for an hour or longer, and nothing was reported."""

    since: datetime
    mail_count: int  # accepted since then, of the latest mails
    last_mail_at: datetime


def find_silences(now: datetime) -> Mapping[int, Silence]:
    """The silent ones among the senders with the most unreported mail, by their ids."""
    return _find_silences(_count_unreported(now), now)


def _count_unreported(now: datetime) -> Mapping[int, int]:
    expected = list(list_reporting_senders().values_list("pk", flat=True))
    return queries.count_unreported(expected, since_month=ids.month_of(now) - 1)


def _find_silences(unreported: Mapping[int, int], now: datetime) -> dict[int, Silence]:
    # Only a sender with unreported mail can be silent.
    suspects = sorted(filter(unreported.get, unreported), key=lambda id_: -unreported[id_])
    silences: dict[int, Silence] = {}
    for sender_id in suspects[:_MOST_EXAMINED]:
        mails = queries.read_first_events(sender_id)
        since = _find_silence(mails, now)
        if since is not None:
            after = [mail.accepted_at for mail in mails if mail.accepted_at >= since]
            silences[sender_id] = Silence(since, len(after), max(after))
    return silences
