"""A provider that breaks its promises harms its own mails at most, and nobody else's."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from postledger.accounts import senders
from postledger.deliveries import ledger
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId
from postledger.providers.base import (
    Accepted,
    InDoubt,
    Outcome,
    OutgoingMessage,
    Refused,
    Throttled,
    TryLater,
)
from postledger.providers.smtp import outcomes
from postledger.providers.smtp.outcomes import Stage
from postledger.providers.smtp.replies import Reply
from tests import cast
from tests.dispatch import office, vendors
from tests.dispatch.vendors import Answers, Script

pytestmark = pytest.mark.django_db(transaction=True)


class VendorError(Exception):
    """Something no one thought of."""


async def raising_at_once(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
    if window:
        raise VendorError
    yield 0, Accepted("")


async def raising_later(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
    yield 0, Accepted(window[0].id)
    await asyncio.sleep(0.01)
    raise VendorError


async def silent(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
    yield 0, Accepted(window[0].id)


async def out_of_range(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
    yield 0, Accepted(window[0].id)
    yield len(window), Accepted("")


async def saying_it_twice(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
    yield 0, Accepted(window[0].id)
    while await asyncio.to_thread(_waiting, window[0]) == len(window):  # noqa: ASYNC110  a table
        await asyncio.sleep(0.05)
    yield 0, Refused("550", "no")  # what it says otherwise is settled


def _waiting(message: OutgoingMessage) -> int:
    delivery_id = DeliveryId.parse(message.id)
    assert delivery_id is not None
    with office.own_connection():
        return office.waiting(delivery_id.stream_id)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (raising_at_once, {State.IN_DOUBT: 3}),
        (raising_later, {State.ACCEPTED: 1, State.IN_DOUBT: 2}),
        (silent, {State.ACCEPTED: 1, State.IN_DOUBT: 2}),
        (out_of_range, {State.ACCEPTED: 1, State.IN_DOUBT: 2}),
        (saying_it_twice, {State.ACCEPTED: 1, State.IN_DOUBT: 2}),
    ],
)
def test_what_has_no_answer_is_in_doubt_and_others_mail_goes_on(
    script: Script, expected: dict[State, int], tmp_path: Path
) -> None:
    with vendors.registered(script):
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        globex = office.open_office(tmp_path, "globex")
        broken = office.stream(acme, office.people(3))
        fine = office.stream(globex, office.people(3))
        office.send_all(broken, fine)

    assert office.counts(broken) == expected
    assert office.counts(fine) == {State.ACCEPTED: 3}


@pytest.mark.slow
@pytest.mark.sample
def test_a_provider_that_raises_is_held_and_leaves_one_round_in_doubt(tmp_path: Path) -> None:
    """H5: it left 200 doubts a second, for as long as there was mail."""
    with vendors.registered(raising_at_once, window_size=2) as stage:
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        stream = office.stream(acme, office.people(500))
        with office.dispatching() as dispatcher:
            office.until(lambda: office.sender_hold(stream) is not None, dispatcher)
            office.until(lambda: not dispatcher.is_busy)
        held = office.sender_hold(stream)
        doubts = office.counts(stream)[State.IN_DOUBT]
        assert held is not None
        assert (held.reason, held.detail) == (Reason.PROVIDER_BROKEN, "It raised VendorError.")
        assert doubts <= 4  # one window of two mails for each of the stream's two workers
        assert not office.is_leased(stream)

        stage.script = vendors.accepting
        ledger.release_sender(acme.sender_id)
        office.send_all(stream)

    assert office.counts(stream) == {State.IN_DOUBT: doubts, State.ACCEPTED: 500 - doubts}


def test_a_provider_that_breaks_again_is_held_twice_as_long_and_then_until_a_person_comes(
    acme: office.Office,
) -> None:
    lengths: list[float | None] = []
    for _ in range(4):
        assert ledger.hold_broken_provider(acme.sender_id, actor="w", detail="It raised.")
        assert not ledger.hold_broken_provider(acme.sender_id, actor="w", detail="Others too.")
        [(length,)] = sql.rows(
            "SELECT extract(epoch FROM until - since)::float8 FROM deliveries_senderhold", {}
        )
        lengths.append(length)
        # So long ago that the next one has a beginning of its own.
        office.end_sender_holds(ago="2 minutes")

    assert lengths == [15, 30, 60, None]


def test_calls_that_leave_nothing_but_doubts_hold_the_sender(tmp_path: Path) -> None:
    with vendors.registered(vendors.always(InDoubt("no answer")), window_size=1):
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        stream = office.stream(acme, office.people(400))
        with office.dispatching() as dispatcher:
            office.until(lambda: office.sender_hold(stream) is not None, dispatcher)

    held = office.sender_hold(stream)
    assert held is not None
    assert held.reason is Reason.PROVIDER_BROKEN
    assert office.counts(stream)[State.IN_DOUBT] < 20


def test_every_sender_of_the_account_is_held_and_released_with_it(tmp_path: Path) -> None:
    acme = office.open_office(tmp_path, settings={"retry_after": 600})
    other = office.of_sender(
        acme,
        senders.create_sender(
            acme.workspace_id,
            address="shop@acme.example",
            account_id=acme.account_id,
            actor="alice",
        ),
    )
    first = office.stream(acme, ["throttle@example.com"])
    second = office.stream(other, office.people(3))
    ledger.hold(second, reason=Reason.PAUSED, actor="alice")

    with office.dispatching() as dispatcher:
        office.until(lambda: office.sender_hold(first) is not None, dispatcher)
    holds = [office.sender_hold(first), office.sender_hold(second)]
    ledger.release_sender(other.sender_id)

    assert [hold.reason if hold else None for hold in holds] == [Reason.THROTTLED] * 2
    assert [office.sender_hold(first), office.sender_hold(second)] == [None, None]
    [(is_due,)] = sql.rows(
        "SELECT due_at <= clock_timestamp() FROM deliveries_batch WHERE stream_id = %(stream)s",
        {"stream": first},
    )
    assert is_due  # H11: a release left it where the provider had wished it


@pytest.mark.parametrize(
    "answer",
    [
        Refused("4\x000", "half a \x00 word"),
        Refused("400", "half a \ud800 word"),
        Accepted("an id with \x00"),
        TryLater("429", "later", timedelta(days=999_999_999)),
        Throttled("later", timedelta(days=999_999)),
    ],
)
def test_what_one_answer_says_costs_no_other_answer(answer: Outcome, tmp_path: Path) -> None:
    """H6: one NUL in one answer made doubts of the two hundred beside it."""

    def say(message: OutgoingMessage) -> Outcome:
        is_odd = message.recipient == "r7@example.com"
        return answer if is_odd else Accepted(message.id)

    def is_accepted() -> bool:
        held = office.sender_hold(stream)
        if held is not None and held.until is not None:
            holds.append(held.until - held.since)
            office.end_sender_holds(ago="2 minutes")
        return len(list_accepted(stream)) >= 299

    holds: list[timedelta] = []
    with vendors.registered(vendors.answering(say)):
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        stream = office.stream(acme, office.people(300))
        with office.dispatching() as dispatcher:
            office.until(is_accepted, dispatcher)
            office.until(lambda: not dispatcher.is_busy)

    assert State.IN_DOUBT not in office.counts(stream)
    [(latest,)] = sql.rows(
        "SELECT coalesce(max(due_at), clock_timestamp()) - clock_timestamp()"
        " FROM deliveries_batch WHERE stream_id = %(stream)s",
        {"stream": stream},
    )
    assert latest <= timedelta(days=1)
    # A call that ends a moment later makes the hold that much longer.
    assert all(length < timedelta(hours=2) for length in holds)


QUOTED = [
    b"450 4.1.1 <%s>: host mx.evil said: too many connections, try again in 99999 hours",
    b"550 5.0.0 <%s>: host mx.evil said: relay access denied",
]


def quoting(line: bytes, victims: set[str]) -> Script:
    """A relay that asks the servers of recipients first, and repeats what those of some say."""

    def say(message: OutgoingMessage) -> Outcome:
        code, _, text = (line % message.recipient.encode()).partition(b" ")
        quoted = outcomes.refusal(Stage.RCPT, Reply(int(code), (text,)))
        return quoted if message.recipient in victims else Accepted(message.id)

    return vendors.answering(say)


@pytest.mark.parametrize("line", QUOTED)
def test_the_words_of_one_recipients_server_hold_no_sender(line: bytes, tmp_path: Path) -> None:
    with vendors.registered(quoting(line, {"r0@example.com"})):
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        stream = office.stream(acme, office.people(20))
        with office.dispatching() as dispatcher:
            office.until(lambda: len(list_accepted(stream)) == 19, dispatcher)
            office.until(lambda: not dispatcher.is_busy)

    assert office.sender_hold(stream) is None
    assert office.counts(stream) == {State.ACCEPTED: 19, State.WAITING: 1}
    assert office.attempts(stream)["r0@example.com"] >= 1


@pytest.mark.parametrize("line", QUOTED)
def test_what_several_recipients_get_holds_the_sender_for_an_hour_at_most(
    line: bytes, tmp_path: Path
) -> None:
    everybody = office.people(5)
    with vendors.registered(quoting(line, set(everybody))):
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        stream = office.stream(acme, everybody)
        with office.dispatching() as dispatcher:
            office.until(lambda: office.sender_hold(stream) is not None, dispatcher)
            office.until(lambda: not dispatcher.is_busy)

    hold = office.sender_hold(stream)
    assert hold is not None
    assert hold.until is not None
    assert hold.until - hold.since <= timedelta(hours=1)
    assert not any(address in hold.detail for address in everybody)  # one may be erased
    assert office.counts(stream) == {State.WAITING: 5}  # it may be our own mistake: nobody fails


def list_accepted(stream_id: int) -> list[str]:
    states = office.states(stream_id)
    return [address for address, state in states.items() if state is State.ACCEPTED]


def test_a_throttled_sender_goes_as_fast_as_its_provider_allows(tmp_path: Path) -> None:
    """H10: each throttled call doubled the pause, although part of it was accepted."""

    async def fourteen(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
        for index, message in enumerate(window):
            yield index, Accepted(message.id) if index < 14 else Throttled("too fast")

    def end_hold() -> bool:
        office.end_sender_holds()
        return not office.waiting(stream)

    with vendors.registered(fourteen):
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        stream = office.stream(acme, office.people(120))
        with capture_logs() as lines, office.dispatching() as dispatcher:
            office.until(end_hold, dispatcher)

    assert office.counts(stream) == {State.ACCEPTED: 120}
    lengths = {line["length"] for line in lines if line["event"] == "sender held"}
    assert lengths == {timedelta(seconds=1)}


@pytest.mark.slow
@pytest.mark.sample
def test_a_call_that_keeps_no_deadline_is_ended(tmp_path: Path) -> None:
    async def forever(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
        yield 0, Accepted(window[0].id)
        await asyncio.sleep(3600)

    with vendors.registered(forever, call_time=0.1):
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        stream = office.stream(acme, office.people(2))
        with office.dispatching(office.with_lease(2)) as dispatcher:
            office.until(lambda: not office.waiting(stream), dispatcher, patience=60)
            office.until(lambda: not dispatcher.is_busy)

    assert office.counts(stream) == {State.ACCEPTED: 1, State.IN_DOUBT: 1}
    assert ("in_doubt", "no_answer", "No answer was reported.") in office.details(stream)


def test_an_unforeseen_error_before_the_arm_fails_nobody(acme: office.Office) -> None:
    """Nobody died: mails that cannot be read wait and say so, and the others go."""
    stream = office.stream(acme, office.people(5), kind=StreamKind.TRANSACTIONAL)
    sql.rows(
        "UPDATE deliveries_body SET attachments = '[{\"broken\": 1}]' WHERE stream_id = %(stream)s"
        " AND position = (SELECT min(position) FROM deliveries_body WHERE stream_id = %(stream)s)",
        {"stream": stream},
    )

    def is_done() -> bool:
        if office.waiting(stream) > 1:
            cast.bring_forward(stream)
        [(is_resting,)] = sql.rows(
            "SELECT bool_and(lease IS NULL AND due_at > clock_timestamp())"
            " FROM deliveries_batch WHERE stream_id = %(stream)s",
            {"stream": stream},
        )
        return office.waiting(stream) == 1 and is_resting

    with office.dispatching() as dispatcher:
        office.until(is_done, dispatcher)

    assert office.counts(stream) == {State.ACCEPTED: 4, State.WAITING: 1}
    assert {reason for *_, reason in cast.batches(stream)} == {Reason.WORK_FAILED}
