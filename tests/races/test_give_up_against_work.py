"""The mail of a sender that stayed blocked is given up while workers and people are at work."""

import os
import random
import subprocess
import sys
import time
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from postledger.deliveries import entries, ledger, queries
from postledger.deliveries.entries import StreamKind, Window
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from tests import cast
from tests.journeys import stage
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]


def _stay_blocked() -> None:
    assert cast.block()
    cast.let_block_run_out()


def _release() -> bool:
    return ledger.release_sender(cast.sender().pk)


def test_a_release_waits_for_the_giving_up_under_way_and_a_worker_finds_nothing_of_it() -> None:
    stream = cast.stream(mails=10)
    _stay_blocked()

    with collide.uncommitted(partial(ledger.give_up, stream)) as giving_up:
        release = collide.waiting(_release)
        assert collide.claim(stream) is None
        assert giving_up.answer() == 10

    assert release.answer()
    assert collide.claim(stream) is None
    assert set(cast.states(stream).values()) == {State.FAILED}


def test_giving_up_waits_for_the_release_under_way_and_fails_nothing_then() -> None:
    stream = cast.stream(mails=10)
    _stay_blocked()

    with collide.uncommitted(_release):
        giving_up = collide.waiting(partial(ledger.give_up, stream))

    assert giving_up.answer() == 0
    claim = collide.claim(stream)
    assert claim is not None
    [window] = collide.whole(claim)
    assert collide.arm(claim, window) == [window]


@pytest.mark.parametrize("action", ["hold", "release"])
def test_giving_up_waits_for_a_person_who_acts_on_a_stream_and_fails_nothing_then(
    action: str,
) -> None:
    stream, other = cast.stream(mails=10), cast.stream(mails=1)
    if action == "release":
        ledger.hold(other, reason=Reason.PAUSED, actor="alice")
    _stay_blocked()
    act = (
        partial(ledger.hold, other, reason=Reason.PAUSED, actor="alice")
        if action == "hold"
        else partial(ledger.release, other)
    )

    with collide.uncommitted(act):
        giving_up = collide.waiting(partial(ledger.give_up, stream))

    assert giving_up.answer() == 0
    assert set(cast.states(stream).values()) == {State.WAITING}


def test_giving_up_passes_over_what_was_being_claimed_when_the_block_came() -> None:
    stream = cast.stream(mails=10)

    with collide.uncommitted(partial(cast.claim, stream)) as claiming:
        _stay_blocked()
        assert collide.start(partial(ledger.give_up, stream)).answer() == 0
        claim = claiming.answer()

    [window] = collide.whole(claim)
    assert collide.arm(claim, window) == []
    assert ledger.give_up(stream) == 0
    ledger.wait(claim, claim.batches, reason=Reason.HANDED_BACK)
    assert ledger.give_up(stream) == 10


def test_a_block_waits_for_the_arm_under_way_and_its_window_is_not_given_up() -> None:
    stream = cast.stream(mails=10)
    claim = cast.claim(stream)
    window = Window(claim.batches[0], 4)

    with collide.uncommitted(partial(collide.arm, claim, window)):
        block = collide.waiting(cast.block)
    assert block.answer()
    cast.let_block_run_out()
    assert ledger.give_up(stream) == 0

    settled = ledger.settle(claim, [window], results=collide.accept_all(window))
    ledger.wait(claim, claim.batches, reason=Reason.HANDED_BACK)
    assert settled.counts == {State.ACCEPTED: 4}
    assert ledger.give_up(stream) == 6


def test_an_event_that_waits_for_the_giving_up_still_turns_failed_into_accepted() -> None:
    stream = cast.stream(mails=3)
    cast.book(stream, lambda at: entries.try_later(at, delay=timedelta(0), code="later"))
    _stay_blocked()

    with collide.uncommitted(partial(ledger.give_up, stream)) as giving_up:
        event = collide.waiting(lambda: ledger.record(stream, [collide.proof(1)]))
        assert giving_up.answer() == 3

    assert event.answer() == 1
    books = queries.read_books([stream])[stream]
    assert (books.counts[State.ACCEPTED], books.counts[State.FAILED]) == (1, 2)


def test_three_at_once_give_each_mail_up_once() -> None:
    stream = cast.stream(StreamKind.TRANSACTIONAL, mails=1_000)
    _stay_blocked()

    counts = collide.together([partial(_give_all_up, stream)] * 3)

    assert sum(counts) == 1_000
    assert queries.read_books([stream])[stream].counts[State.FAILED] == 1_000
    assert cast.batches(stream) == []


def _give_all_up(stream: int) -> int:
    total = 0
    while count := ledger.give_up(stream):
        total += count
    return total


_PROCESS = """
import sys
import django; django.setup()
from tests.races import giving_up_processes
giving_up_processes.{name}(int(sys.argv[1]))
"""


def _start(name: str, stream: int, output: Path) -> "subprocess.Popen[bytes]":
    environment = {
        **os.environ,
        "DATABASE_URL": stage.database(),
        "DJANGO_SETTINGS_MODULE": "postledger.config.settings",
        "SECRET_KEY": "only-for-tests-" + "x" * 50,
    }
    command = [sys.executable, "-c", _PROCESS.format(name=name), str(stream)]
    with output.open("wb") as out:
        return subprocess.Popen(command, env=environment, stdout=out)


@pytest.mark.slow
@pytest.mark.sample
def test_processes_that_work_and_give_up_at_once_share_the_mail_of_a_blocked_sender(
    tmp_path: Path,
) -> None:
    stream = cast.stream(StreamKind.TRANSACTIONAL)
    outputs = [tmp_path / str(number) for number in range(3)]

    processes = [
        _start(name, stream, output)
        for name, output in zip(("work", "work", "give_up"), outputs, strict=True)
    ]
    try:
        mails = _block_and_release(stream)
        ledger.cancel(stream, actor="alice")  # then they end
        codes = [process.wait(collide.PATIENCE) for process in processes]
    finally:
        for process in processes:
            process.kill()

    assert codes == [0, 0, 0]
    handed_over = [int(position) for output in outputs for position in output.read_text().split()]
    states = cast.states(stream)
    assert len(handed_over) == len(set(handed_over))
    assert set(handed_over) == {at for at, state in states.items() if state is State.ACCEPTED}
    assert set(states.values()) == {State.ACCEPTED, State.FAILED}
    assert len(states) == mails


def _block_and_release(stream: int) -> int:
    """Adds mail, and blocks and releases its sender, until both kinds of processes got some often,
    and all mail has a result; returns how much there was.
    """
    mails, until = 0, time.monotonic() + collide.PATIENCE
    shared = {State.ACCEPTED: 0, State.FAILED: 0}
    while min(shared.values()) < 100 or queries.read_books([stream])[stream].waiting:
        assert time.monotonic() < until, f"they did not share the mail: {shared}"
        if min(shared.values()) < 100:
            mails += len(cast.enqueue(stream, range(mails, mails + 20)))
        if cast.block():
            cast.let_block_run_out()
        time.sleep(random.uniform(0, 0.02))
        _release()
        time.sleep(random.uniform(0, 0.02))
        counts = queries.read_books([stream])[stream].counts
        shared = {state: counts[state] for state in shared}
    return mails
