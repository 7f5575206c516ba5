"""Judges the DMARC record of a domain, or of the next domain above it that has one. Pure."""

from collections.abc import Sequence
from itertools import islice

from postledger.providers import addresses
from postledger.providers.dns import tags
from postledger.providers.dns.records import (
    Answer,
    DnsRecord,
    Lookups,
    Question,
    RecordType,
    Unanswered,
)
from postledger.providers.dns.verdicts import Code, Verdict

_VERSION = "v=dmarc1"
_POLICIES = ("none", "quarantine", "reject")
_MOST_DOMAINS = 8
_WHOLE = 100  # percent


def list_questions(domain: str, lookups: Lookups) -> list[Question]:
    """What has to be looked up next: the domain above, where this one has no record."""
    for _, question in _walk(domain):
        lookup = lookups.get(question)
        if lookup is None:
            return [question]
        if isinstance(lookup, Unanswered) or _list_texts(lookup):
            return []
    return []


def judge(domain: str, lookups: Lookups) -> Verdict:
    own = f"_dmarc.{domain}"
    for holder, question in _walk(domain):
        lookup = lookups.get(question, Unanswered(""))
        if isinstance(lookup, Unanswered):
            return Verdict(Code.DMARC_UNANSWERED, own, detail=question.name)
        texts = _list_texts(lookup)
        if texts:
            return _judge_texts(question.name, texts, is_own=holder == domain)
    start = DnsRecord(own, RecordType.TXT, f"v=DMARC1; p=none; rua=mailto:postmaster@{domain}")
    return Verdict(Code.DMARC_MISSING, own, remedy=(start,))


def _walk(domain: str) -> list[tuple[str, Question]]:
    return [
        (name, Question(f"_dmarc.{name}", RecordType.TXT))
        for name in islice(addresses.list_domains(domain), _MOST_DOMAINS)
    ]


def _list_texts(answer: Answer) -> tuple[str, ...]:
    return tuple(text for text in answer.values if text.strip().lower().startswith(_VERSION))


def _judge_texts(name: str, texts: Sequence[str], *, is_own: bool) -> Verdict:
    seen = tuple(texts)
    if len(texts) > 1:
        return Verdict(Code.DMARC_SEVERAL, name, seen, remedy=(_paste(name, texts[0]),))
    parsed = tags.parse(texts[0])
    fault = _find_fault(parsed)
    if fault is not None or parsed is None:
        repaired = _paste(name, "v=DMARC1; p=none")
        return Verdict(Code.DMARC_BROKEN, name, seen, fault or "", (repaired,))
    tag = "p" if is_own or "sp" not in parsed else "sp"
    policy = parsed[tag].lower()
    if policy == "none":
        stricter = _paste(name, _change(texts[0], tag, "quarantine"))
        return Verdict(Code.DMARC_WATCHES, name, seen, f"{tag}=none", (stricter,))
    percent = parsed.get("pct", str(_WHOLE))
    if percent != str(_WHOLE):
        whole = _paste(name, tags.without(texts[0], "pct"))
        return Verdict(Code.DMARC_PARTLY, name, seen, percent, (whole,))
    return Verdict(Code.DMARC_RIGHT, name, seen, policy)


def _find_fault(parsed: dict[str, str] | None) -> str | None:
    """The tag that receivers do not understand, for which they ignore the whole record."""
    if parsed is None or parsed.get("v") != "DMARC1":
        return "v=DMARC1;"
    for tag in ("p", "sp"):
        policy = parsed.get(tag, "" if tag == "p" else "none")
        if policy.lower() not in _POLICIES:
            return f"{tag}={policy}"
    percent = parsed.get("pct", "0")
    return None if percent.isdecimal() and int(percent[:4]) <= _WHOLE else f"pct={percent}"


def _change(text: str, tag: str, value: str) -> str:
    parts = [part.strip() for part in text.split(";") if part.strip()]
    return "; ".join(
        f"{tag}={value}" if part.partition("=")[0].strip().lower() == tag else part
        for part in parts
    )


def _paste(name: str, text: str) -> DnsRecord:
    return DnsRecord(name, RecordType.TXT, text)
