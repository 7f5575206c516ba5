"""What happens between planning and sending is honoured, up to the last moment."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings

from postledger.accounts import workspaces
from postledger.accounts.queries import Organisation
from postledger.contacts import lists
from postledger.contacts.actions import contacts as contact_actions
from postledger.contacts.actions import erasing, subscriptions, suppression
from postledger.contacts.consent import Origin
from postledger.contacts.states import SuppressionReason
from postledger.contacts.unsubscribe_links import GENERAL, UnsubscribeRequest
from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import NewDelivery, StreamKind
from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.dispatch.dispatcher import Dispatcher
from tests import cast
from tests.contacts import people
from tests.dispatch import office
from tests.races import collide

pytestmark = pytest.mark.django_db(transaction=True)


def suppress(acme: office.Office, address: str, reason: SuppressionReason) -> None:
    suppression.suppress(acme.workspace_id, address=address, reason=reason, actor="test")


def test_who_was_suppressed_or_deleted_after_planning_is_not_mailed(acme: office.Office) -> None:
    alice, bob = (
        people.contact(acme.workspace_id, f"{name}@example.com") for name in ("alice", "bob")
    )
    stream = office.stream(acme)
    lines = [
        NewDelivery("alice@example.com", contact_id=alice),
        NewDelivery("bob@example.com", contact_id=bob),
        NewDelivery("Carol@Example.com"),
        NewDelivery("dave@example.com"),
    ]
    ledger.enqueue(stream, lines)

    suppress(acme, "carol@example.com", SuppressionReason.COMPLAINED)
    contact_actions.delete_contact(
        acme.workspace_id, contact_id=bob, actor="test", now=datetime.now(UTC)
    )
    office.send_all(stream)

    states = [State.ACCEPTED, State.FAILED, State.SUPPRESSED, State.ACCEPTED]
    assert list(cast.states(stream).values()) == states
    assert acme.taken_from(stream) == [0, 3]
    assert office.counts(stream) == {State.ACCEPTED: 2, State.FAILED: 1, State.SUPPRESSED: 1}
    codes = [None, "RECIPIENT_NOT_FOUND", "complained", None]
    assert list(collide.column(stream, "code").values()) == codes


def test_who_was_erased_after_planning_is_no_failure(acme: office.Office) -> None:
    address, now = "alice@example.com", datetime.now(UTC)
    alice = people.contact(acme.workspace_id, address)
    stream = office.stream(acme)
    ledger.enqueue(stream, [NewDelivery(address, contact_id=alice)])

    # The contact alone: its mail is what a worker has in its hands, and nobody else may touch.
    erasing.erase(acme.workspace_id, address=address, actor="bob", now=now)
    office.send_all(stream)

    assert acme.taken() == []
    assert office.counts(stream) == {State.SUPPRESSED: 1}
    assert collide.column(stream, "code") == {0: "unsubscribed"}


def leave(acme: office.Office, address: str, list_key: str) -> None:
    suppression.unsubscribe(
        acme.workspace_id,
        request=UnsubscribeRequest(address, list_key),
        origin=Origin("test", "recipient"),
        now=datetime.now(UTC),
    )


def test_who_leaves_everything_after_planning_gets_service_mail_only(acme: office.Office) -> None:
    alice = people.contact(acme.workspace_id, "alice@example.com")
    streams = {kind: office.stream(acme, kind=kind) for kind in StreamKind}
    for kind, stream in streams.items():
        body = office.BODY if kind is StreamKind.TRANSACTIONAL else None
        to_contact = NewDelivery("alice@example.com", contact_id=alice, body=body)
        ledger.enqueue(stream, [to_contact, NewDelivery("Alice@example.com", body=body)])

    leave(acme, "alice@example.com", "general")
    office.send_all(*streams.values())

    assert {kind: office.counts(stream) for kind, stream in streams.items()} == {
        StreamKind.CAMPAIGN: {State.SUPPRESSED: 2},
        StreamKind.TOPIC: {State.SUPPRESSED: 2},
        StreamKind.TRANSACTIONAL: {State.ACCEPTED: 2},
    }


def test_who_leaves_a_list_pauses_or_snoozes_it_after_planning_gets_none_of_its_mail(
    acme: office.Office, settings: LazySettings
) -> None:
    settings.UNSUBSCRIBE_SECRET = "a secret of the tests, long enough"
    page = Organisation("Acme", "1 Main Street", "https://acme.example/unsubscribe")
    workspaces.set_organisation(acme.workspace_id, page, actor="alice")
    for key in ("news", "offers"):
        lists.create_list(acme.workspace_id, key=key, name=key, actor="alice")
    alice, bob, carol = (_subscribed(acme, name) for name in ("alice", "bob", "carol"))
    lines = [
        NewDelivery("alice@example.com", contact_id=alice),
        NewDelivery("bob@example.com", contact_id=bob),
        NewDelivery("carol@example.com", contact_id=carol),
        NewDelivery("dave@example.com"),
    ]
    streams = {key: _list_stream(acme, key, lines) for key in ("news", "offers", GENERAL)}

    leave(acme, "alice@example.com", "news")
    subscriptions.pause(
        acme.workspace_id,
        contact_id=bob,
        list_key="news",
        origin=Origin("test", "bob"),
        now=datetime.now(UTC),
    )
    leave(acme, "dave@example.com", "news")
    office.send_all(*streams.values())

    codes = {key: list(collide.column(id_, "code").values()) for key, id_ in streams.items()}
    assert codes == {
        "news": ["list_unsubscribed", "list_paused", None, "list_unsubscribed"],
        "offers": [None] * 4,
        # They were on no other list, so mail to all contacts leaves them out, too.
        GENERAL: ["left_every_list", "on_break", None, None],
    }
    news = {State.SUPPRESSED: 2, State.SKIPPED: 1, State.ACCEPTED: 1}
    assert office.counts(streams["news"]) == news
    assert office.counts(streams["offers"]) == {State.ACCEPTED: 4}


def _subscribed(acme: office.Office, name: str) -> int:
    contact_id = people.contact(acme.workspace_id, f"{name}@example.com")
    subscriptions.subscribe(
        acme.workspace_id,
        contact_id=contact_id,
        list_key="news",
        is_confirmed=True,
        origin=Origin("test", "alice"),
        now=datetime.now(UTC),
    )
    return contact_id


def _list_stream(acme: office.Office, list_key: str, lines: Sequence[NewDelivery]) -> int:
    stream = ledger.open_stream(
        acme.workspace_id,
        sender_id=acme.sender_id,
        kind=StreamKind.CAMPAIGN,
        title="News",
        body=replace(office.BODY, list_key=list_key),
    )
    ledger.enqueue(stream, lines)
    return stream


def test_a_stream_of_suppressed_people_ends_without_a_call(acme: office.Office) -> None:
    for address in office.people(3):
        suppress(acme, address, SuppressionReason.BOUNCED)
    streams = [office.stream(acme, office.people(3), kind=kind) for kind in StreamKind]

    office.send_all(*streams)

    assert acme.taken() == []
    assert [office.counts(stream) for stream in streams] == [{State.SUPPRESSED: 3}] * 3


def test_anothers_suppression_keeps_nobody_back(tmp_path: Path) -> None:
    acme, globex = (office.open_office(tmp_path, name) for name in ("acme", "globex"))
    suppress(globex, "r0@example.com", SuppressionReason.BOUNCED)
    stream = office.stream(acme, office.people(1))

    office.send_all(stream)

    assert office.counts(stream) == {State.ACCEPTED: 1}


@contextmanager
def stopping_readers() -> Iterator[None]:
    """Whoever has read its mails waits before it knows who is suppressed, and so before it arms."""

    def lock() -> None:
        sql.rows("LOCK TABLE contacts_suppression IN ACCESS EXCLUSIVE MODE", {})

    with collide.uncommitted(lock):
        yield


@contextmanager
def at_the_gate(gate: AbstractContextManager[None]) -> Iterator[tuple[ExitStack, Dispatcher]]:
    """A dispatcher that has read its mails and waits at a gate, until that is closed.

    The gate is shut before anybody works: a slow machine would find the mail sent.
    """
    with ExitStack() as gates:
        gates.enter_context(gate)
        with office.dispatching() as dispatcher:
            wait_for_reader(dispatcher)
            yield gates, dispatcher


def wait_for_reader(dispatcher: Dispatcher) -> None:
    dispatcher.poll()
    office.until(_somebody_waits_for_a_lock)


def _somebody_waits_for_a_lock() -> bool:
    waiting = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    return bool(sql.rows(waiting, {})[0][0])


@pytest.mark.parametrize("kind", [StreamKind.CAMPAIGN, StreamKind.TRANSACTIONAL])
def test_a_mail_that_is_proved_accepted_after_it_was_read_is_not_sent_again(
    kind: StreamKind, acme: office.Office
) -> None:
    stream = office.stream(acme, office.people(3), kind=kind)
    first = cast.book(
        stream, lambda at: entries.try_later(at, delay=timedelta(0), code="later")
    ).batch.lo
    others = sorted({*cast.states(stream)} - {first})

    with at_the_gate(stopping_readers()) as (gate, dispatcher):
        ledger.record(stream, [collide.proof(first)])
        gate.close()
        office.until(lambda: not office.waiting(stream), dispatcher)

    assert acme.taken_from(stream) == others
    assert office.counts(stream) == {State.ACCEPTED: 3}


@contextmanager
def stopping_arms(stream_id: int) -> Iterator[None]:
    """Whoever has made its mails waits at the stream's gate before it arms them."""

    def lock() -> None:
        place = {"place": stream_id & (2**31 - 1)}
        sql.rows("SELECT pg_advisory_xact_lock(1, %(place)s::integer)", place)

    with collide.uncommitted(lock):
        yield


def test_who_leaves_after_the_mail_was_made_and_before_it_is_armed_is_not_mailed(
    acme: office.Office,
) -> None:
    stream = office.stream(acme, office.people(3))

    with at_the_gate(stopping_arms(stream)) as (gate, dispatcher):
        leave(acme, "r1@example.com", "general")
        gate.close()
        office.until(lambda: not office.waiting(stream), dispatcher)

    assert acme.taken_from(stream) == [0, 2]
    assert office.counts(stream) == {State.ACCEPTED: 2, State.SUPPRESSED: 1}


def test_when_everybody_leaves_before_the_arm_the_provider_is_not_called(tmp_path: Path) -> None:
    acme = office.open_office(tmp_path, kind="smtp", settings={"host": "127.0.0.1", "port": 1})
    stream = office.stream(acme, office.people(3))

    with at_the_gate(stopping_arms(stream)) as (gate, dispatcher):
        for address in office.people(3):
            leave(acme, address, "general")
        gate.close()
        office.until(lambda: not office.waiting(stream), dispatcher)

    assert office.counts(stream) == {State.SUPPRESSED: 3}
    assert office.details(stream) == {
        ("not_sent", None, "The recipient withdrew consent while the mail was being composed."),
        ("suppressed", "unsubscribed", ""),
    }


_USE_UP_LEASE = """
CREATE FUNCTION use_up_lease() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN NEW.lease_until := clock_timestamp(); RETURN NEW; END $$
"""
_AT_ONCE = """
CREATE TRIGGER use_up_lease BEFORE UPDATE OF armed_to ON deliveries_batch FOR EACH ROW
    WHEN (NEW.armed_to IS NOT NULL) EXECUTE FUNCTION use_up_lease()
"""


@contextmanager
def using_up_leases() -> Iterator[None]:
    """As where a machine is stopped for minutes as soon as it has armed."""
    sql.rows(_USE_UP_LEASE, {})
    sql.rows(_AT_ONCE, {})
    try:
        yield
    finally:
        sql.rows("DROP FUNCTION use_up_lease CASCADE", {})


def test_no_provider_is_called_when_the_lease_ran_down_after_the_arm(acme: office.Office) -> None:
    stream = office.stream(acme, office.people(2))

    with using_up_leases(), office.dispatching() as dispatcher:
        office.until(lambda: bool(office.details(stream) or acme.taken()), dispatcher)

    assert office.details(stream) == {("not_sent", None, "The lease leaves no time for a call.")}
    assert acme.taken() == []
    office.send_all(stream)
    assert acme.taken_from(stream) == [0, 1]


STOPS: dict[str, Callable[[office.Office, int], object]] = {
    "stream": lambda _, stream: ledger.hold(stream, reason=Reason.PAUSED, actor="alice"),
    "sender": lambda acme, _: ledger.hold_sender(
        acme.sender_id, reason=Reason.PAUSED, actor="alice"
    ),
    "cancelled": lambda _, stream: ledger.cancel(stream, actor="alice"),
}


@pytest.mark.parametrize("stop", STOPS)
def test_what_is_stopped_after_it_was_read_waits_and_goes_on_where_it_is_released(
    stop: str, acme: office.Office
) -> None:
    with office.dispatching() as dispatcher:
        with stopping_readers():
            stream = office.stream(acme, office.people(3))
            wait_for_reader(dispatcher)
            STOPS[stop](acme, stream)
        # Given back, and left alone from then on.
        office.until(lambda: collide.batch_column(stream, "lease") == {0: None}, dispatcher)
        dispatcher.poll()

        assert acme.taken() == []
        assert cast.batches(stream) == [(0, 3, 1, Reason.READY)]
        assert office.counts(stream) == {State.WAITING: 3}
        if stop == "stream":
            ledger.release(stream)
            office.until(lambda: not office.waiting(stream), dispatcher)
            assert acme.taken_from(stream) == [0, 1, 2]
            assert office.counts(stream) == {State.ACCEPTED: 3}
