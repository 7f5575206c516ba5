"""When a run stops itself: the estimate, the limits and the words."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postledger.deliveries.reasons import Reason
from postledger.feedback import guard
from postledger.feedback.guard import Counts, Stop
from postledger.feedback.rates import wilson_lower_bound

BOUNCES, COMPLAINTS = guard.read_limits(guard.BOUNCES), guard.read_limits(guard.COMPLAINTS)


def judge(counts: Counts) -> Stop | None:
    return guard.judge(counts, bounces=BOUNCES, complaints=COMPLAINTS)


def bounced(hits: int, total: int) -> Counts:
    return Counts(accepted=total, delivered=total - hits, bounced=hits, complained=0)


def complained(hits: int, total: int) -> Counts:
    return Counts(accepted=total, delivered=total, bounced=0, complained=hits)


@st.composite
def shares(draw: st.DrawFn) -> tuple[int, int]:
    total = draw(st.integers(1, 10**7))
    return draw(st.integers(0, total)), total


@given(shares())
def test_the_bound_solves_wilsons_equation_and_is_below_the_share(share: tuple[int, int]) -> None:
    hits, total = share
    bound = wilson_lower_bound(hits, total)

    assert 0 <= bound <= hits / total
    if hits > 0:
        deviation = (hits / total - bound) / math.sqrt(bound * (1 - bound) / total)
        assert deviation == pytest.approx(1.96, rel=1e-3)


def test_no_share_has_no_bound() -> None:
    for hits, total in ((1, 0), (0, 0), (-1, 3), (4, 3)):
        with pytest.raises(ValueError, match="is not a share"):
            wilson_lower_bound(hits, total)


def test_a_run_stops_when_surely_more_than_3_percent_bounce_or_a_thousandth_complain() -> None:
    for counts, reason in (
        (bounced(199, 199), None),  # too few to say anything
        (bounced(10, 200), None),  # 5 %, and perhaps less than 3 %
        (bounced(11, 200), Reason.BOUNCE_RATE),
        (bounced(22, 500), None),
        (bounced(23, 500), Reason.BOUNCE_RATE),
        (bounced(3_000, 100_000), None),
        (bounced(3_200, 100_000), Reason.BOUNCE_RATE),
        (complained(999, 999), None),
        (complained(2, 1_000), None),
        (complained(3, 1_000), Reason.COMPLAINT_RATE),
        (complained(16, 10_000), None),
        (complained(17, 10_000), Reason.COMPLAINT_RATE),
    ):
        stop = judge(counts)
        assert (stop and stop.reason) == reason, counts


def test_the_second_rate_stops_as_it_is_and_is_named_first() -> None:
    limits = guard.read_limits("4% of 200, 5% of 500")
    few, enough = bounced(24, 499), bounced(25, 500)

    assert guard.judge(few, bounces=limits, complaints=None) is None
    stop = guard.judge(enough, bounces=limits, complaints=None)
    assert stop == Stop(Reason.BOUNCE_RATE, "25 of 500 mails bounced (5 %); limit 5 %")


def test_the_detail_has_the_figures() -> None:
    assert judge(bounced(82, 1_814)) == Stop(
        Reason.BOUNCE_RATE, "82 of 1,814 mails bounced (4.5 %); limit 3 %"
    )
    assert judge(bounced(600, 10_000)) == Stop(
        Reason.BOUNCE_RATE, "600 of 10,000 mails bounced (6 %); limit 5 %"
    )
    assert judge(complained(19, 10_000)) == Stop(
        Reason.COMPLAINT_RATE, "19 of 10,000 mails were reported as spam (0.19 %); limit 0.1 %"
    )


def test_the_rate_is_of_delivered_mail_or_where_none_is_reported_of_accepted_mail() -> None:
    assert judge(Counts(accepted=100_000, delivered=940, bounced=60, complained=0)) is not None
    assert judge(Counts(accepted=100_000, delivered=0, bounced=500, complained=0)) is None
    assert judge(Counts(accepted=10_000, delivered=0, bounced=600, complained=0)) is not None
    # Reports may be ahead of the books.
    assert judge(Counts(accepted=0, delivered=0, bounced=700, complained=0)) is not None
    assert judge(Counts(accepted=0, delivered=0, bounced=0, complained=0)) is None


@given(shares(), st.integers(0, 1_000))
def test_more_bounces_of_as_many_mails_never_undo_a_stop(share: tuple[int, int], more: int) -> None:
    hits, total = share
    if judge(bounced(hits, total)) is not None:
        assert judge(bounced(min(total, hits + more), total)) is not None


def test_limits_can_be_switched_off_one_by_one() -> None:
    counts = Counts(accepted=2_000, delivered=1_000, bounced=1_000, complained=900)

    assert guard.read_limits("off") is None
    assert guard.judge(counts, bounces=None, complaints=None) is None
    by_complaints = guard.judge(counts, bounces=None, complaints=COMPLAINTS)
    assert by_complaints is not None
    assert by_complaints.reason is Reason.COMPLAINT_RATE


def test_limits_that_mean_nothing_are_refused() -> None:
    unordered = ("5% of 200, 3% of 500", "0% of 1, 1% of 1", "3% of 0, 5% of 1")
    for text in ("", "3%", "3% of 200", *unordered):
        with pytest.raises(ValueError, match="3% of 200, 5% of 500"):
            guard.read_limits(text)
