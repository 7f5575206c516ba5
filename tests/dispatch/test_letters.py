"""ComposedMail that is filled in from a letter: each recipient's own, and always the same bytes."""

from collections.abc import Iterator
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path
from typing import override

import pytest
from django.conf import LazySettings
from pytest_django import Settings

from postledger.accounts import workspaces
from postledger.accounts.queries import Organisation
from postledger.campaigns.launches import launching
from postledger.campaigns.models import Run
from postledger.contacts import unsubscribe_links
from postledger.contacts.standings import Standings
from postledger.contacts.unsubscribe_links import UnsubscribeLinks, UnsubscribeRequest
from postledger.content import letters
from postledger.content.rendering.footer import Footer
from postledger.content.rendering.letter import TO_NAME, Letter, Script
from postledger.deliveries import ledger
from postledger.deliveries import queries as deliveries
from postledger.deliveries.entries import (
    Batch,
    Body,
    NewDelivery,
    Recipient,
    StreamKind,
    Window,
)
from postledger.deliveries.ledger import shared_position
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.dispatch.rounds import round_input
from postledger.dispatch.rounds.compose import (
    BrokenContentError,
    ComposedMail,
    ComposedRound,
    Composer,
)
from postledger.dispatch.rounds.round_input import RoundInput
from postledger.lib.errors import RefusedError
from postledger.providers.base import Form, Mailbox
from tests import cast
from tests.campaigns import press
from tests.dispatch import office, test_compose
from tests.dispatch.test_compose import STREAM, facts
from tests.providers.messages import NOON

SECRET = b"a secret of the tests, long enough"
SCRIPT = Script(
    subject="{{ name | default: 'Reader' }}, your week",
    html="<p>Hello {{ name }}.{% if vip %} <b>Thank you.</b>{% endif %}</p>",
    text="Hello {{ name }}.",
    optional=("vip",),
).with_footer(Footer("Acme Ltd", "1 Main Street"))
NEWS = Body(letter=SCRIPT.digest().hex(), list_key="news")
LEAVING = UnsubscribeLinks("https://mail.acme.example/unsubscribe", SECRET, 7)


def draft(
    *recipients: Recipient,
    letter: Letter | RefusedError | None = None,
    kind: StreamKind = StreamKind.CAMPAIGN,
    leaving: UnsubscribeLinks | None = LEAVING,
    form: Form = Form.MIME,
) -> ComposedRound:
    batch = Batch(1, STREAM, 0, len(recipients), 1, 0)
    page = RoundInput(
        recipients,
        {shared_position(0): NEWS},
        Standings({}, {}),
        letters={shared_position(0): letter or Letter(SCRIPT)},
        unsubscribe=leaving,
    )
    sender = Mailbox("news@acme.example", "Acme")
    composer = Composer(facts(kind), sender, NOON, sign=str, form=form)
    return composer.compose([Window(batch, batch.hi)], page)


def read(mail: ComposedMail) -> EmailMessage:
    return test_compose.read(mail.message.content)


ALICE = Recipient(0, "alice@example.com", None, {"name": "Алиса", "vip": True}, 0)
BOB = Recipient(1, "bob@example.com", None, {"name": "Bob"}, 0)


def parts(message: EmailMessage) -> tuple[str, str]:
    html, text = message.get_body(("html",)), message.get_body(("plain",))
    assert html
    assert text
    return html.get_content(), text.get_content().replace("\r\n", "\n")


def test_each_recipient_gets_a_mail_of_their_own() -> None:
    for_alice, for_bob = map(read, draft(ALICE, BOB).mails)

    assert for_alice["Subject"] == "Алиса, your week"
    assert for_alice["To"] == "Алиса <alice@example.com>"
    assert "<p>Hello Алиса. <b>Thank you.</b></p>" in parts(for_alice)[0]
    assert parts(for_bob)[1].startswith("Hello Bob.\n--\nAcme Ltd — 1 Main Street\nUnsubscribe: ")
    assert "Алиса" not in str(for_bob)


@pytest.mark.django_db
def test_a_test_says_so_on_the_wire(settings: Settings) -> None:
    acme = press.set_up_workspace(settings)
    run_id = launching.send_test(
        acme, press.campaign(acme), addresses="a@example.com", actor="alice", now=press.NOW
    )
    stream = deliveries.find_stream(Run.objects.get(pk=run_id).stream_id)
    assert stream
    claimed = cast.claim(stream.id)
    windows = [Window(batch, batch.hi) for batch in claimed.batches]

    page = round_input.read(stream, windows, {})
    composer = Composer(stream, Mailbox("news@acme.example", "Acme"), NOON, sign=str)
    [message] = map(read, composer.compose(windows, page).mails)

    assert message["Subject"] == "[Test] News"
    assert message["X-Postledger-Test"] == "yes"


def test_headers_and_footer_say_how_to_leave_with_the_same_link() -> None:
    [message] = map(read, draft(ALICE).mails)
    token = unsubscribe_links.sign_token(
        UnsubscribeRequest("alice@example.com", "news", 7), secret=SECRET
    )
    link = f"https://mail.acme.example/unsubscribe?token={token}"

    names = [name for name in message if name.startswith("List-")]

    assert message["List-Unsubscribe"] == f"<{link}>"
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert message["List-Id"] == "<news.1.acme.example>"
    assert message["Feedback-ID"] == f"{STREAM}:news:campaign:1"
    assert names == ["List-Unsubscribe", "List-Unsubscribe-Post", "List-Id"]
    assert f'<a href="{link}">Unsubscribe</a>' in parts(message)[0]
    assert parts(message)[1].endswith(f"Unsubscribe: {link}")


def test_only_notifications_say_that_nobody_wrote_them() -> None:
    [campaign] = map(read, draft(ALICE).mails)
    [notification] = map(read, draft(ALICE, kind=StreamKind.TOPIC).mails)

    assert campaign["Auto-Submitted"] is None
    assert notification["Auto-Submitted"] == "auto-generated"


def test_the_same_recipient_gets_the_same_bytes_whenever_they_are_made() -> None:
    once, again = (draft(ALICE, BOB).mails for _ in range(2))
    [alone] = draft(ALICE).mails

    assert [mail.message.content for mail in once] == [mail.message.content for mail in again]
    assert alone.message.content == once[0].message.content


def test_who_lacks_a_value_gets_no_mail_and_the_others_get_theirs() -> None:
    letter = Letter(Script("a", "<p>{{ code }}</p>", "{{ code }}", required=("code",)))
    with_code = Recipient(1, "bob@example.com", None, {"code": "7"}, 0)

    composed = draft(ALICE, with_code, letter=letter)

    [verdict] = composed.verdicts
    assert (verdict.position, verdict.code) == (0, "template_missing_variable")
    assert verdict.detail == "The variable code has no value. Give it one, and send again."
    assert [mail.position for mail in composed.mails] == [1]


def called(name: str) -> Recipient:
    return Recipient(0, "alice@example.com", None, {"name": name}, 0)


def test_a_line_end_in_a_name_costs_nobody_a_mail() -> None:
    for end in ("\n", "\r\n", "\t", "\u2028"):
        [message] = map(read, draft(called(f"Al{end}ice")).mails)

        assert message["To"] == "Al ice <alice@example.com>", end


def test_a_name_that_only_stands_for_one_is_no_name_of_a_mailbox() -> None:
    values = {"name": "[name]", TO_NAME: ""}

    [message] = map(read, draft(Recipient(0, "alice@example.com", None, values, 0)).mails)

    assert message["To"] == "alice@example.com"
    assert "[name]" in message["Subject"]


def test_no_value_adds_a_header() -> None:
    expected = set(read(draft(ALICE).mails[0]).keys())

    for name in ("x\r\nBcc: eve@evil.example", "x\x00y", "=?utf-8?q?a=0ABcc:x?="):
        composed = draft(called(name))

        assert all(set(read(mail).keys()) == expected for mail in composed.mails), name
        assert len(composed.mails) + len(composed.verdicts) == 1


@pytest.fixture
def acme(tmp_path: Path, settings: LazySettings, transactional_db: None) -> office.Office:
    settings.UNSUBSCRIBE_SECRET = SECRET.decode()
    opened = office.open_office(tmp_path)
    organisation = Organisation("Acme", "1 Main Street", "https://acme.example/u")
    workspaces.set_organisation(opened.workspace_id, organisation, actor="alice")
    return opened


def planned(acme: office.Office, *lines: NewDelivery, letter: str = "") -> int:
    stream_id = ledger.open_stream(
        acme.workspace_id,
        sender_id=acme.sender_id,
        kind=StreamKind.CAMPAIGN,
        title="News",
        body=Body(letter=letter or letters.keep(acme.workspace_id, SCRIPT), list_key="news"),
    )
    ledger.enqueue(stream_id, lines)
    return stream_id


LINES = [
    NewDelivery("alice@example.com", variables={"name": "Alice"}),
    NewDelivery("bob@example.com"),
]


def test_a_stream_of_a_stored_letter_is_sent(acme: office.Office) -> None:
    stream = planned(acme, *LINES)
    digest = letters.keep(acme.workspace_id, SCRIPT)

    office.send_all(stream)

    assert office.counts(stream) == {State.ACCEPTED: 2}
    assert acme.taken_from(stream) == [0, 1]
    assert letters.keep(acme.workspace_id, SCRIPT) == digest, "it is kept once"
    globex = workspaces.create_workspace("globex", actor="charlie")
    assert letters.find(acme.workspace_id, digest=digest)
    assert letters.find(globex, digest=digest) is None


def test_where_nobody_could_leave_the_sender_is_held_and_nobody_fails(
    acme: office.Office, settings: LazySettings
) -> None:
    stream = planned(acme, *LINES)
    settings.UNSUBSCRIBE_SECRET = ""

    with office.dispatching():
        office.until(lambda: office.sender_hold(stream) is not None)

    held = office.sender_hold(stream)
    assert held
    assert held.reason is Reason.SENDER_BLOCKED
    assert "UNSUBSCRIBE_SECRET" in held.detail
    assert office.counts(stream) == {State.WAITING: 2}


def test_a_letter_that_is_gone_fails_its_mails_with_a_reason(acme: office.Office) -> None:
    stream_id = planned(acme, *LINES, letter="00" * 32)

    office.send_all(stream_id)

    assert office.counts(stream_id) == {State.FAILED: 2}
    gone = "The letter that it is made from does not exist any more."
    assert office.details(stream_id) == {("invalid", "OUTBOX_NOT_FOUND", gone)}


class Unreadable(dict[str, object]):
    """Variables that raise what nobody foresaw."""

    @override
    def __iter__(self) -> Iterator[str]:
        raise ZeroDivisionError

    @override
    def __getitem__(self, key: str) -> object:
        raise ZeroDivisionError


def test_an_unforeseen_error_in_one_mail_is_that_mails_verdict_and_no_others() -> None:
    broken = replace(BOB, variables=Unreadable(name=""))

    drafted = draft(ALICE, broken)

    assert [mail.position for mail in drafted.mails] == [ALICE.position]
    [verdict] = drafted.verdicts
    assert (verdict.position, verdict.code) == (BOB.position, "INVALID_TEMPLATE")
    assert verdict.detail == "Composing it failed: ZeroDivisionError. The worker's log says where."


def test_an_unforeseen_error_in_what_all_mails_share_fails_nobody() -> None:
    letter = Letter(SCRIPT)
    del letter.html_pattern

    with pytest.raises(BrokenContentError, match="AttributeError"):
        draft(ALICE, BOB, letter=letter)


def test_a_mail_that_must_not_go_is_refused_in_either_form() -> None:
    for name in ("x" * 200_000, "Bob \x07"):
        as_bytes, as_parts = (draft(called(name), form=form) for form in Form)

        assert as_bytes.verdicts
        assert as_parts.verdicts == as_bytes.verdicts
