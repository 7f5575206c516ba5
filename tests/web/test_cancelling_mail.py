"""A mail that waits is cancelled over HTTP; one that may have gone is not."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from postledger.accounts.keys import Scope
from postledger.deliveries import entries
from postledger.lib.ids import DeliveryId
from tests import cast
from tests.web.callers import Caller, Reply, caller


def cancel(who: Caller, id_: str) -> Reply:
    return who.ask("DELETE", f"/v1/email/{id_}")


def stream_of(id_: str) -> int:
    delivery_id = DeliveryId.parse(id_)
    assert delivery_id
    return delivery_id.stream_id


def test_a_scheduled_mail_is_cancelled_and_says_who_did_it(alice: Caller) -> None:
    later = datetime.now(UTC) + timedelta(days=2)
    id_ = alice.send(send_at=f"{later:%Y-%m-%dT%H:%M:%SZ}").body["id"]

    assert [cancel(alice, id_).status for _ in range(2)] == [204, 204]

    seen = alice.get(f"/v1/email/{id_}").body
    assert (seen["state"], seen["error_code"]) == ("cancelled", "cancelled_by_caller")
    assert seen["waiting"] is None
    [event] = [event for event in seen["timeline"] if event["type"] == "CANCELLED"]
    assert event["metadata"]["actor"].startswith("key ")


def test_a_mail_that_waits_for_a_retry_is_cancelled(alice: Caller) -> None:
    id_ = alice.send().body["id"]
    cast.book(
        stream_of(id_), lambda at: entries.try_later(at, delay=timedelta(hours=1), code="450")
    )

    assert cancel(alice, id_).status == 204
    assert alice.get(f"/v1/email/{id_}").body["state"] == "cancelled"


def test_a_mail_that_is_being_handed_over_is_a_conflict(alice: Caller) -> None:
    id_ = alice.send().body["id"]
    cast.armed(stream_of(id_))

    refused = cancel(alice, id_)

    assert (refused.status, refused.body["code"]) == (409, "mail_in_flight")
    assert alice.get(f"/v1/email/{id_}").body["state"] == "waiting"


def test_a_mail_in_doubt_is_a_conflict(alice: Caller) -> None:
    id_ = alice.send().body["id"]
    cast.lose(stream_of(id_))

    refused = cancel(alice, id_)

    assert (refused.status, refused.body["code"]) == (409, "mail_in_doubt")


def test_a_mail_that_has_a_result_is_a_conflict(alice: Caller) -> None:
    id_ = alice.send().body["id"]
    cast.book(stream_of(id_), lambda at: entries.accepted(at, message_id="m"))

    refused = cancel(alice, id_)

    assert (refused.status, refused.body["code"]) == (409, "mail_has_result")
    assert alice.get(f"/v1/email/{id_}").body["state"] == "accepted"


def test_a_mail_of_acme_is_not_charlies_to_cancel(alice: Caller, charlie: Caller) -> None:
    id_ = alice.send().body["id"]

    assert cancel(charlie, id_).status == 404
    assert alice.get(f"/v1/email/{id_}").body["state"] == "waiting"


def test_a_test_key_cancels_the_mail_of_test_keys_only(alice: Caller) -> None:
    tester = caller("acme", is_test=True)
    live, tried = alice.send().body["id"], tester.send().body["id"]

    assert (cancel(tester, live).status, cancel(tester, tried).status) == (404, 204)
    assert alice.get(f"/v1/email/{live}").body["state"] == "waiting"


def test_only_a_key_that_may_send_cancels(alice: Caller) -> None:
    id_ = alice.send().body["id"]
    reader = caller("acme", scopes=[Scope.READ])
    sender = caller("acme", scopes=[Scope.SEND])

    assert (cancel(reader, id_).status, cancel(sender, id_).status) == (403, 204)


@pytest.mark.usefixtures("db")
def test_the_mail_of_a_campaign_is_not_found(alice: Caller) -> None:
    stream = cast.stream(mails=1)

    assert cancel(alice, DeliveryId(stream, 0).text()).status == 404
    assert cancel(alice, "x").status == 404


def test_a_cancelled_mail_is_told_as_one_event_in_the_views(alice: Caller) -> None:
    id_ = alice.send().body["id"]
    cancel(alice, id_)

    with connection.cursor() as cursor:
        cursor.execute("SELECT type FROM email_events WHERE stream_id = %s", [stream_of(id_)])
        types = [type_ for (type_,) in cursor.fetchall()]

    assert types == ["CANCELLED"]
