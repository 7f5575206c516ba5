"""Needs attention: doubts, dead letters, held senders and alerts, each with what can be done."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.views.decorators.http import require_safe

from postledger.accounts import queries as account_queries
from postledger.accounts.people.roles import Permission
from postledger.alerts import queries as alert_queries
from postledger.deliveries.attention import dead_letters, doubts, sentences
from postledger.deliveries.attention.dead_letters import Cause, DeadLetterGroup
from postledger.deliveries.attention.deciding import BEFORE_ALL, MailKey, OpenMail
from postledger.deliveries.attention.doubts import DoubtGroup
from postledger.deliveries.entries import AttemptOutcome
from postledger.deliveries.explanations import remedies
from postledger.feedback import event_flow
from postledger.feedback.event_flow import EventFlow
from postledger.web.dashboard import needs
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.frame import render_fragment, render_page
from postledger.web.dashboard.parameters import read_number, read_text

_PAGE_SIZE = 50
_MOST_ALERTS = 100


@dataclass(frozen=True, slots=True)
class DoubtCard:
    """A group of doubts with what is known about it."""

    group: DoubtGroup
    sender_address: str
    what: str
    evidence: str
    more: int  # recipients that are not named
    may_be_sent_again: bool


@dataclass(frozen=True, slots=True)
class DeadLetterRow:
    group: DeadLetterGroup
    what: str
    remedy: Promise | str
    is_retried: bool  # a retry may help


@require_safe
def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    now = datetime.now(UTC)
    current = needs.find_needs(visitor.workspace.pk, now=now)
    return render_page(
        request,
        visitor,
        "dashboard/attention.html",
        {
            "needs": current,
            "doubts": _describe_doubts(visitor, current.doubts, now),
            "dead_letters": [
                DeadLetterRow(
                    group,
                    sentences.describe_failure(group.outcome, group.code),
                    remedies.advise(group.outcome, group.code),
                    not remedies.is_hopeless(group.outcome, group.code),
                )
                for group in current.dead_letters
            ],
            "seen_at": now,
            "may_decide": visitor.may(Permission.DECIDE),
        },
    )


@require_safe
def show_number(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    """The number in the menu, for a page that came without it."""
    number = needs.find_needs(visitor.workspace.pk, now=datetime.now(UTC)).count
    values = {"number": number, "attention_url": reverse("attention", args=[visitor.workspace.pk])}
    return render_fragment(request, visitor, "dashboard/attention_number.html", values)


def _describe_doubts(
    visitor: Visitor, groups: Sequence[DoubtGroup], now: datetime
) -> list[DoubtCard]:
    sender_ids = sorted({group.sender_id for group in groups})
    flows = event_flow.find_flows(sender_ids, now=now)
    senders = {sender.pk: sender for sender in account_queries.senders(visitor.workspace.pk)}
    return [
        _describe_group(
            group,
            address=senders[group.sender_id].address if group.sender_id in senders else "",
            flow=flows.get(group.sender_id),
            now=now,
        )
        for group in groups
    ]


def _describe_group(
    group: DoubtGroup, *, address: str, flow: EventFlow | None, now: datetime
) -> DoubtCard:
    is_leaving = group.resend_after is not None and group.resend_after > now
    return DoubtCard(
        group,
        address,
        sentences.describe_doubt(group.outcome),
        event_flow.describe(flow, now=now),
        group.count - len(group.addresses),
        not is_leaving and not group.is_stream_cancelled,
    )


@require_safe
def show_doubts(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    """Mails in doubt one by one."""
    now = datetime.now(UTC)
    stream_id = read_number(request.GET, "stream")
    mails = doubts.list_doubts(
        visitor.workspace.pk,
        stream_id=stream_id,
        after=_read_key(request),
        limit=_PAGE_SIZE + 1,
    )
    return render_page(
        request,
        visitor,
        "dashboard/doubts.html",
        {
            "rows": [
                (mail, sentences.describe_doubt(mail.outcome), mail.may_be_sent_again(now))
                for mail in mails[:_PAGE_SIZE]
            ],
            "next_url": _next_url(mails, stream=stream_id),
            "may_decide": visitor.may(Permission.DECIDE),
        },
    )


@require_safe
def show_dead_letters(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    """Dead letters one by one, of one cause or of all."""
    code, outcome = (read_text(request.GET, name) for name in ("code", "outcome"))
    letters = dead_letters.list_dead_letters(
        visitor.workspace.pk,
        cause=_read_cause(code, outcome),
        after=_read_key(request),
        limit=_PAGE_SIZE + 1,
    )
    return render_page(
        request,
        visitor,
        "dashboard/dead_letters.html",
        {
            "rows": [
                (letter, sentences.describe_failure(letter.outcome, letter.code))
                for letter in letters[:_PAGE_SIZE]
            ],
            "next_url": _next_url(letters, code=code, outcome=outcome),
            "may_decide": visitor.may(Permission.DECIDE),
        },
    )


@require_safe
def show_alerts(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    """The newest alerts, those that are over included."""
    alerts = alert_queries.list_page(
        visitor.workspace.pk, limit=_MOST_ALERTS, now=datetime.now(UTC)
    )
    return render_page(request, visitor, "dashboard/alerts.html", {"alerts": alerts})


def _read_cause(code: str, outcome: str) -> Cause:
    """What a request chooses dead letters by; an outcome that does not exist chooses all."""
    known = {value.value for value in AttemptOutcome}
    return Cause(code=code or None, outcome=AttemptOutcome(outcome) if outcome in known else None)


def _read_key(request: HttpRequest) -> MailKey:
    stream_id, position = (read_number(request.GET, name) for name in ("after", "position"))
    if stream_id is None or position is None:
        return BEFORE_ALL
    return MailKey(stream_id, position)


def _next_url(mails: Sequence[OpenMail], **chosen_by: str | int | None) -> str:
    """Behind the last mail of this page, chosen by the same; empty at the end."""
    if len(mails) <= _PAGE_SIZE:
        return ""
    last = mails[_PAGE_SIZE - 1].key
    kept = {name: value for name, value in chosen_by.items() if value}
    return f"?{urlencode({'after': last.stream_id, 'position': last.position, **kept})}"
