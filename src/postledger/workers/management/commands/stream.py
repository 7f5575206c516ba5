"""`postledger stream`: flows of mail, and the three things a person can do to a whole one."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import override

from django.core.management.base import CommandError
from django.db import transaction

from postledger.accounts import queries as account_queries
from postledger.accounts import trail
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Held
from postledger.deliveries.queries import Books, StreamFacts
from postledger.deliveries.reasons import EXPLANATIONS, Reason
from postledger.deliveries.refusals import time
from postledger.workers import given, nouns


class Command(nouns.NounCommand):
    help = "Lists, holds, releases and cancels streams."

    @override
    def add_verbs(self, verb: nouns.Verb) -> None:
        listing = verb("list", self._list, "Lists the newest streams and how their mail stands.")
        listing.add_argument("--limit", type=int, default=50, help="how many are listed")
        hold = verb("hold", self._hold, "Stops a stream; only what is with the provider goes on.")
        hold.add_argument(
            "--until",
            type=moment,
            help="ends by itself then: 2h, 3d or 2026-11-16T08:00 (UTC unless it says otherwise)",
        )
        hold.add_argument("--reason", default="", metavar="TEXT", help="shown to who asks why")
        release = verb("release", self._release, "Ends the hold of a stream.")
        cancel = verb("cancel", self._cancel, "Ends a stream for good; what waits is not sent.")
        cancel.add_argument("--yes", action="store_true", help="needed: it cannot be taken back")
        for parser in (hold, release, cancel):
            parser.add_argument("number", type=int, help="as postledger stream list shows it")
            parser.add_argument("--actor", default="", metavar="NAME", help="noted as who did it")
        for parser in (listing, hold, release, cancel):
            _add_workspace(parser)

    def _list(self, *, workspace: str | None, limit: int, **_: object) -> None:
        of = nouns.workspace(workspace) if workspace else None
        streams = queries.streams(workspace_id=of.id if of else None, limit=limit)
        if not streams:
            self.stdout.write("There is no stream yet: the first mail opens one.")
            return
        names = {found.id: found.name for found in account_queries.workspaces()}
        books = queries.books_of([stream.id for stream in streams])
        now = datetime.now(UTC)
        for stream in streams:
            self.stdout.write(_line(stream, names[stream.workspace_id], books[stream.id], now))

    def _hold(
        self,
        *,
        number: int,
        workspace: str | None,
        until: datetime | None,
        reason: str,
        actor: str,
        **_: object,
    ) -> None:
        stream, who = _stream(number, workspace), nouns.actor(actor)
        if until is not None and until <= datetime.now(UTC):
            raise CommandError(f"{time(until)} is over: give a moment that is to come.")
        with transaction.atomic():
            held = ledger.hold(
                stream.id, reason=Reason.PAUSED, actor=who, until=until, detail=reason
            )
            if held:
                data = {"until": until.isoformat() if until else None, "detail": reason}
                _note(stream, who, "stream.held", data)
        if not held:
            raise CommandError(_not_held(_stream(number, workspace)))
        end = f"until {time(until)}" if until else "until it is released"
        self.stdout.write(f"{_name(stream)} is held {end}; what is with the provider goes on.")

    def _release(self, *, number: int, workspace: str | None, actor: str, **_: object) -> None:
        stream, who = _stream(number, workspace), nouns.actor(actor)
        with transaction.atomic():
            released = ledger.release(stream.id)
            if released:
                _note(stream, who, "stream.released", {})
        self.stdout.write(f"{_name(stream)} {'is released' if released else 'was not held'}.")
        for sentence in _still_stopped(stream):
            self.stdout.write(sentence)

    def _cancel(
        self, *, number: int, workspace: str | None, actor: str, yes: bool, **_: object
    ) -> None:
        stream, who = _stream(number, workspace), nouns.actor(actor)
        waiting = queries.books_of([stream.id])[stream.id].waiting
        if stream.cancelled_at is None and not yes:
            raise CommandError(
                f"{_name(stream)} has {waiting} mails waiting, and a cancelled stream never goes"
                " on. Add --yes to cancel it, or hold it: postledger stream hold."
            )
        with transaction.atomic():
            cancelled = ledger.cancel(stream.id, actor=who)
            if cancelled:
                _note(stream, who, "stream.cancelled", {"waiting": waiting})
        if not cancelled:
            self.stdout.write(f"{_name(stream)} was cancelled before.")
            return
        self.stdout.write(f"{_name(stream)} is cancelled; {waiting} mails were waiting.")
        self.stdout.write("Workers book them as cancelled; what is with the provider still ends.")


def moment(text: str) -> datetime:
    """A length of time from now, or a date and time."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        pass
    else:
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    try:
        return datetime.now(UTC) + given.duration(text)
    except ArgumentTypeError:
        raise ArgumentTypeError(
            f"{text!r} is no moment: write it as 2026-11-16T08:00, or as 30m, 2h or 7d from now"
        ) from None


def _add_workspace(parser: ArgumentParser) -> None:
    parser.add_argument("--workspace", metavar="NAME", help="nothing but this workspace's")


def _stream(number: int, workspace: str | None) -> StreamFacts:
    return nouns.stream(number, nouns.workspace(workspace) if workspace else None)


def _note(stream: StreamFacts, actor: str, action: str, data: Mapping[str, trail.Fact]) -> None:
    trail.note(
        stream.workspace_id, actor=actor, action=action, subject=f"stream {stream.id}", data=data
    )


def _name(stream: StreamFacts) -> str:
    return f"Stream {stream.id}, {stream.kind} “{stream.title}”,"


def _not_held(stream: StreamFacts) -> str:
    if stream.cancelled_at is not None:
        return f"{_name(stream)} was cancelled {time(stream.cancelled_at)}: nothing of it goes."
    held = stream.stream_hold
    if held is None or held.until is None:
        return f"{_name(stream)} is held already, until it is released; that stays."
    return f"{_name(stream)} is held already, until {time(held.until)}; the longer hold stays."


def _still_stopped(stream: StreamFacts) -> Iterator[str]:
    if stream.cancelled_at is not None:
        yield f"It was cancelled {time(stream.cancelled_at)}: nothing of it goes."
    elif stream.sender_hold is not None:
        why = EXPLANATIONS[stream.sender_hold.reason].why
        yield f"Its sender is held too, because {why}: postledger why {stream.id} tells more."


def _line(stream: StreamFacts, workspace: str, books: Books, now: datetime) -> str:
    counts = [
        f"{count} {state.replace('_', ' ')}" for state, count in books.counts.items() if count
    ]
    sums = " + ".join([*counts, f"{books.waiting} waiting"])
    stops = "".join(f"  {stop}" for stop in _stops(stream, now))
    return (
        f"{stream.id}  {workspace}  {stream.kind}  “{stream.title}”"
        f"  {books.planned} planned = {sums}{stops}"
    )


def _stops(stream: StreamFacts, now: datetime) -> Iterator[str]:
    if stream.cancelled_at is not None:
        yield f"cancelled {time(stream.cancelled_at)}"
        return
    for held, whose in ((stream.stream_hold, "held"), (stream.sender_hold, "its sender held")):
        if held is not None and (held.until is None or held.until > now):
            yield whose + _until(held)


def _until(held: Held) -> str:
    return f" until {time(held.until)}" if held.until else ""
