"""The whole machine: the states of a delivery, and which verb may move it from where to where."""

from collections.abc import Mapping
from enum import StrEnum


class State(StrEnum):
    """The state of one delivery."""

    WAITING = "waiting"  # planned, no result yet; exactly one live batch covers it
    ACCEPTED = "accepted"  # the provider took it; nothing changes this any more
    FAILED = "failed"  # given up: refused, invalid or out of attempts; a person may requeue it
    SKIPPED = "skipped"  # must not go, by the recipient's own settings
    SUPPRESSED = "suppressed"  # must not go: the address bounced, complained or unsubscribed
    EXPIRED = "expired"  # its time to live ended before it could go
    CANCELLED = "cancelled"  # it, or its stream, was cancelled before it went
    IN_DOUBT = "in_doubt"  # armed, and the result is unknown


class Verb(StrEnum):
    """What can happen to a delivery; each is a function of the ledger."""

    ARM = "arm"  # the gates' verdicts, committed together with the armed window
    SETTLE = "settle"  # the provider's answers, written by the holder of the lease
    SWEEP = "sweep"  # a lost lease: armed windows become doubt, poison fails
    DRAIN = "drain"  # the rest of a cancelled stream
    GIVE_UP = "give_up"  # the waiting mail of a sender that stayed blocked
    CANCEL_DELIVERY = "cancel_delivery"  # a caller cancels a single mail that waits
    ERASE = "erase"  # a person asked for it: mail that waits for them ends
    RECORD = "record"  # evidence from outside the lease: events and late answers
    RESOLVE = "resolve"  # a person's word on a doubt
    REQUEUE = "requeue"  # a person's second chance for a failure
    SUPERSEDE = "supersede"  # a later run plans the recipient of a failure again
    FENCE = "fence"  # a restored database: what the lost time may have sent is in doubt


_REFUSALS = frozenset({State.FAILED, State.SKIPPED, State.SUPPRESSED, State.EXPIRED})

# A doubt is sticky: a verb that would close a delivery whose earlier try is unresolved puts it
# back in doubt instead, which is why ARM, DRAIN, GIVE_UP and ERASE lead there too.
TRANSITIONS: Mapping[tuple[State, State], frozenset[Verb]] = {
    (State.WAITING, State.WAITING): frozenset({Verb.SETTLE}),
    (State.WAITING, State.ACCEPTED): frozenset({Verb.SETTLE, Verb.RECORD}),
    (State.WAITING, State.FAILED): frozenset(
        {Verb.SETTLE, Verb.ARM, Verb.SWEEP, Verb.DRAIN, Verb.GIVE_UP}
    ),
    (State.WAITING, State.SKIPPED): frozenset({Verb.ARM}),
    (State.WAITING, State.SUPPRESSED): frozenset({Verb.ARM, Verb.ERASE}),
    (State.WAITING, State.EXPIRED): frozenset({Verb.ARM}),
    (State.WAITING, State.CANCELLED): frozenset({Verb.DRAIN, Verb.CANCEL_DELIVERY}),
    (State.WAITING, State.IN_DOUBT): frozenset(
        {Verb.SETTLE, Verb.SWEEP, Verb.ARM, Verb.DRAIN, Verb.GIVE_UP, Verb.ERASE, Verb.FENCE}
    ),
    (State.IN_DOUBT, State.ACCEPTED): frozenset({Verb.RECORD, Verb.RESOLVE}),
    (State.IN_DOUBT, State.FAILED): frozenset({Verb.RECORD, Verb.RESOLVE}),
    (State.IN_DOUBT, State.WAITING): frozenset({Verb.RECORD, Verb.RESOLVE}),
    (State.FAILED, State.WAITING): frozenset({Verb.REQUEUE}),
    (State.FAILED, State.CANCELLED): frozenset({Verb.SUPERSEDE}),
    (State.FAILED, State.ACCEPTED): frozenset({Verb.RECORD}),
    (State.SKIPPED, State.ACCEPTED): frozenset({Verb.RECORD}),
    (State.SUPPRESSED, State.ACCEPTED): frozenset({Verb.RECORD}),
    (State.EXPIRED, State.ACCEPTED): frozenset({Verb.RECORD}),
    (State.CANCELLED, State.ACCEPTED): frozenset({Verb.RECORD}),
}


def allows(verb: Verb, before: State, after: State) -> bool:
    return verb in TRANSITIONS.get((before, after), frozenset())


def is_verdict(state: State) -> bool:
    """Whether the gates may give this state before anything is handed over."""
    return state in _REFUSALS
