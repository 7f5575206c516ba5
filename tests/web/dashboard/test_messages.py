"""The list of emails: found by address, id, campaign, state and time, in pages."""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from postledger.accounts.models import Workspace
from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import Body, NewDelivery, StreamKind
from postledger.lib.ids import DeliveryId
from tests import cast, round_trips
from tests.web.callers import Caller, caller
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db

HOSTILE = '"><script>alert(1)</script>'


def show(visitor: Person, query: str = "") -> str:
    answer = visitor.client.get(visitor.url(f"messages/{query}"))
    assert answer.status_code == 200
    return str(answer.content.decode())


def list_addresses(page: str) -> list[str]:
    return re.findall(r'</a><span class="sub">([^<]*)</span></th>', page)


def test_single_mails_and_those_of_runs_are_listed_the_newest_first(
    alice: Caller, olivia: Person
) -> None:
    cast.stream(mails=2)
    mail_id = alice.send(to="bob@example.com").body["id"]

    page = show(olivia)

    assert list_addresses(page)[0] == "bob@example.com"
    assert sorted(list_addresses(page)[1:]) == ["r0@example.com", "r1@example.com"]
    assert f'href="{olivia.url(f"messages/{mail_id}/")}"' in page


def test_an_id_leads_to_its_mail(alice: Caller, olivia: Person) -> None:
    mail_id = alice.send().body["id"]
    parsed = DeliveryId.parse(mail_id)
    assert parsed is not None
    spellings = [
        mail_id,
        f" {mail_id} ",
        DeliveryId(parsed.stream_id, parsed.position, 2).text(),
        f"<{mail_id}@acme.example>",
    ]

    for text in spellings:
        answer = olivia.client.get(olivia.url(f"messages/?q={quote(text)}"))
        assert answer.status_code == 302
        assert answer.headers["Location"] == olivia.url(f"messages/{mail_id}/")


def test_a_providers_id_and_a_state_and_a_time_find_mail(olivia: Person) -> None:
    stream_id = cast.stream(mails=4)
    cast.book(stream_id, lambda at: entries.accepted(at, message_id=f"ses-{at}"), size=3)
    tomorrow = datetime.now(UTC) + timedelta(days=1)

    assert list_addresses(show(olivia, "?q=ses-1")) == ["r1@example.com"]
    assert list_addresses(show(olivia, "?state=waiting")) == ["r3@example.com"]
    assert list_addresses(show(olivia, f"?stream={stream_id}&state=accepted&q=")) == [
        "r2@example.com",
        "r1@example.com",
        "r0@example.com",
    ]
    assert "No email matches" in show(olivia, f"?since={tomorrow:%Y-%m-%dT%H:%M}")


def test_pages_go_on_without_gaps_and_back(olivia: Person) -> None:
    cast.stream(mails=120)

    first = show(olivia)
    [older] = re.findall(r'<a class="btn" href="([^"]*)">Older', first)
    second = olivia.client.get(older.replace("&amp;", "&")).content.decode()
    [newer] = re.findall(r'<a class="btn" href="([^"]*)">', second)[:1]
    back = olivia.client.get(newer.replace("&amp;", "&")).content.decode()

    assert len(list_addresses(first)) == 50
    assert list_addresses(second) == [f"r{number}@example.com" for number in range(69, 19, -1)]
    assert list_addresses(back) == list_addresses(first)


def test_mail_of_test_keys_is_shown_when_it_is_asked_for(olivia: Person) -> None:
    caller("acme", is_test=True).send(to="tester@example.com")

    assert list_addresses(show(olivia)) == []
    assert list_addresses(show(olivia, "?test=on")) == ["tester@example.com"]


def test_the_first_and_the_last_day_of_the_calendar_find_all_mail(olivia: Person) -> None:
    cast.stream(mails=1)
    cast.stream(StreamKind.TRANSACTIONAL, mails=1)

    for zone in ("America/New_York", "Asia/Tokyo"):
        Workspace.objects.update(time_zone=zone)
        for query in ("?since=0001-01-01T00:00", "?until=9999-12-31T23:59"):
            assert list_addresses(show(olivia, query)) == ["r0@example.com"] * 2, (zone, query)


def test_an_address_is_found_as_people_write_its_domain(olivia: Person) -> None:
    stored = "Bob@xn--mnchen-3ya.example"
    ledger.enqueue(cast.stream(), [NewDelivery(stored, dedupe_key=stored.lower())])

    shown = show(olivia, f"?q={quote('bob@München.example')}")
    assert list_addresses(shown) == ["Bob@münchen.example"]


def test_mail_of_another_workspace_is_not_found(olivia: Person) -> None:
    theirs = cast.stream(workspace="globex", mails=1)
    cast.book(theirs, lambda at: entries.accepted(at, message_id="ses-9"), size=1)
    mail_id = DeliveryId(theirs, 0).text()

    for query in ("", "?q=r0@example.com", "?q=ses-9", f"?q={mail_id}", f"?stream={theirs}"):
        assert list_addresses(show(olivia, query)) == []


def test_what_people_wrote_is_text_in_the_list_and_in_the_form(olivia: Person) -> None:
    stream_id = cast.stream(StreamKind.TRANSACTIONAL)
    line = NewDelivery("bob@example.com", body=Body(subject=HOSTILE, html="<p>x</p>"))
    ledger.enqueue(stream_id, [line])

    listed, asked = show(olivia), show(olivia, f"?q={quote(HOSTILE)}")

    assert "&lt;script&gt;alert(1)" in listed
    assert "&lt;script&gt;alert(1)" in asked
    assert "<script>alert" not in listed + asked


def test_the_page_needs_few_queries(olivia: Person) -> None:
    for _ in range(8):
        cast.stream(mails=5)

    show(olivia)  # statements are prepared, and the session notes the workspace
    with round_trips.counted() as asked:
        show(olivia)

    assert 0 < asked() <= 30
