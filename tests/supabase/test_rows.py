"""The stronger state counts in both directions, unless it was taken back here; no wish is lost."""

from datetime import datetime, timedelta

from postledger.contacts.states import ContactState
from postledger.supabase.rows import SyncDecision, decide, is_plausible
from tests.contacts.people import LATER, NOW

ACTIVE, LEFT, BOUNCED = ContactState


def test_the_stronger_state_counts() -> None:
    cases: list[tuple[ContactState, ContactState, SyncDecision]] = [
        (ACTIVE, ACTIVE, SyncDecision.NOTHING),
        (ACTIVE, LEFT, SyncDecision.TAKE),
        (ACTIVE, BOUNCED, SyncDecision.TAKE),
        (LEFT, ACTIVE, SyncDecision.WRITE),
        (LEFT, LEFT, SyncDecision.NOTHING),
        (LEFT, BOUNCED, SyncDecision.TAKE),
        (BOUNCED, ACTIVE, SyncDecision.WRITE),
        (BOUNCED, LEFT, SyncDecision.WRITE),
        (BOUNCED, BOUNCED, SyncDecision.NOTHING),
    ]
    for ours, theirs, decision in cases:
        outcome = decide(
            ours=ours, theirs=theirs, their_at=NOW, taken_back_at=None, is_wish_known=True
        )

        assert outcome is decision, (ours, theirs)


def test_a_wish_to_leave_is_taken_unless_it_was_taken_back_since() -> None:
    second = timedelta(seconds=1)
    cases: list[tuple[ContactState, datetime | None, datetime, SyncDecision]] = [
        # Whatever outranks it, also where nobody knows its time.
        *((ours, NOW, NOW, SyncDecision.TAKE) for ours in ContactState),
        *((ours, None, NOW, SyncDecision.TAKE) for ours in ContactState),
        (ACTIVE, None, LATER, SyncDecision.TAKE),
        (ACTIVE, NOW, NOW - second, SyncDecision.TAKE),
        (ACTIVE, NOW, NOW + second, SyncDecision.WRITE),
        (ACTIVE, NOW, LATER, SyncDecision.WRITE),
        (LEFT, NOW, LATER, SyncDecision.NOTHING),
        (BOUNCED, NOW, LATER, SyncDecision.WRITE),
    ]
    for ours, their_at, taken_back_at, decision in cases:
        outcome = decide(
            ours=ours,
            theirs=LEFT,
            their_at=their_at,
            taken_back_at=taken_back_at,
            is_wish_known=False,
        )
        assert outcome is decision, (ours, their_at, taken_back_at)


def test_few_who_are_missing_are_believed_to_be_gone_and_many_or_all_are_not() -> None:
    for known, missing in ((0, 0), (3, 0), (3, 2), (101, 100), (5_000, 500)):
        assert is_plausible(known=known, missing=missing), (known, missing)
    for known, missing in ((1, 1), (100, 100), (102, 101), (5_000, 501)):
        assert not is_plausible(known=known, missing=missing), (known, missing)
