"""Judges the records with the keys that sign a domain's mail; RFC 6376 and 8301. Pure."""

from base64 import b64decode
from collections.abc import Sequence

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key

from postledger.providers.dns import tags
from postledger.providers.dns.records import (
    Answer,
    DkimKey,
    DnsRecord,
    Lookups,
    Question,
    RecordType,
    Unanswered,
    normalise,
)
from postledger.providers.dns.verdicts import Code, Verdict

_FEWEST_BITS = 1024  # receivers ignore a shorter key
_ENOUGH_BITS = 2048
_ED25519_BITS = 256
UNKNOWN_KEY = "v=DKIM1; k=rsa; p=PUBLIC-KEY"
# The worst first: one verdict stands for all keys.
_ORDER = (
    Code.DKIM_UNANSWERED,
    Code.DKIM_MISSING,
    Code.DKIM_DOUBLED,
    Code.DKIM_REVOKED,
    Code.DKIM_BROKEN,
    Code.DKIM_SEVERAL,
    Code.DKIM_ELSEWHERE,
    Code.DKIM_TOO_SHORT,
    Code.DKIM_SHORT,
    Code.DKIM_TESTING,
    Code.DKIM_RIGHT,
)


def list_questions(domain: str, keys: Sequence[DkimKey], lookups: Lookups) -> list[Question]:
    """What has to be looked up next: a record that is missing may stand at a doubled name."""
    questions = [_ask(key) for key in keys]
    missing = [key for key in keys if lookups.get(_ask(key)) == Answer()]
    questions += [_ask_doubled(key, domain) for key in missing]
    return [question for question in questions if question not in lookups]


def judge(domain: str, keys: Sequence[DkimKey], lookups: Lookups) -> Verdict:
    if not keys:
        return Verdict(Code.DKIM_UNKNOWN, domain)
    verdicts = [_judge_key(domain, key, lookups) for key in keys]
    worst = min(verdicts, key=lambda verdict: _ORDER.index(verdict.code))
    return Verdict(
        worst.code,
        worst.name,
        worst.seen,
        worst.detail,
        tuple(record for verdict in verdicts for record in verdict.remedy),
        sum(verdict.code is Code.DKIM_RIGHT for verdict in verdicts),
    )


def _ask(key: DkimKey) -> Question:
    return Question(key.name, key.type)


def _ask_doubled(key: DkimKey, domain: str) -> Question:
    """Many forms add the domain themselves to a name that has it already."""
    return Question(f"{key.name}.{domain}", key.type)


def _judge_key(domain: str, key: DkimKey, lookups: Lookups) -> Verdict:
    lookup = lookups.get(_ask(key), Unanswered(""))
    if isinstance(lookup, Unanswered):
        return Verdict(Code.DKIM_UNANSWERED, key.name, detail=key.name)
    code, detail = _find_fault(domain, key, lookup.values, lookups)
    remedy = () if code in {Code.DKIM_RIGHT, Code.DKIM_TESTING} else (_write_record(key),)
    if code is Code.DKIM_TESTING:
        remedy = (DnsRecord(key.name, key.type, tags.without(lookup.values[0], "t")),)
    return Verdict(code, key.name, lookup.values, detail, remedy)


def _find_fault(
    domain: str, key: DkimKey, values: Sequence[str], lookups: Lookups
) -> tuple[Code, str]:
    if not values:
        doubled = _ask_doubled(key, domain)
        lookup = lookups.get(doubled)
        is_doubled = isinstance(lookup, Answer) and bool(lookup.values)
        return (Code.DKIM_DOUBLED, doubled.name) if is_doubled else (Code.DKIM_MISSING, key.name)
    if key.type is RecordType.CNAME:
        is_right = normalise(values[0]) == normalise(key.value)
        return (Code.DKIM_RIGHT, "") if is_right else (Code.DKIM_ELSEWHERE, values[0])
    if len(values) > 1:
        return Code.DKIM_SEVERAL, str(len(values))
    return _judge_text(values[0])


def _judge_text(text: str) -> tuple[Code, str]:
    parsed = tags.parse(text) or {}
    kind, key = parsed.get("k", "rsa"), parsed.get("p")
    if parsed.get("v", "DKIM1") != "DKIM1":
        return Code.DKIM_BROKEN, f"v={parsed['v']}"
    if kind not in {"rsa", "ed25519"}:
        return Code.DKIM_BROKEN, f"k={kind}"
    if key == "":
        return Code.DKIM_REVOKED, ""
    bits = _measure_key(kind, key or "")
    if bits is None:
        return Code.DKIM_BROKEN, "p="
    return _judge_strength(kind, bits, is_testing="y" in parsed.get("t", "").split(":"))


def _judge_strength(kind: str, bits: int, *, is_testing: bool) -> tuple[Code, str]:
    if kind == "rsa" and bits < _ENOUGH_BITS:
        return (Code.DKIM_SHORT if bits >= _FEWEST_BITS else Code.DKIM_TOO_SHORT), str(bits)
    return (Code.DKIM_TESTING, "t=y") if is_testing else (Code.DKIM_RIGHT, "")


def _measure_key(kind: str, text: str) -> int | None:
    """The length of a public key; None if the text is none."""
    try:
        encoded = b64decode("".join(text.split()), validate=True)
        if kind == "ed25519":
            return _ED25519_BITS if len(encoded) * 8 == _ED25519_BITS else None
        key = load_der_public_key(encoded)
    except (ValueError, UnsupportedAlgorithm):
        return None
    return key.key_size if isinstance(key, RSAPublicKey) else None


def _write_record(key: DkimKey) -> DnsRecord:
    return DnsRecord(key.name, key.type, key.value or UNKNOWN_KEY)
