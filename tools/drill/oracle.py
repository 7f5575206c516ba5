"""The rules that must hold after a drill: compares records of provider, ledger, caller and harness.

Pure.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from postledger.deliveries.states import State
from tools.drill import doubts
from tools.drill.doubts import DOUBTFUL, PROOFS, Cause
from tools.drill.records import Booked, Note, Records, Taken

# Verdicts of the gates before hand-over; the outcome has the name of the state.
_VERDICTS = frozenset({State.SUPPRESSED, State.SKIPPED, State.EXPIRED})
_COUNTED = DOUBTFUL | {"try_later", "refused"}


class Rule(StrEnum):
    BALANCED = "the books balance"
    ONCE = "a provider takes a mail at most once"
    NO_PHANTOM = "what is booked as accepted was taken: that try, for that address"
    NO_DENIAL = "what was taken is booked as accepted or in doubt"
    RIGHT_RECIPIENT = "a mail's bytes belong to its recipient"
    END_HAS_CAUSE = "what ended without being sent has a cause"
    PROMISE_KEPT = "what was promised is in the books"
    FEW_DOUBTS = "no more is in doubt than was with the provider at a fault"
    ANSWER_BOOKED = "an answer that was heard is booked"
    DOUBTED = "a try that was handed over and never answered is in doubt"
    EXPLAINED = "every doubt has its reason and its time"
    REPORTED = "a mail that the provider reported is not in doubt"
    NOTHING_WAITS = "nothing waits once the faults are over"
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
    resent: int = 0  # taken again because a person decided to send again
    lost_in_gap: int = 0  # planned or promised in the lost time
    by_state: Mapping[str, int] = field(default_factory=dict)


def violations(records: Records) -> list[Violation]:
    return [
        *(Violation(Rule.BALANCED, finding) for finding in records.findings),
        *_taken_twice(records),
        *_phantoms(records),
        *_denials(records),
        *_swapped(records),
        *_without_cause(records),
        *_broken_promises(records),
        *_doubts(records),
        *_waiting(records.ledger),
        *(Violation(Rule.MASKED, leak) for leak in records.leaks),
    ]


# A mail is lost when it was neither taken nor refused, and nothing will move it.
_LOSSES = {Rule.NO_PHANTOM, Rule.PROMISE_KEPT, Rule.NOTHING_WAITS}


def figures(records: Records) -> Figures:
    broken = violations(records)
    states = Counter(booked.state for booked in records.ledger.values())
    mails = {
        rule: {violation.mail for violation in broken if violation.rule is rule} for rule in Rule
    }
    twice = len(records.journal) - len({taken.address for taken in records.journal})
    resent = sum(len(takes) - 1 for takes in _repeated(records) if _is_chosen(takes, records))
    return Figures(
        mails=len(records.ledger),
        taken=len(records.journal),
        lost=len(set().union(*(mails[rule] for rule in _LOSSES))),
        duplicates=twice - resent,
        in_doubt=states[State.IN_DOUBT],
        without_cause=len(mails[Rule.END_HAS_CAUSE]),
        swapped=len(mails[Rule.RIGHT_RECIPIENT]),
        resent=resent,
        lost_in_gap=len(set(records.in_gap) & set(records.promised) - set(records.ledger)),
        by_state={state.value: count for state, count in states.items()},
    )


def _repeated(records: Records) -> Iterator[list[Taken]]:
    """By address: each mail has its own, so a second mail for one request is noticed too."""
    by_address: defaultdict[str, list[Taken]] = defaultdict(list)
    for taken in records.journal:
        by_address[taken.address].append(taken)
    return (takes for takes in by_address.values() if len(takes) > 1)


def _is_chosen(takes: Sequence[Taken], records: Records) -> bool:
    """Whether a person decided to send again after each of these but one."""
    booked = records.ledger.get(takes[0].mail)
    if booked is None or {taken.mail for taken in takes} != {takes[0].mail}:
        return False
    tries = [taken.try_number for taken in takes]
    again = _sent_again(booked)
    return len(set(tries)) == len(tries) and sum(number not in again for number in tries) <= 1


def _taken_twice(records: Records) -> Iterator[Violation]:
    for takes in _repeated(records):
        if not _is_chosen(takes, records):
            tries = ", ".join(f"{taken.mail} try {taken.try_number}" for taken in takes)
            sentence = f"{takes[0].address} was taken {len(takes)} times: {tries}"
            yield Violation(Rule.ONCE, sentence, takes[0].mail)


def _phantoms(records: Records) -> Iterator[Violation]:
    taken_tries = {(taken.mail, taken.try_number, taken.address) for taken in records.journal}
    for mail, booked in records.ledger.items():
        if booked.state is State.ACCEPTED and not _has_note(booked, "count_as_sent"):
            tries = _accepted_tries(booked)
            if not any((mail, number, booked.address) in taken_tries for number in tries):
                names = " or ".join(str(number) for number in sorted(tries))
                sentence = f"{mail} is accepted, and nobody took try {names} for {booked.address}"
                yield Violation(Rule.NO_PHANTOM, sentence, mail)


def _denials(records: Records) -> Iterator[Violation]:
    gap = set(records.in_gap)
    for mail, address in {taken.mail: taken.address for taken in records.journal}.items():
        booked = records.ledger.get(mail)
        if booked is None:
            if not gap & {mail, address}:
                sentence = f"{mail} was taken, and the ledger has no such mail"
                yield Violation(Rule.NO_DENIAL, sentence)
        elif booked.state not in {State.ACCEPTED, State.IN_DOUBT} and not _has_note(
            booked, "count_as_not_sent"
        ):
            yield Violation(Rule.NO_DENIAL, f"{mail} was taken, and is {booked.state}", mail)


def _swapped(records: Records) -> Iterator[Violation]:
    for taken in records.journal:
        booked = records.ledger.get(taken.mail)
        meant = {*taken.inside, *([booked.address] if booked else [])} - {taken.address}
        if meant:
            sentence = f"{taken.address} got the mail of {', '.join(sorted(meant))}"
            yield Violation(Rule.RIGHT_RECIPIENT, f"{sentence} ({taken.mail})", taken.mail)


def _without_cause(records: Records) -> Iterator[Violation]:
    for mail, booked in records.ledger.items():
        if not _has_cause(booked, records):
            last = booked.notes[-1].name if booked.notes else "nothing"
            sentence = f"{mail} is {booked.state}, and the last that happened to it is {last}"
            yield Violation(Rule.END_HAS_CAUSE, sentence, mail)


def _broken_promises(records: Records) -> Iterator[Violation]:
    """Mails of the lost time are counted separately."""
    for mail in set(records.promised).difference(records.ledger, records.in_gap):
        yield Violation(
            Rule.PROMISE_KEPT, f"{mail} was promised, and the ledger has no such mail", mail
        )


def _doubts(records: Records) -> Iterator[Violation]:
    explained = doubts.explain(records)
    for doubt in explained.with_cause(Cause.NONE):
        sentence = f"try {doubt.try_number} of {doubt.mail} is in doubt, and no fault explains it"
        yield Violation(Rule.ANSWER_BOOKED, sentence, doubt.mail)
    armed = explained.with_cause(Cause.ARMED)
    if len(armed) > explained.most_armed:
        yield Violation(
            Rule.FEW_DOUBTS,
            f"{len(armed)} tries are in doubt that were never on the wire; the faults explain"
            f" {explained.most_armed}",
            armed[0].mail,
        )
    for mail, try_number in records.wire.unanswered:
        booked = records.ledger.get(mail)
        if booked is None or not _is_doubtful(booked, try_number):
            sentence = f"try {try_number} of {mail} was never answered, and is not in doubt"
            yield Violation(Rule.DOUBTED, sentence, mail)
    for mail, booked in records.ledger.items():
        if booked.state is State.IN_DOUBT and (
            booked.settled_at is None or not doubts.find_doubts(mail, booked)
        ):
            yield Violation(Rule.EXPLAINED, f"{mail} is in doubt without a reason or a time", mail)


def _is_doubtful(booked: Booked, try_number: int) -> bool:
    """Or was: an event may prove a try before anybody doubts it."""
    names = DOUBTFUL | PROOFS
    return any(note.name in names and note.try_number == try_number for note in booked.notes)


def _waiting(ledger: Mapping[str, Booked]) -> Iterator[Violation]:
    for mail, booked in ledger.items():
        if booked.state is State.WAITING:
            yield Violation(Rule.NOTHING_WAITS, f"{mail} still waits", mail)


def _has_cause(booked: Booked, records: Records) -> bool:
    """Whether the history of a mail that ended unsent justifies its state."""
    if booked.state is State.CANCELLED:
        return booked.is_cancelled
    last = booked.notes[-1] if booked.notes else None
    if booked.state in _VERDICTS:
        return last is not None and last.name == booked.state
    if booked.state is not State.FAILED:
        return True
    return last is not None and _may_fail(last, booked, records)


def _may_fail(last: Note, booked: Booked, records: Records) -> bool:
    match last.outcome if last.name == "proved_not_accepted" else last.name:
        case "refused":
            return records.refused is None or booked.address in records.refused
        case "try_later":
            allowed = records.attempts.get(booked.kind)
            return allowed is not None and _attempts(booked) >= allowed
        case "poison":
            return booked.address in records.poisoned
        case "given_up":  # no block lasts for days here
            return booked.is_cancelled
        case "invalid" | "count_as_not_sent":
            return True
        case _:
            return False


def _attempts(booked: Booked) -> int:
    """How many attempts count towards the policy's limit; a requeue resets the count."""
    count = 0
    for note in booked.notes:
        count = 0 if note.name == "requeued" else count + (note.name in _COUNTED)
    return count


def _accepted_tries(booked: Booked) -> set[int]:
    """The tries that the ledger books as taken; an accepted first try leaves no note."""
    named = {
        note.try_number for note in booked.notes if note.name in {"accepted", "proved_accepted"}
    }
    return named or {booked.last_try}


def _has_note(booked: Booked, name: str) -> bool:
    return any(note.name == name for note in booked.notes)


def _sent_again(booked: Booked) -> set[int]:
    """The doubtful tries after which a person decided to send again."""
    doubtful: set[int] = set()
    chosen: set[int] = set()
    for note in booked.notes:
        if note.name in DOUBTFUL:
            doubtful.add(note.try_number)
        elif note.name == "send_again" or (note.name == "requeued" and doubtful):
            chosen |= doubtful
    return chosen
