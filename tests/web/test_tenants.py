"""Charlie belongs to globex, and finds nothing of acme at any address of the API."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from postledger.deliveries.entries import Kind
from postledger.lib.ids import DeliveryId
from postledger.web.api import openapi
from tests import cast
from tests.web.callers import Caller, Reply

type Attempt = Callable[[Caller, str], Reply]

# What charlie tries at each operation that can name something of acme.
NAMING: dict[str, Attempt] = {
    "getMail": lambda charlie, id_: charlie.get(f"/v1/email/{id_}"),
}
# And at those that cannot: what must not come of them is tested below, one by one.
OTHERS = {"sendMail", "sendMails", "searchMails"}


def operations() -> set[str]:
    paths = openapi.described()["paths"].values()
    return {operation["operationId"] for methods in paths for operation in methods.values()}


def test_every_operation_is_tried_by_charlie() -> None:
    assert operations() == {*NAMING, *OTHERS}


@pytest.mark.parametrize("operation", NAMING)
def test_a_mail_of_acme_is_to_charlie_as_one_that_does_not_exist(
    operation: str, alice: Caller, charlie: Caller
) -> None:
    id_ = alice.send().body["id"]
    random = DeliveryId(DeliveryId.parse(id_).stream_id, 10**15).text()  # type: ignore[union-attr]

    replies = [NAMING[operation](charlie, tried) for tried in (id_, random, str(uuid4()), "x")]

    assert NAMING[operation](alice, id_).status == 200
    assert {reply.status for reply in replies} == {404}
    bodies = [{**reply.body, "request_id": ""} for reply in replies]
    assert all(body == bodies[0] for body in bodies)


def test_a_try_and_a_campaigns_mail_are_not_found_either(alice: Caller) -> None:
    own = DeliveryId.parse(alice.send().body["id"])
    assert own
    campaign = cast.stream(Kind.CAMPAIGN, mails=1)

    for id_ in (DeliveryId(own.stream_id, own.position, 1), DeliveryId(campaign, 0)):
        assert alice.get(f"/v1/email/{id_.text()}").status == 404


def test_charlie_finds_none_of_acmes_mails(alice: Caller, charlie: Caller) -> None:
    alice.send(tags=["receipt"])
    position = DeliveryId.parse(alice.send().body["id"])
    assert position

    for question in ({}, {"to": "alice@example.com"}, {"tag": "receipt"}, {"state": "waiting"}):
        assert charlie.get("/v1/email", **question).body == {"mails": [], "next": None}


def test_charlie_cannot_send_as_acme(alice: Caller, charlie: Caller) -> None:
    for refused in (
        charlie.send(sender="news@acme.example"),
        charlie.batch({}, {"sender": "news@acme.example"}),
    ):
        assert (refused.status, refused.body["errors"][0]["place"]) == (422, "sender")
    assert charlie.get("/v1/email").body["mails"] == []


def test_charlie_and_alice_may_use_the_same_key(alice: Caller, charlie: Caller) -> None:
    assert alice.send("order-5").body["id"] != charlie.send("order-5").body["id"]


def test_charlies_cursor_leads_to_charlies_mails(alice: Caller, charlie: Caller) -> None:
    for _ in range(3):
        alice.send()
    cursor = alice.get("/v1/email", limit="1").body["next"]

    assert charlie.get("/v1/email", cursor=cursor).body["mails"] == []
