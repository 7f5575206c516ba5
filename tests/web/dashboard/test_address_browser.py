"""Another address to sign in with, in a real browser: by keyboard alone, and without a barrier."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from postledger.accounts.models import User, Workspace
from tests.journeys import rig, stage
from tests.web.dashboard import browser, letters, new_addresses
from tests.web.dashboard.keyboard import arrive, follow, write

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def look(page: Page, heading: str) -> list[str]:
    """Waits for a page; returns its barriers on a narrow screen and on a wide one."""
    page.get_by_role("heading", name=heading).wait_for()
    found = []
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        found += [f"{heading} at {width} px: {barrier}" for barrier in browser.find_barriers(page)]
    return found


def test_an_address_is_changed_by_keyboard_alone(acme: Workspace, tmp_path: Path) -> None:
    letters.give_sender(acme.name)
    new, port = new_addresses.new_address(), rig.free_port()
    origin = f"http://127.0.0.1:{port}"
    with (
        rig.installation(tmp_path, stage.database(), PUBLIC_URL=origin) as installed,
        browser.chromium() as chromium,
        browser.visitor(chromium, origin) as (page, watch),
    ):
        installed.web(port)
        browser.sign_in(page, browser.EMAIL)
        page.goto("/account/security/")
        follow(page, "main a[href$='/account/address/']", "**/account/reauthenticate/*")
        write(page, "main input[name=password]", browser.PASSWORD)
        page.keyboard.press("Enter")
        arrive(page, "**/account/address/")
        barriers = look(page, "Change the address")
        write(page, "main input[name=email]", new)
        page.keyboard.press("Enter")
        barriers += look(page, "Look into your mailbox")
        [url] = letters.find_links(letters.letters_to(new)[0], origin)
        page.goto(url)
        barriers += look(page, "Confirm your new address")
        follow(page, "main .btn-primary", "**/account/security/")
        page.get_by_text(f"From now on you sign in with {new}.").wait_for()
        page.goto(url)
        page.get_by_role("heading", name="This link does not work any more").wait_for()

    assert barriers == []
    assert [text for text in watch.complaints if "404" not in text] == []
    assert User.objects.get().email == new
