"""What a person may ask of a workspace, over HTTP: everything that is known, or to be erased."""

import pytest

from postledger.deliveries import entries
from postledger.lib.ids import DeliveryId
from tests import cast
from tests.privacy.test_privacy import everything
from tests.races import collide
from tests.web.callers import Caller
from tests.web.test_contacts_api import make_contact

R1 = "r1@example.com"
SECRETS = (R1, "R One", "crm-7", "hunter2")


def person(who: Caller) -> str:
    """The path of a contact who agreed to something."""
    who.post("/v1/lists", {"key": "news", "name": "News"})
    contact = make_contact(who, R1, name="R One", external_id="crm-7", lists=["news"])
    return f"/v1/contacts/{contact['id']}"


def send_mail(who: Caller) -> int:
    """The stream of a mail to this person, which waits."""
    sent = who.send(to=R1, html="<p>hunter2</p>", text="hunter2")
    named = DeliveryId.parse(sent.body["id"])
    assert named
    return named.stream_id


def accept_all(stream_id: int) -> None:
    cast.book(stream_id, lambda at: entries.accepted(at, message_id="<1>"))


def test_an_export_is_a_file_with_everything(alice: Caller) -> None:
    path = person(alice)
    accept_all(send_mail(alice))
    make_contact(alice, "r2@example.com", name="R Two")

    exported = alice.get(f"{path}/export")

    assert exported.status == 200
    named = exported.headers["Content-Disposition"]
    assert named == f'attachment; filename="contact-{path.rpartition("/")[2]}.json"'
    document = exported.body
    [contact] = document["contacts"]
    assert (document["address"], contact["name"]) == (R1, "R One")
    assert [event["action"] for event in contact["history"]] == ["subscribed"]
    assert [(mail["subject"], mail["state"]) for mail in document["mails"]] == [
        ("Your receipt", "accepted")
    ]
    assert "R Two" not in str(document)


def test_who_is_erased_is_nowhere_and_stays_suppressed(alice: Caller) -> None:
    path = person(alice)
    accept_all(send_mail(alice))
    assert [word for word in SECRETS if word not in everything()] == []

    erased = alice.post(f"{path}/erase", None)

    assert (erased.status, erased.body["contacts"], erased.body["mails"]) == (200, 1, 1)
    assert [word for word in SECRETS if word in everything()] == []
    assert alice.get(path).status == alice.post(f"{path}/erase", None).status == 404
    assert alice.get(f"{path}/history").status == alice.get(f"{path}/export").status == 404
    [kept] = alice.get("/v1/suppressions").body["suppressions"]
    assert (kept["address"], kept["reason"]) == (None, "unsubscribed")
    assert alice.get("/v1/suppressions", address=R1).body["suppressions"] == [kept]
    assert make_contact(alice, R1)["state"] == "unsubscribed"


def test_mail_that_waits_is_erased_by_erasing_the_address_again(alice: Caller) -> None:
    path = person(alice)
    stream_id = send_mail(alice)

    first = alice.post(f"{path}/erase", None).body
    accept_all(stream_id)
    wrong = [alice.post("/v1/contacts/erase", body) for body in ({"address": "nobody"}, {})]
    again = alice.post("/v1/contacts/erase", {"address": R1})

    assert (first["mails"], first["waiting"]) == (0, 1)
    assert [refused.body["code"] for refused in wrong] == ["invalid_address", "INVALID_PAYLOAD"]
    assert again.status == 200
    assert again.body == {"contacts": 0, "consents": 0, "mails": 1, "waiting": 0, "uploads": 0}
    assert [word for word in SECRETS if word in everything()] == []


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_an_erasing_that_meets_a_change_of_address_erases_nobody_and_says_so(
    alice: Caller,
) -> None:
    path = person(alice)

    with collide.uncommitted(lambda: alice.ask("PATCH", path, {"address": "new@example.com"})):
        erasing = collide.start(lambda: alice.post(f"{path}/erase", None))
        erasing.must_wait()

    refused = erasing.answer()
    assert (refused.status, refused.body["code"]) == (409, "address_changed")
    assert alice.get(path).body["name"] == "R One"
    assert alice.post(f"{path}/erase", None).body["contacts"] == 1
    assert [word for word in (*SECRETS[:3], "new@example.com") if word in everything()] == []
