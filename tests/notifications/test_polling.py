"""Polling: what is due is asked once, outside any transaction, and what fails says so."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import override

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test import override_settings
from pytest_django import Settings

from postledger.notifications.models import Event, Source, SourceItem
from postledger.notifications.sources import polling, sources
from postledger.notifications.sources.polling import Trouble, read_items
from tests.notifications import cast
from tests.notifications.test_sources import add_source, change, section

pytestmark = pytest.mark.django_db(transaction=True)


class Registrar(ThreadingHTTPServer):
    """Answers with what it is told, and calls back before each answer."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.body = b"[]"
        self.status = 200
        self.asked = 0
        self.on_request: Callable[[], object] = lambda: None

    @property
    def netloc(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def show(self, *sections: object) -> None:
        self.body = json.dumps({"data": {"sections": sections}}).encode()


class _Handler(BaseHTTPRequestHandler):
    server: Registrar

    def do_GET(self) -> None:
        self.server.asked += 1
        self.server.on_request()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    @override
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def running() -> Iterator[Registrar]:
    with Registrar() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def registrar(settings: Settings) -> Iterator[Registrar]:
    with running() as server:
        settings.SOURCE_HOSTS = frozenset({server.netloc})
        yield server


@pytest.fixture
def source(settings: Settings, registrar: Registrar) -> Source:
    return add_source(
        settings,
        url=f"http://{registrar.netloc}/sections",
        items_path="data.sections",
        interval_seconds=3600,
    )


def make_due(source: Source) -> None:
    Source.objects.filter(pk=source.pk).update(next_poll_at=Now() - timedelta(seconds=1))


def poll(source: Source) -> Source:
    make_due(source)
    assert polling.poll_due() == 1
    source.refresh_from_db()
    return source


def test_a_source_is_polled_when_it_is_due_and_its_changes_are_events(
    source: Source, registrar: Registrar
) -> None:
    registrar.show(section(1), section(2))
    assert polling.poll_due() == 1
    assert polling.poll_due() == 0

    registrar.show(section(1, "Open"), section(2))
    after = poll(source)

    assert Event.objects.get().data["indexNumber"] == "00001"
    assert registrar.asked == 2
    assert after.trouble == ""
    assert after.last_snapshot_at is not None


def test_a_source_is_leased_before_it_is_asked_and_no_transaction_is_open_meanwhile(
    source: Source, registrar: Registrar
) -> None:
    seen: list[tuple[int, int]] = []

    def look() -> None:
        others = polling._lease_due()
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND state = 'idle in transaction'"
            )
            [(waiting,)] = cursor.fetchall()
        seen.append((len(others), waiting))
        connection.close()

    registrar.on_request = look
    poll(source)

    assert seen == [(0, 0)]


def test_what_a_dead_process_leased_is_polled_after_its_lease(source: Source) -> None:
    [lease] = polling._lease_due()

    assert lease.until - lease.leased_at < timedelta(seconds=15)
    assert polling.poll_due() == 0
    make_due(source)
    assert polling.poll_due() == 1


def test_what_goes_wrong_is_the_trouble_of_the_source_until_it_is_over(
    source: Source, registrar: Registrar
) -> None:
    cases: list[tuple[int, bytes, str]] = [
        (500, b"[]", "answers with the status 500"),
        (302, b"[]", "a redirect"),
        (200, b"<html>", "did not answer with JSON"),
        (200, b"{}", "no array at data.sections"),
        (200, b'{"data": {"sections": [1]}}', "Item 0 of the snapshot is not an object"),
    ]
    for status, body, words in cases:
        registrar.status, registrar.body = status, body
        since = poll(source).trouble_since
        again = poll(source)

        assert words in again.trouble
        assert again.trouble_since == since is not None
        assert again.next_poll_at < since + timedelta(minutes=30)  # sooner than its interval

        registrar.status = 200
        registrar.show(section(1))
        assert (poll(source).trouble, source.trouble_since) == ("", None), status


# As an index does with a row that is too long: the same type of error as that of an outage.
BREAK = """
CREATE OR REPLACE FUNCTION test_fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF new.value = 'Broken' THEN
        RAISE program_limit_exceeded USING MESSAGE = 'index row size exceeds';
    END IF;
    RETURN new;
END $$;
CREATE TRIGGER test_fault BEFORE INSERT ON notifications_sourceitem
    FOR EACH ROW EXECUTE FUNCTION test_fault();
"""
MEND = "DROP TRIGGER test_fault ON notifications_sourceitem; DROP FUNCTION test_fault()"


@pytest.fixture
def broken_items() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute(BREAK)
    yield
    with connection.cursor() as cursor:
        cursor.execute(MEND)


def test_no_workspace_waits_for_the_many_sources_of_another(
    source: Source, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "MOST_AT_ONCE", 2)
    other = cast.topic(settings, workspace="globex")
    for number in range(3):
        sources.create_source(
            source.workspace_id,
            key=f"more-{number}",
            topic="open-seats",
            fields=sources.read_fields(source),
            actor="alice",
        )
    Source.objects.update(next_poll_at=Now() - timedelta(minutes=1))
    last = sources.create_source(
        other.workspace_id,
        key="only",
        topic="open-seats",
        fields=sources.read_fields(source),
        actor="bob",
    )

    assert polling.poll_due() == 2

    last.refresh_from_db()
    assert last.last_snapshot_at or last.trouble, "it was not among the first two"


@pytest.mark.usefixtures("broken_items")
def test_a_source_that_breaks_is_in_trouble_and_the_others_are_polled(
    source: Source, registrar: Registrar
) -> None:
    registrar.show(section(1, "Broken"))
    Source.objects.filter(pk=source.pk).update(next_poll_at=Now() - timedelta(minutes=1))
    with running() as other_registrar:
        other_registrar.show(section(2))
        hosts = frozenset({registrar.netloc, other_registrar.netloc})
        with override_settings(SOURCE_HOSTS=hosts):
            other = sources.create_source(
                source.topic.workspace_id,
                key="other",
                topic="open-seats",
                fields=replace(
                    sources.read_fields(source), url=f"http://{other_registrar.netloc}/sections"
                ),
                actor="alice",
            )
            assert polling.poll_due() == 2

    source.refresh_from_db()
    other.refresh_from_db()
    assert "because of a defect" in source.trouble
    assert (other.trouble, other.last_snapshot_at is not None) == ("", True)


def test_a_large_answer_is_read_and_one_that_is_too_long_cut_off(
    source: Source, registrar: Registrar, monkeypatch: pytest.MonkeyPatch
) -> None:
    registrar.show(*(section(index, title="x" * 300) for index in range(2_000)))
    assert poll(source).trouble == ""
    assert SourceItem.objects.filter(source=source).count() == 2_000

    monkeypatch.setattr(polling, "MOST_BYTES", 10_000)
    registrar.body = b" " * 20_000 + b"[]"
    assert "longer than 10000 bytes" in poll(source).trouble


def test_neither_a_host_that_is_no_longer_allowed_nor_one_inside_is_asked(
    source: Source, registrar: Registrar, settings: Settings
) -> None:
    settings.SOURCE_HOSTS = frozenset()
    assert "SOURCE_HOSTS" in poll(source).trouble
    for host in ("127.0.0.1", "localhost", "169.254.169.254", "10.0.0.1"):
        changed = change(source, url=f"https://{host}/")
        assert "only public addresses are asked" in poll(changed).trouble, host
    assert registrar.asked == 0


def test_a_source_that_was_changed_while_it_was_asked_is_polled_again_at_once(
    source: Source, registrar: Registrar
) -> None:
    def change_it() -> None:
        registrar.on_request = lambda: None
        change(source, watched_field="seats")
        connection.close()

    registrar.on_request = change_it
    registrar.show(section(1, seats=0))
    poll(source)

    assert not SourceItem.objects.exists()
    assert polling.poll_due() == 1
    assert SourceItem.objects.get().value == "0"


def test_archived_and_posted_sources_are_never_polled(source: Source) -> None:
    Source.objects.filter(pk=source.pk).update(url="")
    assert polling.poll_due() == 0
    Source.objects.filter(pk=source.pk).update(url="https://a.example/", archived_at=Now())
    assert polling.poll_due() == 0


def test_the_items_are_the_array_at_their_path() -> None:
    cases: list[tuple[bytes, str, object]] = [
        (b"[1]", "", [1]),
        (b'{"a": {"b": []}}', "a.b", []),
        (b'{"a": []}', "a.b", None),
        (b"7", "", None),
        (b"\xff", "", None),
        (b"[" * 100_000, "", None),
        (b"[" + b"0," * 1_000_001 + b"0]", "", None),
    ]
    for body, path, items in cases:
        found = read_items(body, path)

        assert isinstance(found, Trouble) if items is None else found == items, body
