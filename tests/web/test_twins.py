"""The same request many times at once is one mail and one answer."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection, connections

from tests.web.callers import Caller, Reply, caller

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

TWINS = 50


def together(alice: Caller, subjects: list[str], key: str | None) -> list[Reply]:
    """Sends all at the same moment, each in a thread with a connection of its own."""
    ready = Barrier(len(subjects))

    def send(subject: str) -> Reply:
        try:
            connection.ensure_connection()
            ready.wait(30)
            return alice.send(key, subject=subject)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(subjects)) as threads:
        return list(threads.map(send, subjects))


def count_stored() -> dict[str, int]:
    with connection.cursor() as cursor:
        counts = {}
        for table in ("delivery", "body", "batch", "word"):
            cursor.execute(f"SELECT count(*) FROM deliveries_{table}")
            counts[table] = cursor.fetchone()[0]
        return counts


def test_fifty_twins_are_one_mail_and_get_the_same_answer() -> None:
    alice = caller("acme")

    replies = together(alice, ["Hello"] * TWINS, "order-5")

    assert [reply.status for reply in replies] == [202] * TWINS
    assert all(reply.body == replies[0].body for reply in replies)
    assert count_stored() == {"delivery": 1, "body": 1, "batch": 1, "word": 1}


def test_of_two_bodies_under_one_key_one_wins_and_the_other_is_refused() -> None:
    alice = caller("acme")

    replies = together(alice, ["One", "Other"] * 10, "order-5")

    assert sorted({reply.status for reply in replies}) == [202, 409]
    assert len({reply.body["id"] for reply in replies if reply.status == 202}) == 1
    assert sum(reply.status == 202 for reply in replies) == 10
    assert count_stored()["delivery"] == 1


def test_the_first_mails_of_a_month_at_once_open_one_stream() -> None:
    alice = caller("acme")

    replies = together(alice, [f"Mail {n}" for n in range(20)], None)

    assert {reply.status for reply in replies} == {202}
    assert count_stored()["delivery"] == 20
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM deliveries_stream")
        assert cursor.fetchone() == (1,)
