"""Two workers under limits, with a Redis and a clock of their own, seen at several moments.

One story for all tests: its runs wait side by side. The clock of the workers and of Redis is set
ahead while they run. The database's cannot be set, for other tests use its server: what it would
have passed by then is brought into its past.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, override
from uuid import UUID

from django.db import connection
from redis import Redis

from postledger.accounts import provider_accounts, senders, working_hours, workspaces
from postledger.accounts.limits import LimitChanges
from postledger.accounts.models import AccountQuota
from postledger.accounts.queries import Organisation
from postledger.campaigns.drafts import drafts
from postledger.campaigns.drafts.drafts import Draft
from postledger.campaigns.launches import launching
from postledger.campaigns.models import Run
from postledger.content.rendering.source import Format
from postledger.deliveries import audit, queries
from postledger.deliveries.states import State
from postledger.dispatch.models import Worker
from postledger.mailing.content_source import InlineSource
from postledger.mailing.send_times import SendTime
from tests.cli import installations
from tests.journeys import rig, stage
from tests.pacing import clock_hours, paced
from tests.web import callers
from tools.drill.skew import SetClock

SECRET = "only-for-tests, and long enough here"
WORDS = InlineSource("News", "Hello.", Format.MARKDOWN)
OPENS_AT = 17  # in a zone where it is about noon
MORNING = 9


@dataclass(frozen=True)
class SeenRun:
    """What the view campaign_queue and the books say of a run."""

    status: str
    defer_reason: str | None
    deferred_until: datetime | None
    accepted: int
    failed: int
    waiting: int
    is_in_flight: bool


type Seen = Mapping[str, SeenRun]


@dataclass(frozen=True)
class Clock:
    """That of the workers and of Redis."""

    set_clock: SetClock
    began_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    zone_hour: int = 12  # that of the workspaces when the story begins

    @property
    def next_hour(self) -> datetime:
        return clock_hours.next_hour(self.began_at)

    @property
    def opening(self) -> datetime:
        return self.next_hour + timedelta(hours=OPENS_AT - self.zone_hour - 1)

    @property
    def next_morning(self) -> datetime:
        return self.next_hour + timedelta(hours=24 + MORNING - self.zone_hour - 1)

    def set_to(self, moment: datetime) -> None:
        """Sets the clock a second beyond a moment, and ends the causes that end until then."""
        now = moment + timedelta(seconds=1)
        self.set_clock.set_ahead(now - datetime.now(UTC))
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE deliveries_streamhold SET until = clock_timestamp() - interval '1 second'"
                " WHERE until <= %s",
                [now],
            )


@dataclass
class QuotaPage:
    """What a provider tells of the quota of an account."""

    emails_available: int = 0
    port: int = 0

    @contextmanager
    def served(self) -> Iterator["QuotaPage"]:
        page = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = json.dumps({"emails_available": page.emails_available}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            @override
            def log_message(self, *_: object) -> None:
                """Says nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = server.server_port
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()


@dataclass(frozen=True)
class Publisher:
    """A workspace that sends campaigns to all its readers."""

    workspace_id: int
    account_id: int
    sender_id: int
    journal: Path

    @property
    def taken(self) -> Mapping[str, int]:
        return stage.taken(self.journal) if self.journal.exists() else {}

    def launch(self, tag: str, sender: str | None = None, at: datetime | None = None) -> UUID:
        """As a person does; the workers plan the audience."""
        now = datetime.now(UTC)
        draft = Draft(tag, tag, WORDS, sender, timing=SendTime(at))
        made = drafts.create_campaign(self.workspace_id, draft, actor="alice", now=now)
        return launching.launch_campaign(self.workspace_id, made, actor="alice", now=now)


def open_publisher(folder: Path, name: str, addresses: Sequence[str], **limits: Any) -> Publisher:
    """Limits are those of its sender, whose provider is the sandbox."""
    workspace_id = workspaces.create_workspace(name, actor="alice")
    unsubscribe = Organisation(name, "1 Main St", "https://acme.example/unsubscribe")
    workspaces.set_organisation(workspace_id, unsubscribe, actor="alice")
    workspaces.set_time_zone(workspace_id, clock_hours.find_noon_zone(), actor="alice")
    journal = folder / f"{name}-journal"
    account_id = provider_accounts.create_account(
        workspace_id, name="main", kind="sandbox", settings={"journal": str(journal)}, actor="alice"
    )
    publisher = Publisher(
        workspace_id, account_id, add_sender(workspace_id, account_id, "news", **limits), journal
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_contact (workspace_id, address, name, created_at)"
            " SELECT %s, address, '', clock_timestamp() FROM unnest(%s::text[]) AS address",
            [workspace_id, list(addresses)],
        )
    return publisher


def add_sender(workspace_id: int, account_id: int, name: str, **limits: Any) -> int:
    address = f"{name}@{workspace_id}.example"
    added = senders.create_sender(
        workspace_id, address=address, name=name, account_id=account_id, actor="alice"
    )
    changes: LimitChanges = limits  # type: ignore[assignment]  # by their names
    senders.set_limits(workspace_id, sender_id=added, actor="alice", **changes)
    return added


def people(count: int) -> list[str]:
    return [f"r{number}@example.com" for number in range(count)]


@dataclass
class Story:
    """The runs by their names, and what was seen of them."""

    folder: Path
    clock: Clock
    page: QuotaPage
    publishers: dict[str, Publisher] = field(default_factory=dict)
    runs: dict[str, UUID] = field(default_factory=dict)
    # When everything that a limit holds is held; an hour later; at the opening; on the next day.
    at_first: Seen = field(default_factory=dict)
    an_hour_later: Seen = field(default_factory=dict)
    at_the_opening: Seen = field(default_factory=dict)
    next_morning: Seen = field(default_factory=dict)
    at_last: Seen = field(default_factory=dict)
    discrepancies: Sequence[str] = ()
    polled: Mapping[str, Any] = field(default_factory=dict)
    taken_at_first: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def furnish(self) -> None:
        """Opens the workspaces and sets their limits."""
        self._open("hourly", people(150), rate_per_hour=100)
        self._open("daily", people(130), daily_limit=100)
        self._open("shared", people(100), rate_per_hour=100)
        self._open("failing", [*people(9), *(f"refuse+{n}@example.com" for n in range(3))])
        self._open("busy", people(300), rate_per_second=1)
        hours = self._open("hours", people(20))
        senders.set_hours(
            hours.workspace_id,
            sender_id=hours.sender_id,
            hours=working_hours.parse_hours([f"{OPENS_AT}:00-{OPENS_AT + 1}:00"]),
            actor="alice",
        )
        busy = self.publishers["busy"]
        add_sender(busy.workspace_id, busy.account_id, "slow", rate_per_hour=1)
        quota = self._open("quota", people(20))
        source = {"url": f"http://127.0.0.1:{self.page.port}/", "path": "emails_available"}
        provider_accounts.set_quota_source(
            quota.workspace_id, account_id=quota.account_id, source=source, actor="alice"
        )

    def _open(self, name: str, addresses: Sequence[str], **limits: Any) -> Publisher:
        self.publishers[name] = open_publisher(self.folder, name, addresses, **limits)
        return self.publishers[name]

    def launch_all(self) -> None:
        rig.until(AccountQuota.objects.exclude(synced_at=None).exists)
        for name in ("hourly", "daily", "failing", "hours", "quota"):
            self.runs[name] = self.publishers[name].launch(name)
        for number in range(4):
            self.runs[f"shared {number}"] = self.publishers["shared"].launch(f"shared-{number}")
        busy = self.publishers["busy"]
        self.runs["active"] = busy.launch("active")
        self.runs["deferred"] = busy.launch("deferred", sender=f"slow@{busy.workspace_id}.example")
        self.runs["scheduled"] = busy.launch("scheduled", at=self.clock.next_morning)

    def live(self) -> None:
        """Lets the days pass. Nobody acts on a run after its launch."""
        self.launch_all()
        shared = [name for name in self.runs if name.startswith("shared")]
        limited = ["hourly", "daily", "quota", "hours", "deferred", "scheduled", *shared]
        self.at_first = self.wait(
            lambda seen: (
                all(is_at_rest(seen[name]) for name in [*limited, "failing"])
                and seen["active"].accepted > 0
            )
        )
        self.polled = poll(self.publishers["busy"].workspace_id)
        self.taken_at_first = {name: owner.taken for name, owner in self.publishers.items()}
        self._let_provider_take_more()
        self.clock.set_to(self.clock.next_hour)
        self.an_hour_later = self.wait(
            lambda seen: all(
                is_at_rest(seen[name], self.clock.next_hour) for name in ["hourly", *shared]
            )
        )
        self.clock.set_to(self.clock.opening)
        self.at_the_opening = self.wait(lambda seen: seen["hours"].waiting == 0)
        self.clock.set_to(self.clock.next_morning)
        self.next_morning = self.wait(
            lambda seen: seen["daily"].waiting == 0 and seen["quota"].waiting == 0
        )
        rig.until(lambda: Worker.objects.exclude(claimed_at=None).count() == 2)

    def _let_provider_take_more(self) -> None:
        self.page.emails_available = 1000
        # The database's clock passes the time of the next reading.
        AccountQuota.objects.update(next_sync_at=datetime.now(UTC) - timedelta(seconds=1))

    def wait(self, holds: Callable[[Seen], bool]) -> Seen:
        """Waits until something holds, and returns what was seen then."""
        end = time.monotonic() + rig.PATIENCE
        while not holds(seen := self.look()):
            assert time.monotonic() < end, seen
            time.sleep(0.1)
        return seen

    def look(self) -> Seen:
        streams = {name: Run.objects.get(pk=id_).stream_id for name, id_ in self.runs.items()}
        return {name: look_at(stream_id) for name, stream_id in streams.items()}

    def end(self) -> None:
        """Counts again, after the workers have stopped."""
        self.at_last = self.look()
        streams = Run.objects.values_list("stream_id", flat=True)
        self.discrepancies = [
            str(fault) for each in streams for fault in audit.audit(each).discrepancies
        ]


def is_at_rest(run: SeenRun, after: datetime | None = None) -> bool:
    """Whether nothing of a run is left, or a limit holds it, until later than some moment.

    A limit that one worker finds reached holds the run while another still hands over its share.
    """
    if run.status == "COMPLETED":
        return True
    until = run.deferred_until
    return not run.is_in_flight and until is not None and (after is None or until > after)


def look_at(stream_id: int) -> SeenRun:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT status, defer_reason, deferred_until FROM campaign_queue WHERE id = %s",
            [stream_id],
        )
        [(status, reason, until)] = cursor.fetchall()
        # Before the books: what is in flight now may be settled then, and never the other way.
        cursor.execute(
            "SELECT EXISTS (SELECT FROM deliveries_batch WHERE stream_id = %s"
            " AND armed_to IS NOT NULL)",
            [stream_id],
        )
        [(is_in_flight,)] = cursor.fetchall()
    books = queries.read_books([stream_id])[stream_id]
    counts = books.counts
    return SeenRun(
        status,
        reason,
        until,
        counts[State.ACCEPTED],
        counts[State.FAILED],
        books.waiting,
        is_in_flight=is_in_flight,
    )


def poll(workspace_id: int) -> Mapping[str, Any]:
    """What a program with a key of the workspace sees of its queue."""
    reply = callers.of_workspace(workspace_id).get("/mail/progress/poll/")
    assert reply.status == 200, reply.body
    body: Mapping[str, Any] = reply.body
    return body


@contextmanager
def told(folder: Path, library: Path) -> Iterator[Story]:
    """The story from its beginning to its end, and both workers have stopped."""
    clock_hours.stay_clear_of_the_hours_end()
    set_clock = SetClock(library, folder / "clock")
    set_clock.set_ahead(timedelta())
    environment = {
        "UNSUBSCRIBE_SECRET": SECRET,
        "STATE_FOLDER": str(folder / "state"),
        **set_clock.environment,
    }
    with (
        QuotaPage().served() as page,
        installations.redis(folder, **set_clock.environment) as redis_url,
        rig.installation(folder, stage.database(), REDIS_URL=redis_url, **environment) as installed,
    ):
        with Redis.from_url(redis_url) as redis:
            paced.settle(redis)
        story = Story(folder, Clock(set_clock), page)
        story.furnish()
        pair = installed.two_workers()
        story.live()
        assert [worker.stop() for worker in pair] == [0, 0]
        story.end()
        yield story
