"""What must hold after a drill, by comparing three accounts of it: the provider's, the ledger's,
and the caller's; pure.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

ACCEPTED, IN_DOUBT, WAITING = "accepted", "in_doubt", "waiting"


class Rule(StrEnum):
    BALANCED = "the books balance"
    ONCE = "a provider takes a mail at most once"
    NO_PHANTOM = "what is booked as accepted was taken"
    NO_DENIAL = "what was taken is booked as accepted or in doubt"
    KEPT = "what was promised is in the books"
    FEW_DOUBTS = "no more is in doubt than was armed at a fault"
    EXPLAINED = "every doubt has its reason and its time"
    OVER = "nothing waits once the faults are over"
    MASKED = "no log has a secret or a full address"


@dataclass(frozen=True, slots=True)
class Taken:
    """One line of the provider's journal."""

    mail: str  # the delivery's id, whichever try it was
    try_number: int
    address: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Booked:
    """One line of the ledger."""

    address: str
    state: str
    settled_at: datetime | None = None
    reasons: Sequence[str] = ()  # the outcomes that left it in doubt


@dataclass(frozen=True, slots=True)
class Accounts:
    """All that a drill knows when it is over."""

    journal: Sequence[Taken]
    ledger: Mapping[str, Booked]
    promised: Collection[str] = ()
    most_in_doubt: int = 0
    findings: Sequence[str] = ()  # of the recount
    leaks: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Violation:
    rule: Rule
    sentence: str
    mail: str | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    mails: int
    taken: int
    lost: int
    duplicates: int
    in_doubt: int
    by_state: Mapping[str, int] = field(default_factory=dict)


def violations(accounts: Accounts) -> list[Violation]:
    return [
        *(Violation(Rule.BALANCED, finding) for finding in accounts.findings),
        *_taken_twice(accounts.journal),
        *_phantoms(accounts),
        *_denials(accounts),
        *_broken_promises(accounts),
        *_doubts(accounts),
        *_waiting(accounts.ledger),
        *(Violation(Rule.MASKED, leak) for leak in accounts.leaks),
    ]


def figures(accounts: Accounts) -> Figures:
    """A mail is lost when nothing will move it any more although nobody took or refused it."""
    broken = violations(accounts)
    states = Counter(booked.state for booked in accounts.ledger.values())
    lost = {found.mail for found in broken if found.rule in _LOSSES}
    return Figures(
        mails=len(accounts.ledger),
        taken=len(accounts.journal),
        lost=len(lost),
        duplicates=len(accounts.journal) - len({taken.address for taken in accounts.journal}),
        in_doubt=states[IN_DOUBT],
        by_state=dict(states),
    )


_LOSSES = {Rule.NO_PHANTOM, Rule.KEPT, Rule.OVER}


def _taken_twice(journal: Sequence[Taken]) -> Iterator[Violation]:
    """By address: each mail of a drill has its own, so a second mail for one request shows too."""
    by_address: defaultdict[str, list[Taken]] = defaultdict(list)
    for taken in journal:
        by_address[taken.address].append(taken)
    for address, lines in by_address.items():
        if len(lines) > 1:
            tries = ", ".join(f"{taken.mail} try {taken.try_number}" for taken in lines)
            yield Violation(
                Rule.ONCE, f"{address} was taken {len(lines)} times: {tries}", lines[0].mail
            )


def _phantoms(accounts: Accounts) -> Iterator[Violation]:
    known = {taken.mail for taken in accounts.journal}
    for mail, booked in accounts.ledger.items():
        if booked.state == ACCEPTED and mail not in known:
            yield Violation(Rule.NO_PHANTOM, f"{mail} is accepted, and nobody took it", mail)


def _denials(accounts: Accounts) -> Iterator[Violation]:
    for mail in {taken.mail for taken in accounts.journal}:
        booked = accounts.ledger.get(mail)
        if booked is None:
            yield Violation(Rule.NO_DENIAL, f"{mail} was taken, and the ledger has no such mail")
        elif booked.state not in {ACCEPTED, IN_DOUBT}:
            yield Violation(Rule.NO_DENIAL, f"{mail} was taken, and is {booked.state}", mail)


def _broken_promises(accounts: Accounts) -> Iterator[Violation]:
    for mail in accounts.promised:
        if mail not in accounts.ledger:
            yield Violation(
                Rule.KEPT, f"{mail} was promised, and the ledger has no such mail", mail
            )


def _doubts(accounts: Accounts) -> Iterator[Violation]:
    doubts = {mail: booked for mail, booked in accounts.ledger.items() if booked.state == IN_DOUBT}
    if len(doubts) > accounts.most_in_doubt:
        yield Violation(
            Rule.FEW_DOUBTS,
            f"{len(doubts)} are in doubt; the faults explain {accounts.most_in_doubt}",
            next(iter(doubts)),
        )
    for mail, booked in doubts.items():
        if booked.settled_at is None or not booked.reasons:
            yield Violation(Rule.EXPLAINED, f"{mail} is in doubt without a reason or a time", mail)


def _waiting(ledger: Mapping[str, Booked]) -> Iterator[Violation]:
    for mail, booked in ledger.items():
        if booked.state == WAITING:
            yield Violation(Rule.OVER, f"{mail} still waits", mail)
