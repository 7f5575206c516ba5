"""A list is asked for by a form and confirmed from the mailbox; nobody learns who is known."""

import re
import time
from datetime import UTC, datetime, timedelta
from typing import override

import pytest
from django.conf import LazySettings
from django.core import signing
from django.test import Client

from postledger.accounts import senders
from postledger.contacts import audience, lists, sql
from postledger.contacts.audience import FrozenAudience
from postledger.contacts.filters.expressions import EVERYBODY
from postledger.contacts.models import ConsentEvent, Contact, Subscription
from postledger.contacts.states import ContactState, SubscriptionState
from postledger.web.public import links
from postledger.web.public.links import Confirmation
from tests.contacts import people
from tests.web.public import visiting
from tests.web.public.visiting import get, post, text

FORM = "/subscribe/acme/news"


@pytest.fixture
def news(acme: int) -> int:
    visiting.sender()
    visiting.public_list(acme)
    return acme


def state(address: str) -> SubscriptionState:
    return SubscriptionState(Subscription.objects.get(contact__address=address).state)


def ask_by_form(address: str, **headers: str) -> str:
    """Fills in the form, and returns the link of the mail that came."""
    post(FORM, {"email": address}, **headers)
    return visiting.confirmation_link(visiting.mails(address)[-1])


def test_a_list_is_asked_for_confirmed_and_chosen_from(news: int) -> None:
    address = visiting.somebody()

    form = get(FORM)
    sent = post(visiting.forms(form)[0], {"email": f" {address} ", "name": "Rosa Luz"})
    pending = state(address)
    [mail] = visiting.mails(address)
    opened = get(visiting.confirmation_link(mail))
    still_pending = state(address)
    done = post(visiting.forms(opened)[0])

    assert "Look into your mailbox" in text(sent)
    assert pending is still_pending is SubscriptionState.PENDING
    assert mail.subject == "Please confirm: News"
    assert "You are subscribed" in text(done)
    assert state(address) is SubscriptionState.ACTIVE
    [preferences] = re.findall(r'<a href="(/preferences[^"]+)"', text(done))
    assert 'value="news" checked' in text(get(preferences))


def test_the_proof_says_which_words_were_agreed_to_and_from_where(news: int) -> None:
    address = visiting.somebody()
    visitor = Client(REMOTE_ADDR="2001:db8::7")

    visitor.post(f"{FORM}?lang=pt", {"email": address})
    visitor.post(visiting.confirmation_link(visiting.mails(address)[0]))

    evidence = list(ConsentEvent.objects.order_by("pk").values_list("source", "text_version", "ip"))
    assert evidence == [
        ("subscribe form", "subscribe-form 1 pt", "2001:db8::7"),
        ("confirmation page", "", "2001:db8::7"),
    ]
    assert Contact.objects.get(address=address).locale == "pt"


def test_the_answer_is_the_same_for_every_address(news: int) -> None:
    new, registered, active, left, dead = (visiting.somebody() for _ in range(5))
    people.contact(news, registered)
    people.member(news, active)
    people.member(news, left)
    people.leave(news, left)
    people.member(news, dead)
    people.bounce(news, dead)

    answers = [post(FORM, {"email": email}) for email in (new, registered, active, left, dead)]

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert [len(visiting.mails(email)) for email in (new, registered, active, left)] == [1, 1, 1, 1]
    assert state(active) is SubscriptionState.ACTIVE


def test_a_form_says_nothing_new_of_somebody_known(news: int) -> None:
    address = visiting.somebody()
    contact_id = people.contact(news, address)

    post(FORM, {"email": address.upper().replace("EXAMPLE.COM", "example.com"), "name": "Mallory"})

    [contact] = Contact.objects.all()
    assert (contact.pk, contact.name, contact.locale) == (contact_id, "", None)


def list_recipients(workspace_id: int) -> list[str]:
    """Whom a mail without a list goes to."""
    everybody = FrozenAudience(EVERYBODY, None, frozen_at=datetime.now(UTC) + timedelta(days=1))
    query = audience.compile_chunk(workspace_id, everybody, after="", limit=100)
    rows = sql.rows(query.sql, query.params)
    return [address for _, address, *_, kept_back in rows if kept_back is None]


def test_a_stranger_who_types_an_address_stops_no_mail_to_it(news: int) -> None:
    address = visiting.somebody()
    people.contact(news, address)

    post(FORM, {"email": address})

    assert state(address) is SubscriptionState.PENDING
    assert list_recipients(news) == [address]


def test_whom_nobody_knew_before_the_form_gets_no_mail_until_they_confirm(news: int) -> None:
    address = visiting.somebody()
    url = ask_by_form(address)
    before = list_recipients(news)

    post(url)

    assert (before, list_recipients(news)) == ([], [address])


def test_what_strangers_type_is_in_no_mail_but_the_address(news: int) -> None:
    address = visiting.somebody()

    post(FORM, {"email": address, "name": "Win now at evil.example"})

    [mail] = visiting.mails(address)
    assert "evil.example" not in mail.subject + mail.html + mail.text


def test_a_trap_that_was_filled_in_stores_nothing(news: int) -> None:
    honest = post(FORM, {"email": visiting.somebody()})
    before = visiting.everything()

    trapped = post(FORM, {"email": visiting.somebody(), "website": "https://evil.example"})

    assert trapped.content == honest.content
    assert visiting.everything() == before


@pytest.mark.parametrize(
    ("email", "name", "message"),
    [
        ("", "", "This is not an email address"),
        ("nobody", "", "This is not an email address"),
        ("a@b@c d", "", "This is not an email address"),
        ("a" * 70_00 + "@example.com", "", "This is not an email address"),
        ("r1@example.com\r\nBcc: x@example.com", "", "This is not an email address"),
        ("r1@example.com", "two\nlines", "Write your name in one line"),
        ("r1@example.com", "\x00", "Write your name in one line"),
        ("r1@example.com", "x" * 101, "Write your name in one line"),
    ],
)
def test_what_cannot_be_taken_is_said_beside_its_field(
    news: int, email: str, name: str, message: str
) -> None:
    before = visiting.everything()

    response = post(FORM, {"email": email, "name": name})

    assert response.status_code == 422
    assert message in text(response)
    assert text(response).count('aria-invalid="true"') == 1
    assert visiting.everything() == before


@pytest.mark.usefixtures("patient_throttle")
def test_one_address_gets_three_mails_a_day_and_no_more(news: int) -> None:
    address = visiting.somebody()

    answers = [post(FORM, {"email": address}) for _ in range(5)]

    assert len({answer.content for answer in answers}) == 1
    assert len(visiting.mails(address)) == 3


@pytest.mark.parametrize(
    "path",
    [
        "/subscribe/acme/private",
        "/subscribe/acme/old",
        "/subscribe/acme/none",
        "/subscribe/acme/theirs",
        "/subscribe/acme/general",
        "/subscribe/nobody/news",
        "/subscribe/globex/theirs",
        "/subscribe/999999999/news",
        "/subscribe/" + "9" * 40 + "/news",
        "/subscribe/%00/news",
        "/subscribe/²/news",
    ],
)
def test_only_public_lists_of_the_workspace_have_a_form(news: int, globex: int, path: str) -> None:
    people.news(news, "private")
    visiting.public_list(news, "old")
    lists.archive_list(news, key="old", actor="alice")
    visiting.public_list(globex, "theirs")  # its workspace has no sender to confirm with
    before = visiting.everything()

    assert get(path).status_code == 404
    assert post(path, {"email": "r1@example.com"}).status_code == 404
    assert visiting.everything() == before


def test_a_workspace_is_named_by_its_name_or_its_number(news: int) -> None:
    by_name, by_number = get("/subscribe/ACME/news"), get(f"/subscribe/{news}/news")

    assert by_name.status_code == by_number.status_code == 200


def test_without_a_public_address_there_is_no_form(news: int, settings: LazySettings) -> None:
    settings.PUBLIC_URL = ""

    assert get(FORM).status_code == 404


def test_of_several_senders_the_first_one_confirms(news: int) -> None:
    address = visiting.somebody()
    senders.create_sender(news, address="a@acme.example", actor="alice")

    post(FORM, {"email": address})

    [mail] = visiting.mails(address)
    assert mail.sender == "news@acme.example"


def test_a_confirmation_works_twice_and_changes_once(news: int) -> None:
    url = ask_by_form(visiting.somebody())
    first = post(url)
    before = visiting.everything()

    second, opened = post(url), get(url)

    assert text(first) == text(second)
    assert "You are subscribed" in text(opened)
    assert visiting.everything() == before


def test_who_left_everything_comes_back_for_the_confirmed_list_alone(news: int) -> None:
    visiting.public_list(news, "offers")
    address = visiting.somebody()
    contact_id = people.member(news, address)
    people.subscribe(news, contact_id, "offers")
    people.leave(news, address)
    url = ask_by_form(address)

    opened = get(url)
    not_yet = people.state(contact_id)
    done = post(url)

    assert "Do you want to get “News”" in text(opened)
    assert not_yet is ContactState.UNSUBSCRIBED
    assert "You are subscribed" in text(done)
    assert people.state(contact_id) is ContactState.ACTIVE
    assert people.subscription(contact_id, "news") is SubscriptionState.ACTIVE
    assert people.subscription(contact_id, "offers") is SubscriptionState.UNSUBSCRIBED


def test_an_old_confirmation_revives_nothing_that_was_left(news: int) -> None:
    address = visiting.somebody()
    url = ask_by_form(address)
    post(url)
    people.leave(news, address, "news")

    response = post(url)

    assert response.status_code == 400
    assert "This link no longer works" in text(response)
    assert state(address) is SubscriptionState.UNSUBSCRIBED


def test_a_confirmation_is_not_for_whoever_has_the_contact_now(news: int) -> None:
    address = visiting.somebody()
    url = ask_by_form(address)
    Contact.objects.filter(address=address).update(address="other@example.com")

    assert post(url).status_code == 400
    assert state("other@example.com") is SubscriptionState.PENDING


class Earlier(signing.TimestampSigner):
    """Signs as it was done some days ago."""

    def __init__(self, days: float) -> None:
        super().__init__(salt=links._SALT)
        self.days = days

    @override
    def timestamp(self) -> str:
        return signing.b62_encode(int(time.time() - self.days * 86_400))


@pytest.mark.parametrize(("days", "status"), [(6.9, 200), (7.1, 400)])
def test_a_confirmation_expires_after_a_week(news: int, days: float, status: int) -> None:
    address = visiting.somebody()
    post(FORM, {"email": address})
    token = Earlier(days).sign_object([news, Contact.objects.get().pk, address, "news"])

    response = post(f"/confirm?token={token}")

    assert response.status_code == status
    assert (state(address) is SubscriptionState.ACTIVE) == (status == 200)


def test_links_of_one_purpose_are_worth_nothing_for_another(news: int) -> None:
    address = visiting.somebody()
    confirm = ask_by_form(address)
    asking = Confirmation(news, Contact.objects.get().pk, address, "news")
    foreign = signing.dumps([news, asking.contact_id, address, "news"], salt="another purpose")

    assert get(f"/confirm?token={foreign}").status_code == 400
    assert get(confirm.replace("/confirm", "/unsubscribe")).status_code == 400
    assert get(confirm.replace("/confirm", "/preferences")).status_code == 400
    assert get(visiting.link(address, "news", page="/confirm")).status_code == 400


def test_the_mail_speaks_the_language_of_the_page(news: int) -> None:
    subjects = []
    for language in ("ru", "pt"):
        address = visiting.somebody()
        link = ask_by_form(address, Accept_Language=f"{language};q=0.9, en;q=0.1")
        subjects.append(visiting.mails(address)[0].subject)
        assert f'<html lang="{language}">' in text(get(link))

    assert subjects == ["Подтвердите подписку: News", "Confirme, por favor: News"]
