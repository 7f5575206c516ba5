"""Asks SendGrid what an account needs in order to send for its senders; sends nothing.

SendGrid lists the permissions of the key itself, so nothing is asked that it would not say.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from urllib.parse import urlencode

from postledger.providers import addresses
from postledger.providers.base import Finding
from postledger.providers.http import reading
from postledger.providers.http.reading import Obstacle, Service, Unread
from postledger.providers.sendgrid import documents, findings, quota
from postledger.providers.sendgrid.documents import (
    DomainsState,
    DomainState,
    ScopesState,
    SendersState,
    SenderState,
)
from postledger.providers.sendgrid.quota import CreditsState
from postledger.providers.sendgrid.settings import SendGridSettings

_SEND = "mail.send"
_READ_DOMAINS = "whitelabel.read"
_READ_CREDITS = "user.credits.read"
_MOST_PAGES = 20


async def check_account(
    service: Service, settings: SendGridSettings, senders: Sequence[str]
) -> AsyncIterator[Finding]:
    state = await reading.read(service, documents.SCOPES_PATH, ScopesState)
    if isinstance(state, Unread) and state.obstacle is not Obstacle.DENIED:
        # And so would be everything else.
        yield findings.unread_key(state, settings)
        return
    scopes = None if isinstance(state, Unread) else state.scopes
    yield findings.judge_key(may_send=scopes is None or _SEND in scopes, settings=settings)
    if scopes is not None and _READ_CREDITS not in scopes:
        yield findings.denied("quota", "how many mails the plan has left", _READ_CREDITS)
    else:
        credits_ = await reading.read(service, quota.CREDITS_PATH, CreditsState)
        yield findings.judge_credits(credits_, _READ_CREDITS)
    if scopes is not None and _READ_DOMAINS not in scopes:
        if senders:
            yield findings.denied("identity", "whether the senders are verified", _READ_DOMAINS)
        return
    async for finding in _check_identities(service, settings, senders, scopes or frozenset()):
        yield finding


async def _check_identities(
    service: Service, settings: SendGridSettings, senders: Sequence[str], scopes: frozenset[str]
) -> AsyncIterator[Finding]:
    by_domain: defaultdict[str, list[str]] = defaultdict(list)
    for address in sorted(set(senders)):
        by_domain[address.rpartition("@")[2]].append(address)
    singles: list[SenderState] | Unread | None = None
    for name, froms in by_domain.items():
        domain = await find_domain(service, name)
        if isinstance(domain, Unread):
            yield findings.unread_domain(name, domain, _READ_DOMAINS)
            continue
        if domain is not None and domain.valid and domain.domain == name:
            yield findings.authenticated(name)
            continue
        if singles is None:  # asked once, and only if a domain is not enough
            singles = await _list_senders(service)
        for address in froms:
            yield findings.judge_sender(
                address, domain, singles, region=settings.region, scopes=scopes
            )


async def _list_senders(service: Service) -> list[SenderState] | Unread:
    """All single senders, verified or not; SendGrid does not say how long its pages are."""
    senders: list[SenderState] = []
    for _ in range(_MOST_PAGES):
        query = f"?{urlencode({'lastSeenID': senders[-1].id})}" if senders else ""
        page = await reading.read(service, documents.SENDERS_PATH + query, SendersState)
        if isinstance(page, Unread):
            return page
        if not page.results:
            break
        senders += page.results
    return senders


async def find_domain(service: Service, name: str) -> DomainState | Unread | None:
    """The first of the domain and those above it that is authenticated, else what is to be."""
    pending = None
    for candidate in addresses.list_domains(name):
        path = f"{documents.DOMAINS_PATH}?{urlencode({'domain': candidate})}"
        listed = await reading.read(service, path, DomainsState)
        if isinstance(listed, Unread):
            return listed
        matching = [state for state in listed.root if state.domain.lower() == candidate]
        for state in matching:
            if state.valid:
                return state
        if candidate == name and matching:
            pending = matching[0]
    return pending
