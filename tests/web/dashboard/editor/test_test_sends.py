"""A test of a draft goes to addresses, as a contact would get it."""

from datetime import timedelta

import pytest

from postledger.accounts.models import Sender
from postledger.campaigns.models import Campaign, Run
from postledger.deliveries import ledger
from postledger.deliveries.reasons import Reason
from postledger.web.dashboard.editor import readings
from postledger.web.dashboard.editor.readings import ReaderUnknownError
from tests.campaigns import press
from tests.web.callers import Caller
from tests.web.dashboard.editor.draft_forms import PART, read_text
from tests.web.dashboard.visitors import Person
from tests.web.focus import check_focus


def test_a_test_goes_to_the_addresses_as_a_contact_would_get_it(
    alice: Caller, anna: Person, draft: int
) -> None:
    mira = alice.post("/v1/contacts", {"address": "mira@example.com", "name": "Mira"}).body["id"]
    path = f"campaigns/{draft}/edit/test/"

    sent = anna.post(path, to="anna@example.com", **{"as": "Mira@example.com"})
    wrong = anna.post(path, to="no address", **{"as": "mira@example.com"})

    def ask(**fields: str) -> str:
        return read_text(anna.client.post(anna.url(path), fields, headers=PART))

    def read_state() -> str:
        return read_text(anna.client.get(anna.url(path), headers=PART))

    [run] = Run.objects.all()
    assert (sent.status_code, wrong.status_code) == (302, 422)
    assert (run.is_test, run.test_contact_id, run.actor) == (True, mira, anna.actor)
    check_focus(wrong, "to")
    assert 'value="no address"' in read_text(wrong)
    told = 'role="alert" hx-swap-oob="true">'
    in_place = ask(to="no address", **{"as": ""})
    assert f'id="test-to-error" {told}Not an email address: no, address.' in in_place
    assert "<input" not in in_place
    of_nobody = ask(to="anna@example.com", **{"as": "nobody at all"})
    assert f'id="test-as-error" {told}No contact has' in of_nobody
    assert 'hx-trigger="every 4s"' in read_state()
    assert anna.get(path).headers["Location"] == anna.url(f"campaigns/{draft}/edit/checks/")
    sender = Campaign.objects.get(pk=draft).sender
    ledger.hold_sender(sender.pk, reason=Reason.SENDER_BLOCKED, actor="x", detail="no such key")
    assert "</svg>Held</span>" in read_state()
    other = Sender.objects.create(workspace=sender.workspace, address="boletim@acme.example")
    Campaign.objects.update(sender=other)
    of_run = read_text(anna.get(f"campaigns/runs/{run.pk}/"))
    assert f"A test from {sender.address}. Sent by" in of_run


def test_a_broken_address_or_too_many_refuse_the_test_so_that_nobody_is_left_out(
    anna: Person, draft: int
) -> None:
    path, typed = f"campaigns/{draft}/edit/test/", "nora@example.com, kim@@example"
    hundred = " ".join(f"r{number}@example.com" for number in range(100))

    broken = anna.post(path, to=typed)
    many = anna.post(path, to=f"{hundred} r100@example.com")
    none = Run.objects.count()
    empty = anna.post(path, to=" , ")
    as_many = anna.post(path, to=f"{hundred} R1@example.com")

    no_ending = anna.post(path, to="nora@example.com, director@museum")
    anna.user.email = "anna@museum"
    anna.user.save()
    of_own_network = anna.post(path, to="director@museum")

    assert "Not an email address: director@museum. Write" in read_text(no_ending)
    assert of_own_network.status_code == 302
    assert (broken.status_code, many.status_code, empty.status_code) == (422, 422, 422)
    check_focus(broken, "to")
    assert f'value="{typed}"' in read_text(broken)
    assert "Not an email address: kim@@example. Write" in read_text(broken)
    assert "A test goes to 100 addresses at most, and these are 101." in read_text(many)
    assert "There is no address to send a test to." in read_text(empty)
    assert none == 0
    assert as_many.status_code == 302


def test_a_search_for_a_reader_that_takes_too_long_says_so(anna: Person) -> None:
    press.people(anna.workspace_id, 20_000)

    with pytest.raises(ReaderUnknownError, match="took too long"):
        readings.find_contact_id(
            anna.workspace_id, "nobody has this", patience=timedelta(milliseconds=1)
        )
