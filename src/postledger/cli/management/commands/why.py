"""`postledger why`: explains mail, streams, runs, senders, notifications and events."""

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import override
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from postledger.accounts import queries as accounts
from postledger.campaigns.models import Run
from postledger.campaigns.runs import progress, run_causes
from postledger.cli import bulk_decisions
from postledger.deliveries import queries
from postledger.deliveries.explanations import explain, why
from postledger.deliveries.explanations.why import Cause
from postledger.deliveries.queries import StreamFacts, WaitSummary
from postledger.deliveries.states import State
from postledger.feedback import event_flow
from postledger.notifications.fan_out import notification_causes, notification_facts
from postledger.notifications.models import Event

_MOST_DIGITS = 18


class Command(BaseCommand):
    help = "Explains what happened, the state, what happens next, and what a person can do."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "id",
            help="a delivery's id, a provider's message id, a stream's number, a run's id, a"
            " sender's address, notification:NUMBER or event:NUMBER",
        )

    @override
    def handle(self, *args: object, id: str = "", **options: object) -> None:
        now = datetime.now(UTC)
        # A provider's message id may look like any of the others.
        lines = (
            _explain_notifying(id, now)
            or _explain_stream(id, now)
            or _explain_run(id, now)
            or _explain_delivery(id, now)
            or list(_explain_senders(id, now))
        )
        if not lines:
            hint = " Search by address under Emails, and give the id." if "@" in id else ""
            raise CommandError(f"There is no delivery, stream, run or sender {id}.{hint}")
        for line in lines:
            self.stdout.write(line)


def _explain_notifying(id_: str, now: datetime) -> list[str]:
    kind, _, text = id_.partition(":")
    number = notification_causes.parse_number(text)
    if number is None:
        return []
    if kind == "notification":
        facts = notification_facts.find_notification(number)
        if facts is not None:
            causes = notification_causes.list_notification_causes(facts, now=now)
            described = notification_causes.describe_notification(facts, now=now)
            return [*described, *([] if facts.status == "sent" else _describe(causes))]
    if kind == "event":
        event = Event.objects.select_related("topic__list").filter(pk=number).first()
        if event is not None:
            causes = notification_causes.list_event_causes(event, now=now)
            return [*notification_causes.describe_event(event), *_describe(causes)]
    return []


def _explain_stream(id_: str, now: datetime) -> list[str]:
    is_number = id_.isascii() and id_.isdecimal() and len(id_) <= _MOST_DIGITS
    stream = queries.find_stream(int(id_)) if is_number else None
    if stream is None:
        return []
    waits = queries.summarise_waits(stream.id)
    causes = why.list_stream_causes(stream, waits, now=now)
    return [*_describe_stream(stream, waits, now), *_describe(causes)]


def _describe_stream(stream: StreamFacts, waits: Sequence[WaitSummary], now: datetime) -> list[str]:
    books = queries.read_books([stream.id])[stream.id]
    planning = [] if stream.cancelled_at else progress.explain_planning(stream.id)
    reports = queries.read_report_counts([stream.id])[stream.id]
    return explain.explain_stream(stream, books, waits, planning=planning, reports=reports, now=now)


def _explain_run(id_: str, now: datetime) -> list[str]:
    try:
        run = Run.objects.filter(pk=UUID(id_)).first()
    except ValueError:
        return []
    stream = None if run is None else queries.find_stream(run.stream_id)
    if run is None or stream is None:
        return []
    causes = run_causes.list_run_causes(run.workspace_id, run.pk, now=now)
    waits = queries.summarise_waits(stream.id)
    return [*_describe_stream(stream, waits, now), *_describe(causes)]


def _explain_delivery(id_: str, now: datetime) -> list[str]:
    match = bulk_decisions.find_delivery(id_)
    if match is None:
        return []
    stream, delivery = match
    lines = explain.explain_delivery(delivery, stream, now=now)
    if delivery.state is State.IN_DOUBT and not stream.is_test:
        flow = event_flow.find_flow(stream.sender_id, now=now)
        lines.append(f"Of its sender: {event_flow.describe(flow, now=now)}.")
    if delivery.state is not State.ACCEPTED:
        lines += _describe(why.list_delivery_causes(delivery, stream, now=now))
    return lines


def _explain_senders(address: str, now: datetime) -> Iterator[str]:
    """Several workspaces may have a sender with the same address."""
    for workspace in accounts.workspaces():
        sender = accounts.sender_by_address(workspace.pk, address=address)
        if sender is None:
            continue
        holds = queries.find_sender_holds([sender.pk]).get(sender.pk, ())
        streams = queries.list_streams_of_sender(sender.pk)
        causes = why.list_sender_causes(holds, streams, now=now)
        yield f"Sender {sender.address} of workspace “{workspace.name}”."
        yield from _describe(causes) if causes else ["Nothing holds it."]


def _describe(causes: Iterable[Cause]) -> Iterator[str]:
    return (line for cause in causes for line in why.describe_cause(cause))
