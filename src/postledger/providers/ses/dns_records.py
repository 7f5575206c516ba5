"""Which records SES looks for in DNS, for the mail of an identity. Pure."""

from postledger.providers.dns.records import (
    DkimKey,
    DnsRecord,
    RecordType,
    SenderRecords,
    SpfNeed,
)
from postledger.providers.ses.documents import Dkim, IdentityState

_DKIM_ZONE = "dkim.amazonses.com"
_SPF_TERM = "include:amazonses.com"
_MOST_KEYS = 10


def describe_identity(
    domain: str, name: str, identity: IdentityState, region: str
) -> SenderRecords:
    mail_from = identity.mail_from_attributes.mail_from_domain
    keys = () if "@" in name else list_keys(name, identity.dkim_attributes)
    if not mail_from:
        return SenderRecords(domain, dkim=keys)
    bounces = f"10 feedback-smtp.{region}.amazonses.com"
    return SenderRecords(
        domain,
        SpfNeed(mail_from, _SPF_TERM),
        keys,
        (DnsRecord(mail_from, RecordType.MX, bounces),),
    )


def list_keys(name: str, dkim: Dkim) -> tuple[DkimKey, ...]:
    zone, tokens = dkim.signing_hosted_zone or _DKIM_ZONE, dkim.tokens[:_MOST_KEYS]
    if dkim.signing_attributes_origin == "EXTERNAL":  # the key is the owner's, and these selectors
        return tuple(DkimKey(f"{token}._domainkey.{name}", RecordType.TXT) for token in tokens)
    return tuple(
        DkimKey(f"{token}._domainkey.{name}", RecordType.CNAME, f"{token}.{zone}")
        for token in tokens
    )
