"""Which part of the armed windows is booked, while answers come in any order."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postledger.deliveries import entries
from postledger.deliveries.entries import Batch, Entry, Window
from postledger.dispatch.rounds.in_flight import InFlight, SettleRequest


def window(id_: int, lo: int, to: int, *, hi: int | None = None) -> Window:
    return Window(Batch(id_, 1, lo, hi or to, 1, 0), to)


def answer(position: int) -> Entry:
    return entries.accepted(position, message_id=f"m{position}")


def positions(part: SettleRequest) -> list[int]:
    return sorted(entry.position for entry in part.results)


def test_only_the_answered_beginning_is_taken_and_the_next_part_starts_where_it_ended() -> None:
    whole = window(1, 0, 5, hi=20)
    in_flight = InFlight([whole], range(5))

    for position in (0, 1, 3):
        in_flight.answer(answer(position))
    first, nothing = in_flight.take_answered(), in_flight.take_answered()
    for position in (4, 2):
        in_flight.answer(answer(position))
    second = in_flight.take_answered()

    assert (first.windows, first.settled_to, positions(first)) == ([whole], {1: 2}, [0, 1])
    assert nothing == SettleRequest([], {}, [])
    assert second.windows == [Window(replace(whole.batch, lo=2), 5)]
    assert (second.settled_to, positions(second)) == ({1: 5}, [2, 3, 4])
    assert in_flight.take_all() == nothing


def test_single_mails_are_taken_one_by_one() -> None:
    singles = [window(n, 10 * n, 10 * n + 1) for n in range(4)]
    in_flight = InFlight(singles, [0, 10, 20, 30])

    in_flight.answer(answer(20))
    part = in_flight.take_answered()

    assert (part.windows, part.settled_to, positions(part)) == ([singles[2]], {2: 21}, [20])
    assert in_flight.take_all().windows == [singles[0], singles[1], singles[3]]


def test_positions_without_a_mail_are_passed_over() -> None:
    in_flight = InFlight([window(1, 0, 10)], [2, 7])

    in_flight.answer(answer(2))
    part = in_flight.take_answered()

    assert (part.settled_to, positions(part)) == ({1: 7}, [2])


def test_the_rest_has_every_window_that_is_still_open_and_every_answer() -> None:
    open_ = [window(1, 0, 3), window(2, 10, 12)]
    in_flight = InFlight(open_, [0, 1, 2, 10, 11])
    in_flight.answer(answer(1))
    in_flight.answer(answer(11))

    part = in_flight.take_all()

    assert (part.windows, part.settled_to, positions(part)) == (open_, {}, [1, 11])
    assert in_flight.take_all() == SettleRequest([], {}, [])


@st.composite
def rounds(draw: st.DrawFn) -> tuple[list[Window], list[int], list[int | None]]:
    """Windows, the positions that have a mail, and answers with looks (None) between them."""
    windows, mails, start = [], [], 0
    for id_ in range(draw(st.integers(1, 5))):
        start += draw(st.integers(0, 3))
        size = draw(st.integers(1, 6))
        inside = draw(st.sets(st.integers(start, start + size - 1), min_size=1))
        windows.append(window(id_, start, start + size))
        mails += sorted(inside)
        start += size
    answered = draw(st.permutations(mails))[: draw(st.integers(0, len(mails)))]
    script: list[int | None] = []
    for position in answered:
        script += [position, *draw(st.sampled_from([[], [None]]))]
    return windows, mails, script


@pytest.mark.slow
@given(rounds())
def test_every_answer_is_handed_out_once_and_within_its_window(
    given_: tuple[list[Window], list[int], list[int | None]],
) -> None:
    windows, mails, script = given_
    in_flight = InFlight(windows, mails)
    start = {one.batch.id: one.batch.lo for one in windows}
    handed: list[int] = []

    for step in script:
        if step is not None:
            in_flight.answer(answer(step))
            continue
        part = in_flight.take_answered()
        for one in part.windows:
            to = part.settled_to[one.batch.id]
            # Each part begins where the last one ended, and no mail before its end is open.
            assert one.batch.lo == start[one.batch.id] < to <= one.to
            inside = {at for at in mails if one.batch.lo <= at < to}
            assert inside <= set(positions(part))
            start[one.batch.id] = to
        handed += positions(part)
    last = in_flight.take_all()
    handed += positions(last)

    assert sorted(handed) == sorted(at for at in script if at is not None)
    assert all(one.batch.lo == start[one.batch.id] for one in last.windows)
    ended = {one.batch.id for one in windows} - {one.batch.id for one in last.windows}
    assert all(start[one.batch.id] == one.to for one in windows if one.batch.id in ended)


def test_a_part_that_fails_is_settled_by_window_then_by_mail_then_by_its_state_alone() -> None:
    part = SettleRequest([window(1, 0, 2), window(2, 10, 13)], {2: 11}, [answer(0), answer(10)])

    by_window = part.split()
    by_mail = by_window[0].split()
    bare = by_mail[0].split()

    assert [positions(one) for one in by_window] == [[0], [10]]
    assert [one.settled_to for one in by_window] == [{1: 2}, {2: 11}]
    assert [one.windows[0].batch.lo for one in by_mail] == [0, 1]
    assert [one.settled_to for one in by_mail] == [{1: 1}, {1: 2}]
    assert [positions(one) for one in by_mail] == [[0], []]
    assert [entry.message_id for entry in bare[0].results] == [None]
    assert bare[0].split() == []
    assert by_mail[1].split() == []
