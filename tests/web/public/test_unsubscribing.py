"""People leave with one press, and come back; every link that was mailed goes on working."""

import json
from itertools import product

from django.conf import LazySettings
from django.test import Client

from postledger.contacts.models import ConsentEvent, List
from postledger.contacts.states import ContactState, SubscriptionState
from postledger.contacts.unsubscribe_links import UnsubscribeRequest, sign_token
from tests.contacts import people
from tests.web.public import visiting
from tests.web.public.visiting import ONE_CLICK, URLENCODED, get, link, post, text

ENCODED = "List-Unsubscribe=One-Click"


def test_one_click_ends_all_mail_once_in_both_encodings_and_is_recorded(acme: int) -> None:
    first, second = people.contact(acme, "r1@example.com"), people.contact(acme, "r2@example.com")
    visitor = Client(REMOTE_ADDR="192.0.2.9")

    multipart = visitor.post(link("r1@example.com"), ONE_CLICK)
    encoded = visitor.post(link("r2@example.com"), ENCODED, content_type=URLENCODED)
    before = visiting.everything()
    again = visitor.post(link("r1@example.com"), ONE_CLICK)

    for response in (multipart, encoded, again):
        assert response.status_code == 200
        assert json.loads(response.content) == {"ok": True}
        assert not response.cookies
        assert "Set-Cookie" not in response.headers
        assert "Location" not in response.headers
    assert people.state(first) is people.state(second) is ContactState.UNSUBSCRIBED
    assert visiting.everything() == before
    events = ConsentEvent.objects.values_list("source", "actor", "ip")
    assert list(events) == [("one-click", "recipient", "192.0.2.9")] * 2


def test_the_key_of_a_list_ends_that_list_only_and_undo_brings_it_back(acme: int) -> None:
    people.news(acme)
    people.news(acme, "offers")
    contact_id = people.member(acme)
    people.subscribe(acme, contact_id, "offers")

    post(link(key="news"), ONE_CLICK)

    assert people.subscription(contact_id) is SubscriptionState.UNSUBSCRIBED
    assert people.subscription(contact_id, "offers") is SubscriptionState.ACTIVE
    assert people.state(contact_id) is ContactState.ACTIVE
    undone = post(link(key="news", page="/unsubscribe/undo"), Accept="application/json")
    assert json.loads(undone.content) == {"ok": True}
    assert people.subscription(contact_id) is SubscriptionState.ACTIVE


def test_the_link_is_the_proof_whatever_the_body_says(acme: int) -> None:
    kinds = (URLENCODED, *(f"multipart/form-data{more}" for more in ("; boundary=x", "")))
    bodies = (b"", b"List-Unsubscribe", b"\xff\xfe", b"a=1&" * 2_000, b"--x\r\nbroken")
    for number, (kind, body) in enumerate(product((*kinds, "text/plain", "a/b; c="), bodies)):
        address = f"r{number}@example.com"
        contact_id = people.contact(acme, address)

        response = Client().generic("POST", link(address), body, kind)

        assert response.status_code == 200, (kind, body[:20])
        assert people.state(contact_id) is ContactState.UNSUBSCRIBED, (kind, body[:20])


def test_opening_the_link_or_a_body_that_no_form_has_changes_nothing(acme: int) -> None:
    contact_id = people.contact(acme)

    opened = get(link(), Accept="text/html,*/*;q=0.8")
    large = Client().generic("POST", link(), b"x" * 70_000, URLENCODED)

    assert (opened.status_code, large.status_code) == (200, 413)
    assert text(opened).count("<button") == 1
    assert "r1@example.com" in text(opened)
    assert people.state(contact_id) is ContactState.ACTIVE


def test_the_button_of_the_page_ends_mail_and_undo_takes_it_back(acme: int) -> None:
    contact_id = people.contact(acme)
    [button] = visiting.forms(get(link()))

    left = post(button)
    state_then = people.state(contact_id)
    opened_again = get(link())
    [undo] = visiting.forms(left)
    back = post(undo)

    assert state_then is ContactState.UNSUBSCRIBED
    assert "You are unsubscribed" in text(left)
    assert "You are unsubscribed" in text(opened_again)
    assert "You are back" in text(back)
    assert people.state(contact_id) is ContactState.ACTIVE


def test_a_program_that_asks_for_json_leaves_by_opening_the_link_and_returns_by_no_opening(
    acme: int,
) -> None:
    contact_id = people.contact(acme)

    left = get(link(), Accept="application/json")
    state_then = people.state(contact_id)
    undone = get(link(page="/unsubscribe/undo"), Accept="application/json")

    assert json.loads(left.content) == {"ok": True}
    assert undone.status_code == 200
    assert state_then is people.state(contact_id) is ContactState.UNSUBSCRIBED


def test_who_left_everything_is_told_so_by_the_link_of_a_list(acme: int) -> None:
    people.news(acme)
    people.member(acme)
    people.leave(acme)

    response = get(link(key="news"))

    assert "acme sends no more mail to r1@example.com" in text(response)
    assert visiting.forms(response) == []


def test_an_installation_may_let_opening_act(acme: int, settings: LazySettings) -> None:
    settings.UNSUBSCRIBE_GET = "apply"
    contact_id = people.contact(acme)

    Client().head(link())
    get(link(), Sec_Purpose="prefetch;prerender")
    Client().options(link())
    untouched = people.state(contact_id)
    response = get(link())

    assert untouched is ContactState.ACTIVE
    assert "You are unsubscribed" in text(response)
    assert people.state(contact_id) is ContactState.UNSUBSCRIBED


SIGNED = sign_token(UnsubscribeRequest("r1@example.com"), secret=visiting.SECRET.encode())


def sign(email: str, secret: str = visiting.SECRET, workspace_id: int | None = None) -> str:
    request = UnsubscribeRequest(email, workspace_id=workspace_id)
    return sign_token(request, secret=secret.encode())


SIGNED = sign("r1@example.com")
FORGED = [
    *("", ".", "x", "x.y", SIGNED[:-1], SIGNED + "A", SIGNED.partition(".")[0], SIGNED * 2),
    *(SIGNED.replace(".", ".."), "A" + SIGNED, SIGNED.lower(), "%00", "é", "A" * 5_000),
    *(sign("r1@example.com", secret) for secret in ("another secret", "")),
    sign("nobody"),
    *(sign("r1@example.com", workspace_id=id_) for id_ in (987_654_321, -1, 2**70)),
]


def test_a_token_that_was_not_signed_here_is_refused(acme: int) -> None:
    people.contact(acme)
    before = visiting.everything()

    for page in ("unsubscribe", "unsubscribe/undo", "preferences", "confirm", "never-again"):
        for given in FORGED:
            path = f"/{page}?token={given}"
            opened, pressed = get(path), post(path, ONE_CLICK)
            program = get(path, Accept="application/json")

            statuses = (opened.status_code, pressed.status_code, program.status_code)
            assert statuses == (400, 400, 400), path
            assert "This link does not work" in text(opened)
            assert json.loads(program.content) == {"ok": False, "error": "bad_link"}
    assert visiting.everything() == before
    assert get("/unsubscribe").status_code == post("/unsubscribe", ONE_CLICK).status_code == 400


def test_links_of_the_secret_before_go_on_working(acme: int, settings: LazySettings) -> None:
    first, second = people.contact(acme, "r1@example.com"), people.contact(acme, "r2@example.com")
    old = link("r1@example.com", secret="the old one")
    settings.UNSUBSCRIBE_SECRET_PREVIOUS = "the old one"

    assert post(old, ONE_CLICK).status_code == 200
    assert post(link("r2@example.com"), ONE_CLICK).status_code == 200
    assert people.state(first) is people.state(second) is ContactState.UNSUBSCRIBED

    settings.UNSUBSCRIBE_SECRET_PREVIOUS = ""
    assert post(old, ONE_CLICK).status_code == 400


def test_without_a_secret_there_is_no_such_page(acme: int, settings: LazySettings) -> None:
    settings.UNSUBSCRIBE_SECRET = ""
    settings.UNSUBSCRIBE_SECRET_PREVIOUS = visiting.SECRET

    for path in ("/unsubscribe", "/unsubscribe/undo", "/preferences"):
        assert get(link(page=path)).status_code == 404, path
        assert get(link(page=path, secret="")).status_code == 404, path
        assert post(link(page=path), ONE_CLICK).status_code == 404, path


def test_a_link_without_a_workspace_means_the_first_one(acme: int, globex: int) -> None:
    ours, theirs = people.contact(acme), people.contact(globex)

    post(link(), ONE_CLICK)

    assert people.state(ours) is ContactState.UNSUBSCRIBED
    assert people.state(theirs) is ContactState.ACTIVE


def test_charlies_link_touches_nothing_of_acme(acme: int, globex: int) -> None:
    people.news(acme)
    ours = people.member(acme)
    theirs = people.contact(globex)

    post(link(key="news", workspace_id=globex), ONE_CLICK)
    post(link(workspace_id=globex), ONE_CLICK)

    assert people.state(theirs) is ContactState.UNSUBSCRIBED
    assert people.state(ours) is ContactState.ACTIVE
    assert people.subscription(ours) is SubscriptionState.ACTIVE
    assert List.objects.filter(workspace_id=acme).count() == 1


def test_an_address_nobody_knows_is_answered_like_any_other(acme: int) -> None:
    people.contact(acme, "aaaa@example.com")
    registered, unknown = link("aaaa@example.com"), link("bbbb@example.com")

    def lines(url: str, **headers: str) -> list[str]:
        answers = [get(url, **headers), post(url), get(url), post(url, ONE_CLICK)]
        pages = [text(answer) for answer in answers]
        return [page.replace(url.partition("=")[2], "T").replace("bbbb", "aaaa") for page in pages]

    assert lines(registered) == lines(unknown)
