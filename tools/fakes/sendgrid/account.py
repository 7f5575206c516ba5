"""The account at SendGrid: its keys, verified senders and domains, credits and webhooks."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from tools.fakes.sendgrid.errors import SendGridError, unverified_sender
from tools.fakes.sendgrid.mail import Mail
from tools.fakes.sendgrid.rate_limit import RateLimit
from tools.fakes.sendgrid.webhooks import Webhook, make_webhook


@dataclass(frozen=True, slots=True)
class ApiKey:
    scopes: frozenset[str]

    def check(self, scope: str) -> None:
        if scope and scope not in self.scopes:
            raise SendGridError("forbidden")


@dataclass(slots=True)
class Credits:
    """How many recipients may still get mail until the next reset; None: as many as you like."""

    total: int | None = None
    used: int = 0
    allows_overage: bool = False  # whether more may get mail, which is charged
    next_reset: date = field(default_factory=lambda: _first_of_next_month(datetime.now(UTC)))

    @property
    def last_reset(self) -> date:
        return (self.next_reset - timedelta(days=1)).replace(day=1)

    @property
    def remain(self) -> int | None:
        return None if self.total is None else max(0, self.total - self.used)

    @property
    def overage(self) -> int:
        return 0 if self.total is None else max(0, self.used - self.total)

    def spend(self, count: int) -> None:
        if self.remain is not None and count > self.remain and not self.allows_overage:
            raise SendGridError("credits_exceeded")
        self.used += count


@dataclass(slots=True)
class Account:
    keys: dict[str, ApiKey] = field(default_factory=dict)
    senders: dict[str, bool] = field(default_factory=dict)  # addresses, and whether verified
    domains: dict[str, bool] = field(default_factory=dict)  # the same of domains
    credits: Credits = field(default_factory=Credits)
    rate_limit: RateLimit = field(default_factory=RateLimit)
    webhooks: dict[str, Webhook] = field(default_factory=dict)  # by id

    def add_identities(self, *names: str) -> None:
        """Adds verified senders and authenticated domains."""
        for name in names:
            (self.senders if "@" in name else self.domains)[name.lower()] = True

    def listen(self, url: str, now: datetime) -> Webhook:
        """A signed webhook that gets all events at this URL; it may exist already."""
        for webhook in self.webhooks.values():
            if webhook.url == url:
                return webhook
        webhook = make_webhook(url, now)
        webhook.make_keys()
        self.webhooks[webhook.id] = webhook
        return webhook

    def is_verified(self, address: str) -> bool:
        """Whether mail may come from an address: itself, its domain, or one above that."""
        name = address.lower()
        if self.senders.get(name):
            return True
        domain = name.rpartition("@")[2]
        while domain and not self.domains.get(domain):
            domain = domain.partition(".")[2]
        return bool(domain)

    def accept(self, mail: Mail) -> None:
        """Counts a mail that may be sent; any other is a SendGridError, and is not counted."""
        self._check_senders(mail.senders)
        if not mail.is_sandboxed:
            self.credits.spend(len(mail.recipients))

    def _check_senders(self, senders: Iterable[str]) -> None:
        if not all(map(self.is_verified, senders)):
            raise unverified_sender()


@dataclass(frozen=True, slots=True)
class Caller:
    """An account, and the key that asks for something of it."""

    account: Account
    key: ApiKey


def _first_of_next_month(now: datetime) -> date:
    return date(now.year + now.month // 12, now.month % 12 + 1, 1)
