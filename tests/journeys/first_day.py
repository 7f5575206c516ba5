"""The first day of an installation, as journeys through the dashboard begin it and end it."""

import os
import re
from pathlib import Path

from playwright.sync_api import Page

from tests import children
from tests.journeys import rig
from tests.web.dashboard import browser

EMAIL = "alice@acme.example"
# A folder for a picture of every step, in each size and theme; without it there are none.
PICTURES = os.environ.get("SCREENSHOTS")
WINDOWS = [(width, theme) for width in (1280, 390) for theme in ("light", "dark")]
ENVIRONMENT = {
    "ALLOWED_HOSTS": "localhost,127.0.0.1",
    "FROM_EMAIL": "news@acme.example",
    "ORG_NAME": "Acme",
    "ORG_ADDRESS": "1 Main St",
    "UNSUBSCRIBE_BASE_URL": "https://acme.example/unsubscribe",
    "UNSUBSCRIBE_SECRET": "only-for-tests, and long enough here",
    "LEASE_SECONDS": "5",
}


def show(page: Page, name: str) -> None:
    if PICTURES:
        for width, theme in WINDOWS:
            page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            page.set_viewport_size({"width": width, "height": 900})
            # A window as high as the page: what sticks to its edges is where it belongs.
            height = page.evaluate("document.documentElement.scrollHeight")
            page.set_viewport_size({"width": width, "height": height})
            page.screenshot(path=f"{PICTURES}/{name}-{width}-{theme}.png")
        page.set_viewport_size({"width": 1280, "height": 900})
        page.emulate_media(color_scheme="light")


def start(installed: rig.Installation, port: int) -> tuple[rig.Process, str]:
    """`postledger up`, and the code that it prints."""
    command = [str(rig.COMMANDS / "postledger"), "up", "--port", str(port)]
    process = installed.serve(port, command)
    rig.until(lambda: list_workers(process))
    [code] = re.findall(r"code ([A-Z0-9]{4}(?:-[A-Z0-9]{4}){3})", process.log.read_text())
    return process, code


def list_workers(process: rig.Process) -> list[int]:
    """The workers that the supervisor runs now."""
    return [
        pid
        for pid in children.pids(process.popen.pid)
        if "worker_process" in Path(f"/proc/{pid}/cmdline").read_text()
    ]


def create_owner(page: Page, code: str) -> None:
    page.goto("/")
    show(page, "first-run-owner")
    values = {"code": code, "name": "Alice", "email": EMAIL, "password": browser.PASSWORD}
    for name, value in values.items():
        page.fill(f"input[name={name}]", value)
    page.click("button.btn-primary")
    page.wait_for_url("**/start/provider/")


def connect_sandbox(page: Page) -> None:
    page.check("input[value=sandbox]")
    show(page, "first-run-provider")
    page.click("button.btn-primary")
    page.wait_for_url("**/start/email/")
    show(page, "first-run-email")
    page.click("button.btn-primary")
    page.get_by_text("Accepted").first.wait_for(timeout=60_000)
    show(page, "first-run-accepted")


def read_books(page: Page) -> dict[str, int]:
    rows = page.query_selector_all(".balance-sum tr")
    texts = [[cell.inner_text() for cell in row.query_selector_all("th, td")] for row in rows]
    return {label.strip().lower(): int(re.sub(r"\D", "", count)) for label, count, *_ in texts}


def download_report(page: Page, run_page: str) -> str:
    page.goto(run_page)
    show(page, "run-over")
    with page.expect_download() as download:
        page.get_by_role("link", name="Report").click()
    return Path(download.value.path()).read_text()
