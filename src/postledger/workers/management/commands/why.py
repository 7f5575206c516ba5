"""`postledger why`: tells one delivery's or stream's story in plain sentences."""

from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import override

from django.core.management.base import BaseCommand, CommandError

from postledger.deliveries import queries, story
from postledger.lib.ids import DeliveryId


class Command(BaseCommand):
    help = "Tells what happened to a delivery or stream, where it stands, and what will move it."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "id", help="a delivery's id, a provider's message id, or a stream's number"
        )

    @override
    def handle(self, *args: object, id: str = "", **options: object) -> None:
        now = datetime.now(UTC)
        # A provider's own id may be all digits too.
        sentences = (_of_stream(int(id), now) if id.isdecimal() else None) or _of_delivery(id, now)
        if sentences is None:
            msg = f"Nothing here is called {id}. Give a delivery's id, or a stream's number."
            raise CommandError(msg)
        for sentence in sentences:
            self.stdout.write(sentence)


def _of_stream(stream_id: int, now: datetime) -> list[str] | None:
    facts = queries.stream(stream_id)
    if facts is None:
        return None
    books = queries.books_of([stream_id])[stream_id]
    return story.of_stream(facts, books, queries.waits(stream_id), now=now)


def _of_delivery(id_: str, now: datetime) -> list[str] | None:
    parsed = DeliveryId.parse(id_)
    place = (parsed.stream_id, parsed.position) if parsed else queries.find_by_message_id(id_)
    if place is None:
        return None
    facts, stream = queries.delivery(*place), queries.stream(place[0])
    return story.of_delivery(facts, stream, now=now) if facts and stream else None
