"""One mail through SendGrid and through SMTP is the same mail to its reader."""

import asyncio
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser

from postledger.dispatch.rounds.compose import ComposedRound
from postledger.providers.base import Accepted, Form, OutgoingMessage
from postledger.providers.sendgrid.provider import SendGrid
from postledger.providers.smtp.provider import Smtp
from tests.dispatch import test_compose, test_letters
from tests.providers.fake_smtp import serving
from tests.providers.messages import send
from tests.providers.stands import opened, sendgrid_settings, smtp_settings
from tools.fakes.http.server import serving as serving_http
from tools.fakes.sendgrid.server import FakeSendGrid

# Each service writes Date; the others say how the parts are written, and not what they are.
OF_THE_SERVICE = {"date", "mime-version", "content-type", "content-transfer-encoding"}


async def send_by_smtp(message: OutgoingMessage) -> bytes:
    async with serving() as server, opened(Smtp(smtp_settings(server))) as provider:
        [outcome] = await send(provider, [message])
        assert isinstance(outcome, Accepted)
        [taken] = server.journal
        return taken.data


async def send_by_sendgrid(message: OutgoingMessage) -> bytes:
    async with serving_http(FakeSendGrid()) as fake:
        fake.service.account.add_identities("acme.example")
        async with opened(SendGrid(sendgrid_settings(fake.endpoint))) as provider:
            [outcome] = await send(provider, [message])
        [accepted] = fake.service.kept
        assert outcome == Accepted(accepted.message_id)
        return accepted.raw


def read(data: bytes) -> EmailMessage:
    message = BytesParser(policy=policy.default).parsebytes(data)
    assert isinstance(message, EmailMessage)
    assert not message.defects
    return message


def list_headers(message: EmailMessage) -> list[tuple[str, str]]:
    pairs = ((name.lower(), str(value)) for name, value in message.items())
    return sorted(pair for pair in pairs if pair[0] not in OF_THE_SERVICE)


def list_parts(message: EmailMessage) -> list[tuple[str, str | None, bytes]]:
    """Type, name and content of all parts; line ends are those of the way."""
    return [
        (
            part.get_content_type(),
            part.get_filename(),
            _normalised(part) if part.get_content_maintype() == "text" else part.get_content(),
        )
        for part in message.walk()
        if not part.is_multipart()
    ]


def _normalised(part: EmailMessage) -> bytes:
    content = part.get_payload(decode=True)
    assert isinstance(content, bytes)
    return content.replace(b"\r\n", b"\n").removesuffix(b"\n")


def draft_single(form: Form) -> ComposedRound:
    to = test_compose.recipients("alice@example.com")
    return test_compose.draft(to, {0: test_compose.FULL}, form=form)


def draft_campaign(form: Form) -> ComposedRound:
    return test_letters.draft(test_letters.ALICE, form=form)


def test_subject_html_text_headers_and_attachments_are_equal() -> None:
    found: list[tuple[set[str], int]] = []
    for draft in [draft_single, draft_campaign]:
        [as_bytes], [as_parts] = draft(Form.MIME).mails, draft(Form.PARTS).mails

        by_smtp = read(asyncio.run(send_by_smtp(as_bytes.message)))
        by_sendgrid = read(asyncio.run(send_by_sendgrid(as_parts.message)))

        assert list_headers(by_sendgrid) == list_headers(by_smtp), draft
        assert list_parts(by_sendgrid) == list_parts(by_smtp), draft
        kinds = [kind for kind, _, _ in list_parts(by_smtp)]
        assert kinds[:2] == ["text/plain", "text/html"], draft
        found.append((set(dict(list_headers(by_smtp))), len(kinds)))

    # What was compared is there at all: attachments, and the headers of a campaign.
    (single, parts), (campaign, _) = found
    assert parts == 4
    assert {"subject", "message-id"} <= single & campaign
    assert {"list-unsubscribe", "list-unsubscribe-post", "list-id", "feedback-id"} <= campaign
