"""Why a mail stands where it stands: its history in the ledger, and what the provider said."""

from postledger.workers.drill.accounts import Accounts, Booked, Note
from postledger.workers.drill.doubts import DOUBTFUL

COUNT_AS_SENT, COUNT_AS_NOT_SENT = "count_as_sent", "count_as_not_sent"
SEND_AGAIN, REQUEUED = "send_again", "requeued"
PROVED_ACCEPTED, PROVED_NOT_ACCEPTED = "proved_accepted", "proved_not_accepted"
REFUSED, TRY_LATER, INVALID, POISON = "refused", "try_later", "invalid", "poison"

# What the gates say before anything is handed over, by the state that it leads to.
_VERDICTS = frozenset({"suppressed", "skipped", "expired"})
_COUNTED = DOUBTFUL | {TRY_LATER, REFUSED}


def has_cause(booked: Booked, accounts: Accounts) -> bool:
    """Whether a mail that ended without being sent may have ended so."""
    if booked.state == "cancelled":
        return booked.is_cancelled
    last = booked.notes[-1] if booked.notes else None
    if booked.state in _VERDICTS:
        return last is not None and last.name == booked.state
    if booked.state != "failed":
        return True
    return last is not None and _may_fail(last, booked, accounts)


def _may_fail(last: Note, booked: Booked, accounts: Accounts) -> bool:
    match last.outcome if last.name == PROVED_NOT_ACCEPTED else last.name:
        case "refused":
            return accounts.refused is None or booked.address in accounts.refused
        case "try_later":
            allowed = accounts.attempts.get(booked.kind)
            return allowed is not None and _attempts(booked) >= allowed
        case "poison":
            return booked.address in accounts.poisoned
        case "invalid" | "count_as_not_sent":
            return True
        case _:
            return False


def _attempts(booked: Booked) -> int:
    """How many attempts count towards what the policy allows; a requeue starts anew."""
    count = 0
    for note in booked.notes:
        count = 0 if note.name == REQUEUED else count + (note.name in _COUNTED)
    return count


def accepted_tries(booked: Booked) -> set[int]:
    """The tries that the ledger says were taken; a first try that was leaves no note."""
    named = {note.try_number for note in booked.notes if note.name in {"accepted", PROVED_ACCEPTED}}
    return named or {booked.last_try}


def is_counted_as_sent(booked: Booked) -> bool:
    return any(note.name == COUNT_AS_SENT for note in booked.notes)


def is_counted_as_unsent(booked: Booked) -> bool:
    """Whether a person said so, who may be wrong, and nothing was found out since."""
    return any(note.name == COUNT_AS_NOT_SENT for note in booked.notes)


def sent_again(booked: Booked) -> set[int]:
    """The doubtful tries after which a person chose to send again."""
    doubtful: set[int] = set()
    chosen: set[int] = set()
    for note in booked.notes:
        if note.name in DOUBTFUL:
            doubtful.add(note.try_number)
        elif note.name == SEND_AGAIN or (note.name == REQUEUED and doubtful):
            chosen |= doubtful
    return chosen
