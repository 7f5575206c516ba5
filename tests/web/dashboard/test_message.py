"""The page of one mail: its story, its letter in a frame of its own, and a second chance."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from postledger.accounts.models import AuditEntry
from postledger.content import letters
from postledger.content.rendering.letter import Script
from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import Body, Entry, NewDelivery, StreamKind
from postledger.lib.ids import DeliveryId
from postledger.providers import addresses
from tests import cast, round_trips
from tests.web.callers import Caller
from tests.web.dashboard.reading import read_words
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'


def show(visitor: Person, mail_id: str, query: str = "") -> str:
    answer = visitor.client.get(visitor.url(f"messages/{mail_id}/{query}"))
    assert answer.status_code == 200
    return str(answer.content.decode())


def settle(mail_id: str, result: Callable[[int], Entry]) -> None:
    parsed = DeliveryId.parse(mail_id)
    assert parsed is not None
    cast.book(parsed.stream_id, result)


def plan_letter(script: Script, **variables: object) -> str:
    """A mail of a campaign to bob, of a letter."""
    stream_id = cast.stream()
    workspace_id = cast.sender().workspace_id
    body = Body(subject=script.subject, letter=letters.keep(workspace_id, script))
    ledger.add_letters(stream_id, {0: body})
    line = NewDelivery("bob@example.com", dedupe_key="bob", variables=variables)
    [position] = ledger.enqueue(stream_id, [line], due_at=datetime.now(UTC))
    return DeliveryId(stream_id, position).text()


def test_the_page_tells_the_story_and_the_ids_that_the_api_tells(
    alice: Caller, olivia: Person
) -> None:
    mail_id = alice.send(tags=["order"]).body["id"]
    settle(mail_id, lambda at: entries.accepted(at, message_id="ses-17", duration_ms=12))

    page = show(olivia, mail_id)

    told = alice.get(f"/v1/email/{mail_id}").body
    assert told["state"] == "accepted"
    assert "Try 1: The provider took it." in page
    assert f'id="id-email">{mail_id}<' in page
    assert f'id="id-provider">{told["message_id"]}<' in page
    assert f'id="id-request">{told["request_id"]}<' in page
    assert '<span class="chip">order</span>' in page
    assert "it can never be sent again" in read_words(page)


def test_waits_and_doubts_are_part_of_the_story(alice: Caller, olivia: Person) -> None:
    mail_id = alice.send().body["id"]
    parsed = DeliveryId.parse(mail_id)
    assert parsed is not None
    later = timedelta(minutes=1)
    settle(mail_id, lambda at: entries.try_later(at, code="454", detail="Too busy.", delay=later))
    waiting = read_words(show(olivia, mail_id))
    [cause] = alice.get(f"/v1/why/{mail_id}").body["causes"]
    cast.bring_forward(parsed.stream_id)
    settle(mail_id, lambda at: entries.in_doubt(at, detail="connection reset"))

    page = show(olivia, mail_id)

    assert cause["sentence"] in waiting
    assert cause["resumed_by"] in waiting
    for told in ("454 Too busy.", "Waited, because", "connection reset", "In doubt: nobody knows"):
        assert told in read_words(page)
    assert f'href="{olivia.url("attention/")}#in-doubt"' in page


def test_a_failed_mail_is_requeued_once_with_a_note_in_the_trail(
    alice: Caller, olivia: Person
) -> None:
    mail_id = alice.send().body["id"]
    settle(mail_id, lambda at: entries.refused(at, code="550", detail="No such user."))
    [tried] = re.findall(r'name="try" value="(\d+)"', show(olivia, mail_id))

    def requeue(seen: str) -> str:
        url = olivia.url(f"messages/{mail_id}/requeue/")
        return str(olivia.client.post(url, {"try": seen}, follow=True).content.decode())

    for seen in ("", "x", "-1", "9" * 19):
        assert "The form was incomplete, so nothing changed." in requeue(seen), seen
    answer, again = requeue(tried), requeue(tried)

    assert "The next free worker tries it again." in answer
    assert "Olivia had it tried again." in answer
    assert alice.get(f"/v1/email/{mail_id}").body["state"] == "waiting"
    assert "Nothing changed" in again
    noted = AuditEntry.objects.filter(action="failure.requeued")
    assert [entry.actor for entry in noted] == [f"user {olivia.user.pk}"]


def test_the_id_of_a_try_leads_to_its_mail_and_one_that_names_nothing_nowhere(
    alice: Caller, olivia: Person
) -> None:
    mail_id = alice.send().body["id"]
    parsed = DeliveryId.parse(mail_id)
    assert parsed is not None
    tried = DeliveryId(parsed.stream_id, parsed.position, 3).text()

    answer = olivia.client.get(olivia.url(f"messages/{tried}/"))

    assert (answer.status_code, answer.headers["Location"]) == (
        302,
        olivia.url(f"messages/{mail_id}/"),
    )
    stream_id = cast.stream(StreamKind.CAMPAIGN, mails=1)
    for unknown in (DeliveryId(stream_id, 7).text(), "6ba7b810-9dad-11d1-80b4-00c04fd430c8"):
        assert olivia.client.get(olivia.url(f"messages/{unknown}/")).status_code == 404


def test_what_people_and_providers_wrote_is_text_on_the_page(alice: Caller, olivia: Person) -> None:
    mail_id = alice.send(subject=HOSTILE).body["id"]
    settle(mail_id, lambda at: entries.refused(at, code="<b>550</b>", detail=HOSTILE))

    page = show(olivia, mail_id)

    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "<b>550" not in page


def test_the_letter_is_shown_in_a_frame_that_can_do_nothing(alice: Caller, olivia: Person) -> None:
    html = "<h1>Your parcel</h1><p>It left us.</p>"
    mail_id = alice.send(html=html, text="It left us.").body["id"]

    page = show(olivia, mail_id)
    letter = olivia.client.get(olivia.url(f"messages/{mail_id}/letter/"))

    [frame] = re.findall(r"<iframe[^>]*>", page)
    assert 'sandbox=""' in frame
    assert f'src="{olivia.url(f"messages/{mail_id}/letter/")}"' in frame
    assert "Checked: " in page
    assert "Your parcel" not in page
    assert html in letter.content.decode()
    assert letter.headers["Content-Security-Policy"] == (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:;"
        " frame-ancestors 'self'"
    )
    assert letter.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert "It left us." in show(olivia, mail_id, "?part=text")


def test_a_letter_to_many_is_filled_in_again_for_its_reader(olivia: Person) -> None:
    script = Script("News", "<p>Hello {{ name }}, {{ town }}</p>", "Hello {{ name }}", ("town",))
    mail_id = plan_letter(script, name="Bob", town="Porto")

    page = show(olivia, mail_id)
    letter = olivia.client.get(olivia.url(f"messages/{mail_id}/letter/"))

    assert "Checked: " in page
    assert "<p>Hello Bob, Porto</p>" in letter.content.decode()


def test_links_that_act_for_the_reader_lose_their_tokens(alice: Caller, olivia: Person) -> None:
    html = '<a href="https://acme.example/confirm?token=s3cret.abc">Confirm</a>'
    mail_id = alice.send(html=html, text="https://acme.example/confirm?token=s3cret.abc").body["id"]

    letter = olivia.client.get(olivia.url(f"messages/{mail_id}/letter/")).content.decode()

    assert "Confirm" in letter
    assert "s3cret" not in letter + show(olivia, mail_id, "?part=text")


def test_content_that_was_changed_is_not_shown_as_what_was_sent(
    alice: Caller, olivia: Person
) -> None:
    mail_id = alice.send().body["id"]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE deliveries_body SET html = '<p>Something else</p>'")

    page = show(olivia, mail_id)

    assert "The digest differs" in page
    assert "Checked: " not in page
    assert "<iframe" not in page
    assert olivia.client.get(olivia.url(f"messages/{mail_id}/letter/")).status_code == 404


def test_a_link_that_only_the_reader_may_see_is_shown_to_nobody_else(olivia: Person) -> None:
    stream_id = cast.stream(StreamKind.TRANSACTIONAL)
    until = datetime.now(UTC) + timedelta(hours=1)
    body = Body("Your new password", "<p>sesame</p>", "sesame", secret_until=until)
    [position] = ledger.enqueue(stream_id, [NewDelivery("bob@example.com", body=body)])
    mail_id = DeliveryId(stream_id, position).text()

    assert "sesame" not in show(olivia, mail_id)
    assert olivia.client.get(olivia.url(f"messages/{mail_id}/letter/")).status_code == 404


def test_an_erased_reader_leaves_a_line_without_a_letter(alice: Caller, olivia: Person) -> None:
    mail_id = alice.send().body["id"]
    settle(mail_id, lambda at: entries.accepted(at, message_id="ses-17"))
    ledger.erase(alice.workspace_id, address="alice@example.com")

    page = show(olivia, mail_id)

    assert "Its reader was erased" in page
    assert "alice@example.com" not in page
    assert "<iframe" not in page


def test_the_page_needs_few_queries(alice: Caller, olivia: Person) -> None:
    waiting, doubtful = (alice.send().body["id"] for _ in range(2))
    settle(doubtful, lambda at: entries.in_doubt(at, detail="reset"))

    show(olivia, waiting)  # statements are prepared, and the session notes the workspace
    for mail_id in (waiting, doubtful):
        with round_trips.counted() as asked:
            show(olivia, mail_id)
        assert 0 < asked() <= 30


def test_a_domain_is_shown_as_people_write_it_unless_it_may_mislead() -> None:
    shown = {
        "a@xn--mller-kva.example": "a@müller.example",
        "a@example.com": "a@example.com",
        "a@xn--80ak6aa92e.com": "a@xn--80ak6aa92e.com",  # Cyrillic that looks like apple
        "a@xn--pypal-4ve.com": "a@xn--pypal-4ve.com",  # one Cyrillic letter
        "a@xn--zzzzzz9999.com": "a@xn--zzzzzz9999.com",
    }

    assert {address: addresses.readable(address) for address in shown} == shown
