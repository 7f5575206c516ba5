"""`postledger why`: explains the state of a delivery or stream."""

from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import override

from django.core.management.base import BaseCommand, CommandError

from postledger.campaigns import progress
from postledger.cli import bulk_decisions
from postledger.deliveries import explain, queries
from postledger.deliveries.states import State
from postledger.feedback import event_flow


class Command(BaseCommand):
    help = "Explains what happened to a delivery or stream, its state, and what happens next."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "id", help="a delivery's id, a provider's message id, or a stream's number"
        )

    @override
    def handle(self, *args: object, id: str = "", **options: object) -> None:
        now = datetime.now(UTC)
        # A provider's message id may be all digits too.
        lines = (_explain_stream(int(id), now) if id.isdecimal() else None) or _explain_delivery(
            id, now
        )
        if lines is None:
            raise CommandError(f"There is no delivery or stream {id}.")
        for line in lines:
            self.stdout.write(line)


def _explain_stream(stream_id: int, now: datetime) -> list[str] | None:
    stream = queries.find_stream(stream_id)
    if stream is None:
        return None
    books = queries.read_books([stream_id])[stream_id]
    waits = queries.summarise_waits(stream_id)
    planning = [] if stream.cancelled_at else progress.explain_planning(stream_id)
    reports = queries.read_report_counts([stream_id])[stream_id]
    return explain.explain_stream(stream, books, waits, planning=planning, reports=reports, now=now)


def _explain_delivery(id_: str, now: datetime) -> list[str] | None:
    match = bulk_decisions.find_delivery(id_)
    if match is None:
        return None
    stream, delivery = match
    lines = explain.explain_delivery(delivery, stream, now=now)
    if delivery.state is State.IN_DOUBT and not stream.is_test:
        flow = event_flow.find_flow(stream.sender_id, now=now)
        lines.append(f"Of its sender: {event_flow.describe(flow, now=now)}.")
    return lines
