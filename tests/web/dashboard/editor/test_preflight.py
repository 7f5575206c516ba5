"""What a draft is checked for, what would come of it, and where each problem leads."""

import re
from datetime import UTC, datetime, timedelta

from django.conf import LazySettings

from postledger.accounts import provider_accounts, workspaces
from postledger.accounts.models import Sender
from postledger.accounts.queries import NOBODY, Organisation
from postledger.campaigns.models import Campaign
from postledger.contacts.models import Contact
from postledger.deliveries import ledger
from postledger.deliveries.reasons import Reason
from tests.campaigns import press
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard.editor.draft_forms import PART, read_text, save
from tests.web.dashboard.visitors import Person


def test_the_checks_show_the_figures_of_the_api_and_who_lacks_a_value(
    alice: Caller, anna: Person, draft: int
) -> None:
    newsroom.people(alice, 3, attributes={"city": "Porto"})
    alice.post("/v1/contacts", {"address": "nobody@example.com"})
    alice.post("/v1/contacts", {"address": "gone@example.com"})
    Contact.objects.filter(address="gone@example.com").update(state="unsubscribed")
    save(anna, draft, body="From {{ city }}")

    text = read_text(anna.get(f"campaigns/{draft}/edit/checks/"))
    part = read_text(anna.client.get(anna.url(f"campaigns/{draft}/edit/checks/"), headers=PART))
    forecast = alice.get(f"/v1/campaigns/{draft}/forecast").body

    assert f"{forecast['waiting']} recipients: finishes" in text
    assert "1 recipient has no city" in text
    assert "nobody@example.com" in text
    assert "<html" not in part
    assert 'id="people" hx-swap-oob' in part
    assert "Launch to 4 people" in part


def test_a_held_sender_is_a_warning_unless_it_goes_on_by_itself(
    alice: Caller, anna: Person, draft: int
) -> None:
    newsroom.people(alice, 2)
    sender, path = Campaign.objects.get(pk=draft).sender_id, f"campaigns/{draft}/edit/checks/"
    in_an_hour = datetime.now(UTC) + timedelta(hours=1)
    ledger.hold_sender(sender, reason=Reason.THROTTLED, actor="postledger", until=in_an_hour)
    passing = anna.read(path)
    ledger.hold_sender(sender, reason=Reason.PAUSED, actor="bob", detail="Nora: complaints")
    held = anna.read(path)

    assert "The sender is held" not in passing
    assert "a person paused it (Nora: complaints)." in held
    assert f'href="{anna.url(f"senders/{sender}/")}">Go there</a>' in held


def test_a_missing_footer_and_wrong_content_are_problems(anna: Person, draft: int) -> None:
    workspaces.set_organisation(anna.workspace_id, NOBODY, actor="alice")
    save(anna, draft, subject="{{ oops", body="")

    text = anna.read(f"campaigns/{draft}/edit/checks/")

    titles = re.findall(r"Problem: </span>([^<]*)</p>", text)
    assert set(titles) == {
        "Nobody would get it",
        "The footer of your emails is not complete",
        "Subject, line 1",
        "Text",
    }
    assert f'href="{anna.url("content/branding/")}"' in text.partition("is not complete")[2]
    assert f'href="{anna.url(f"campaigns/{draft}/edit/")}#audience">Nobody would get it</a>' in text


def test_addresses_of_this_machine_in_a_mail_are_said_and_keep_it_from_reaching_people(
    alice: Caller, anna: Person, draft: int, settings: LazySettings
) -> None:
    newsroom.people(alice, 1)
    workspaces.set_organisation(
        anna.workspace_id, Organisation("Acme", "1 Road", ""), actor="alice"
    )
    settings.PUBLIC_URL = "http://localhost:8000"
    path = f"campaigns/{draft}/edit/checks/"
    link = "</span>Readers cannot open the unsubscribe link</p><p>The setting PUBLIC_URL is"
    unseen = "</span>Readers cannot see the uploaded pictures</p><p>The setting PUBLIC_URL is"

    plain = read_text(anna.get(path))
    save(anna, draft, body="Hello ![](http://localhost:8000/pictures/a.png)")
    pictured = read_text(anna.get(path))
    account_id = provider_accounts.create_account(
        anna.workspace_id, name="own", kind="smtp", settings={"host": "127.0.0.1"}, actor="a"
    )
    Sender.objects.update(account=account_id)
    real = read_text(anna.get(path))
    settings.PICTURES_URL = "https://pictures.acme.example"
    elsewhere = read_text(anna.get(path))

    assert f"Warning: {link}" in plain
    assert f"Warning: {unseen}" in pictured
    for fault in (link, unseen):
        assert f"Problem: {fault}" in real
    for page in (plain, elsewhere):
        assert "uploaded pictures" not in page


def test_a_template_is_chosen_by_a_person_and_people_without_a_text_are_counted(
    alice: Caller, anna: Person, draft: int
) -> None:
    press.people(anna.workspace_id, 3)
    Contact.objects.filter(address="r1@example.com").update(locale="en")
    alice.post("/v1/templates", {"id": "welcome", "name": "Welcome"})
    text = {"subject": "Hi", "format": "markdown", "body": "Hello", "locale": "en"}
    alice.post("/v1/templates/welcome/versions", {"texts": [text]})

    page = anna.read(f"campaigns/{draft}/edit/")
    unchosen = save(anna, draft, kind="template", template="")
    kept = Campaign.objects.get(pk=draft).content
    save(anna, draft, kind="template", template="welcome")
    checks = read_text(anna.get(f"campaigns/{draft}/edit/checks/"))

    assert '<option value="" selected>Choose…</option>' in page
    assert "Choose a template." in read_text(unchosen)
    assert kept["subject"] == "News for {{ name }}"
    assert "2 people get no email: the template has no text in their language" in checks
