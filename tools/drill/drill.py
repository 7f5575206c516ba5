"""One drill: an installation with everything it needs, what was done to it, and the verdict."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tools.drill import books, doubts, losses, oracle, reading
from tools.drill.chaos import Proxy
from tools.drill.customer import Customer
from tools.drill.fleet import LEASE, Fleet
from tools.drill.losses import RequestedMails
from tools.drill.oracle import Figures, Rule, Violation
from tools.drill.records import Records, Wire
from tools.drill.saying import say
from tools.drill.sendgrid import SendGrid
from tools.drill.services import Postgres, RabbitMQ, Redis_
from tools.drill.ses import Ses
from tools.drill.smtp import Smtp
from tools.drill.sqs import Sqs
from tools.fakes.sendgrid.service import API_KEY
from tools.fakes.ses.service import SECRET_ACCESS_KEY

OVER_WITHIN = LEASE + 140.0
PASSWORD = "hunter2-of-the-drill"
CONNECTIONS = 10
ANSWER_TIME = 4.0
_AT_ONCE = 300
_MOST_TOLD = 5
_ANSWERS_WITHIN = 20.0


@dataclass
class Load:
    """Who is mailed: the tenants, the campaign that is fed, and how much was asked for so far."""

    workspace_id: int
    sender_id: int
    stream_id: int
    workspaces: list[int] = field(default_factory=list)  # all of them
    campaigns: int = 1  # that run at once
    words: tuple[str, ...] = ("",)  # for the server, before the names
    planned: int = 0
    is_fed: bool = True
    asked: RequestedMails = field(default_factory=RequestedMails)

    def __post_init__(self) -> None:
        self.workspaces.append(self.workspace_id)

    def reserve(self, count: int) -> int:
        """Numbers for somebody to plan; returns the first."""
        self.asked.add(losses.CAMPAIGN, count, at=time.time())
        first, self.planned = self.planned, self.planned + count
        return first


@dataclass
class Known:
    """What the scenarios did that no other account has."""

    attempts: dict[str, int]  # that the retry policies allow
    outages: list[tuple[float, float]] = field(default_factory=list)
    poisoned: set[str] = field(default_factory=set)
    fenced: set[str] = field(default_factory=set)
    in_gap: set[str] = field(default_factory=set)


@dataclass
class Drill:
    folder: Path
    database: Postgres
    rabbitmq: RabbitMQ
    redis: Redis_
    smtp: Smtp
    proxy: Proxy
    ses: Ses
    sendgrid: SendGrid
    sqs: Sqs | None  # without it SES posts its events
    fleet: Fleet
    customer: Customer
    load: Load
    known: Known
    faults: Counter[str] = field(default_factory=Counter)
    violated: list[Violation] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    figures: Figures | None = None
    causes: Counter[str] = field(default_factory=Counter)  # of doubts
    most_armed: int = 0  # how many doubts the lost processes explain that were never on the wire
    longest_wait: float = 0.0
    _earlier: set[tuple[str, int]] = field(default_factory=set)
    _judged_losses: int = 0
    _judged_at: float = 0.0

    @property
    def kills(self) -> int:
        return sum(self.fleet.kills.values())

    def feed(self) -> None:
        """Keeps some work waiting; nothing is proved by killing the idle."""
        load = self.load
        if load.is_fed and self.waiting() < _AT_ONCE:
            books.plan(load.stream_id, load.reserve(_AT_ONCE), _AT_ONCE, words=load.words)

    def waiting(self) -> int:
        return books.persistently(lambda: reading.waiting(*self.load.workspaces))

    def pass_time(self, seconds: float) -> None:
        """Lets work go on, replaces what died, and keeps feeding."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.feed()
            self.fleet.replace_dead()
            time.sleep(0.1)

    def pass_time_until(self, is_so: Callable[[], bool], *, seconds: float) -> None:
        """Lets work go on until something has come about; raises when it does not."""
        end = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end:
                msg = f"still not so after {seconds} s"
                raise TimeoutError(msg)
            self.pass_time(0.2)

    @contextmanager
    def outage(self) -> Iterator[None]:
        """The database can book nothing meanwhile."""
        since = time.time()
        try:
            yield
        finally:
            self.known.outages.append((since, time.time()))

    def violate(self, rule: Rule, sentence: str) -> None:
        """What a scenario itself found wrong."""
        violation = Violation(rule, sentence)
        say(f"VIOLATED: {rule}. {sentence}.")
        self.violated.append(violation)

    def come_to_rest(self) -> None:
        """After the last fault: everything that waits has to end by itself.

        However long that takes on a slow machine, as long as it becomes less.
        """
        self.proxy.cut = None
        self.customer.stop()
        started = moved_at = time.monotonic()
        fewest = waiting = self.waiting()
        while waiting and time.monotonic() - moved_at < OVER_WITHIN:
            self.fleet.replace_dead()
            time.sleep(0.2)
            waiting = self.waiting()
            if waiting < fewest:
                fewest, moved_at = waiting, time.monotonic()
        self.longest_wait = max(self.longest_wait, time.monotonic() - started)

    def judge(self) -> list[Violation]:
        records = self._read_settled()
        earlier = {violation.sentence for violation in self.violated}
        violations = oracle.violations(records)
        broken = [violation for violation in violations if violation.sentence not in earlier]
        for violation in broken[:_MOST_TOLD]:
            now = datetime.now(UTC)
            for line in reading.describe(violation, records.journal, now=now):
                say(line)
        self.violated += broken
        self.figures = oracle.figures(records)
        self._close_the_books(doubts.explain(records))
        return broken

    def _close_the_books(self, explanation: doubts.DoubtExplanation) -> None:
        """Begins anew: later doubts must be explained by later faults."""
        new = [cause for cause in explanation.causes.values() if cause is not doubts.Cause.EARLIER]
        self.causes.update(cause.value for cause in new)
        self.most_armed += explanation.most_armed
        self._earlier |= {(doubt.mail, doubt.try_number) for doubt in explanation.causes}
        self._judged_losses, self._judged_at = len(self.fleet.losses), time.time()
        self.load.asked, self.load.campaigns = RequestedMails(), 1

    @property
    def explained(self) -> int:
        """How many doubts everything observed so far explains."""
        uncertain = self.causes[doubts.Cause.ARMED] + self.causes[doubts.Cause.NONE]
        return self.causes.total() - uncertain + self.most_armed

    def _read_settled(self) -> Records:
        """A worker that lost its database keeps its answers and books them when it is back."""
        end = time.monotonic() + _ANSWERS_WITHIN
        while True:
            records = books.persistently(self.records)
            rules = {violation.rule for violation in oracle.violations(records)}
            if not rules & {Rule.FEW_DOUBTS, Rule.ANSWER_BOOKED} or time.monotonic() > end:
                return records
            time.sleep(1)

    def records(self) -> Records:
        lines = self.smtp.lines()
        vendors = (self.ses, self.sendgrid)
        exchanges = [*reading.exchanges(lines), *self.ses.proxy.exchanges]
        exchanges += self.sendgrid.proxy.exchanges
        keys = [self.customer.token, self.fleet.environment["SECRET_KEY"]]
        secrets = [PASSWORD, SECRET_ACCESS_KEY, API_KEY, *keys]
        tenants, deeds = self.load.workspaces, self.known
        faults = losses.faults(
            self.fleet.losses[self._judged_losses :],
            asked=self.load.asked,
            exchanges=[exchange for exchange in exchanges if exchange.began_at >= self._judged_at],
            limits=losses.most_armed(
                connections=CONNECTIONS, campaigns=self.load.campaigns, singles=len(tenants)
            ),
        )
        return Records(
            journal=[*reading.journal(lines), *(mail for one in vendors for mail in one.taken())],
            ledger=reading.ledger(*tenants),
            promised=self.customer.promised,
            wire=Wire(
                exchanges,
                faults,
                self.proxy.cut_addresses.union(*(one.proxy.cut_addresses for one in vendors)),
                deeds.outages,
                ANSWER_TIME,
                self._earlier,
                set().union(*(one.proxy.unanswered for one in vendors)),
            ),
            refused=reading.refused(exchanges),
            poisoned=deeds.poisoned,
            attempts=deeds.attempts,
            fenced=deeds.fenced,
            in_gap=deeds.in_gap,
            findings=reading.findings(*tenants),
            leaks=reading.leaks(
                self.fleet.folder.glob("*.log"), secrets=secrets, domain="drill.example"
            ),
        )
