"""Contacts over HTTP: made, found, changed and deleted, each within its workspace."""

import json
from typing import Any

from postledger.accounts.models import AuditEntry
from postledger.contacts.models import Contact
from tests.web.callers import Caller, Reply

ALICE = {
    "address": "alice@example.com",
    "external_id": "crm-7",
    "name": "Alice",
    "from_name": "Acme News",
    "locale": "pt-BR",
    "time_zone": "Europe/Lisbon",
    "attributes": {"state": "OH", "visits": 3, "tags": ["a", "b"], "is_paid": True},
    "ocd_ids": ["ocd-division/country:us/state:oh"],
}


def make_contact(who: Caller, address: str = "r1@example.com", **more: Any) -> Any:
    reply = who.post("/v1/contacts", {"address": address, **more})
    assert reply.status == 201, reply.body
    return reply.body


def list_addresses(who: Caller, **question: str) -> list[str]:
    reply = who.get("/v1/contacts", **question)
    assert reply.status == 200, reply.body
    return [contact["address"] for contact in reply.body["contacts"]]


def change(who: Caller, contact_id: int, **changes: Any) -> Reply:
    return who.ask("PATCH", f"/v1/contacts/{contact_id}", changes)


def test_a_contact_is_made_and_found_and_its_address_and_external_id_are_taken_once(
    alice: Caller,
) -> None:
    reply = alice.post("/v1/contacts", ALICE)

    assert reply.status == 201
    made_at = reply.body["created_at"]
    assert reply.body == {
        **ALICE,
        "id": reply.body["id"],
        "state": "active",
        "bounce_type": None,
        "bounce_subtype": None,
        "state_changed_at": None,
        "created_at": made_at,
        "updated_at": made_at,
        "suppression": None,
        "subscriptions": [],
    }
    assert alice.get(f"/v1/contacts/{reply.body['id']}").body == reply.body
    for again in (
        {"address": "Alice@Example.com"},
        {"address": "r2@example.com", "external_id": "crm-7"},
    ):
        refused = alice.post("/v1/contacts", again)
        assert (refused.status, refused.body["code"]) == (409, "contact_exists")
    assert list_addresses(alice) == ["alice@example.com"]


def test_a_contact_is_made_with_its_lists_or_not_at_all_and_unconfirmed_until_they_confirm(
    alice: Caller,
) -> None:
    alice.post("/v1/lists", {"key": "news", "name": "News"})

    refused = alice.post("/v1/contacts", {"address": "r1@example.com", "lists": ["news", "nws"]})

    assert (refused.status, refused.body["code"]) == (422, "list_unknown")
    assert "'nws'" in refused.body["detail"]
    assert list_addresses(alice) == []
    make_contact(alice, "known@example.com")
    pending = make_contact(alice, "asked@example.com", lists=["news"])
    active = make_contact(alice, "confirmed@example.com", lists=["news"], is_confirmed=True)
    assert [contact["subscriptions"][0]["state"] for contact in (pending, active)] == [
        "pending",
        "active",
    ]
    # Who gets no mail without a list either.
    assert Contact.objects.get(is_unconfirmed=True).address == "asked@example.com"


def test_a_change_leaves_what_it_does_not_name_and_null_takes_away(alice: Caller) -> None:
    contact = alice.post("/v1/contacts", ALICE).body

    changed = change(
        alice, contact["id"], name="Al", from_name=None, attributes={"state": None, "plan": "pro"}
    )

    assert changed.status == 200
    assert changed.body == {
        **contact,
        "name": "Al",
        "from_name": None,
        "attributes": {"visits": 3, "tags": ["a", "b"], "is_paid": True, "plan": "pro"},
        "updated_at": changed.body["updated_at"],
    }
    emptied = change(
        alice, contact["id"], external_id=None, locale=None, time_zone=None, name=None, ocd_ids=[]
    ).body
    names = ("external_id", "locale", "time_zone", "name", "ocd_ids")
    assert [emptied[name] for name in names] == [None, None, None, "", []]
    assert change(alice, contact["id"]).status == 200


def test_a_new_address_does_not_bring_back_who_left_and_a_taken_one_is_refused(
    alice: Caller,
) -> None:
    contact = make_contact(alice)
    make_contact(alice, "r2@example.com")
    alice.post("/v1/suppressions", {"address": "old@example.com", "reason": "bounced"})

    changed = change(alice, contact["id"], address="old@example.com").body
    refused = change(alice, contact["id"], address="r2@example.com")

    assert (changed["address"], changed["state"]) == ("old@example.com", "bounced")
    assert changed["suppression"] == {"reason": "bounced", "has_left": False}
    assert (refused.status, refused.body["code"]) == (409, "contact_exists")


def test_a_deleted_contact_is_gone_and_its_address_is_free_and_in_no_trail(alice: Caller) -> None:
    contact = make_contact(alice)
    path = f"/v1/contacts/{contact['id']}"
    change(alice, contact["id"], name="Al")

    deleted = alice.ask("DELETE", path)

    assert (deleted.status, deleted.body) == (204, None)
    assert alice.get(path).status == alice.ask("DELETE", path).status == 404
    assert alice.get(f"{path}/history").status == 404
    assert list_addresses(alice) == []
    assert make_contact(alice)["id"] != contact["id"]
    noted = AuditEntry.objects.filter(subject=f"contact {contact['id']}").order_by("pk")
    assert [entry.action for entry in noted] == [
        *("contact.created", "contact.changed", "contact.deleted"),
    ]
    assert {entry.actor for entry in noted} == {f"key {alice.token.partition('.')[0]}"}
    assert "r1@example.com" not in str([entry.data for entry in noted])


def test_pages_hold_everybody_once_in_the_order_of_addresses(alice: Caller) -> None:
    for number in (3, 1, 4, 2):
        make_contact(alice, f"{'Rr'[number % 2]}{number}@example.com")

    first = alice.get("/v1/contacts", limit="3").body
    rest = alice.get("/v1/contacts", limit="3", cursor=first["next"]).body
    whole = alice.get("/v1/contacts", limit="4").body

    assert len(first["contacts"]) == 3
    assert first["contacts"] + rest["contacts"] == whole["contacts"]
    assert [contact["address"][:2] for contact in whole["contacts"]] == ["r1", "R2", "r3", "R4"]
    assert rest["next"] is whole["next"] is None


def test_contacts_are_found_by_what_is_known_of_them(alice: Caller) -> None:
    alice.post("/v1/lists", {"key": "news", "name": "News"})
    make_contact(alice, "ohio@example.com", attributes={"state": "OH"}, external_id="7")
    make_contact(
        alice, "Iowa@example.com", attributes={"state": "IA"}, lists=["news"], is_confirmed=True
    )
    make_contact(alice, "pending@example.com", lists=["news"])
    alice.post("/v1/suppressions", {"address": "ohio@example.com", "reason": "bounced"})

    assert list_addresses(alice, address="iowa@EXAMPLE.com") == ["Iowa@example.com"]
    assert list_addresses(alice, external_id="7") == ["ohio@example.com"]
    assert list_addresses(alice, state="bounced") == ["ohio@example.com"]
    assert list_addresses(alice, list="news") == ["Iowa@example.com"]
    assert list_addresses(alice, filter='{"state": "OH"}') == ["ohio@example.com"]
    assert list_addresses(alice, filter='{"not": {"state": "OH"}}', state="active") == [
        "Iowa@example.com",
        "pending@example.com",
    ]
    assert list_addresses(alice, address="ohio@example.com", state="active") == []
    assert list_addresses(alice, external_id="8") == []


# place, question
WRONG_QUESTIONS: list[tuple[str, dict[str, str]]] = [
    ("address", {"address": "nobody"}),
    ("state", {"state": "asleep"}),
    ("list", {"list": "No List"}),
    ("limit", {"limit": "101"}),
    *(("cursor", {"cursor": text}) for text in ("", "x", "AA", "_w", "a=", "a" * 501)),
    ("external_id", {"external_id": "a\x00"}),
    ("filter", {"filter": "{"}),
    ("filter", {"filter": "[" * 3_999}),
    ("filter", {"filter": json.dumps({"state": "x" * 4_000})}),
    ("surprise", {"surprise": "1"}),
]


def test_a_wrong_question_is_refused(alice: Caller) -> None:
    for place, question in WRONG_QUESTIONS:
        refused = alice.get("/v1/contacts", **question)

        assert (refused.status, refused.body["code"]) == (422, "INVALID_PAYLOAD"), refused.body
        assert refused.body["errors"][0]["place"].startswith(place), question


# code, what is changed
WRONG_CONTACTS: list[tuple[str, dict[str, Any]]] = [
    *(("invalid_address", {"address": text}) for text in ("", "a", "\x00@b.c", "\ud800@b.c")),
    ("INVALID_PAYLOAD", {"address": None}),
    *(("INVALID_PAYLOAD", {"external_id": text}) for text in ("", "a\x00", "x" * 501)),
    ("invalid_contact", {"name": "a\nb"}),
    ("invalid_contact", {"from_name": "a\nb"}),
    ("invalid_contact", {"locale": "English"}),
    ("invalid_contact", {"time_zone": "../etc"}),
    ("invalid_contact", {"attributes": {"a": {"b": 1}}}),
    ("invalid_contact", {"attributes": {"a": 10**400}}),
    ("invalid_contact", {"attributes": {"a": "\x00"}}),
    ("invalid_contact", {"attributes": {"a": float("inf")}}),
    ("invalid_contact", {"ocd_ids": ["Ohio"]}),
    ("INVALID_PAYLOAD", {"attributes": None}),
    ("INVALID_PAYLOAD", {"ocd_ids": ["ocd-division/country:us"] * 201}),
    ("INVALID_PAYLOAD", {"surprise": 1}),
]


def test_what_cannot_be_known_of_a_contact_is_refused(alice: Caller) -> None:
    contact = make_contact(alice)
    before = alice.get("/v1/contacts").body
    for code, changes in WRONG_CONTACTS:
        refused = alice.post("/v1/contacts", {"address": "r2@example.com", **changes})
        unchanged = change(alice, contact["id"], **changes)

        assert (refused.status, refused.body["code"]) == (422, code), changes
        assert (unchanged.status, unchanged.body["code"]) == (422, code), changes
    assert alice.get("/v1/contacts").body == before


# What is wrong with how a consent is told.
WRONG_CONSENTS: list[dict[str, Any]] = [
    *({"consent": {"ip": ip}} for ip in ("somewhere", "192.0.2.0/24", "fe80::1%eth0")),
    {"consent": {"source": "a\x00"}},
    {"consent": {"text_version": "a\n"}},
    {"consent": None},
    {"lists": ["news", "news"]},
    {"lists": ["No List"]},
    {"lists": [f"l{n}" for n in range(101)]},
    {"is_confirmed": "yes"},
]


def test_a_consent_that_proves_nothing_is_refused(alice: Caller) -> None:
    alice.post("/v1/lists", {"key": "news", "name": "News"})
    for changes in WRONG_CONSENTS:
        new = {"address": "r1@example.com", "lists": ["news"], **changes}
        refused = alice.post("/v1/contacts", new)
        assert (refused.status, refused.body["code"]) == (422, "INVALID_PAYLOAD"), changes
    assert not Contact.objects.exists()


def test_what_is_no_id_is_not_found(alice: Caller) -> None:
    for id_ in ("0", "9" * 19, "9" * 5000, "x", "-1", "1.0"):
        missing = alice.get(f"/v1/contacts/{id_}")

        assert (missing.status, missing.body["code"]) == (404, "not_found"), id_
