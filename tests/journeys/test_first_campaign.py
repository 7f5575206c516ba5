"""By screens alone: from an empty database to a campaign to a thousand imported contacts."""

import csv
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.journeys import first_day, rig, stage
from tests.web.dashboard import browser

pytestmark = [pytest.mark.slow, pytest.mark.sample, pytest.mark.django_db(transaction=True)]

PEOPLE, WRONG = 1_000, 2


def write_file(folder: Path) -> Path:
    """A file as spreadsheets save it, with rows that cannot be contacts."""
    path = folder / "readers.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["E-mail", "Full name", "City"])
        writer.writerows([f"r{n}@example.com", f"Reader {n}", "Porto"] for n in range(PEOPLE))
        writer.writerows([f"no address {n}", "Nobody", ""] for n in range(WRONG))
    return path


def lift_limit(page: Page) -> None:
    """A new sender begins slowly; nothing warms up in a sandbox."""
    page.get_by_role("link", name="Continue").click()
    page.get_by_role("link", name="Go to the overview").click()
    page.get_by_role("link", name="Senders").click()
    first_day.show(page, "senders")
    page.get_by_role("link", name="news@acme.example").first.click()
    page.get_by_role("link", name="Edit limits").click()
    page.locator("input[name=rate_per_second]").fill("500")
    first_day.show(page, "sender-limits")
    page.locator("main button[type=submit]").last.click()
    page.get_by_role("link", name="Edit limits").wait_for()
    first_day.show(page, "sender")


def create_list(page: Page) -> None:
    page.get_by_role("link", name="Lists").click()
    page.get_by_label("Name").first.fill("News")
    first_day.show(page, "new-list")
    page.get_by_role("button", name="Create").click()
    page.get_by_role("heading", name="News", exact=True).wait_for()


def import_people(page: Page, file: Path) -> None:
    page.get_by_role("link", name="Imports").click()
    page.set_input_files("input[type=file]", file)
    first_day.show(page, "import-upload")
    page.get_by_role("button", name="Upload").click()
    page.get_by_label("Attribute of City").fill("city")
    page.select_option("select[name=list]", label="News")
    first_day.show(page, "import-columns")
    page.get_by_role("button", name="Try it without changing a contact").click()
    start = page.get_by_role("button", name=f"Import {PEOPLE:,} contacts")
    start.wait_for()
    first_day.show(page, "import-dry-run")
    start.click()
    page.get_by_role("heading", name="What became of the rows").wait_for()
    first_day.show(page, "import-done")
    expect(page.get_by_text(f"{PEOPLE:,} subscribed to news")).to_be_visible()


def write_campaign(page: Page) -> None:
    page.get_by_role("link", name="Campaigns").click()
    page.get_by_role("link", name="New campaign").first.click()
    page.get_by_label("Name").fill("November letter")
    page.get_by_role("button", name="Create the draft").click()
    page.get_by_role("heading", name="November letter").wait_for()
    page.get_by_label("List").select_option(label="News")
    page.get_by_label("Subject").fill("News for {{ name }}")
    page.locator("textarea[name=body]").fill("# Hello {{ name }}\n\nHow is {{ city }}?")
    page.get_by_role("button", name=f"Launch to {PEOPLE:,} people").wait_for()
    # It saves itself, and is checked again then.
    expect(page.locator("#dock")).not_to_contain_text("problem", timeout=120_000)
    first_day.show(page, "campaign-checked")


def launch(page: Page) -> None:
    page.get_by_role("button", name=f"Launch to {PEOPLE:,} people").click()
    page.get_by_label("Type the number of recipients to launch").fill(f"{PEOPLE:,}")
    first_day.show(page, "launch-question")
    page.get_by_role("button", name=f"Launch to {PEOPLE:,} people").click()
    page.wait_for_url("**/campaigns/runs/**")


def test_by_screens_alone_a_thousand_imported_people_get_a_campaign(tmp_path: Path) -> None:
    port = rig.free_port()
    environment = {**first_day.ENVIRONMENT, "STATE_FOLDER": str(tmp_path / "state")}
    with (
        rig.installation(tmp_path, stage.database(), **environment) as installed,
        browser.chromium() as chromium,
        browser.visitor(chromium, f"http://localhost:{port}") as (page, watch),
    ):
        page.set_default_timeout(120_000)
        installed.run("setup")
        _, code = first_day.start(installed, port)
        first_day.create_owner(page, code)
        first_day.connect_sandbox(page)
        lift_limit(page)
        create_list(page)
        import_people(page, write_file(tmp_path))
        write_campaign(page)
        launch(page)
        rig.until(lambda: first_day.read_books(page)["accepted"] == PEOPLE, seconds=300)
        report = first_day.download_report(page, page.url)

    statuses = Counter(row["status"] for row in csv.DictReader(report.splitlines()))
    assert statuses == {"sent": PEOPLE}
    assert watch.strange_requests == []
