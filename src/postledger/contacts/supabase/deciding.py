"""Decides which of two states of a subscriber counts, and so who is told of it."""

from datetime import datetime
from enum import Enum, auto

from postledger.contacts.states import ContactState


class Step(Enum):
    NOTHING = auto()
    TAKE = auto()  # theirs is told here, and counts as far as it can
    WRITE = auto()  # theirs becomes what ours is


def decide(
    *,
    ours: ContactState,
    theirs: ContactState,
    their_at: datetime | None,
    taken_back_at: datetime | None,
    is_wish_known: bool,
) -> Step:
    """The stronger state counts, in both directions.

    But a state that was taken back here, by its recipient or an operator, is no news as long as
    Supabase repeats what it said before that; `taken_back_at` is when theirs was, None: never.
    A wish to leave is taken before a stronger state is written over it: once that is lifted, it is
    all that keeps the address back. `is_wish_known` says that it was.
    """
    is_repeated = taken_back_at is not None and their_at is not None and their_at < taken_back_at
    if theirs is ContactState.UNSUBSCRIBED and not is_wish_known and not is_repeated:
        return Step.TAKE
    if ours is theirs:
        return Step.NOTHING
    return Step.WRITE if ours.priority > theirs.priority or is_repeated else Step.TAKE


_FEW = 100
_PART = 10


def is_believed(*, known: int, missing: int) -> bool:
    """Whether those who are missing may really be gone.

    A table that hides its rows by mistake answers as one that has none.
    """
    return not missing or (missing < known and (missing <= _FEW or missing * _PART <= known))
