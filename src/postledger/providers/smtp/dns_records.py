"""Which records in DNS let a server of SMTP send the mail of an address. Pure."""

from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address
from typing import Final

from postledger.providers.dns.records import DkimKey, RecordType, SenderRecords, SpfNeed
from postledger.providers.smtp.settings import SmtpSettings

# What well-known services ask for, by the end of their servers' names.
_SERVICES: Final[Mapping[str, str]] = {
    "amazonaws.com": "include:amazonses.com",
    "sendgrid.net": "include:sendgrid.net",
    "mailgun.org": "include:mailgun.org",
    "gmail.com": "include:_spf.google.com",
    "google.com": "include:_spf.google.com",
    "office365.com": "include:spf.protection.outlook.com",
    "mtasv.net": "include:spf.mtasv.net",
}


def list_records(settings: SmtpSettings, address: str) -> SenderRecords:
    domain, selector = address.rpartition("@")[2], settings.dkim_selector
    keys = (DkimKey(f"{selector}._domainkey.{domain}", RecordType.TXT),) if selector else ()
    return SenderRecords(domain, SpfNeed(domain, _find_term(settings.host)), keys)


def _find_term(host: str) -> str:
    """The term of SPF for a server; empty for one whose mail may leave by another."""
    name = host.strip("[]").rstrip(".").lower()
    with suppress(ValueError):
        address = ip_address(name)
        return f"ip{address.version}:{address}" if address.is_global else ""
    for end, term in _SERVICES.items():
        if name.endswith(f".{end}"):
            return term
    return ""
