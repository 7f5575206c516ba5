"""Asks SendGrid which records it looks for in DNS, for the mail of an address."""

from collections.abc import Iterator

from postledger.providers.dns.records import (
    DkimKey,
    DnsRecord,
    RecordType,
    SenderRecords,
    SpfNeed,
)
from postledger.providers.http.reading import Service
from postledger.providers.sendgrid import account_check, documents
from postledger.providers.sendgrid.documents import DomainState

_SPF_TERM = "include:sendgrid.net"
_MOST_KEYS = 10


async def read_records(service: Service, address: str) -> SenderRecords:
    """Those of the authenticated domain; the keys stay unknown if SendGrid does not say them."""
    domain = address.rpartition("@")[2]
    state = await account_check.find_domain(service, domain)
    if not isinstance(state, DomainState):
        return SenderRecords(domain)
    return describe_domain(domain, state)


def describe_domain(domain: str, state: DomainState) -> SenderRecords:
    keys = [
        DkimKey(host, type_, record.data)
        for name, host, type_, record in _list_records(state)
        if name.startswith("dkim")
    ]
    bounces = [
        DnsRecord(host, type_, f"10 {record.data}" if type_ is RecordType.MX else record.data)
        for name, host, type_, record in _list_records(state)
        if name in {"mail_cname", "mail_server"}
    ]
    spf = next((host for name, host, _, _ in _list_records(state) if name == "subdomain_spf"), None)
    return SenderRecords(
        domain,
        SpfNeed(spf, _SPF_TERM) if spf else None,
        tuple(keys[:_MOST_KEYS]),
        tuple(bounces[:_MOST_KEYS]),
    )


def _list_records(
    state: DomainState,
) -> Iterator[tuple[str, str, RecordType, documents.DnsRecord]]:
    for name, record in state.dns.items():
        try:
            yield name, record.host.lower(), RecordType(record.type.upper()), record
        except ValueError:
            continue  # of a type that no verdict is about
