"""What must hold after a drill, by comparing the provider's account of it with the ledger's, the
caller's and the harness's own; pure.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from postledger.workers.drill import causes, doubts
from postledger.workers.drill.accounts import Accounts, Booked, Exchange, Fault, Note, Taken, Wire
from postledger.workers.drill.doubts import Cause

__all__ = [
    "Accounts",
    "Booked",
    "Exchange",
    "Fault",
    "Figures",
    "Note",
    "Rule",
    "Taken",
    "Violation",
    "Wire",
    "figures",
    "violations",
]

ACCEPTED, FAILED, IN_DOUBT, WAITING = "accepted", "failed", "in_doubt", "waiting"


class Rule(StrEnum):
    BALANCED = "the books balance"
    ONCE = "a provider takes a mail at most once"
    NO_PHANTOM = "what is booked as accepted was taken: that try, for that address"
    NO_DENIAL = "what was taken is booked as accepted or in doubt"
    OWN = "a mail's bytes belong to its recipient"
    CAUSED = "what ended without being sent has a cause"
    KEPT = "what was promised is in the books"
    FEW_DOUBTS = "no more is in doubt than was with the provider at a fault"
    HEARD = "an answer that was heard is booked"
    EXPLAINED = "every doubt has its reason and its time"
    OVER = "nothing waits once the faults are over"
    MASKED = "no log has a secret or a full address"


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
    without_cause: int = 0
    swapped: int = 0
    resent: int = 0  # taken again because a person chose to send again after a doubt
    lost_in_gap: int = 0  # planned or promised in a time that a restore took away
    explained: int = 0  # how many doubts what the harness saw accounts for
    by_state: Mapping[str, int] = field(default_factory=dict)
    by_cause: Mapping[str, int] = field(default_factory=dict)  # of doubts


def violations(accounts: Accounts) -> list[Violation]:
    return [
        *(Violation(Rule.BALANCED, finding) for finding in accounts.findings),
        *_taken_twice(accounts),
        *_phantoms(accounts),
        *_denials(accounts),
        *_swapped(accounts),
        *_without_cause(accounts),
        *_broken_promises(accounts),
        *_doubts(accounts),
        *_waiting(accounts.ledger),
        *(Violation(Rule.MASKED, leak) for leak in accounts.leaks),
    ]


# A mail is lost when nothing will move it any more although nobody took or refused it.
_LOSSES = {Rule.NO_PHANTOM, Rule.KEPT, Rule.OVER}


def figures(accounts: Accounts) -> Figures:
    broken = violations(accounts)
    states = Counter(booked.state for booked in accounts.ledger.values())
    mails = {rule: {found.mail for found in broken if found.rule is rule} for rule in Rule}
    explained = doubts.explain(accounts)
    twice = len(accounts.journal) - len({taken.address for taken in accounts.journal})
    resent = sum(len(takes) - 1 for takes in _repeated(accounts) if _is_chosen(takes, accounts))
    return Figures(
        mails=len(accounts.ledger),
        taken=len(accounts.journal),
        lost=len(set().union(*(mails[rule] for rule in _LOSSES))),
        duplicates=twice - resent,
        in_doubt=states[IN_DOUBT],
        without_cause=len(mails[Rule.CAUSED]),
        swapped=len(mails[Rule.OWN]),
        resent=resent,
        lost_in_gap=len(set(accounts.in_gap) & set(accounts.promised) - set(accounts.ledger)),
        explained=explained.most,
        by_state=dict(states),
        by_cause=dict(Counter(cause.value for cause in explained.causes.values())),
    )


def _repeated(accounts: Accounts) -> Iterator[list[Taken]]:
    """By address: each mail of a drill has its own, so a second mail for one request shows too."""
    by_address: defaultdict[str, list[Taken]] = defaultdict(list)
    for taken in accounts.journal:
        by_address[taken.address].append(taken)
    return (takes for takes in by_address.values() if len(takes) > 1)


def _is_chosen(takes: Sequence[Taken], accounts: Accounts) -> bool:
    """Whether a person knew of the doubt about all but one of these, and chose to send again."""
    booked = accounts.ledger.get(takes[0].mail)
    if booked is None or {taken.mail for taken in takes} != {takes[0].mail}:
        return False
    tries = [taken.try_number for taken in takes]
    again = causes.sent_again(booked)
    return len(set(tries)) == len(tries) and sum(number not in again for number in tries) <= 1


def _taken_twice(accounts: Accounts) -> Iterator[Violation]:
    for takes in _repeated(accounts):
        if not _is_chosen(takes, accounts):
            tries = ", ".join(f"{taken.mail} try {taken.try_number}" for taken in takes)
            yield Violation(
                Rule.ONCE,
                f"{takes[0].address} was taken {len(takes)} times: {tries}",
                takes[0].mail,
            )


def _phantoms(accounts: Accounts) -> Iterator[Violation]:
    known = {(taken.mail, taken.try_number, taken.address) for taken in accounts.journal}
    for mail, booked in accounts.ledger.items():
        if booked.state == ACCEPTED and not causes.is_counted_as_sent(booked):
            tries = causes.accepted_tries(booked)
            if not any((mail, number, booked.address) in known for number in tries):
                names = " or ".join(str(number) for number in sorted(tries))
                sentence = f"{mail} is accepted, and nobody took try {names} for {booked.address}"
                yield Violation(Rule.NO_PHANTOM, sentence, mail)


def _denials(accounts: Accounts) -> Iterator[Violation]:
    gap = set(accounts.in_gap)
    for mail, address in {taken.mail: taken.address for taken in accounts.journal}.items():
        booked = accounts.ledger.get(mail)
        if booked is None:
            if not gap & {mail, address}:
                sentence = f"{mail} was taken, and the ledger has no such mail"
                yield Violation(Rule.NO_DENIAL, sentence)
        elif booked.state not in {ACCEPTED, IN_DOUBT} and not causes.is_counted_as_unsent(booked):
            yield Violation(Rule.NO_DENIAL, f"{mail} was taken, and is {booked.state}", mail)


def _swapped(accounts: Accounts) -> Iterator[Violation]:
    for taken in accounts.journal:
        booked = accounts.ledger.get(taken.mail)
        meant = {*taken.inside, *([booked.address] if booked else [])} - {taken.address}
        if meant:
            sentence = f"{taken.address} got the mail of {', '.join(sorted(meant))}"
            yield Violation(Rule.OWN, f"{sentence} ({taken.mail})", taken.mail)


def _without_cause(accounts: Accounts) -> Iterator[Violation]:
    for mail, booked in accounts.ledger.items():
        if not causes.has_cause(booked, accounts):
            last = booked.notes[-1].name if booked.notes else "nothing"
            sentence = f"{mail} is {booked.state}, and the last that happened to it is {last}"
            yield Violation(Rule.CAUSED, sentence, mail)


def _broken_promises(accounts: Accounts) -> Iterator[Violation]:
    """What a lost time took away is counted apart."""
    for mail in set(accounts.promised).difference(accounts.ledger, accounts.in_gap):
        yield Violation(Rule.KEPT, f"{mail} was promised, and the ledger has no such mail", mail)


def _doubts(accounts: Accounts) -> Iterator[Violation]:
    explained = doubts.explain(accounts)
    for doubt in explained.of(Cause.NONE):
        sentence = f"try {doubt.try_number} of {doubt.mail} is in doubt, and no fault explains it"
        yield Violation(Rule.HEARD, sentence, doubt.mail)
    armed = explained.of(Cause.ARMED)
    if len(armed) > explained.most_armed:
        yield Violation(
            Rule.FEW_DOUBTS,
            f"{len(armed)} tries are in doubt that were never on the wire; the faults explain"
            f" {explained.most_armed}",
            armed[0].mail,
        )
    for mail, booked in accounts.ledger.items():
        if booked.state == IN_DOUBT and (
            booked.settled_at is None or not doubts.found(mail, booked)
        ):
            yield Violation(Rule.EXPLAINED, f"{mail} is in doubt without a reason or a time", mail)


def _waiting(ledger: Mapping[str, Booked]) -> Iterator[Violation]:
    for mail, booked in ledger.items():
        if booked.state == WAITING:
            yield Violation(Rule.OVER, f"{mail} still waits", mail)
