"""Finding mails again: by address, tag, state and time, page by page."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from postledger.accounts.models import Sender
from postledger.deliveries import entries, ledger, search
from postledger.deliveries.entries import Body, NewDelivery, StreamKind
from postledger.deliveries.search import MailCursor, MailFilters
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId
from tests import cast
from tests.web.callers import Caller

pytestmark = pytest.mark.django_db

NOW = datetime.now(UTC)


def subjects(alice: Caller, **question: str) -> list[str]:
    reply = alice.get("/v1/email", **question)
    assert reply.status == 200, reply.body
    return [mail["subject"] for mail in reply.body["mails"]]


def test_mails_of_all_senders_are_found_by_address_tag_and_state(alice: Caller) -> None:
    Sender.objects.create(workspace_id=alice.workspace_id, address="help@acme.example")
    sent = alice.send(subject="a", to="Bob@Example.com", tags=["x", "y"])
    alice.send(subject="b", to="bob@example.com", tags=["y"], sender="help@acme.example")
    alice.send(subject="c", tags=["x"], sender="news@acme.example")
    stream = DeliveryId.parse(sent.body["id"])
    assert stream
    cast.book(stream.stream_id, lambda position: entries.accepted(position, message_id="m"))

    for found, question in (
        ("cba", {}),
        ("ba", {"to": "bob@EXAMPLE.com"}),
        ("ca", {"tag": "x"}),
        ("ba", {"tag": "y", "to": "bob@example.com"}),
        ("a", {"tag": "x", "to": "bob@example.com"}),
        ("", {"tag": "z"}),
        ("", {"to": "eve@example.com"}),
        ("a", {"state": "accepted"}),
        ("cb", {"state": "waiting"}),
        ("", {"state": "failed"}),
    ):
        assert "".join(subjects(alice, **question)) == found, question


def test_a_mail_is_found_by_the_providers_id_also_with_other_filters(
    alice: Caller, charlie: Caller
) -> None:
    ids = [alice.send(subject=f"Mail {n}", tags=["x"]).body["id"] for n in range(2)]
    stream = DeliveryId.parse(ids[0])
    assert stream
    cast.book(stream.stream_id, lambda at: entries.accepted(at, message_id=f"m-{at}"))
    message_id = alice.get(f"/v1/email/{ids[0]}").body["message_id"]

    assert subjects(alice, message_id=message_id) == ["Mail 0"]
    assert subjects(alice, message_id=message_id, tag="x", state="accepted") == ["Mail 0"]
    assert subjects(alice, message_id=message_id, tag="y") == []
    assert subjects(alice, message_id=message_id, to="nobody@example.com") == []
    assert subjects(alice, message_id="m-0-0") == []
    assert subjects(charlie, message_id=message_id) == []


def test_mails_are_found_by_time(alice: Caller) -> None:
    ids = [DeliveryId.parse(alice.send(subject=f"Mail {n}").body["id"]) for n in range(10)]
    with connection.cursor() as cursor:
        for n, id_ in enumerate(ids):
            assert id_
            cursor.execute(
                "UPDATE deliveries_delivery SET planned_at = %s WHERE position = %s",
                [NOW - timedelta(hours=10 - n), id_.position],
            )

    def search_between(**hours: int) -> list[str]:
        moments = {name: (NOW - timedelta(hours=ago)).isoformat() for name, ago in hours.items()}
        return subjects(alice, **moments)

    assert search_between(since=3) == ["Mail 9", "Mail 8", "Mail 7"]
    assert search_between(until=7) == ["Mail 2", "Mail 1", "Mail 0"]
    assert search_between(since=6, until=4) == ["Mail 5", "Mail 4"]
    assert search_between(since=0) == []
    assert search_between(until=11) == []
    assert subjects(alice, since="0001-01-01T00:00:00Z", until="9999-12-31T23:59:59Z") == [
        f"Mail {n}" for n in reversed(range(10))
    ]


def test_pages_give_every_mail_once(alice: Caller) -> None:
    alice.batch(*({"subject": f"Mail {n}"} for n in range(7)))
    questions: list[tuple[int, dict[str, str]]] = [
        (1, {}),
        (2, {"to": "alice@example.com"}),
        (3, {"state": "waiting"}),
        (7, {}),
        (100, {"to": "alice@example.com"}),
    ]
    for limit, question in questions:
        subjects_seen: list[str] = []
        page = alice.get("/v1/email", limit=str(limit), **question).body
        for _ in range(20):
            subjects_seen += [mail["subject"] for mail in page["mails"]]
            if page["next"] is None:
                break
            page = alice.get("/v1/email", limit=str(limit), cursor=page["next"], **question).body

        assert page["next"] is None, limit
        assert subjects_seen == [f"Mail {n}" for n in reversed(range(7))], limit


def test_pages_go_on_in_older_months() -> None:
    owner = cast.sender()
    for month in (datetime(2026, number, 15, tzinfo=UTC) for number in (12, 11, 10, 8)):
        stream_id = cast.stream(StreamKind.TRANSACTIONAL, now=month)
        ledger.enqueue(
            stream_id,
            [NewDelivery(f"r{n}@example.com", body=Body(f"{month:%m}-{n}", "x")) for n in range(3)],
            due_at=NOW,
        )
    subjects_seen: list[str] = []
    after: MailCursor | None = None
    for _ in range(12):
        page = search.search(
            owner.workspace_id,
            MailFilters(),
            limit=2,
            now=datetime(2026, 12, 20, tzinfo=UTC),
            after=after,
        )
        subjects_seen += [mail.subject for mail in page.mails]
        after = page.after
        if after is None:
            break

    assert subjects_seen == [
        f"{month}-{n}" for month in ("12", "11", "10", "08") for n in (2, 1, 0)
    ]


@pytest.fixture
def many() -> int:
    """The stream of 6,000 mails of acme, of which the oldest was accepted."""
    stream_id = cast.stream(StreamKind.TRANSACTIONAL)
    lines = [NewDelivery("a@example.com", body=Body("x", "x", tags=("x",)))] * 1000
    for _ in range(6):
        ledger.enqueue(stream_id, lines, due_at=NOW)
    cast.book(stream_id, lambda position: entries.accepted(position, message_id="m"))
    return stream_id


def test_a_search_looks_at_so_many_lines_and_goes_on_from_there(many: int) -> None:
    workspace_id = cast.sender().workspace_id
    asked = MailFilters(state=State.ACCEPTED)

    first = search.search(workspace_id, asked, limit=10, now=datetime.now(UTC))
    second = search.search(workspace_id, asked, limit=10, now=datetime.now(UTC), after=first.after)

    assert (len(first.mails), first.after is None) == (0, False)
    assert (len(second.mails), second.after) == (1, None)


def test_a_search_scans_no_table_from_end_to_end(many: int) -> None:
    for asked in (
        MailFilters(),
        MailFilters(address="a@example.com"),
        MailFilters(tag="x"),
        MailFilters(address="a@example.com", tag="x"),
        MailFilters(state=State.ACCEPTED),
        MailFilters(since=NOW - timedelta(hours=1), until=NOW + timedelta(hours=1)),
    ):

        def scans() -> int:
            cursor.execute(
                "SELECT coalesce(sum(seq_scan), 0) FROM pg_stat_xact_user_tables"
                " WHERE relname ~ '^deliveries_(delivery|word|body)_'"
            )
            return int(cursor.fetchone()[0])

        with connection.cursor() as cursor:
            cursor.execute("ANALYZE deliveries_delivery, deliveries_word, deliveries_body")
            before = scans()
            for _ in range(8):  # from the sixth time on, with the plan for all parameters
                search.search(cast.sender().workspace_id, asked, limit=10, now=datetime.now(UTC))

            assert scans() == before, asked


def test_a_question_that_makes_no_sense_is_refused(alice: Caller) -> None:
    for question in (
        *({"to": "nobody"}, {"to": "\x00"}, {"state": "sent"}, {"tag": "a b"}, {"tag": "x\n"}),
        *({"limit": "0"}, {"limit": "101"}, {"cursor": "x"}, {"cursor": "1-"}, {"cursor": "-1-1"}),
        *({"since": "yesterday"}, {"until": "1"}, {"surprise": "1"}),
        *({"tag": "x'; SELECT pg_sleep(5) --"}, {"to": "a'--@example.com' OR 1=1"}),
    ):
        refused = alice.get("/v1/email", **question)
        assert (refused.status, refused.body["code"]) == (422, "INVALID_PAYLOAD"), question


def test_a_made_up_cursor_finds_nothing_wrong(alice: Caller) -> None:
    alice.send()
    for cursor in ("0-0", "ffffff-ffffffffffffffff", "142-0"):
        assert alice.get("/v1/email", cursor=cursor).status == 200, cursor
