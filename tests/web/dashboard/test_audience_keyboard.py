"""The audience by keyboard alone: imports, lists, suppressions, segments and contacts."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from postledger.accounts.models import Workspace
from postledger.contacts.details import Details
from postledger.contacts.models import Contact, List, Segment, Suppression
from tests.contacts import people
from tests.web import uploads
from tests.web.dashboard import browser
from tests.web.dashboard.keyboard import arrive, choose, follow, is_in_focus, press_until, write

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

FILE = "Mail;Name;City\nann@example.com;Ann;Porto\nbob@example.com;Bob;Faro\nnobody;Eve;\n"


def manage_list(page: Page) -> None:
    """Creates a list, renames it, archives it, and takes it into use again."""
    follow(page, ".nav a[href$='/lists/']", "**/lists/")
    write(page, "main input[name=name]", "News")
    page.keyboard.press("Enter")
    arrive(page, "**/lists/news/")
    write(page, "main input[name=name]", "Product news")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Product news").wait_for()
    press_until(page, "Tab", "main .page-head button")
    page.keyboard.press("Space")
    page.get_by_role("button", name="Use it again").wait_for()
    press_until(page, "Tab", "main .page-head button")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Archive").wait_for()


def import_file(page: Page, file: Path) -> None:
    """From the file to the problems of its rows."""
    # Before the page, so that no key is pressed before the browser knows who answers.
    page.on("filechooser", lambda chooser: chooser.set_files(file))
    follow(page, ".nav a[href$='/imports/']", "**/imports/")
    press_until(page, "Tab", "main input[type=file]")
    page.keyboard.press("Space")
    expect(page.locator("main input[type=file]")).to_have_value(re.compile(file.name))
    follow(page, "main .btn-primary", "**/imports/*/")
    choose(page, "main select[name=target-2]", "Attribute")
    write(page, "main input[name=key-2]", "town")
    choose(page, "main select[name=list]", "Product news")
    press_until(page, "Tab", "main .btn-primary")
    page.keyboard.press("Enter")
    page.get_by_text("A worker reads the whole file").wait_for()
    press_until(page, "Tab", "main #abandon")
    uploads.work()
    page.get_by_text("What would happen").wait_for()
    assert is_in_focus(page, "#abandon")
    press_until(page, "Tab", "main .dock button")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Importing").wait_for()
    uploads.work()
    page.get_by_text("What became of the rows").wait_for()
    press_until(page, "Tab", "main #problem-file")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert "This is not an email address." in Path(download.value.path()).read_text()


def manage_segment(page: Page) -> None:
    """Saves a search with two conditions, renames it, and deletes it."""
    follow(page, ".nav a[href$='/contacts/']", "**/contacts/")
    press_until(page, "Tab", "main summary")
    page.keyboard.press("Enter")
    choose(page, "main select[name=field]", "town")
    choose(page, "main select[name=op]", "is")
    write(page, "main input[name=value]", "Porto")
    press_until(page, "Tab", "main [data-add-condition]")
    page.keyboard.press("Enter")
    assert is_in_focus(page, "main .condition:nth-of-type(2) [name=field]")
    press_until(page, "Tab", "main .condition:nth-of-type(2) [data-remove-condition]")
    page.keyboard.press("Enter")
    assert is_in_focus(page, "main [data-add-condition]")
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+Tab")
    choose(page, "main .condition:nth-of-type(2) [name=field]", "List: Product news")
    choose(page, "main .condition:nth-of-type(2) [name=op]", "is subscribed")
    press_until(page, "Tab", "main .conditions .btn.push")
    page.keyboard.press("Enter")
    page.get_by_text("1 found").wait_for()
    write(page, "main .condition:first-of-type input[name=value]", "Faro")
    write(page, "main input[name=name]", "Porto readers")
    page.keyboard.press("Enter")
    arrive(page, "**/segments/")
    assert {"field": "attributes.town", "is": "Faro"} in Segment.objects.get().filter["all"]
    follow(page, "main a[href*='/segments/']:not([href*=delete])", "**/segments/*/")
    write(page, "main input[name=name]", "Readers of Porto")
    page.keyboard.press("Enter")
    arrive(page, "**/segments/")
    assert Segment.objects.get().name == "Readers of Porto"
    follow(page, "main a[href$='/delete/']", "**/delete/")
    follow(page, "main .btn-primary", "**/segments/")
    page.get_by_text("No segment yet").wait_for()


def manage_suppression(page: Page) -> None:
    """Suppresses an address for a list, and restores it with a reason."""
    follow(page, ".nav a[href$='/suppressions/']", "**/suppressions/")
    write(page, "main input[name=address]", "ann@example.com")
    choose(page, "main select[name=scope]", "Product news")
    write(page, "main input[name=reason]", "Rang us up")
    page.keyboard.press("Enter")
    arrive(page, "**/suppressions/?q=*")
    follow(page, "main tbody .btn", "**/lift/")
    write(page, "main input[name=reason]", "Wrote to us")
    page.keyboard.press("Enter")
    arrive(page, "**/suppressions/?q=*")
    page.get_by_text("This address is not suppressed").wait_for()


def manage_contact(page: Page) -> None:
    """Finds a contact, changes and suppresses it, and decides about others at once."""
    follow(page, ".nav a[href$='/contacts/']", "**/contacts/")
    write(page, "main input[name=q]", "bob")
    page.keyboard.press("Enter")
    arrive(page, "**/contacts/?q=bob*")
    follow(page, "main tbody th a", "**/contacts/*/")
    follow(page, "main a[href$='/edit/']", "**/edit/")
    write(page, "main input[name=name]", "Robert")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Robert").wait_for()
    follow(page, "main a[href$='/suppress/']", "**/suppress/")
    choose(page, "main select[name=scope]", "Product news")
    write(page, "main input[name=reason]", "Rang us up")
    page.keyboard.press("Enter")
    page.get_by_text("Stopped: Product news").wait_for()
    follow(page, ".nav a[href$='/contacts/']", "**/contacts/")
    press_until(page, "Tab", "main input[name=all]")
    page.keyboard.press("Space")
    press_until(page, "Tab", "main button[value=suppress]")
    page.keyboard.press("Enter")
    arrive(page, "**/contacts/bulk/?**")
    write(page, "main input[name=reason]", "They moved")
    page.keyboard.press("Enter")
    page.get_by_text("Done for 3 people.").wait_for()
    follow(page, "main a[href$='/contacts/new/']", "**/contacts/new/")
    write(page, "main input[name=address]", "new@example.com")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="new@example.com").wait_for()


def test_the_audience_is_managed_by_keyboard_alone(
    acme: Workspace, origin: str, tmp_path: Path
) -> None:
    people.contact(acme.pk, "zoe@example.com", Details(name="Zoe"))
    file = tmp_path / "readers.csv"
    file.write_text(FILE)
    with browser.chromium() as chromium, browser.visitor(chromium, origin) as (page, watch):
        browser.sign_in(page, browser.EMAIL)
        manage_list(page)
        import_file(page, file)
        manage_segment(page)
        manage_suppression(page)
        manage_contact(page)

    assert watch.complaints == []
    assert Contact.objects.get(address="bob@example.com").name == "Robert"
    assert List.objects.get(key="news").archived_at is None
    assert Suppression.objects.filter(list=None).count() == 3
