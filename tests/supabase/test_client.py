"""The table is read in order and written by condition; what fails in passing is asked again."""

import pytest

from postledger.lib.errors import RefusedError
from postledger.supabase import client, errors
from tests.fakes.postgrest import KEY, FakePostgrest, Fault


def emails(fake: FakePostgrest, after: str = "", *, seconds: float = 5.0) -> list[object]:
    with client.connect(fake.url, KEY, seconds=seconds, sleep=lambda _: None) as table:
        return [row["email"] for row in table.read_after(after)]


def test_rows_come_in_the_tables_own_order_after_the_cursor(fake: FakePostgrest) -> None:
    for email in ("b@example.com", "A@example.com", "a+x&y@example.com", "C@example.com"):
        fake.add(email)

    ordered = emails(fake)

    assert ordered[-2:] == ["b@example.com", "C@example.com"]
    assert [emails(fake, str(email)) for email in ordered] == [
        ordered[1:],
        ordered[2:],
        ordered[3:],
        [],
    ]


def test_a_row_is_written_only_while_it_is_as_it_was_seen(fake: FakePostgrest) -> None:
    fake.add("a+1@example.com", status_updated_at="2026-11-01T00:00:00.123456Z")
    fake.add("b@example.com", None)
    with client.connect(fake.url, KEY) as table:
        first, second = table.read_after("")
        fake.set("b@example.com", status="active")

        assert table.update_if_same(first, {"status": "unsubscribed"})
        assert not table.update_if_same(second, {"status": "unsubscribed"})
        assert not table.update_if_same(first, {"status": "bounced"})
        fake.set("a+1@example.com", status="active", status_updated_at="2026-11-02T00:00:00Z")
        assert not table.update_if_same(first, {"status": "bounced"})

    assert fake.row("a+1@example.com")["status"] == "active"
    assert fake.row("b@example.com")["status"] == "active"


@pytest.mark.parametrize(
    "fault",
    [
        Fault(500),
        Fault(503, retry_after="1"),
        Fault(429, retry_after="2"),
        Fault(200, body=b"<h1>not JSON</h1>"),
        Fault(200, body=b'{"no": "list"}'),
        Fault(200, body=b'[{"email": null}]'),
        Fault(200, body=b"[]", stall=4.0),
    ],
)
@pytest.mark.slow
def test_what_fails_in_passing_is_asked_again(fake: FakePostgrest, fault: Fault) -> None:
    fake.add("a@example.com")
    fake.faults.append(fault)

    assert emails(fake, seconds=3) == ["a@example.com"]
    assert len(fake.requests) == 2


@pytest.mark.parametrize(
    ("fault", "error", "asked"),
    [
        (Fault(500), errors.SupabaseUnreachableError, 4),
        (Fault(429, retry_after="1"), errors.SupabaseRateLimitedError, 4),
        (Fault(429, retry_after="3600"), errors.SupabaseRateLimitedError, 1),
        (Fault(400), errors.SupabaseRequestRefusedError, 1),
        (Fault(403), errors.SupabaseUnauthorizedError, 1),
        (Fault(404), errors.SupabaseTableUnknownError, 1),
    ],
)
def test_what_does_not_pass_is_refused_in_words(
    fake: FakePostgrest, fault: Fault, error: type[RefusedError], asked: int
) -> None:
    fake.faults.extend([fault] * 9)

    with pytest.raises(error):
        emails(fake)

    assert len(fake.requests) == asked


def test_a_waiting_time_that_supabase_asks_for_is_kept(fake: FakePostgrest) -> None:
    fake.faults.extend([Fault(429, retry_after="7"), Fault(500)])
    waited: list[float] = []

    with client.connect(fake.url, KEY, sleep=waited.append) as table:
        table.read_after("")

    assert waited == [7.0, 2.0]


def test_what_cannot_be_a_key_is_refused_without_being_shown() -> None:
    for key in ("", "  ", "two words", "line\nend", "clé"):
        with (
            pytest.raises(errors.SupabaseUnauthorizedError) as refused,
            client.connect("http://127.0.0.1:9", key),
        ):
            pass

        assert not key.strip() or key not in str(refused.value), key
