"""An editor's page of Notion is mailed, and tells afterwards what became of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from postledger.accounts import keys, workspaces
from postledger.accounts.keys import Scope
from postledger.accounts.queries import Organisation
from tests.campaigns import mailouts
from tests.contacts import people
from tests.fakes import notion
from tests.fakes import notion_pages as pages
from tests.fakes.notion import FakeNotion
from tests.journeys import post, rig, stage

pytestmark = [pytest.mark.slow, pytest.mark.sample, pytest.mark.django_db(transaction=True)]

GONE = "gone@example.com"


@dataclass
class Postmaster(post.Mailbox):
    """Refuses mail to who is gone, until they are back."""

    is_back: bool = False

    async def handle_RCPT(  # noqa: N802  aiosmtpd's own form
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: object
    ) -> str:
        if address == GONE and not self.is_back:
            return "550 5.1.3 No mailbox has such a name"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 fine"

    def readers(self) -> list[str]:
        return sorted(str(mail["To"]) for mail in self.mails())


@dataclass(frozen=True)
class Newsroom:
    fake: FakeNotion
    box: Postmaster
    client: post.Client

    def shows(self, page_id: str, **expected: Any) -> bool:
        return mailouts.read_page_row(self.fake, page_id) == expected


@pytest.fixture
def newsroom(tmp_path: Path) -> Iterator[Newsroom]:
    box = Postmaster(rig.free_port())
    controller = Controller(box, hostname="127.0.0.1", port=box.port, ready_timeout=120)
    port = rig.free_port()
    with notion.running() as fake:
        for table in (mailouts.MAILOUTS, mailouts.ERRORS):
            fake.add_database(table)
        environment = {
            "UNSUBSCRIBE_SECRET": "only-for-tests, and long enough here",
            "NOTION_TOKEN": notion.TOKEN,
            "NOTION_URL": fake.url,
            "NOTION_DB_MAILOUTS": mailouts.MAILOUTS.database_id,
            "NOTION_DB_ERRORS": mailouts.ERRORS.database_id,
        }
        controller.start()
        try:
            with rig.installation(tmp_path, stage.database(), **environment) as installed:
                owner = stage.sender("acme", "smtp", host="127.0.0.1", port=box.port, tls="none")
                _furnish(owner.workspace_id)
                installed.run("setup")
                key = keys.create_key(
                    owner.workspace_id, name="notion", scopes=list(Scope), actor="test"
                )
                installed.web(port)
                installed.worker("--beat")
                yield Newsroom(fake, box, post.Client(f"http://127.0.0.1:{port}", key.token))
        finally:
            controller.stop()


def _furnish(workspace_id: int) -> None:
    acme = Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe")
    workspaces.set_organisation(workspace_id, acme, actor="test")
    for name in ("ann", "bob", "gone"):
        people.contact(workspace_id, f"{name}@example.com")


def test_a_page_goes_from_notion_to_its_readers_and_back(newsroom: Newsroom) -> None:
    page_id = mailouts.page(
        newsroom.fake,
        pages.heading(1, "This week"),
        pages.paragraph("Good morning."),
        pages.bare("poll"),
    )

    taken = newsroom.client.ask("/send-mailout", {"page_id": page_id})
    failed = {"status": "Failed", "sent": 2, "failed": 1, "has_time": True}
    rig.until(lambda: newsroom.shows(page_id, **failed), seconds=60)
    rig.until(lambda: len(mailouts.errors(newsroom.fake)) == 2, seconds=60)
    first = newsroom.box.readers()

    again = newsroom.client.ask("/send-mailout", {"page_id": page_id})

    newsroom.box.is_back = True
    run = f"/v1/runs/{taken.body['run_id']}"
    causes = newsroom.client.ask(f"{run}/failures").body["failures"]
    retried = newsroom.client.ask(f"{run}/retry", {})
    sent = {"status": "Send", "sent": 3, "failed": 0, "has_time": True}
    rig.until(lambda: newsroom.shows(page_id, **sent), seconds=60)

    assert taken.status == 202
    assert first == ["ann@example.com", "bob@example.com"]
    assert sorted(mailouts.errors(newsroom.fake), key=str) == [
        ("550 5.1.3", GONE),
        ("content_block_unsupported", None),
    ]
    assert (again.status, again.body["code"]) == (409, "mailout_already_sent")
    assert isinstance(causes, list)
    assert [(cause["code"], cause["count"]) for cause in causes] == [("550 5.1.3", 1)]
    assert retried.status in {200, 202}
    assert newsroom.box.readers() == ["ann@example.com", "bob@example.com", GONE]
    [mail, *_] = newsroom.box.mails()
    body = mail.get_body(("plain",))
    assert body is not None
    assert mail["Subject"] == "Weekly news"
    assert "Good morning." in body.get_content()
    assert "Unsubscribe: https://acme.example/unsubscribe?token=" in body.get_content()
