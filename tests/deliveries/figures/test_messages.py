"""All mail of a workspace is found by address, id, state and time, and paged in both directions."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import Body, NewDelivery, StreamKind
from postledger.deliveries.figures import message_sources, messages
from postledger.deliveries.figures.message_sources import Message, MessageFilters
from postledger.deliveries.figures.messages import MessageCursor, MessagePage
from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId
from tests import cast

pytestmark = pytest.mark.django_db(transaction=True)

BODY = Body(subject="Your order", html="<p>Hello</p>", text="Hello")


def search(
    *, limit: int = 50, cursor: MessageCursor | None = None, **filters: object
) -> MessagePage:
    workspace_id = cast.sender().workspace_id
    return messages.search_messages(
        workspace_id,
        MessageFilters(**filters),  # type: ignore[arg-type]
        limit=limit,
        cursor=cursor,
    )


def run(addresses: list[str], *, workspace: str = "acme", now: datetime | None = None) -> int:
    stream = cast.stream(workspace=workspace, now=now)
    ledger.enqueue(
        stream, [NewDelivery(address, dedupe_key=address.lower()) for address in addresses]
    )
    return stream


def singles(addresses: list[str], *, workspace: str = "acme", now: datetime | None = None) -> int:
    stream = cast.stream(StreamKind.TRANSACTIONAL, workspace=workspace, now=now)
    for address in addresses:
        ledger.enqueue(stream, [NewDelivery(address, body=BODY)])
    return stream


def keys(page: MessagePage) -> list[tuple[int, int]]:
    return [(one.stream_id, one.position) for one in page.messages]


def walk(
    step: Callable[[MessagePage], MessageCursor | None], page: MessagePage
) -> Iterator[MessagePage]:
    while (cursor := step(page)) is not None:
        text = cursor.encode()
        decoded = MessageCursor.decode(text)
        assert decoded == cursor
        page = search(limit=3, cursor=decoded)
        yield page


def fill() -> int:
    """Two months of runs and single mails, mixed; returns how many mails."""
    last_month = datetime.now(UTC).replace(day=1) - timedelta(days=5)
    for now in (last_month, None):
        one, two = singles(["a@x.example"], now=now), singles(["b@x.example"] * 2, now=now)
        run([f"r{n}@x.example" for n in range(5)], now=now)
        for stream in (one, two, one):
            ledger.enqueue(stream, [NewDelivery("c@x.example", body=BODY)])
        run(["a@x.example"], now=now)
    return 24


def test_pages_towards_older_and_newer_mail_neither_repeat_nor_skip() -> None:
    count = fill()
    first = search(limit=3)

    pages = [first, *walk(lambda page: page.older, first)]

    older = [key for page in pages for key in keys(page)]
    assert len(older) == len(set(older)) == count
    assert older == keys(search(limit=count))
    assert first.newer is None

    last = pages[-1]
    while not last.messages:
        last = search(limit=3, cursor=last.newer)
    back = [last, *walk(lambda page: page.newer, last)]
    newer = [key for page in reversed(back) for key in keys(page)]
    assert len(newer) == count
    assert set(newer) == set(older)

    second, third = pages[1], pages[2]
    assert keys(search(limit=3, cursor=third.newer)) == keys(second)
    assert keys(search(limit=3, cursor=search(limit=3, cursor=third.newer).older)) == keys(third)


def test_single_mails_that_two_months_took_in_turn_are_all_found() -> None:
    last_month = datetime.now(UTC).replace(day=1) - timedelta(days=5)
    old, new = singles([], now=last_month), singles([])
    every = {
        (stream, *ledger.enqueue(stream, [NewDelivery("a@x.example", body=BODY)]))
        for stream in (old, new) * 4
    }
    older = [first := search(limit=3), *walk(lambda page: page.older, first)]
    newer = list(walk(lambda page: page.newer, older[-1]))

    assert sorted(key for page in older for key in keys(page)) == sorted(every)
    assert sorted(key for page in (*newer, older[-1]) for key in keys(page)) == sorted(every)


def test_more_streams_than_are_read_at_once_are_all_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "_MOST_STREAMS", 3)
    singles(["a@x.example"])
    runs = [run(["a@x.example"] if n % 4 == 0 else []) for n in range(9)]
    of_runs = [(stream, 0) for stream in runs[::4]]

    pages = [first := search(limit=3), *walk(lambda page: page.older, first)]
    found = [key for page in pages for key in keys(page)]
    back = [key for page in walk(lambda page: page.newer, pages[-1]) for key in keys(page)]

    assert set(of_runs) < set(found)
    assert len(found) == 4
    assert set(back) | set(keys(pages[-1])) == set(found)


def test_mail_that_comes_while_pages_are_read_changes_none_of_the_older_ones() -> None:
    fill()
    first = search(limit=3)
    expected = keys(search(limit=3, cursor=first.older))

    singles(["new@x.example"])
    run(["newer@x.example"])

    assert keys(search(limit=3, cursor=first.older)) == expected


def test_an_address_is_found_in_runs_and_single_mails_whatever_its_case_and_paged() -> None:
    fill()
    mine = run(["Bob@Example.com", "eve@example.com"])
    single = singles(["bob@example.com", "bob@example.com", "eve@example.com"])

    page = search(address="BOB@example.com")

    assert [one.stream_id for one in page.messages] == [single, single, mine]
    assert {one.address.lower() for one in page.messages} == {"bob@example.com"}
    assert page.older is None
    assert [one.subject for one in page.messages] == ["Your order", "Your order", ""]

    for _ in range(2):
        run(["bob@example.com"])
        singles(["bob@example.com", "bob@example.com"])
    page = search(address="bob@example.com", limit=2)
    found = keys(page)
    while page.older is not None:
        page = search(address="bob@example.com", limit=2, cursor=page.older)
        found += keys(page)
    assert len(found) == len(set(found)) == 9


def test_nothing_of_another_workspace_is_found() -> None:
    stream = run(["bob@example.com"], workspace="globex")
    single = singles(["bob@example.com"], workspace="globex")
    cast.book(single, lambda position: entries.accepted(position, message_id="theirs"))

    assert search(address="bob@example.com").messages == []
    assert search(message_id="theirs").messages == []
    assert search(stream_ids=[stream, single]).messages == []
    assert search().messages == []
    workspace_id = cast.sender().workspace_id
    assert messages.find_message(workspace_id, DeliveryId(stream, 0)) is None


def test_a_mail_is_found_by_its_id_that_of_a_try_and_the_providers() -> None:
    stream = run(["a@x.example", "bob@example.com"])
    cast.book(stream, lambda position: entries.accepted(position, message_id=f"m{position}"))
    workspace_id = cast.sender().workspace_id

    by_id = messages.find_message(workspace_id, DeliveryId(stream, 1))
    by_try = messages.find_message(workspace_id, DeliveryId(stream, 1, 1))

    assert by_id is not None
    assert by_id == by_try == search(message_id="m1").messages[0]
    assert (by_id.address, by_id.state) == ("bob@example.com", State.ACCEPTED)
    assert messages.find_message(workspace_id, DeliveryId(stream, 2)) is None
    assert search(message_id="m9").messages == []


def test_each_state_is_found_and_nothing_else() -> None:
    stream, other = cast.stream(mails=60), singles(["bob@example.com"])
    cast.book(stream, lambda position: entries.accepted(position, message_id="m"))
    cast.book(stream, lambda position: entries.refused(position, code="550"))
    cast.lose(stream)
    cast.judge(stream, lambda position: entries.suppressed(position, code="bounced"), size=5)
    cast.judge(stream, lambda position: entries.skipped(position, code="paused"), size=5)
    cast.judge(stream, entries.expired, size=5)
    cancelled = cast.stream(mails=3)
    ledger.cancel(cancelled, actor="alice")
    ledger.drain(cancelled)

    for state in State:
        found = search(state=state, limit=100).messages

        every = {one: cast.states(one) for one in (stream, other, cancelled)}
        expected = {
            (one, position)
            for one, states in every.items()
            for position, had in states.items()
            if had is state
        }
        assert {(one.stream_id, one.position) for one in found} == expected, state
        assert expected, state


def test_a_time_has_its_beginning_and_not_its_end() -> None:
    stream = run(["a@x.example", "b@x.example", "c@x.example"])
    single = singles(["d@x.example"])
    noon = datetime.now(UTC) - timedelta(days=1)
    sql.rows(
        "UPDATE deliveries_delivery SET planned_at = %(noon)s + position * interval '1 hour'"
        " WHERE stream_id = %(stream)s",
        {"noon": noon, "stream": stream},
    )
    sql.rows("UPDATE deliveries_stream SET created_at = %(noon)s", {"noon": noon})

    found = search(since=noon, until=noon + timedelta(hours=2)).messages
    later = search(since=noon + timedelta(hours=2)).messages

    assert [one.position for one in found] == [1, 0]
    assert [(one.stream_id, one.address) for one in later] == [
        (single, "d@x.example"),
        (stream, "c@x.example"),
    ]
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert len(search(since=first, until=last).messages) == 4
    assert search(since=last).messages == search(until=first).messages == []


def test_an_erased_person_is_found_no_more() -> None:
    stream = run(["bob@example.com"])
    cast.book(stream, lambda position: entries.accepted(position, message_id="m"))

    ledger.erase(cast.sender().workspace_id, address="bob@example.com")

    assert search(address="bob@example.com").messages == []


def plan_of(filters: MessageFilters, *, are_single: bool) -> str:
    """How PostgreSQL reads the streams and the mails of a search, if a table is worth an index."""
    statements: list[tuple[sql.Statement, dict[str, object]]] = [
        (
            messages._OLDER,
            {"first": 0, "end": 1 << 62, "run": 1 << 62, "ids": None, "is_test": False},
        ),
        (message_sources._statement(filters, are_single=are_single, is_newer=False), {}),
    ]
    params = {
        "workspace": 1, "sender": None, "kind": None,
        "address": filters.address, "message": filters.message_id,
        "until": datetime.now(UTC), "since": datetime.now(UTC), "state": None,
        "streams": sql.Bigints([cast.stream()]), "los": sql.Bigints([0]),
        "his": sql.Bigints([9]), "most": 50, "limit": 50,
    }  # fmt: skip
    lines: list[str] = []
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        try:
            for statement, more in statements:
                text = statement if isinstance(statement, str) else statement.as_string()
                explained = sql.rows(f"EXPLAIN {text}", {**params, **more})
                lines += [line for (line,) in explained]
        finally:
            cursor.execute("RESET enable_seqscan")
    return "\n".join(lines)


def test_keys_lead_to_an_address_and_no_table_is_read() -> None:
    for are_single in (True, False):
        plan = plan_of(MessageFilters(address="bob@example.com"), are_single=are_single)

        assert "Seq Scan on deliveries_delivery" not in plan
        assert "Seq Scan on deliveries_word" not in plan
        assert "dedupe_key = " in plan, are_single


def test_a_cursor_that_nobody_wrote_is_none() -> None:
    for text in ("", "o", "x-1-1-1-1", "o-1-1-1", "o-g-1-1-1", "o-1-1-1-11111111111111111"):
        assert MessageCursor.decode(text) is None


def test_the_place_of_a_message_is_that_of_its_order() -> None:
    stream, single = run(["a@x.example"]), singles(["a@x.example"])
    by_stream: dict[int, Message] = {one.stream_id: one for one in search().messages}

    assert by_stream[stream].key == (stream, 0)
    assert by_stream[single].key == (0, by_stream[single].position)
