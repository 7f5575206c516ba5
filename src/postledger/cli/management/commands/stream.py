"""`postledger stream`: lists, holds, releases and cancels streams of mail."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import override

from django.core.management.base import CommandError

from postledger.accounts import queries as account_queries
from postledger.accounts.models import Workspace
from postledger.cli import arguments, base_command
from postledger.deliveries import causes, queries
from postledger.deliveries.attention import holds
from postledger.deliveries.entries import HoldScope
from postledger.deliveries.explanations.explain import format_time
from postledger.deliveries.explanations.reason_texts import explain_reason
from postledger.deliveries.queries import Books, StreamFacts
from postledger.deliveries.reasons import Reason


class Command(base_command.NounCommand):
    help = "Lists, holds, releases and cancels streams."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        listing = verb("list", self._list, "Lists the newest streams and their books.")
        listing.add_argument("--limit", type=int, default=50, help="how many to list")
        hold = verb("hold", self._hold, "Holds a stream; mail that is with the provider goes on.")
        hold.add_argument(
            "--until",
            type=arguments.parse_moment,
            help="ends the hold: 2h, 3d or 2026-11-16T08:00 (UTC unless it has an offset)",
        )
        hold.add_argument("--reason", default="", metavar="TEXT", help="shown by postledger why")
        release = verb("release", self._release, "Ends the holds of a stream, but not its limits.")
        cancel = verb("cancel", self._cancel, "Ends a stream for good; waiting mail is not sent.")
        cancel.add_argument("--yes", action="store_true", help="required: it cannot be undone")
        for parser in (hold, release, cancel):
            parser.add_argument("number", type=int, help="as postledger stream list shows it")
            base_command.add_actor_option(parser)
        for parser in (listing, hold, release, cancel):
            base_command.add_workspace_option(parser)

    def _list(self, *, workspace: Workspace | None, limit: int) -> None:
        streams = queries.list_streams(
            workspace_id=workspace.id if workspace else None, limit=limit
        )
        if not streams:
            self.stdout.write("There is no stream yet: the first mail opens one.")
            return
        names = {row.id: row.name for row in account_queries.workspaces()}
        books = queries.read_books([stream.id for stream in streams])
        now = datetime.now(UTC)
        for stream in streams:
            self.stdout.write(
                _format_stream(stream, names[stream.workspace_id], books[stream.id], now)
            )

    def _hold(
        self,
        *,
        number: int,
        workspace: Workspace | None,
        until: datetime | None,
        reason: str,
        actor: str,
    ) -> None:
        stream = base_command.stream(number, workspace)
        if until is not None and until <= datetime.now(UTC):
            raise CommandError(f"{format_time(until)} is in the past: give a time in the future.")
        is_held = holds.hold_stream(
            stream.workspace_id, stream.id, until=until, detail=reason, actor=actor
        )
        if not is_held:
            raise CommandError(_explain_no_hold(base_command.stream(number, workspace)))
        end = f"until {format_time(until)}" if until else "until it is released"
        self.stdout.write(f"{_name(stream)} is held {end}; mail with the provider goes on.")

    def _release(self, *, number: int, workspace: Workspace | None, actor: str) -> None:
        stream = base_command.stream(number, workspace)
        is_released = holds.release_stream(stream.workspace_id, stream.id, actor=actor)
        self.stdout.write(f"{_name(stream)} {'is released' if is_released else 'was not held'}.")
        if stream.cancelled_at is not None:
            self.stdout.write(
                f"It was cancelled {format_time(stream.cancelled_at)}: nothing is sent."
            )
            return
        for hold in base_command.stream(number, workspace).holds:
            is_own = hold.scope is HoldScope.STREAM
            still = "It is still held" if is_own else f"Its {hold.scope} is held too"
            why = explain_reason(hold.reason).why
            self.stdout.write(f"{still}, because {why}: see postledger why {number}.")

    def _cancel(self, *, number: int, workspace: Workspace | None, yes: bool, actor: str) -> None:
        stream = base_command.stream(number, workspace)
        waiting = queries.read_books([stream.id])[stream.id].waiting
        if stream.cancelled_at is None and not yes:
            raise CommandError(
                f"{_name(stream)} has {waiting} waiting mails, and a cancelled stream cannot be"
                " resumed. Add --yes to cancel it, or hold it: postledger stream hold."
            )
        if not holds.cancel_stream(stream.workspace_id, stream.id, actor=actor):
            self.stdout.write(f"{_name(stream)} was already cancelled.")
            return
        self.stdout.write(f"{_name(stream)} is cancelled; {waiting} mails were waiting.")
        code = base_command.stream(number, workspace).block_code
        state = f"failed ({code}): the provider refuses the sender" if code else "cancelled"
        self.stdout.write(f"Workers book them as {state}; mail with the provider goes on.")


def _name(stream: StreamFacts) -> str:
    return f"Stream {stream.id}, {stream.kind} “{stream.title}”,"


def _explain_no_hold(stream: StreamFacts) -> str:
    if stream.cancelled_at is not None:
        return f"{_name(stream)} was cancelled {format_time(stream.cancelled_at)}: nothing is sent."
    own = (hold for hold in stream.holds if hold.scope is HoldScope.STREAM)
    hold = next((hold for hold in own if hold.reason is Reason.PAUSED), None)
    if hold is None or hold.until is None:
        return f"{_name(stream)} is already held until it is released."
    return (
        f"{_name(stream)} is already held until {format_time(hold.until)}; the longer hold stays."
    )


def _format_stream(stream: StreamFacts, workspace: str, books: Books, now: datetime) -> str:
    counts = [
        f"{count} {state.replace('_', ' ')}" for state, count in books.counts.items() if count
    ]
    sums = " + ".join([*counts, f"{books.waiting} waiting"])
    stops = "".join(f"  {stop}" for stop in _list_stops(stream, now))
    return (
        f"{stream.id}  {workspace}  {stream.kind}  “{stream.title}”"
        f"  {books.planned} planned = {sums}{stops}"
    )


def _list_stops(stream: StreamFacts, now: datetime) -> Iterator[str]:
    if stream.cancelled_at is not None:
        yield f"cancelled {format_time(stream.cancelled_at)}"
        return
    for hold in causes.sort_in_force(stream.holds, now=now):
        label = "held" if hold.scope is HoldScope.STREAM else f"its {hold.scope} held"
        end = f" until {format_time(hold.until)}" if hold.until else ""
        yield f"{label}{end} ({hold.reason.value})"
