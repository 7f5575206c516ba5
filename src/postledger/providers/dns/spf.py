"""Judges the SPF record of a domain, with those that it includes; RFC 7208. Pure.

A receiver gives up after ten look-ups. So does this walk: includes without an end cost no more.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network

from postledger.providers.dns.records import (
    Answer,
    DnsRecord,
    Lookups,
    Question,
    RecordType,
    SpfNeed,
    Unanswered,
    normalise,
)
from postledger.providers.dns.verdicts import Code, Verdict

MOST_LOOKUPS = 10
# In a record to paste: what whoever runs the relay has to say. Without it nobody could send.
GAP = "include:SPF-OF-YOUR-RELAY"
_VERSION = "v=spf1"
_COUNTED = frozenset({"include", "a", "mx", "ptr", "exists", "redirect"})
_FOLLOWED = frozenset({"include", "redirect"})
_MODIFIERS = frozenset({"redirect", "exp"})
_NEEDS_TARGET = frozenset({"include", "ip4", "ip6", "exists", "redirect", "exp"})
# Possessive: the records are strangers'.
_TERM = re.compile(
    r"(?P<qualifier>[+?~-]?)(?P<name>all|include|a|mx|ptr|ip4|ip6|exists|redirect|exp)"
    r"(?:(?P<sign>[:=])(?P<target>[^\s/]++))?(?P<prefix>(?:/{1,2}[0-9]{1,3}){0,2}+)",
    re.IGNORECASE,
)
_MODIFIER = re.compile(r"(?P<name>[a-z][a-z0-9_.-]*+)=\S*+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Term:
    text: str
    name: str
    qualifier: str
    target: str

    @property
    def is_followed(self) -> bool:
        # A macro is filled in by a receiver, and counts without being followed.
        return self.name in _FOLLOWED and "%" not in self.target


@dataclass(slots=True)
class _Walk:
    lookups: Lookups
    own_terms: Sequence[_Term] = ()  # of the domain's record
    count: int = 0
    permitted: set[str] = field(default_factory=set)  # terms by which a server may send
    open_questions: list[Question] = field(default_factory=list)
    fault: Verdict | None = None  # the first
    faulty_word: str = ""  # of the domain's own record, behind which it is


def list_questions(need: SpfNeed, lookups: Lookups) -> list[Question]:
    """What has to be looked up next; nothing if the record can be judged."""
    return _walk(need, lookups).open_questions


def judge(need: SpfNeed, lookups: Lookups) -> Verdict:
    """The verdict once `list_questions` is empty, or once nobody looks up any more."""
    texts, walk = _list_texts(need.domain, lookups), _walk(need, lookups)
    if walk.open_questions:
        return Verdict(Code.SPF_UNANSWERED, need.domain, texts, detail=walk.open_questions[0].name)
    verdict = walk.fault or _judge_whole(need, walk)
    words = _keep_words(verdict.code, texts, walk.faulty_word)
    remedy = () if words is None else (_write_record(need, words, verdict.code),)
    return Verdict(verdict.code, need.domain, texts, verdict.detail, remedy)


def _walk(need: SpfNeed, lookups: Lookups) -> _Walk:
    walk = _Walk(lookups)
    _visit(walk, need.domain, is_permitting=True, is_top=True)
    return walk


def _visit(walk: _Walk, name: str, *, is_permitting: bool, is_top: bool = False) -> None:
    lookup = walk.lookups.get(Question(name, RecordType.TXT))
    if lookup is None:
        walk.open_questions.append(Question(name, RecordType.TXT))
        return
    terms = _read_record(name, lookup, is_top=is_top)
    if isinstance(terms, Verdict):
        walk.fault = terms
        return
    if is_top:
        walk.own_terms = terms
    for term in _list_effective(terms):
        is_allowed = is_permitting and term.qualifier == "+"
        if is_allowed:
            walk.permitted.add(_write_term(term))
        _follow(walk, term, is_permitting=is_allowed)
        if walk.fault is not None:
            walk.faulty_word = term.text
            return


def _follow(walk: _Walk, term: _Term, *, is_permitting: bool) -> None:
    if term.name not in _COUNTED:
        return
    walk.count += 1
    if walk.count > MOST_LOOKUPS:
        walk.fault = Verdict(Code.SPF_TOO_MANY_LOOKUPS, "", detail=str(MOST_LOOKUPS))
    elif term.is_followed:
        _visit(walk, term.target, is_permitting=is_permitting)


def _list_effective(terms: Sequence[_Term]) -> list[_Term]:
    """What stands behind `all` is never reached, and with `all` a redirect is ignored."""
    names = [term.name for term in terms]
    if "all" in names:
        return [term for term in terms[: names.index("all") + 1] if term.name != "redirect"]
    return [term for term in terms if term.name != "exp"]


def _read_record(
    name: str, lookup: Answer | Unanswered, *, is_top: bool
) -> Sequence[_Term] | Verdict:
    if isinstance(lookup, Unanswered):
        return Verdict(Code.SPF_UNANSWERED, name, detail=name)
    texts = [text for text in lookup.values if _is_spf(text)]
    if len(texts) == 1:
        terms = _parse(texts[0])
        if not isinstance(terms, str):
            return terms
        broken = Verdict(Code.SPF_BROKEN, name, detail=terms)
    else:
        broken = Verdict(Code.SPF_SEVERAL if texts else Code.SPF_MISSING, name)
    return broken if is_top else Verdict(Code.SPF_INCLUDE_BROKEN, name, detail=name)


def _parse(text: str) -> list[_Term] | str:
    """The terms of a record, or the one that nobody understands."""
    terms = []
    for word in text.split()[1:]:
        term = _read_term(word)
        if term is not None:
            terms.append(term)
        elif not _is_ignored(word):
            return word
    return terms


def _read_term(word: str) -> _Term | None:
    match = _TERM.fullmatch(word)
    if match is None:
        return None
    name, target = match["name"].lower(), normalise(match["target"] or "")
    is_signed = not target or (match["sign"] == "=") == (name in _MODIFIERS)
    if not is_signed or (name in _NEEDS_TARGET and not target):
        return None
    if name in {"ip4", "ip6"} and not _is_network(name, target + match["prefix"]):
        return None
    return _Term(word, name, match["qualifier"] or "+", target)


def _is_network(name: str, text: str) -> bool:
    try:
        return ip_network(text, strict=False).version == int(name[-1])
    except ValueError:
        return False


def _is_ignored(word: str) -> bool:
    """A modifier that a later standard may know; one that is named as a mechanism is a slip."""
    match = _MODIFIER.fullmatch(word)
    return match is not None and _TERM.fullmatch(match["name"]) is None


def _is_spf(text: str) -> bool:
    return text.split(" ", 1)[0].lower() == _VERSION


def _list_texts(domain: str, lookups: Lookups) -> tuple[str, ...]:
    lookup = lookups.get(Question(domain, RecordType.TXT))
    values = lookup.values if isinstance(lookup, Answer) else ()
    return tuple(filter(_is_spf, values))


def _write_term(term: _Term) -> str:
    return f"{term.name}:{term.target}" if term.target else term.name


def _judge_whole(need: SpfNeed, walk: _Walk) -> Verdict:
    """Whether a record that receivers understand says the right thing."""
    if "all" in walk.permitted:
        return Verdict(Code.SPF_OPEN, need.domain)
    lets_send = (
        need.term in walk.permitted if need.term else any(map(_names_server, walk.permitted))
    )
    if not lets_send:
        return Verdict(Code.SPF_LACKS_PROVIDER, need.domain, detail=need.term)
    ends = [term.qualifier for term in walk.own_terms if term.name == "all"]
    is_redirected = any(term.name == "redirect" for term in walk.own_terms)
    is_undecided = ends[0] == "?" if ends else not is_redirected
    if is_undecided:
        return Verdict(Code.SPF_UNDECIDED, need.domain)
    return Verdict(Code.SPF_RIGHT if need.term else Code.SPF_NAMES_SERVERS, need.domain)


def _names_server(written: str) -> bool:
    """Whether a term lets a server send by itself; the terms of other records are listed too."""
    name = written.partition(":")[0]
    return name not in {*_FOLLOWED, "exp"} or "%" in written


def _keep_words(code: Code, texts: Sequence[str], faulty_word: str) -> list[str] | None:
    """What the record to paste takes over; None: nothing has to be pasted."""
    words = list(dict.fromkeys(word for text in texts for word in text.split()[1:]))
    match code:
        case Code.SPF_RIGHT | Code.SPF_NAMES_SERVERS | Code.SPF_UNANSWERED:
            return None
        case Code.SPF_BROKEN:
            return [word for word in words if isinstance(_parse(f"{_VERSION} {word}"), list)]
        case Code.SPF_INCLUDE_BROKEN:
            return [word for word in words if word != faulty_word]
        case Code.SPF_TOO_MANY_LOOKUPS:
            return [word for word in words if word.lower().startswith(("ip4:", "ip6:", "-all"))]
        case _:
            return words


def _write_record(need: SpfNeed, words: Sequence[str], code: Code) -> DnsRecord:
    """As strict as the record was, and never weaker than ~all."""
    kept = [word for word in words if word.lower().lstrip("+?~-") != "all"]
    if need.term and need.term not in {normalise(word.lstrip("+")) for word in kept}:
        kept.insert(0, need.term)
    # Who pastes a record that lets nobody send makes all their mail suspect.
    lacks_relay = code in {Code.SPF_TOO_MANY_LOOKUPS, Code.SPF_LACKS_PROVIDER}
    if not need.term and (lacks_relay or not any(map(_permits, kept))):
        kept.insert(0, GAP)
    if not any(word.lower().startswith("redirect=") for word in kept):
        kept.append("-all" if "-all" in {word.lower() for word in words} else "~all")
    return DnsRecord(need.domain, RecordType.TXT, " ".join([_VERSION, *kept]))


def _permits(word: str) -> bool:
    term = _read_term(word)
    return term is not None and term.qualifier == "+" and term.name != "exp"
