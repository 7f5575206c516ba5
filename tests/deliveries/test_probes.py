"""After a provider did not answer, one mail tries it before the rest follows."""

from datetime import timedelta

import pytest

from postledger.accounts import provider_accounts, senders
from postledger.accounts.models import Sender
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Claim, StreamKind, Window
from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason
from tests import cast
from tests.races import collide

pytestmark = pytest.mark.django_db(transaction=True)


def claim(stream_id: int, *, limit: int = 4) -> Claim | None:
    return ledger.claim(stream_id, holder="w", limit=limit, lease_time=cast.LEASE)


def probe(stream_id: int) -> Claim:
    taken = claim(stream_id)
    assert taken is not None
    assert taken.is_probe
    return taken


def arm(claim: Claim, *, mails: int = 1) -> bool:
    batch = claim.batches[0]
    window = Window(batch, batch.lo + mails)
    return bool(ledger.arm(claim, [window], lease_time=cast.LEASE))


def let_holds_end() -> None:
    sql.rows("UPDATE deliveries_senderhold SET until = clock_timestamp() - interval '1 second'", {})


def find_down(sender: Sender) -> None:
    """The provider of its account does not answer; the hold for that has ended by its time."""
    ledger.hold_sender(
        sender.pk,
        reason=Reason.PROVIDER_DOWN,
        actor="dispatcher",
        length=timedelta(seconds=1),
        is_account=True,
    )
    let_holds_end()


def share_account(sender: Sender) -> int:
    """A stream of another sender that uses the same account."""
    account = provider_accounts.create_account(
        sender.workspace_id, name="main", kind="sandbox", settings={}, actor="alice"
    )
    senders.attach_sender(
        sender.workspace_id, sender_id=sender.pk, account_id=account, actor="alice"
    )
    other = senders.create_sender(
        sender.workspace_id, address="shop@acme.example", account_id=account, actor="alice"
    )
    stream = ledger.open_stream(
        sender.workspace_id, sender_id=other, kind=StreamKind.CAMPAIGN, title="Shop"
    )
    cast.enqueue(stream, range(3))
    return stream


def test_one_claim_of_the_account_tries_one_mail_and_the_others_wait() -> None:
    stream = cast.stream(mails=3)
    beside = share_account(cast.sender())
    find_down(cast.sender())

    trying = probe(stream)

    assert claim(stream) is None
    assert claim(beside) is None
    assert ledger.next_streams(limit=10) == []
    facts = queries.find_stream(beside)
    assert facts is not None
    assert [hold.reason for hold in facts.holds] == [Reason.PROVIDER_DOWN]
    with pytest.raises(ValueError, match="one mail"):
        arm(trying, mails=2)
    assert arm(trying)


def test_of_several_batches_a_probe_takes_one() -> None:
    stream = cast.stream(StreamKind.TRANSACTIONAL, mails=3)
    find_down(cast.sender())

    [batch] = probe(stream).batches
    leases = collide.batch_column(stream, "lease")
    assert [lo for lo, lease in leases.items() if lease is not None] == [batch.lo]


def test_what_was_claimed_before_the_hold_is_not_armed_after_its_end() -> None:
    first, second = cast.stream(mails=1), cast.stream(mails=1)
    before = cast.claim(first)
    find_down(cast.sender())

    assert not arm(before)
    trying = probe(second)
    assert not arm(before)
    assert arm(trying)


def test_an_answer_lets_the_rest_follow() -> None:
    for workspace, reason in (("acme", Reason.PROVIDER_DOWN), ("globex", Reason.PROVIDER_BROKEN)):
        sender = cast.sender(workspace)
        first, second = (cast.stream(mails=1, workspace=workspace) for _ in range(2))
        if reason is Reason.PROVIDER_BROKEN:
            ledger.hold_broken_provider(sender.pk, actor="dispatcher", detail="It raised.")
            let_holds_end()
        else:
            find_down(sender)
        probe(first)

        ledger.forget_broken_provider(sender.pk)

        follows = claim(second)
        assert follows is not None
        assert not follows.is_probe
        assert arm(follows), reason


def test_a_probe_that_found_out_nothing_lets_another_one_try() -> None:
    first, second = cast.stream(mails=1), cast.stream(mails=1)
    find_down(cast.sender())

    ledger.end_probe(probe(first))

    assert arm(probe(second))


def test_a_probe_whose_process_died_is_free_when_its_lease_would_have_ended() -> None:
    first, second = cast.stream(mails=1), cast.stream(mails=1)
    find_down(cast.sender())
    dead = probe(first)
    assert claim(second) is None

    [(left,)] = sql.rows("SELECT probe_until - clock_timestamp() FROM deliveries_senderhold", {})
    assert cast.LEASE < left <= 2 * cast.LEASE
    sql.rows("UPDATE deliveries_senderhold SET probe_until = clock_timestamp()", {})

    assert arm(probe(second))
    assert not arm(dead)


def test_a_failed_probe_makes_the_hold_go_on_and_the_next_one_tries_again() -> None:
    stream = cast.stream(mails=2)
    find_down(cast.sender())
    trying = probe(stream)

    assert ledger.hold_sender(
        cast.sender().pk, reason=Reason.PROVIDER_DOWN, actor="w", length=timedelta(seconds=2)
    )
    ledger.wait(trying, trying.batches, reason=Reason.PROVIDER_DOWN)
    assert claim(stream) is None
    let_holds_end()

    assert arm(probe(stream))


def test_mail_of_a_test_stream_does_not_try_the_provider_nor_does_a_release_need_it() -> None:
    stream, test = cast.stream(mails=1), cast.stream(mails=1, is_test=True)
    released = cast.stream(mails=2)
    find_down(cast.sender())
    probe(stream)

    sandboxed = claim(test)
    assert sandboxed is not None
    assert not sandboxed.is_probe
    assert arm(sandboxed)

    ledger.release_sender(cast.sender().pk)
    assert arm(cast.claim(released), mails=2)


@pytest.mark.race
def test_of_two_claims_at_once_one_tries() -> None:
    first, second = cast.stream(mails=1), cast.stream(mails=1)
    find_down(cast.sender())

    with collide.uncommitted(lambda: probe(first)):
        rival = collide.start(lambda: claim(second))
        rival.must_wait()

    assert rival.answer() is None
    assert collide.batch_column(second, "lease") == {0: None}
