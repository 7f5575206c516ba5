"""A mail that waits is cancelled over HTTP; one that may have gone is not."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from postledger.deliveries import entries
from postledger.lib.ids import DeliveryId
from tests import cast
from tests.web.callers import Caller, Reply


def cancel(who: Caller, id_: str) -> Reply:
    return who.ask("DELETE", f"/v1/email/{id_}")


def stream_of(id_: str) -> int:
    delivery_id = DeliveryId.parse(id_)
    assert delivery_id
    return delivery_id.stream_id


def test_a_mail_that_waits_is_cancelled_and_says_who_did_it(alice: Caller) -> None:
    later = datetime.now(UTC) + timedelta(days=2)
    id_ = alice.send(send_at=f"{later:%Y-%m-%dT%H:%M:%SZ}").body["id"]

    assert [cancel(alice, id_).status for _ in range(2)] == [204, 204]

    seen = alice.get(f"/v1/email/{id_}").body
    assert (seen["state"], seen["error_code"]) == ("cancelled", "cancelled_by_caller")
    assert seen["waiting"] is None
    [event] = [event for event in seen["timeline"] if event["type"] == "CANCELLED"]
    assert event["metadata"]["actor"].startswith("key ")
    with connection.cursor() as cursor:
        cursor.execute("SELECT type FROM email_events WHERE stream_id = %s", [stream_of(id_)])
        assert cursor.fetchall() == [("CANCELLED",)]
    retried = alice.send().body["id"]
    cast.book(
        stream_of(retried), lambda at: entries.try_later(at, delay=timedelta(hours=1), code="450")
    )
    assert cancel(alice, retried).status == 204
    assert alice.get(f"/v1/email/{retried}").body["state"] == "cancelled"


def accept(stream_id: int) -> None:
    cast.book(stream_id, lambda at: entries.accepted(at, message_id="m"))


@pytest.mark.parametrize(
    ("happen", "code"),
    [(cast.armed, "mail_in_flight"), (cast.lose, "mail_in_doubt"), (accept, "mail_has_result")],
)
def test_a_mail_that_may_have_gone_is_a_conflict(
    alice: Caller, happen: Callable[[int], object], code: str
) -> None:
    id_ = alice.send().body["id"]
    happen(stream_of(id_))
    before = alice.get(f"/v1/email/{id_}").body["state"]

    refused = cancel(alice, id_)

    assert (refused.status, refused.body["code"]) == (409, code)
    assert alice.get(f"/v1/email/{id_}").body["state"] == before


@pytest.mark.usefixtures("db")
def test_the_mail_of_a_campaign_is_not_found(alice: Caller) -> None:
    stream = cast.stream(mails=1)

    assert cancel(alice, DeliveryId(stream, 0).text()).status == 404
    assert cancel(alice, "x").status == 404
