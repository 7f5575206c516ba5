"""More than forty zones on an authoritative server of this machine, and what is said of each."""

import asyncio
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from postledger.providers.dns import examination
from postledger.providers.dns.records import (
    DkimKey,
    DnsRecord,
    RecordType,
    SenderRecords,
    SpfNeed,
)
from postledger.providers.dns.resolver import Resolver
from postledger.providers.dns.resolver_address import ResolverAddress
from postledger.providers.dns.verdicts import Code, Subject, Verdict
from tests.providers import dns_server
from tests.providers.dns_server import SERVFAIL, DnsServer

TXT, CNAME, MX = RecordType.TXT, RecordType.CNAME, RecordType.MX
TOKENS = ("aaa", "bbb", "ccc")
SES_MX = "10 feedback-smtp.eu-west-1.amazonses.com"


@cache
def rsa_key(bits: int) -> str:
    """Nobody has the private one."""
    key = rsa.RSAPublicNumbers(65537, (1 << (bits - 1)) + 1).public_key()
    return b64encode(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).decode()


def ed25519_key() -> str:
    key = ed25519.Ed25519PrivateKey.generate().public_key()
    return b64encode(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()


@dataclass(frozen=True, slots=True)
class Zone:
    """What differs from a zone in which everything is right; `@` is its domain."""

    claim: str
    records: Mapping[str, Sequence[str]]
    code: Code
    detail: str = ""
    remedy: tuple[tuple[str, RecordType, str], ...] = ()
    selector: str = ""  # of a server that signs itself; empty: SES signs
    count: int = 0  # of keys that are right
    provider: str = "include:amazonses.com"  # as SPF names it; empty: a relay that nobody knows
    others: frozenset[Code] = field(
        default=frozenset({Code.SPF_RIGHT, Code.DKIM_RIGHT, Code.DMARC_RIGHT, Code.MAIL_FROM_RIGHT})
    )


def spf(claim: str, text: str | Sequence[str], code: Code, detail: str = "", to: str = "") -> Zone:
    texts = [text] if isinstance(text, str) else text
    remedy = (("@", TXT, to),) if to else ()
    return Zone(claim, {"@": [f"TXT {each}" for each in texts]}, code, detail, remedy)


def relay(
    claim: str, text: str | Sequence[str], code: Code, detail: str = "", to: str = ""
) -> Zone:
    return replace(spf(claim, text, code, detail, to), provider="")


def dkim(claim: str, text: Sequence[str], code: Code, detail: str = "", to: str = "") -> Zone:
    name = "s1._domainkey.@"
    remedy = ((name, TXT, to),) if to else ()
    return Zone(claim, {name: [f"TXT {each}" for each in text]}, code, detail, remedy, "s1")


def dmarc(claim: str, text: Sequence[str], code: Code, detail: str = "", to: str = "") -> Zone:
    remedy = (("_dmarc.@", TXT, to),) if to else ()
    return Zone(claim, {"_dmarc.@": [f"TXT {each}" for each in text]}, code, detail, remedy)


SES = "include:amazonses.com"
CHAIN = {
    f"chain{number}.example": [f"TXT v=spf1 include:chain{number + 1}.example"]
    for number in range(1, 40)
}
ELSEWHERE: Mapping[str, Sequence[str]] = {
    "amazonses.com": ["TXT v=spf1 ip4:199.255.192.0/22 -all"],
    "office.example": [f"TXT v=spf1 {SES} ip4:192.0.2.0/24 -all"],
    "nospf.example": ["TXT hello"],
    "nested.example": ["TXT v=spf1 include:nospf.example -all"],
    "loop.example": ["TXT v=spf1 include:loop.example -all"],
    "nobody.example": ["TXT v=spf1 -all"],
    "down.example": [SERVFAIL],
    **CHAIN,
}

ASK_OWNER = "v=DKIM1; k=rsa; p=PUBLIC-KEY"
HOSTS = " ".join(f"a:h{number}.example" for number in range(1, 8))
GAP = "include:SPF-OF-YOUR-RELAY"
START = "v=DMARC1; p=none; rua=mailto:postmaster@@"

ZONES = [
    spf("a right zone", f"v=spf1 {SES} -all", Code.SPF_RIGHT),
    spf("SPF names the provider through another include", "v=spf1 include:office.example ~all",
        Code.SPF_RIGHT),
    spf("SPF is redirected to a record that names it", "v=spf1 redirect=office.example",
        Code.SPF_RIGHT),
    spf("capitals and final dots change nothing", "V=SPF1 Include:AmazonSES.com. -ALL",
        Code.SPF_RIGHT),
    spf("a record of 2,000 bytes comes over TCP",
        f"v=spf1 {SES} {' '.join(f'ip4:192.0.2.{number}' for number in range(120))} -all",
        Code.SPF_RIGHT),
    spf("without SPF", "google-site-verification=1", Code.SPF_MISSING, to=f"v=spf1 {SES} ~all"),
    spf("two SPF records", [f"v=spf1 {SES} -all", "v=spf1 ip4:192.0.2.1 ~all"], Code.SPF_SEVERAL,
        to=f"v=spf1 {SES} ip4:192.0.2.1 -all"),
    spf("a term of SPF is misspelled", f"v=spf1 {SES} ipv4:192.0.2.1 -all", Code.SPF_BROKEN,
        "ipv4:192.0.2.1", to=f"v=spf1 {SES} -all"),
    spf("a mechanism of SPF is written as a modifier", "v=spf1 include=amazonses.com -all",
        Code.SPF_BROKEN, "include=amazonses.com", to=f"v=spf1 {SES} -all"),
    spf("an address of SPF is none", f"v=spf1 {SES} ip4:192.0.2 -all", Code.SPF_BROKEN,
        "ip4:192.0.2", to=f"v=spf1 {SES} -all"),
    spf("SPF includes another provider", "v=spf1 include:sendgrid.example -all",
        Code.SPF_INCLUDE_BROKEN, "sendgrid.example", to=f"v=spf1 {SES} -all"),
    spf("SPF lacks the provider", "v=spf1 ip4:192.0.2.1 -all", Code.SPF_LACKS_PROVIDER, SES,
        to=f"v=spf1 {SES} ip4:192.0.2.1 -all"),
    spf("the provider stands behind all", f"v=spf1 ~all {SES}", Code.SPF_LACKS_PROVIDER, SES,
        to=f"v=spf1 {SES} ~all"),
    spf("SPF refuses the provider", f"v=spf1 -{SES} ~all", Code.SPF_LACKS_PROVIDER, SES,
        to=f"v=spf1 {SES} -{SES} ~all"),
    spf("eleven look-ups", f"v=spf1 ip4:192.0.2.1 a mx {HOSTS} a:h8.example {SES} -all",
        Code.SPF_TOO_MANY_LOOKUPS, "10", to=f"v=spf1 {SES} ip4:192.0.2.1 -all"),
    spf("ten look-ups are not too many", f"v=spf1 a mx {HOSTS} {SES} -all",
        Code.SPF_RIGHT),
    spf("a chain of forty includes", "v=spf1 include:chain1.example -all",
        Code.SPF_TOO_MANY_LOOKUPS, "10", to=f"v=spf1 {SES} -all"),
    spf("an include of itself without an end", f"v=spf1 {SES} include:loop.example -all",
        Code.SPF_TOO_MANY_LOOKUPS, "10", to=f"v=spf1 {SES} -all"),
    spf("an include deeper down has no SPF", f"v=spf1 {SES} include:nested.example -all",
        Code.SPF_INCLUDE_BROKEN, "nospf.example", to=f"v=spf1 {SES} -all"),
    spf("SPF lets everybody send", f"v=spf1 {SES} +all", Code.SPF_OPEN, to=f"v=spf1 {SES} ~all"),
    spf("SPF does not end", f"v=spf1 {SES}", Code.SPF_UNDECIDED, to=f"v=spf1 {SES} ~all"),
    spf("the resolver fails at an include", f"v=spf1 {SES} include:down.example -all",
        Code.SPF_UNANSWERED, "down.example"),
    relay("a relay is not guessed where SPF is missing", "hello", Code.SPF_MISSING,
          to=f"v=spf1 {GAP} ~all"),
    relay("SPF lets nobody send, and so no relay", "v=spf1 -all", Code.SPF_LACKS_PROVIDER,
          to=f"v=spf1 {GAP} -all"),
    relay("SPF explains itself and lets nobody send", "v=spf1 exp=why.example ?all",
          Code.SPF_LACKS_PROVIDER, to=f"v=spf1 {GAP} exp=why.example ~all"),
    relay("SPF includes a record that lets nobody send", "v=spf1 include:nobody.example -all",
          Code.SPF_LACKS_PROVIDER, to=f"v=spf1 {GAP} include:nobody.example -all"),
    relay("the gap was pasted as it stands", f"v=spf1 {GAP} ~all", Code.SPF_INCLUDE_BROKEN,
          "spf-of-your-relay", to=f"v=spf1 {GAP} ~all"),
    relay("everybody may send, a relay too", "v=spf1 +all", Code.SPF_OPEN,
          to=f"v=spf1 {GAP} ~all"),
    relay("two records of a relay that is in one of them", ["v=spf1 -all", "v=spf1 mx ~all"],
          Code.SPF_SEVERAL, to="v=spf1 mx -all"),
    relay("the term of a relay is misspelled", "v=spf1 ipv4:192.0.2.1 -all", Code.SPF_BROKEN,
          "ipv4:192.0.2.1", to=f"v=spf1 {GAP} -all"),
    relay("the relay may be behind an include that is one too many",
          f"v=spf1 ip4:192.0.2.1 a mx {HOSTS} a:h8.example {SES} -all",
          Code.SPF_TOO_MANY_LOOKUPS, "10", to=f"v=spf1 {GAP} ip4:192.0.2.1 -all"),
    relay("SPF of a relay does not end", "v=spf1 ip4:192.0.2.1", Code.SPF_UNDECIDED,
          to="v=spf1 ip4:192.0.2.1 ~all"),
    relay("a server of one's own is named", "v=spf1 ip4:192.0.2.1 -all",
          Code.SPF_NAMES_SERVERS),
    relay("a macro may name the relay", "v=spf1 include:%{d}.relay.example -all",
          Code.SPF_NAMES_SERVERS),
    Zone("one of three CNAMEs of DKIM is missing", {"bbb._domainkey.@": []}, Code.DKIM_MISSING,
         "bbb._domainkey.@", (("bbb._domainkey.@", CNAME, "bbb.dkim.amazonses.com"),), count=2),
    Zone("a CNAME of DKIM leads elsewhere", {"aaa._domainkey.@": ["CNAME old.example"]},
         Code.DKIM_ELSEWHERE, "old.example",
         (("aaa._domainkey.@", CNAME, "aaa.dkim.amazonses.com"),), count=2),
    Zone("a CNAME of DKIM was pasted with the domain twice",
         {"ccc._domainkey.@": [], "ccc._domainkey.@.@": ["CNAME ccc.dkim.amazonses.com"]},
         Code.DKIM_DOUBLED, "ccc._domainkey.@.@",
         (("ccc._domainkey.@", CNAME, "ccc.dkim.amazonses.com"),), count=2),
    dkim("a key of 2048 bits", [f"v=DKIM1; k=rsa; p={rsa_key(2048)}"], Code.DKIM_RIGHT),
    dkim("an Ed25519 key", [f"v=DKIM1; k=ed25519; p={ed25519_key()}"], Code.DKIM_RIGHT),
    dkim("no key", [], Code.DKIM_MISSING, "s1._domainkey.@", ASK_OWNER),
    dkim("a revoked key", ["v=DKIM1; k=rsa; p="], Code.DKIM_REVOKED, to=ASK_OWNER),
    dkim("a key that was cut off", [f"v=DKIM1; p={rsa_key(2048)[:200]}"], Code.DKIM_BROKEN, "p=",
         ASK_OWNER),
    dkim("two keys at one selector", [f"v=DKIM1; p={rsa_key(2048)}", "v=DKIM1; p="],
         Code.DKIM_SEVERAL, "2", ASK_OWNER),
    dkim("a key of 1024 bits", [f"v=DKIM1; p={rsa_key(1024)}"], Code.DKIM_SHORT, "1024",
         ASK_OWNER),
    dkim("a key of 768 bits", [f"v=DKIM1; p={rsa_key(768)}"], Code.DKIM_TOO_SHORT, "768",
         ASK_OWNER),
    dkim("a key that is only tested", [f"v=DKIM1; t=y; p={rsa_key(2048)}"], Code.DKIM_TESTING,
         "t=y", f"v=DKIM1; p={rsa_key(2048)}"),
    dmarc("DMARC rejects", ["v=DMARC1; p=reject"], Code.DMARC_RIGHT, "reject"),
    dmarc("DMARC only watches", ["v=DMARC1; p=none; rua=mailto:d@acme.example"],
          Code.DMARC_WATCHES, "p=none", "v=DMARC1; p=quarantine; rua=mailto:d@acme.example"),
    dmarc("DMARC for some", ["v=DMARC1; p=reject; pct=20"], Code.DMARC_PARTLY, "20",
          "v=DMARC1; p=reject"),
    dmarc("no DMARC", ["hello"], Code.DMARC_MISSING, to=START),
    dmarc("two DMARC records", ["v=DMARC1; p=reject", "v=DMARC1; p=none"], Code.DMARC_SEVERAL,
          to="v=DMARC1; p=none"),
    dmarc("a DMARC record without its semicolon", ["v=DMARC1 p=reject"], Code.DMARC_BROKEN,
          "v=DMARC1;", "v=DMARC1; p=none"),
    dmarc("a policy of DMARC that does not exist", ["v=DMARC1; p=block"], Code.DMARC_BROKEN,
          "p=block", "v=DMARC1; p=none"),
    Zone("the resolver fails at DMARC", {"_dmarc.@": [SERVFAIL]}, Code.DMARC_UNANSWERED,
         "_dmarc.@"),
    Zone("bounces return nowhere", {"bounce.@": []}, Code.MAIL_FROM_MISSING,
         remedy=(("bounce.@", MX, SES_MX),)),
    Zone("bounces return to another server", {"bounce.@": ["MX 5 mail.example"]},
         Code.MAIL_FROM_ELSEWHERE, "5 mail.example", (("bounce.@", MX, SES_MX),)),
]  # fmt: skip


def right_records() -> dict[str, Sequence[str]]:
    return {
        "@": [f"TXT v=spf1 {SES} -all"],
        **{f"{token}._domainkey.@": [f"CNAME {token}.dkim.amazonses.com"] for token in TOKENS},
        "_dmarc.@": ["TXT v=DMARC1; p=quarantine"],
        "bounce.@": [f"MX {SES_MX}"],
    }


def need(domain: str, selector: str = "", provider: str = SES) -> SenderRecords:
    keys = tuple(
        DkimKey(f"{token}._domainkey.{domain}", CNAME, f"{token}.dkim.amazonses.com")
        for token in TOKENS
    )
    return SenderRecords(
        domain,
        SpfNeed(domain, provider),
        (DkimKey(f"{selector}._domainkey.{domain}", TXT),) if selector else keys,
        (DnsRecord(f"bounce.{domain}", MX, SES_MX),),
    )


@pytest.fixture(scope="module")
def server() -> Iterator[DnsServer]:
    with dns_server.serving() as running:
        running.serve(ELSEWHERE)
        yield running


def examine(server: DnsServer, needed: SenderRecords) -> dict[Subject, Verdict]:
    async def run() -> list[Verdict]:
        address = ResolverAddress("127.0.0.1", server.port)
        resolver = Resolver(address, question_seconds=20)
        return await examination.examine(needed, resolver, longest=60)

    return {verdict.code.subject: verdict for verdict in asyncio.run(run())}


def test_each_zone_gets_its_verdict_and_its_remedy(server: DnsServer) -> None:
    for number, zone in enumerate(ZONES):
        domain = f"zone{number}.example"
        records = {**right_records(), **zone.records}
        server.serve(
            {
                name.replace("@", domain): [value.replace("@@", f"@{domain}") for value in values]
                for name, values in records.items()
            }
        )

        verdicts = examine(server, need(domain, zone.selector, zone.provider))

        verdict = verdicts.pop(zone.code.subject)
        remedy = [
            (name.replace("@", domain), type_, value.replace("@@", f"@{domain}"))
            for name, type_, value in zone.remedy
        ]
        said = (verdict.code, verdict.detail)
        assert said == (zone.code, zone.detail.replace("@", domain)), zone.claim
        shown = [(record.name, record.type, record.value) for record in verdict.remedy]
        assert shown == remedy, zone.claim
        if zone.count:
            assert verdict.count == zone.count, zone.claim
        assert {other.code for other in verdicts.values()} <= zone.others, zone.claim


def test_the_domain_above_answers_for_one_without_dmarc(server: DnsServer) -> None:
    server.serve({"_dmarc.above.example": ["TXT v=DMARC1; p=reject; sp=none"]})

    verdict = examine(server, SenderRecords("news.mail.above.example"))[Subject.DMARC]

    assert (verdict.code, verdict.name) == (Code.DMARC_WATCHES, "_dmarc.above.example")
    assert verdict.remedy[0].value == "v=DMARC1; p=reject; sp=quarantine"


def test_a_chain_of_includes_is_followed_ten_times_at_most(server: DnsServer) -> None:
    server.serve({"greedy.example": ["TXT v=spf1 include:chain1.example -all"]})
    server.asked.clear()

    examine(server, SenderRecords("greedy.example", SpfNeed("greedy.example")))

    assert sum(name.startswith("chain") for name, _ in server.asked) == 10


def test_a_resolver_that_never_answers_leaves_everything_unchecked() -> None:
    with dns_server.serving() as server:
        names = right_records()
        silent = {name.replace("@", "mute.example"): [dns_server.SILENCE] for name in names}
        server.serve(silent)

        async def run() -> list[Verdict]:
            resolver = Resolver(ResolverAddress("127.0.0.1", server.port), question_seconds=0.2)
            return await examination.examine(need("mute.example"), resolver, longest=0.3)

        verdicts = asyncio.run(run())

    assert all(verdict.code.is_unanswered for verdict in verdicts)
