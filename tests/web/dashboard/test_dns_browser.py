"""The records to paste, in a real browser: nothing of a long name is cut off."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from postledger.accounts import provider_accounts, senders
from postledger.accounts.models import Sender, Workspace
from tests.journeys import rig, stage
from tests.providers import dns_server
from tests.web.dashboard import browser

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

SELECTOR = "k" * 63
NAME = f"{SELECTOR}._domainkey.acme.example"
# Of all elements of a card, those that reach beyond it.
BEYOND = """() => [...document.querySelectorAll("#dns *")].filter((element) =>
    element.getBoundingClientRect().right
        > document.querySelector("#dns").getBoundingClientRect().right).length"""


@pytest.fixture
def origin(tmp_path: Path) -> Iterator[str]:
    port = rig.free_port()
    with (
        dns_server.serving() as dns,
        rig.installation(
            tmp_path,
            stage.database(),
            UNSUBSCRIBE_SECRET="only-for-tests, and long enough here",
            DNS_RESOLVER=f"127.0.0.1:{dns.port}",
        ) as installed,
    ):
        installed.web(port)
        yield f"http://127.0.0.1:{port}"


def test_a_long_name_of_a_record_is_shown_whole_and_copied(acme: Workspace, origin: str) -> None:
    sender = Sender.objects.get()
    account_id = provider_accounts.create_account(
        acme.pk,
        name="relay",
        kind="smtp",
        settings={"host": "smtp.acme.example", "dkim_selector": SELECTOR},
        actor="alice",
    )
    senders.attach_sender(acme.pk, sender_id=sender.pk, account_id=account_id, actor="alice")
    beyond = {}

    with browser.chromium() as chromium, browser.visitor(chromium, origin) as (page, _):
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        browser.sign_in(page, browser.EMAIL)
        page.goto(f"{origin}/w/{acme.pk}/senders/{sender.pk}/")
        page.get_by_text(NAME, exact=True).wait_for()
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            beyond[width] = page.evaluate(BEYOND)
        barriers = list(browser.find_barriers(page))
        page.locator("dl", has_text=NAME).get_by_role("button").first.click()
        page.locator("[data-copied]").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")

    assert beyond == {390: 0, 1280: 0}
    assert copied == NAME
    assert barriers == []
