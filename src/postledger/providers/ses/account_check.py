"""Asks SES what an account needs in order to send for its senders; sends nothing.

SES answers about one such question in a second, so each is asked once: the identity of a domain
before those of its addresses, which rarely have one of their own.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from urllib.parse import quote

from postledger.providers import addresses
from postledger.providers.base import Finding
from postledger.providers.http import reading
from postledger.providers.http.reading import Obstacle, Service, Unread
from postledger.providers.ses import findings
from postledger.providers.ses.documents import (
    ACCOUNT_PATH,
    AccountState,
    ConfigurationSetState,
    EventDestinationsState,
    IdentityState,
)
from postledger.providers.ses.events import event_findings
from postledger.providers.ses.settings import SesSettings

_IDENTITY_PATH = "/v2/email/identities/{}"
_CONFIGURATION_SET_PATH = "/v2/email/configuration-sets/{}"
_DESTINATIONS_PATH = f"{_CONFIGURATION_SET_PATH}/event-destinations"


async def check_account(
    service: Service, settings: SesSettings, senders: Sequence[str]
) -> AsyncIterator[Finding]:
    account = await reading.read(service, ACCOUNT_PATH, AccountState)
    if isinstance(account, Unread) and account.obstacle is not Obstacle.DENIED:
        # And so would be everything else.
        yield findings.unread_account(account, settings.region, settings.actual_endpoint)
        return
    for finding in findings.judge_account(account, settings.region):
        yield finding
    identities: dict[str, IdentityState | Unread] = {}
    if settings.from_identity_arn:
        yield findings.foreign_identity(settings.from_identity_arn)
    else:
        identities = await find_identities(service, senders)
    for name, identity in identities.items():
        for finding in findings.judge_identity(name, identity, settings.region):
            yield finding
    names = (
        {settings.configuration_set} if settings.configuration_set else _default_sets(identities)
    )
    async for finding in _check_configuration_sets(service, sorted(names)):
        yield finding


async def _check_configuration_sets(
    service: Service, names: Sequence[str]
) -> AsyncIterator[Finding]:
    for name in names:
        quoted = quote(name, safe="")
        state = await reading.read(
            service, _CONFIGURATION_SET_PATH.format(quoted), ConfigurationSetState
        )
        yield findings.judge_configuration_set(name, state)
        if isinstance(state, Unread) and state.obstacle is not Obstacle.DENIED:
            continue
        path = _DESTINATIONS_PATH.format(quoted)
        destinations = await reading.read(service, path, EventDestinationsState)
        yield event_findings.judge_destinations(name, destinations)
    if not names:
        yield findings.no_configuration_set()


def list_identities(address: str) -> list[str]:
    """The names under which SES may know an address: its domain, those above it, itself."""
    # SES verifies a domain for all below it.
    return [*addresses.list_domains(address.rpartition("@")[2]), address]


async def find_identities(
    service: Service, senders: Sequence[str]
) -> dict[str, IdentityState | Unread]:
    """The identities that the senders use, by name; Unread stands for one that is missing."""
    by_domain: defaultdict[str, list[str]] = defaultdict(list)
    for address in sorted(set(senders)):
        by_domain[address.rpartition("@")[2]].append(address)
    identities: dict[str, IdentityState | Unread] = {}
    for domain, froms in by_domain.items():
        name, identity = await _find_identity(service, list(addresses.list_domains(domain)))
        if _is_verified(identity):
            identities[name] = identity
            continue
        for address in froms:
            own = await _read_identity(service, address)
            if isinstance(own, IdentityState) and (own.is_verified or isinstance(identity, Unread)):
                identities[address] = own
            else:
                identities[name] = identity
    return identities


async def _find_identity(
    service: Service, names: Sequence[str]
) -> tuple[str, IdentityState | Unread]:
    """The first that is verified, else the first that exists, else the first name."""
    identities: list[tuple[str, IdentityState | Unread]] = []
    for name in names:
        identity = await _read_identity(service, name)
        if _is_verified(identity):
            return name, identity
        identities.append((name, identity))
    return next((pair for pair in identities if isinstance(pair[1], IdentityState)), identities[0])


async def _read_identity(service: Service, name: str) -> IdentityState | Unread:
    return await reading.read(service, _IDENTITY_PATH.format(quote(name, safe="")), IdentityState)


def _is_verified(identity: IdentityState | Unread) -> bool:
    return isinstance(identity, IdentityState) and identity.is_verified


def _default_sets(identities: Mapping[str, IdentityState | Unread]) -> set[str]:
    """The sets that SES uses for mail that names none."""
    states = [identity for identity in identities.values() if isinstance(identity, IdentityState)]
    return {state.configuration_set_name for state in states if state.configuration_set_name}
