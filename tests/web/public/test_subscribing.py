"""A list is asked for by a form and confirmed from the mailbox; nobody learns who is known."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from urllib.parse import unquote
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from postledger.accounts import sealing, senders
from postledger.accounts.models import Workspace
from postledger.contacts import audience, form_blocks, lists, sql
from postledger.contacts.actions import suppression
from postledger.contacts.audience import FrozenAudience
from postledger.contacts.consent import Origin
from postledger.contacts.filters.expressions import EVERYBODY
from postledger.contacts.models import (
    ConsentEvent,
    Contact,
    FormBlock,
    Subscription,
    Suppression,
)
from postledger.contacts.states import ContactState, SubscriptionState, SuppressionReason
from postledger.contacts.unsubscribe_links import GENERAL, UnsubscribeRequest
from postledger.content import brandings
from postledger.lib import secrets
from postledger.providers import addresses
from postledger.web.public import links
from postledger.web.public.links import Confirmation
from tests import cast
from tests.contacts import people
from tests.content.golden import markup
from tests.web.focus import check_focus
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
    before = visiting.everything()
    sent = post(visiting.forms(form)[0], {"email": f" {address} ", "name": "Rosa Luz"})
    [mail] = visiting.mails(address)
    opened = get(visiting.confirmation_link(mail))
    after = visiting.everything()
    done = post(visiting.forms(opened)[0])

    assert "Look into your mailbox" in text(sent)
    assert after == before
    assert mail.subject == "Please confirm: News"
    assert "You are subscribed" in text(done)
    assert state(address) is SubscriptionState.ACTIVE
    assert Contact.objects.get(address=address).name == "Rosa Luz"
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


def test_a_contact_has_the_language_of_the_browser_unless_one_was_chosen(news: int) -> None:
    for accepted, query, locale, spoken in (
        ("de-DE,de;q=0.9,en;q=0.8", "", "de", "de"),
        ("fr-FR,fr;q=0.9,pt;q=0.8", "", "fr", "pt"),
        ("fr-FR,fr;q=0.9", "?lang=de", "de", "de"),
        ("fr-FR,fr;q=0.9", "?lang=xx", "fr", "en"),
        ("en;q=0.5,ru", "", "ru", "ru"),
        ("*", "", "en", "en"),
        ("", "", "en", "en"),
    ):
        address, visitor = visiting.somebody(), Client(headers={"Accept-Language": accepted})

        [action] = visiting.forms(visitor.get(f"{FORM}{query}"))
        visitor.post(action, {"email": address})
        [mail] = visiting.mails(address)
        visitor.post(visiting.confirmation_link(mail))

        assert Contact.objects.get(address=address).locale == locale, accepted
        assert f'<html lang="{spoken}"' in mail.html, accepted


def test_the_answer_is_the_same_for_every_address(news: int) -> None:
    """Also by what the database was asked: in its time nobody sees who is known."""
    post(FORM, {"email": visiting.somebody()})  # opens the stream
    new, registered, active, left, dead = (visiting.somebody() for _ in range(5))
    blocked = visiting.somebody()
    form_blocks.block(news, address=blocked)
    people.contact(news, registered)
    people.member(news, active)
    people.member(news, left)
    people.leave(news, left)
    people.member(news, dead)
    people.bounce(news, dead)

    before = visiting.everything()

    answers, statements = [], []
    for email in (new, registered, active, left, dead, blocked):
        with CaptureQueriesContext(connection) as captured:
            answers.append(post(FORM, {"email": email}))
        statements.append([shape(query["sql"]) for query in captured])

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    *asked, refused = statements
    assert all(others == asked[0] for others in asked)
    # Inside the transaction of a test, a rollback is one statement more than a commit.
    assert [line for line in refused if not line.startswith("ROLLBACK TO")] == asked[0]
    assert [len(visiting.mails(email)) for email in (new, registered, active, left)] == [1, 1, 1, 1]
    assert visiting.mails(blocked) == []
    assert visiting.everything() == before


def shape(statement: str) -> str:
    """A statement without its values and the names of savepoints."""
    text = re.sub(r"'(?:[^']|'')*'|\b[0-9]+\b|s[0-9]+_x[0-9]+", "?", statement)
    return " ".join(text.split())


def list_recipients(workspace_id: int) -> list[str]:
    """Whom a mail without a list goes to."""
    everybody = FrozenAudience(EVERYBODY, None, frozen_at=datetime.now(UTC) + timedelta(days=1))
    query = audience.compile_chunk(workspace_id, everybody, after="", limit=100)
    rows = sql.rows(query.sql, query.params)
    return [address for _, address, *_, kept_back in rows if kept_back is None]


def test_a_stranger_who_types_an_address_stops_no_mail_to_it_and_says_nothing_new_of_it(
    news: int,
) -> None:
    address, unknown = visiting.somebody(), visiting.somebody()
    contact_id = people.contact(news, address)

    post(FORM, {"email": address.upper().replace("EXAMPLE.COM", "example.com"), "name": "Mallory"})

    [contact] = Contact.objects.all()
    assert (contact.pk, contact.name, contact.locale) == (contact_id, "", None)
    assert not Subscription.objects.exists()
    assert list_recipients(news) == [address]
    # Whom nobody knew before gets no mail until they confirm.
    url = ask_by_form(unknown)
    assert list_recipients(news) == [address]
    post(url)
    assert sorted(list_recipients(news)) == sorted([address, unknown])


def test_what_strangers_type_is_in_no_mail_and_no_link_but_the_address(news: int) -> None:
    address = visiting.somebody()
    visitor = Client(REMOTE_ADDR="2001:db8::7")

    visitor.post(FORM, {"email": address, "name": "Win now at evil.example"})

    [mail] = visiting.mails(address)
    token = visiting.confirmation_link(mail).partition("token=")[2].partition("&")[0]
    sealed = urlsafe_b64decode(unquote(token) + "==")
    assert "evil.example" not in mail.subject + mail.html + mail.text
    assert b"evil.example" not in sealed
    assert b"2001:db8" not in sealed


def test_what_cannot_be_taken_is_said_beside_its_field_and_a_trap_stores_nothing(
    news: int,
) -> None:
    honest = post(FORM, {"email": visiting.somebody()})
    before = visiting.everything()
    wrong = (
        "",
        "nobody",
        "a@b@c d",
        "a" * 7_000 + "@example.com",
        "r1@a.example\r\nBcc: x@a.example",
    )
    relays = ("victim%example.com@acme.example", "example.com!victim@acme.example", "a@localhost")
    for field, email, name in (
        *(("email", email, "") for email in (*wrong, *relays)),
        *(("name", "r1@example.com", name) for name in ("two\nlines", "\x00", "x" * 101)),
    ):
        response = post(FORM, {"email": email, "name": name})

        assert text(response).count('aria-invalid="true"') == 1, (email, name)
        check_focus(response, field)
        assert visiting.everything() == before
    assert [visiting.mails(address) for address in relays] == [[], [], []]
    trapped = post(FORM, {"email": visiting.somebody(), "website": "https://evil.example"})
    assert trapped.content == honest.content
    assert visiting.everything() == before


@pytest.mark.usefixtures("patient_throttle")
def test_one_mailbox_gets_three_mails_a_day_by_all_lists_and_all_its_aliases(news: int) -> None:
    local, _, domain = visiting.somebody().partition("@")
    aliases = [f"{local}@{domain}", f"{local.upper()}@{domain}"]
    aliases += [f"{local}+{number}@{domain}" for number in range(8)]
    forms = [f"/subscribe/acme/{visiting.public_list(news, f'list{n}')}" for n in range(2)]

    answers = [post(form, {"email": alias}) for alias in aliases for form in forms]

    assert {answer.status_code for answer in answers} == {200}
    assert sum(len(visiting.mails(alias)) for alias in aliases) == 3


@pytest.mark.usefixtures("patient_throttle")
def test_one_mailbox_gets_ten_mails_a_day_of_all_workspaces_together(news: int) -> None:
    address = visiting.somebody()
    for number in range(5):
        name = f"tenant{number}-{uuid4().hex}"
        visiting.public_list(cast.sender(name).workspace_id)
        for _ in range(3):
            post(f"/subscribe/{name}/news", {"email": address})

    assert len(visiting.mails(address)) == 10


@pytest.mark.usefixtures("patient_throttle")
def test_the_forms_of_a_workspace_send_so_many_mails_of_which_one_address_uses_up_few(
    news: int, settings: LazySettings
) -> None:
    settings.SUBSCRIBE_RATE = f"5/{uuid4().int % 10**6 + 7200} seconds"
    bombed, *others = (visiting.somebody() for _ in range(4))

    for _ in range(8):
        assert post(FORM, {"email": bombed}).status_code == 200

    assert [post(FORM, {"email": each}).status_code for each in others] == [200, 200, 429]
    assert [len(visiting.mails(each)) for each in (bombed, *others)] == [3, 1, 1, 0]


@pytest.mark.usefixtures("patient_throttle")
def test_one_network_sends_a_part_of_the_mails_of_a_workspace_and_no_more(
    news: int, settings: LazySettings
) -> None:
    settings.FORM_MAILS_OF_ONE, settings.PROXY_COUNT = "3/hour", 1
    network = f"2001:db8:{uuid4().hex[:4]}:{uuid4().hex[:4]}::1"

    answers = [
        post(FORM, {"email": visiting.somebody()}, X_Forwarded_For=network).status_code
        for _ in range(5)
    ]

    assert answers == [200, 200, 200, 429, 429]


def test_spellings_of_one_mailbox_count_as_one() -> None:
    for address, same in (
        ("A.B+c@example.com", "a.b@example.com"),
        ("a+b+c@example.com", "a@example.com"),
        ("+a@example.com", "+a@example.com"),
        ("A.b.c+d@googlemail.com", "abc@gmail.com"),
    ):
        assert addresses.mailbox_of(address) == same, address


def test_who_says_never_again_gets_no_mail_of_any_form_of_the_workspace(
    news: int, globex: int
) -> None:
    address = visiting.somebody()
    alias = address.replace("@", "+2@")
    post(FORM, {"email": address})
    [mail] = visiting.mails(address)
    _, never = visiting.links_of(mail)

    opened = get(never)
    post(FORM, {"email": address})
    count_before = len(visiting.mails(address))
    done = post(visiting.forms(opened)[0])
    again = [post(FORM, {"email": spelling}) for spelling in (address, address.upper(), alias)]

    assert "Never again" in text(opened)
    assert address in text(done)
    assert {answer.status_code for answer in (opened, done, *again)} == {200}
    assert (count_before, len(visiting.mails(address)), visiting.mails(alias)) == (2, 2, [])
    assert FormBlock.objects.get().workspace_id == news
    assert not Suppression.objects.exists()


def test_never_again_can_be_said_long_after_the_mail_and_an_operator_lifts_it_after_a_bounce(
    news: int,
) -> None:
    address = visiting.somebody()
    token = links.seal_confirmation(asked_before(news, address, days=400))

    blocked = post(f"/never-again?token={token}")
    people.bounce(news, address)
    lifted = [people.restore(news, address)]
    post(FORM, {"email": address})
    before = len(visiting.mails(address))
    lifted += [people.restore(news, address) for _ in range(2)]
    post(FORM, {"email": address})

    assert blocked.status_code == 200
    assert lifted == [True, True, False]
    assert (before, len(visiting.mails(address))) == (0, 1)
    assert not FormBlock.objects.exists()


def test_only_public_lists_of_the_workspace_have_a_form(
    news: int, globex: int, settings: LazySettings
) -> None:
    people.news(news, "private")
    visiting.public_list(news, "old")
    lists.archive_list(news, key="old", actor="alice")
    visiting.public_list(globex, "theirs")  # its workspace has no sender to confirm with
    before = visiting.everything()

    for path in (
        *("acme/private", "acme/old", "acme/none", "acme/theirs", "acme/general"),
        *("nobody/news", "globex/theirs", "999999999/news", "9" * 40 + "/news"),
        *("%00/news", "²/news"),
    ):
        assert get(f"/subscribe/{path}").status_code == 404, path
        assert post(f"/subscribe/{path}", {"email": "r1@example.com"}).status_code == 404, path
    assert visiting.everything() == before
    for workspace in ("acme", "ACME", str(news)):
        assert get(f"/subscribe/{workspace}/news").status_code == 200, workspace
    settings.PUBLIC_URL = ""
    assert get(FORM).status_code == 404


def test_the_mail_says_who_sends_it_in_the_language_of_the_form(news: int) -> None:
    Workspace.objects.filter(pk=news).update(
        org_name="Acme & Sons {{ x }}", org_address="1 Main St"
    )
    for language in ("en", "ru", "pt", "de"):
        address = visiting.somebody()

        link = ask_by_form(address, Accept_Language=f"{language};q=0.9, en;q=0.1")

        [mail] = visiting.mails(address)
        document = markup.read(mail.html)
        assert (document.faults, document.root()["lang"]) == ([], language)
        assert f'<html lang="{language}">' in text(get(link))
        assert "<hr><p>Acme &amp; Sons {{ x }} — 1 Main St</p><p><a href=" in mail.html
        assert mail.text.rstrip().endswith("\n--\nAcme & Sons {{ x }} — 1 Main St")


def test_the_mail_has_the_branding_of_the_workspace_and_comes_from_its_default_sender(
    news: int,
) -> None:
    logo_url = "https://img.acme.example/logo.png?a=1&b=2"
    plain, branded = visiting.somebody(), visiting.somebody()
    sender_id = senders.create_sender(news, address="a@acme.example", actor="alice")

    post(FORM, {"email": plain})
    brandings.set_branding(news, logo_url=logo_url, accent="#0a6b2d", actor="test")
    senders.set_default(news, sender_id=sender_id, actor="alice")
    post(FORM, {"email": branded})

    before, after = (visiting.mails(address)[0] for address in (plain, branded))
    assert (before.sender, after.sender) == ("news@acme.example", "a@acme.example")
    assert "<img" not in before.html
    assert markup.read(after.html).faults == []
    [logo] = markup.read(after.html).pictures()
    assert logo["src"] == logo_url
    assert "background-color: #0a6b2d" in after.html
    assert "#0a6b2d" not in before.html


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
    known, unknown = visiting.somebody(), visiting.somebody()
    of_known, of_unknown = ask_by_form(known), ask_by_form(unknown)
    post(of_known)
    for address, key in ((known, "news"), (unknown, GENERAL)):
        suppression.unsubscribe(
            news,
            request=UnsubscribeRequest(address, key),
            origin=Origin("page", "recipient"),
            now=datetime.now(UTC),
        )

    response = post(of_known)

    assert response.status_code == 400
    assert "This link no longer works" in text(response)
    assert state(known) is SubscriptionState.UNSUBSCRIBED
    assert (get(of_unknown).status_code, post(of_unknown).status_code) == (400, 400)
    assert not Contact.objects.filter(address=unknown).exists()


def test_a_confirmation_is_of_the_address_and_not_of_who_had_it(news: int) -> None:
    address = visiting.somebody()
    contact_id = people.contact(news, address)
    url = ask_by_form(address)
    Contact.objects.filter(pk=contact_id).update(address="other@example.com")

    assert post(url).status_code == 200
    assert state(address) is SubscriptionState.ACTIVE
    assert not Subscription.objects.filter(contact_id=contact_id).exists()


def test_whom_an_operator_keeps_from_a_list_or_whose_list_was_archived_cannot_confirm(
    news: int,
) -> None:
    for reason in (SuppressionReason.BY_HAND, SuppressionReason.COMPLAINED):
        address = visiting.somebody()
        url = ask_by_form(address)
        suppression.suppress(news, address=address, list_key="news", reason=reason, actor="alice")

        post(FORM, {"email": address})

        assert len(visiting.mails(address)) == 1, reason
        assert post(url).status_code == 400, reason
    url = ask_by_form(visiting.somebody())
    lists.archive_list(news, key="news", actor="alice")
    assert post(url).status_code == 400


def asked_before(workspace_id: int, address: str, *, days: float) -> Confirmation:
    asked_at = datetime.now(UTC) - timedelta(days=days)
    return Confirmation(workspace_id, address, "news", "", "en", "1", None, asked_at)


def test_a_confirmation_expires_after_a_week(news: int) -> None:
    for days, status in ((7.1, 400), (6.9, 200)):
        token = links.seal_confirmation(asked_before(news, visiting.somebody(), days=days))

        response = post(f"/confirm?token={token}")

        assert response.status_code == status, days
        assert Subscription.objects.exists() == (status == 200)


def test_links_of_one_purpose_are_worth_nothing_for_another(news: int) -> None:
    address = visiting.somebody()
    confirm = ask_by_form(address)
    sealed = secrets.seal(
        b"{}", secrets=sealing.installation_secrets(), purpose="another", bound_to="subscribe form"
    )
    foreign = urlsafe_b64encode(sealed).decode()

    assert get(f"/confirm?token={foreign}").status_code == 400
    assert get(f"/never-again?token={foreign}").status_code == 400
    assert get(confirm.replace("/confirm", "/unsubscribe")).status_code == 400
    assert get(confirm.replace("/confirm", "/preferences")).status_code == 400
    assert get(visiting.link(address, "news", page="/confirm")).status_code == 400
