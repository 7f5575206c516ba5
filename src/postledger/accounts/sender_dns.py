"""Looks up the records of a sender in DNS, and remembers them for some minutes."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings as installation
from pydantic import ValidationError

from postledger.accounts import queries
from postledger.accounts.models import Sender
from postledger.lib.secrets import UnsealableError
from postledger.providers import registry
from postledger.providers.dns import examination, resolver_address
from postledger.providers.dns.records import SenderRecords
from postledger.providers.dns.resolver import Resolver
from postledger.providers.dns.verdicts import Verdict

REMEMBERED_FOR = timedelta(minutes=5)
_PROVIDER_SECONDS = 10.0
_MOST_REMEMBERED = 1_000


@dataclass(frozen=True, slots=True)
class DnsReport:
    domain: str
    verdicts: tuple[Verdict, ...]
    looked_up_at: datetime


type _Key = tuple[int, datetime]

# By sender and the revision of its account; each process has its own.
_reports: dict[_Key, DnsReport] = {}


def is_looked_up(sender: Sender) -> bool:
    """Whether receivers look anything up for its mail; the sandbox has none."""
    return sender.account is not None and sender.account.kind != registry.SANDBOX


def recall_report(sender: Sender, *, now: datetime) -> DnsReport | None:
    """As found up to five minutes ago, without asking anybody."""
    report = _reports.get(_make_key(sender))
    if report is None or not report.looked_up_at <= now < report.looked_up_at + REMEMBERED_FOR:
        return None
    return report


def read_report(sender: Sender, *, now: datetime, is_anew: bool = False) -> DnsReport | None:
    """Asks the provider which records it needs, then a resolver; within 20 seconds.

    None if nobody looks anything up. Call it outside of a transaction: it asks over the network.
    """
    report = None if is_anew else recall_report(sender, now=now)
    if report is not None or not is_looked_up(sender):
        return report
    kind, settings = _read_settings(sender)
    report = asyncio.run(_look_up(kind, settings, sender.address, now))
    if report is not None:
        _remember(_make_key(sender), report)
    return report


def _read_settings(sender: Sender) -> tuple[str, Mapping[str, object]]:
    """Empty if they cannot be unsealed: DNS can be asked without them."""
    try:
        outgoing = queries.outgoing(sender.pk)
    except UnsealableError:
        outgoing = None
    kind = sender.account.kind if sender.account else registry.SANDBOX
    return kind, outgoing.settings if outgoing else {}


async def _look_up(
    kind: str, settings: Mapping[str, object], address: str, now: datetime
) -> DnsReport | None:
    needed = await _read_needed(kind, settings, address)
    if needed is None:
        return None
    server = resolver_address.parse_address(installation.DNS_RESOLVER)
    verdicts = await examination.examine(needed, Resolver(server))
    return DnsReport(needed.domain, tuple(verdicts), now)


async def _read_needed(
    kind: str, settings: Mapping[str, object], address: str
) -> SenderRecords | None:
    """Of a provider that does not say them in time, those that every sender needs."""
    try:
        async with asyncio.timeout(_PROVIDER_SECONDS):
            return await registry.load_module(kind).read_records(settings, address)
    except (TimeoutError, ValidationError):
        return SenderRecords(address.rpartition("@")[2])


def _make_key(sender: Sender) -> _Key:
    return sender.pk, sender.account.updated_at if sender.account else sender.created_at


def _remember(key: _Key, report: DnsReport) -> None:
    while len(_reports) >= _MOST_REMEMBERED:
        del _reports[next(iter(_reports))]
    _reports[key] = report
