"""How a batch is cut so that nobody waits for a neighbour."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from postledger.contacts.standings import Standings
from postledger.deliveries.entries import Batch, Piece, Recipient, Window
from postledger.deliveries.reasons import Reason
from postledger.dispatch.rounds import lone_waits
from postledger.dispatch.rounds.round_input import RoundInput
from postledger.mailing.terms import Terms, Wait

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
SNOOZED = Wait(NOON, Reason.SCHEDULED)
CLOSED = Wait(LATER, Reason.OUTSIDE_HOURS)


def read_of(waits: dict[int, Wait | None]) -> RoundInput:
    """Mails that still wait at these positions, and what their recipients say."""
    recipients = [Recipient(at, f"r{at}@example.com", None, None, 0) for at in waits]
    terms = {at: Terms(wait=wait) for at, wait in waits.items()}
    return RoundInput(recipients, {}, Standings({}, {}), terms=terms)


def window(lo: int, to: int, hi: int) -> Window:
    return Window(Batch(1, 7, lo, hi, 1, 0), to)


def test_a_window_in_which_nobody_waits_is_not_cut() -> None:
    whole = window(0, 3, 9)

    assert lone_waits.sort_windows([whole], read_of({0: None, 2: None})) == ([whole], [])


def test_who_waits_is_cut_out_and_neighbours_with_one_moment_stay_together() -> None:
    waits = {10: None, 11: SNOOZED, 12: CLOSED, 14: CLOSED, 15: None}

    may_go, cut = lone_waits.sort_windows([window(10, 16, 20)], read_of(waits))

    assert may_go == []
    [(_, pieces)] = cut
    assert pieces == [
        Piece(10, 11),
        Piece(11, 12, NOON, Reason.SCHEDULED),
        Piece(12, 15, LATER, Reason.OUTSIDE_HOURS),
        Piece(15, 20),
    ]


def test_what_is_behind_the_window_waits_for_nobody() -> None:
    [(_, pieces)] = lone_waits.sort_windows([window(0, 2, 5)], read_of({1: SNOOZED}))[1]

    assert pieces == [Piece(0, 2, NOON, Reason.SCHEDULED), Piece(2, 5)]


@given(
    waits=st.dictionaries(st.integers(0, 30), st.sampled_from([None, SNOOZED, CLOSED]), min_size=1),
    rest=st.integers(0, 5),
)
def test_the_pieces_are_the_batch_and_each_mail_is_where_it_belongs(
    waits: dict[int, Wait | None], rest: int
) -> None:
    ordered = dict(sorted(waits.items()))
    to = max(ordered) + 1
    may_go, cut = lone_waits.sort_windows([window(0, to, to + rest)], read_of(ordered))

    assert bool(cut) == any(ordered.values())
    assert bool(may_go) != bool(cut)
    for batch, pieces in cut:
        ends = [batch.lo, *(piece.hi for piece in pieces)]
        assert [piece.lo for piece in pieces] == ends[:-1]
        assert ends[-1] == batch.hi
        for at, wait in ordered.items():
            [piece] = [piece for piece in pieces if piece.lo <= at < piece.hi]
            assert piece.due_at == (wait.until if wait else None)
            assert piece.reason == (wait.reason if wait else None)
