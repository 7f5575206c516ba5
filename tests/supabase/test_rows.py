"""The stronger state counts in both directions, unless it was taken back here; no wish is lost."""

from datetime import datetime, timedelta

import pytest

from postledger.contacts.states import ContactState
from postledger.supabase.rows import SyncDecision, decide, is_plausible
from tests.contacts.people import LATER, NOW

ACTIVE, LEFT, BOUNCED = ContactState


@pytest.mark.parametrize(
    ("ours", "theirs", "decision"),
    [
        (ACTIVE, ACTIVE, SyncDecision.NOTHING),
        (ACTIVE, LEFT, SyncDecision.TAKE),
        (ACTIVE, BOUNCED, SyncDecision.TAKE),
        (LEFT, ACTIVE, SyncDecision.WRITE),
        (LEFT, LEFT, SyncDecision.NOTHING),
        (LEFT, BOUNCED, SyncDecision.TAKE),
        (BOUNCED, ACTIVE, SyncDecision.WRITE),
        (BOUNCED, LEFT, SyncDecision.WRITE),
        (BOUNCED, BOUNCED, SyncDecision.NOTHING),
    ],
)
def test_the_stronger_state_counts(
    ours: ContactState, theirs: ContactState, decision: SyncDecision
) -> None:
    outcome = decide(ours=ours, theirs=theirs, their_at=NOW, taken_back_at=None, is_wish_known=True)

    assert outcome is decision


@pytest.mark.parametrize("ours", ContactState)
@pytest.mark.parametrize("their_at", [NOW, None])
def test_a_wish_to_leave_is_taken_whatever_outranks_it(
    ours: ContactState, their_at: datetime | None
) -> None:
    outcome = decide(
        ours=ours, theirs=LEFT, their_at=their_at, taken_back_at=NOW, is_wish_known=False
    )

    assert outcome is SyncDecision.TAKE


@pytest.mark.parametrize(
    ("ours", "decision"),
    [(ACTIVE, SyncDecision.WRITE), (LEFT, SyncDecision.NOTHING), (BOUNCED, SyncDecision.WRITE)],
)
def test_a_wish_that_was_taken_back_since_is_not_taken_again(
    ours: ContactState, decision: SyncDecision
) -> None:
    outcome = decide(ours=ours, theirs=LEFT, their_at=NOW, taken_back_at=LATER, is_wish_known=False)

    assert outcome is decision


@pytest.mark.parametrize(
    ("seconds", "decision"),
    [(-1, SyncDecision.TAKE), (0, SyncDecision.TAKE), (1, SyncDecision.WRITE)],
)
def test_a_leaving_counts_again_only_if_it_is_not_older_than_its_undo(
    seconds: int, decision: SyncDecision
) -> None:
    undone_at = NOW + timedelta(seconds=seconds)

    outcome = decide(
        ours=ACTIVE, theirs=LEFT, their_at=NOW, taken_back_at=undone_at, is_wish_known=False
    )

    assert outcome is decision


def test_a_leaving_of_which_nobody_knows_the_time_counts_whatever_was_undone() -> None:
    outcome = decide(
        ours=ACTIVE, theirs=LEFT, their_at=None, taken_back_at=LATER, is_wish_known=False
    )

    assert outcome is SyncDecision.TAKE


@pytest.mark.parametrize(("known", "missing"), [(0, 0), (3, 0), (3, 2), (101, 100), (5_000, 500)])
def test_few_who_are_missing_are_believed_to_be_gone(known: int, missing: int) -> None:
    assert is_plausible(known=known, missing=missing)


@pytest.mark.parametrize(("known", "missing"), [(1, 1), (100, 100), (102, 101), (5_000, 501)])
def test_a_table_that_misses_many_or_all_is_not_believed(known: int, missing: int) -> None:
    assert not is_plausible(known=known, missing=missing)
