"""What people do with their consent, through the doors they have: forms, mails, links, commands."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage
from html import unescape
from pathlib import Path

import httpx
import pytest

from postledger.contacts.models import Contact
from postledger.contacts.states import ContactState, SubscriptionState
from tests.contacts import people
from tests.journeys import post, rig, stage
from tests.web.public import visiting

pytestmark = [pytest.mark.slow, pytest.mark.sample, pytest.mark.django_db(transaction=True)]


@dataclass(frozen=True)
class House:
    """An installation with its public pages, a mailbox that its mail ends in, and its commands."""

    installed: rig.Installation
    box: post.Mailbox
    browser: httpx.Client
    workspace_id: int

    def command(self, *words: str) -> str:
        return subprocess.run(
            [rig.COMMANDS / "postledger", *words],
            env=self.installed.environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def mail(self, address: str) -> EmailMessage:
        """The first mail that arrived for an address."""

        def list_arrived() -> list[EmailMessage]:
            return [mail for mail in self.box.mails() if mail["To"] == address]

        rig.until(list_arrived, seconds=120)
        return list_arrived()[0]

    def join_list(self, address: str) -> httpx.Response:
        """Fills in the form, opens the link of the mail that arrives, and presses its button."""
        self.browser.post("/subscribe/acme/news", data={"email": address}).raise_for_status()
        body = self.mail(address).get_body(("plain",))
        assert body is not None
        [link] = re.findall(r"https?://\S+/confirm\?\S+", body.get_content())
        return self.press(self.browser.get(link))

    def press(self, page: httpx.Response, form: int = 0, **fields: object) -> httpx.Response:
        """Sends a form of a page, as its button does."""
        assert page.status_code == 200, page.text
        actions = re.findall(r'<form method="post" action="([^"]+)"', page.text)
        return self.browser.post(unescape(actions[form]), data=fields)

    def follow(self, page: httpx.Response, path: str) -> httpx.Response:
        [link] = re.findall(rf'<a href="({path}[^"]*)"', page.text)
        return self.browser.get(unescape(link))


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    port = rig.free_port()
    address = f"http://127.0.0.1:{port}"
    public = {
        "PUBLIC_URL": address,
        "UNSUBSCRIBE_SECRET": visiting.SECRET,
        # Redis remembers earlier runs.
        "PUBLIC_RATE": "1000000/minute",
        "SUBSCRIBE_RATE": "1000000/minute",
    }
    with (
        post.mailbox() as box,
        rig.installation(tmp_path, stage.database(), **public) as installed,
        httpx.Client(base_url=address, timeout=30, trust_env=False) as browser,
    ):
        owner = stage.sender("acme", "smtp", host="127.0.0.1", port=box.port, tls="none")
        for key in ("news", "offers"):
            visiting.public_list(owner.workspace_id, key, key.title())
        installed.web(port)
        installed.worker("--beat")
        yield House(installed, box, browser, owner.workspace_id)


def test_a_list_is_joined_chosen_from_left_and_returned_to(house: House) -> None:
    address = visiting.somebody()

    house.browser.post("/subscribe/acme/news", data={"email": address})
    is_stored = Contact.objects.filter(address=address).exists()
    done = house.join_list(address)
    contact_id = Contact.objects.get(address=address).pk
    joined = people.subscription(contact_id)

    preferences = house.follow(done, "/preferences")
    chosen = house.press(
        preferences, do="save", shown=["news", "offers"], list=["offers"], snooze="week"
    )
    after_choice = [people.subscription(contact_id, key) for key in ("news", "offers")]

    unsubscribe = str(preferences.url).replace("/preferences", "/unsubscribe")
    house.press(house.browser.get(visiting.link(address)))
    left = people.state(contact_id)
    undone = house.press(house.browser.get(visiting.link(address)))

    assert not is_stored
    assert joined is SubscriptionState.ACTIVE
    assert "Your choice was saved." in chosen.text
    assert "On a break until" in chosen.text
    assert after_choice == [SubscriptionState.UNSUBSCRIBED, SubscriptionState.ACTIVE]
    assert left is ContactState.UNSUBSCRIBED
    assert "You are back" in undone.text
    assert people.state(contact_id) is ContactState.ACTIVE
    assert people.subscription(contact_id, "offers") is SubscriptionState.ACTIVE
    assert house.browser.get(unsubscribe).status_code == 200
    assert not house.browser.cookies


def test_a_person_is_given_what_is_known_and_then_erased(house: House, tmp_path: Path) -> None:
    address, other = visiting.somebody(), visiting.somebody()
    for joining in (address, other):
        house.join_list(joining)
    file = tmp_path / "person.json"

    house.command("privacy", "export", "acme", address, "--to", str(file))
    output = house.command("privacy", "erase", "acme", address)

    export = json.loads(file.read_text())
    [contact] = export["contacts"]
    assert [event["action"] for event in contact["history"]] == ["confirmed", "subscribed"]
    assert [(mail["subject"], mail["state"]) for mail in export["mails"]] == [
        ("Please confirm: News", "accepted")
    ]
    assert other not in file.read_text()
    # The third is that the address is kept back from now on, which is known by its hash alone.
    assert output == "Erased contacts: 1, consents: 3, mails: 1.\n"
    house.command("privacy", "export", "acme", address, "--to", str(file))
    after = json.loads(file.read_text())
    assert (after["contacts"], after["mails"]) == ([], [])
    assert people.subscription(Contact.objects.get(address=other).pk) is SubscriptionState.ACTIVE
    # Nobody who was erased is mailed what goes to many; the address itself is not kept.
    assert people.find_suppression(house.workspace_id, address).has_left
