"""Each API request with a right key has a line for a day, without anything that it carried."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.conf import LazySettings, settings
from redis import Redis

from postledger.accounts import queries
from postledger.web.shared import request_log
from postledger.web.shared.request_log import LoggedRequest, LogWriter, RequestFilters
from tests.web.callers import Caller
from tests.web.dashboard import visitors


@pytest.fixture
def log(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[LogWriter]:
    """The log of a web process, written when a test says so; other tests use this Redis too."""
    monkeypatch.setattr(request_log, "_PREFIX", f"postledger:test-{uuid4()}")
    writer = LogWriter(settings.REDIS_URL)
    request_log.install(writer.note)
    yield writer
    request_log.install(None)
    redis = Redis.from_url(settings.REDIS_URL)
    for name in redis.scan_iter(f"{request_log._PREFIX}:*"):
        redis.delete(name)


def read(who: Caller, filters: RequestFilters | None = None) -> list[LoggedRequest]:
    prefixes = [key.prefix for key in queries.keys(who.workspace_id)]
    chosen = filters or RequestFilters([*prefixes, "k"])
    return request_log.read_requests(who.workspace_id, chosen, limit=100, now=datetime.now(UTC))


def test_a_line_says_what_was_asked_and_answered_and_nothing_that_was_sent(
    alice: Caller, charlie: Caller, log: LogWriter
) -> None:
    alice.get("/v1/contacts", address="secret@example.com")
    alice.get("/v1/contacts/4711")
    alice.post("/v1/contacts", {"address": "secret@example.com"}, X_Request_Id="my-id")
    charlie.get("/v1/lists")
    Caller(0, 0, "pl_live_aaaaaaaa.wrong").get("/v1/lists")
    log.flush()

    lines = read(alice)
    assert {(line.method, line.path, line.status) for line in lines} == {
        ("GET", "/v1/contacts", 200),
        ("GET", "/v1/contacts/{contact_id}", 404),
        ("POST", "/v1/contacts", 201),
    }
    assert {line.key for line in lines} == {alice.token.partition(".")[0]}
    assert "my-id" in {line.request_id for line in lines}
    assert "secret" not in str(lines)
    assert "4711" not in str(lines)
    assert [line.path for line in read(charlie)] == ["/v1/lists"]


def test_a_refusal_has_its_code_in_the_log_and_nothing_else_of_what_was_wrong(
    alice: Caller, log: LogWriter
) -> None:
    made = alice.post("/v1/keys", {"name": "poor", "scopes": ["mail:read"]}).body
    poor = Caller(alice.workspace_id, 0, made["token"])
    forbidden = poor.get("/v1/lists")
    invalid = alice.post("/v1/contacts", {"address": "no secret"})
    unknown = alice.get("/v1/contacts/4711")
    log.flush()

    lines = {line.status: line for line in read(alice)}
    for refused in (forbidden, invalid, unknown):
        assert lines[refused.status].code == refused.body["code"]
    assert lines[201].code == ""
    assert "secret" not in str(lines)
    [found] = read(alice, RequestFilters([made["prefix"]], is_failed=True))
    assert (found.status, found.key, found.code) == (403, made["prefix"], "scope_missing")


def line(at: datetime, number: int = 0, *, status: int = 200, key: str = "k") -> LoggedRequest:
    return LoggedRequest(
        int(at.timestamp() * 1000), "GET", f"/v1/{number}", status, 1, key, f"id-{number}"
    )


def test_a_line_is_gone_after_a_day(alice: Caller, log: LogWriter) -> None:
    now = datetime.now(UTC)
    log.note(alice.workspace_id, line(now - timedelta(hours=25), 1))
    log.note(alice.workspace_id, line(now - timedelta(hours=23), 2))
    log.flush()

    assert [entry.path for entry in read(alice)] == ["/v1/2"]
    name = f"{request_log._PREFIX}:{alice.workspace_id}:fine"
    redis = Redis.from_url(settings.REDIS_URL)
    assert redis.zcard(name) == 1
    assert 0 < redis.ttl(name) <= 24 * 3600


def test_the_log_is_bounded_and_successes_push_out_no_failure(
    alice: Caller, log: LogWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_log, "MOST_KEPT", 50)
    now = datetime.now(UTC)
    log.note(alice.workspace_id, line(now - timedelta(minutes=5), 0, status=500))
    for number in range(1, 121):
        log.note(alice.workspace_id, line(now - timedelta(seconds=200 - number), number))
    log.flush()

    kept = read(alice)
    assert [entry.path for entry in kept[:2]] == ["/v1/120", "/v1/119"]
    assert len(kept) == 51
    assert kept[-1].status == 500


def test_the_page_shows_the_log_and_searches_it(alice: Caller, log: LogWriter) -> None:
    dora = visitors.sign_in(alice.workspace_id)
    alice.get("/v1/contacts/4711")
    alice.get("/v1/lists")
    log.note(alice.workspace_id, line(datetime.now(UTC), 13, key="pl_live_another0"))
    log.flush()

    whole = dora.read("developers/requests/")
    failed = dora.read("developers/requests/", result="failed")
    nothing = dora.get("developers/requests/", key="pl_live_nowhere0").content.decode()

    assert "GET /v1/contacts/{contact_id}" in whole
    assert "GET /v1/lists" in whole
    assert "GET /v1/contacts/{contact_id}" in failed
    assert "GET /v1/lists" not in failed
    assert "No request matches" in nothing
    assert "/v1/13" not in whole, "a line of another installation"
    assert alice.token.partition(".")[2] not in whole


def test_without_redis_requests_are_answered_and_the_page_says_so(
    alice: Caller, settings: LazySettings
) -> None:
    dora = visitors.sign_in(alice.workspace_id)
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    writer = LogWriter(settings.REDIS_URL)
    request_log.install(writer.note)
    try:
        answer = alice.get("/v1/lists")
        page = dora.read("developers/requests/")
    finally:
        request_log.install(None)

    assert answer.status == 200
    assert "Redis does not answer" in page
