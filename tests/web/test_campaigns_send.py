"""One request sends an article: with a key or the admin's password, and once for each batch."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import LazySettings
from django.test import Client

from postledger.accounts import integrations, senders
from postledger.accounts.integrations import IntegrationKind
from postledger.accounts.models import Integration
from postledger.campaigns.models import Campaign, Run
from postledger.content import letters
from postledger.deliveries import ledger, queries
from tests.campaigns import press
from tests.deliveries import views
from tests.web import newsroom
from tests.web.callers import Caller, Reply, caller, forget_visits, reply

US = "ocd-division/country:us"
OHIO = f"{US}/state:oh"
FRANKLIN = f"{OHIO}/county:franklin"
UPPER_ARLINGTON = f"{OHIO}/place:upper_arlington"
CLEVELAND = f"{OHIO}/place:cleveland"
CUYAHOGA = f"{OHIO}/county:cuyahoga"
PASSWORD = "correct horse battery"
SEND = {"campaign_tag": "flood-1", "article_key": "flood", "send_batch_id": newsroom.BATCH}


@pytest.fixture(autouse=True)
def furnished(alice: Caller, settings: LazySettings) -> None:
    newsroom.furnish(alice, settings)
    # Redis remembers earlier runs; what is limited has a test of its own.
    settings.PUBLIC_RATE = "1000000/minute"
    write(alice)


def write(who: Caller) -> None:
    who.post("/v1/articles", {"key": "flood", "title": "Flood"})
    pieces = (
        (None, "Rivers are rising"),
        (US, ""),
        (OHIO, ""),
        (FRANKLIN, ""),
        (UPPER_ARLINGTON, ""),
    )
    for scope, title in pieces:
        piece = {
            "scope_ocd_id": scope,
            "title": title,
            "is_headline": bool(title),
            "body_md": f"Words for {(scope or 'everybody').rpartition(':')[2]}.",
            "is_published": True,
        }
        assert who.post("/v1/articles/flood/slices", piece).status == 201


def send(who: Caller, **changes: Any) -> Reply:
    return who.post("/v1/campaigns/send", {**SEND, **changes})


def anonymous(ip: str = "192.0.2.1", **body: Any) -> Reply:
    return reply(
        Client().post("/v1/campaigns/send", body, content_type="application/json", REMOTE_ADDR=ip)
    )


def set_password(who: Caller) -> None:
    integrations.set_integration(
        who.workspace_id,
        IntegrationKind.ADMIN,
        changes={"password": PASSWORD},
        actor="alice",
    )


def planned(answer: Reply) -> Run:
    assert answer.status == 202, answer.body
    return press.planned(UUID(answer.body["run_id"]))


def words(run: Run, address: str) -> str:
    """The plain text of the letter that an address gets."""
    [number] = [line[3] for line in press.lines(run) if line[0] == address]
    place = ledger.shared_position(number)
    body = queries.read_bodies(run.stream_id, [place])[place]
    letter = letters.find(run.workspace_id, digest=body.letter)
    assert letter
    filled = letter.fill({"name": "", "email": address, "unsubscribe_url": "https://a.example"})
    return letter.join(filled)[1]


def test_replaying_a_send_batch_id_leaves_the_delivery_history_as_it_is(alice: Caller) -> None:
    newsroom.people(alice, 3)
    run = planned(send(alice))
    newsroom.book(str(run.pk), newsroom.taken)
    before = views.read("delivery_history", run.stream_id)

    again = planned(send(alice))

    assert again.pk == run.pk
    assert views.read("delivery_history", run.stream_id) == before
    assert {(row["campaign_tag"], row["send_batch_id"]) for row in before} == {
        (SEND["campaign_tag"], SEND["send_batch_id"])
    }
    assert (len(before), len(press.lines(run)), Run.objects.count()) == (3, 3, 1)


def test_a_reader_gets_one_letter_of_the_slices_of_their_places_alone(alice: Caller) -> None:
    for name, places in (
        ("ua", [US, OHIO, FRANKLIN, UPPER_ARLINGTON]),
        ("cle", [US, OHIO, CUYAHOGA, CLEVELAND]),
    ):
        alice.post("/v1/contacts", {"address": f"{name}@example.com", "ocd_ids": places})

    run = planned(send(alice))

    text = words(run, "ua@example.com")
    parts = ["Rivers are rising", "everybody.", "us.", "oh.", "franklin.", "upper_arlington."]
    offsets = [text.index(part) for part in parts]
    assert offsets == sorted(offsets)
    other = words(run, "cle@example.com")
    assert all(f"Words for {place}." in other for place in ("everybody", "us", "oh"))
    assert not any(f"Words for {place}." in other for place in ("franklin", "upper_arlington"))
    assert sorted(press.addresses(run)) == ["cle@example.com", "ua@example.com"]


def test_an_invalid_admin_password_is_401(alice: Caller) -> None:
    set_password(alice)
    for password in ("wrong", "", f"{PASSWORD} ", PASSWORD.capitalize(), "\ud800"):
        refused = anonymous(**SEND, admin_password=password)

        assert (refused.status, refused.body["code"]) == (401, "unauthorized"), password
    assert not Run.objects.exists()
    assert not Campaign.objects.exists()


def test_the_admins_password_sends_for_the_first_workspace_until_it_is_removed(
    alice: Caller, charlie: Caller, settings: LazySettings
) -> None:
    settings.ADMIN_PASSWORD = "a swordfish of steel"
    assert anonymous(**SEND, admin_password="a swordfish of steel").status == 401
    set_password(alice)
    newsroom.people(alice, 1)
    newsroom.people(charlie, 1)

    run = planned(anonymous(**SEND, admin_password=PASSWORD))

    assert (run.workspace_id, run.actor) == (alice.workspace_id, "admin password")
    assert planned(send(alice)).pk == planned(with_header(PASSWORD, SEND)).pk == run.pk
    assert anonymous(**SEND, admin_password="a swordfish of steel").status == 401
    assert with_header("wrong", SEND).status == 401
    integrations.remove_integration(alice.workspace_id, IntegrationKind.ADMIN, actor="alice")
    assert with_header(PASSWORD, SEND).status == 401
    assert anonymous(**SEND, admin_password=PASSWORD).status == 401


def test_a_password_whose_key_is_lost_admits_nobody_and_is_logged(
    alice: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    set_password(alice)
    Integration.objects.update(sealed_settings=b"\x01" + bytes(100))

    refused = anonymous(**SEND, admin_password=PASSWORD)

    assert (refused.status, refused.body["code"]) == (401, "unauthorized")
    assert "admin_password_unsealable" in caplog.text
    assert PASSWORD not in caplog.text


def network() -> str:
    """An address of one that no earlier test used."""
    return f"2001:db8:{uuid4().hex[:4]}:{uuid4().hex[:4]}::1"


def with_header(password: str, body: object, ip: str = "192.0.2.1") -> Reply:
    return reply(
        Client().post(
            "/v1/campaigns/send",
            body,
            content_type="application/json",
            headers={"X-Admin-Password": password},
            REMOTE_ADDR=ip,
        )
    )


def test_guesses_are_limited_before_the_body_is_looked_at_even_when_one_is_right(
    alice: Caller, settings: LazySettings
) -> None:
    set_password(alice)
    settings.PUBLIC_RATE = "3/hour"
    ip = network()

    replies = [
        Client().generic("POST", "/v1/campaigns/send", b"{", "application/json", REMOTE_ADDR=ip)
        for _ in range(4)
    ]
    late = anonymous(ip, **SEND, admin_password=PASSWORD)

    assert [response.status_code for response in replies] == [401, 401, 401, 429]
    assert (late.status, late.body["code"]) == (429, "rate_exceeded")
    assert int(late.headers["Retry-After"]) > 0


@pytest.mark.usefixtures("patient_throttle")
def test_wrong_passwords_of_one_network_and_of_all_are_limited_and_the_familiar_one_is_not(
    alice: Caller, settings: LazySettings
) -> None:
    set_password(alice)
    rate = settings.WRONG_PASSWORDS_OF_ALL = f"{uuid4().int % 50 + 8}/day"
    settings.WRONG_PASSWORDS_OF_ONE = "3/day"
    forget_visits(rate, "wrong password")
    one = network()
    assert with_header(PASSWORD, SEND).status == 202

    of_one = [with_header("wrong", SEND, one).status for _ in range(5)]
    of_all = [with_header("wrong", SEND, network()).status for _ in range(64)]

    assert of_one == [401, 401, 401, 429, 429]
    assert of_all.count(401) == int(rate.removesuffix("/day")) - 3
    assert of_all[-1] == 429
    assert with_header(PASSWORD, SEND, "192.0.2.77").status == 202


def test_while_no_password_is_set_the_door_is_closed() -> None:
    assert anonymous(**SEND).status == 401
    for given in (None, "", "x", 5, ["x"]):
        assert anonymous(**SEND, admin_password=given).status == 401, given


def test_without_a_key_no_body_is_a_fault_of_the_server(alice: Caller) -> None:
    set_password(alice)
    for body in (b"", b"{", b"[]", b"\xff", b"[" * 100_000):
        response = Client().generic("POST", "/v1/campaigns/send", body, "application/json")

        assert response.status_code == 401, body[:9]


def test_other_input_under_the_same_tag_and_batch_or_another_tag_for_its_campaign_is_409(
    alice: Caller,
) -> None:
    alice.post("/v1/articles", {"key": "other", "title": "Other"})
    run = planned(send(alice))
    others: list[dict[str, Any]] = [{"article_key": "other"}, {"audience_filter": {"state": "OH"}}]

    for changes in others:
        refused = send(alice, **changes)
        assert (refused.status, refused.body["code"]) == (409, "send_batch_taken"), changes
        assert planned(send(alice)).pk == run.pk
    renamed = alice.ask("PATCH", f"/v1/campaigns/{run.campaign_id}", {"tag": "other"})
    assert (renamed.status, renamed.body["code"]) == (409, "campaign_already_launched")
    assert (planned(send(alice)).pk, Run.objects.count()) == (run.pk, 1)


def test_an_old_batch_is_repeated_whatever_became_of_its_tag_its_article_list_and_sender(
    alice: Caller,
) -> None:
    newsroom.people(alice, 1)
    alice.post("/v1/lists", {"key": "news", "name": "News"})
    first = planned(send(alice, audience_filter={"list": "news"}))
    other = planned(send(alice, audience_filter={"state": "OH"}, send_batch_id=str(uuid4())))
    senders.create_sender(alice.workspace_id, address="b@acme.example", actor="test")
    change = {"sender": "b@acme.example"}
    assert alice.ask("PATCH", f"/v1/campaigns/{first.campaign_id}", change).status == 200
    assert alice.post("/v1/lists/news/archive", None).status == 200
    new = send(alice, audience_filter={"list": "news"}, send_batch_id=str(uuid4()))
    for piece in alice.get("/v1/articles/flood/slices").body["slices"]:
        alice.ask("DELETE", f"/v1/articles/flood/slices/{piece['id']}")

    again = send(alice, audience_filter={"list": "news"})
    taken = send(alice, audience_filter={"list": "nothing"})

    assert (again.status, again.body["run_id"]) == (202, str(first.pk))
    assert other.pk != first.pk
    assert (taken.status, taken.body["code"]) == (409, "send_batch_taken")
    assert (new.status, new.body["code"]) == (422, "list_unknown")
    assert Campaign.objects.get().audience == {"state": "OH"}


def test_a_test_key_sends_no_batch_and_takes_no_batch_id(alice: Caller) -> None:
    refused = send(caller("acme", is_test=True))

    assert (refused.status, refused.body["code"]) == (403, "live_key_required")
    assert not Campaign.objects.exists()
    assert not planned(send(alice)).is_test


def test_a_filter_names_attributes_and_a_list(alice: Caller) -> None:
    alice.post("/v1/lists", {"key": "news", "name": "News"})
    for name, state, lists in (("a", "OH", ["news"]), ("b", "OH", []), ("c", "TX", ["news"])):
        contact = {
            "address": f"{name}@example.com",
            "attributes": {"state": state},
            "lists": lists,
            "is_confirmed": True,
        }
        alice.post("/v1/contacts", contact)

    run = planned(send(alice, audience_filter={"state": "OH", "list": "news"}))

    assert press.addresses(run) == ["a@example.com"]
    assert (run.list_key, run.audience) == ("news", {"state": "OH"})


def test_wrong_input_sends_nothing(alice: Caller) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"campaign_tag": "a\n"}, "INVALID_PAYLOAD"),
        ({"article_key": "Flood!"}, "INVALID_PAYLOAD"),
        ({"article_key": "nothing"}, "content_unknown"),
        ({"send_batch_id": None}, "INVALID_PAYLOAD"),
        ({"audience_filter": {"seats": 3}}, "INVALID_PAYLOAD"),
        ({"audience_filter": {"state": "\0"}}, "invalid_filter"),
        ({"audience_filter": {"all": "x"}}, "invalid_filter"),
        ({"audience_filter": {"list": "nothing"}}, "list_unknown"),
        ({"audience_filter": {"list": "\0"}}, "list_unknown"),
        ({"admin_password": 5}, "INVALID_PAYLOAD"),
        ({"dry_run": True}, "INVALID_PAYLOAD"),
    ]
    for changes, code in wrong:
        refused = send(alice, **changes)
        assert (refused.status, refused.body["code"]) == (422, code), changes
    assert not Run.objects.exists()


def test_charlie_sends_only_what_is_charlies(
    alice: Caller, charlie: Caller, settings: LazySettings
) -> None:
    newsroom.furnish(charlie, settings)
    newsroom.people(alice, 1)
    other = send(charlie)
    write(charlie)

    run = planned(send(charlie))

    assert (other.status, other.body["code"]) == (422, "content_unknown")
    assert (run.workspace_id, press.addresses(run)) == (charlie.workspace_id, [])
    assert planned(send(alice)).pk != run.pk
