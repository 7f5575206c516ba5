"""A person's first day: owner, second factors, a campaign that loses its worker, and the books."""

import csv
import hmac
import os
import re
import signal
import struct
import time
from base64 import b32decode
from collections import Counter
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from postledger.accounts import keys, provider_accounts
from postledger.accounts.keys import Scope
from postledger.accounts.models import ProviderAccount, Sender, Workspace
from postledger.contacts.models import Contact
from postledger.deliveries.states import State
from tests import children
from tests.campaigns import press
from tests.journeys import post, rig, stage
from tests.web.dashboard import browser

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

EMAIL = "alice@acme.example"
FAST, SLOW = 60, 6
# A folder for a picture of every step, in each size and theme; without it there are none.
PICTURES = os.environ.get("SCREENSHOTS")
WINDOWS = [(width, theme) for width in (1280, 390) for theme in ("light", "dark")]


def show(page: Page, name: str) -> None:
    if PICTURES:
        for width, theme in WINDOWS:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            page.screenshot(path=f"{PICTURES}/{name}-{width}-{theme}.png", full_page=True)
        page.set_viewport_size({"width": 1280, "height": 900})
        page.emulate_media(color_scheme="light")


def one_time_code(secret: str) -> str:
    """RFC 6238, as an authenticator app computes it."""
    padded = secret + "=" * (-len(secret) % 8)
    digest = hmac.digest(b32decode(padded), struct.pack(">Q", int(time.time()) // 30), "sha1")
    offset = digest[-1] & 15
    number = struct.unpack(">I", digest[offset : offset + 4])[0] & 0x7FFFFFFF
    return f"{number % 1_000_000:06}"


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


def turn_on_app(page: Page) -> str:
    page.goto(reverse("mfa_activate_totp"))
    secret = page.inner_text("#secret").strip()
    show(page, "authenticator-app")
    code = one_time_code(secret)
    page.fill("input[name=code]", code)
    page.click("button.btn-primary")
    page.wait_for_url(lambda url: not url.endswith(reverse("mfa_activate_totp")))
    show(page, "recovery-codes")
    # No code is taken twice.
    rig.until(lambda: one_time_code(secret) != code)
    return secret


def sign_out(page: Page) -> None:
    page.goto(reverse("account_logout"))
    page.click("button[type=submit]")
    page.wait_for_url("**/account/login/**")


def sign_in_with_app(page: Page, secret: str) -> None:
    show(page, "sign-in")
    page.fill("input[name=login]", EMAIL)
    page.fill("input[name=password]", browser.PASSWORD)
    page.press("input[name=password]", "Enter")
    page.wait_for_selector("input[name=code]")
    show(page, "sign-in-code")
    page.fill("input[name=code]", one_time_code(secret))
    page.press("input[name=code]", "Enter")
    page.wait_for_url("**/w/**")


def add_passkey(page: Page) -> None:
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True}
    options |= {"hasUserVerification": True, "isUserVerified": True}
    devtools.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    page.goto(reverse("mfa_add_webauthn"))
    prove_again(page)
    page.wait_for_load_state()
    page.fill("input[name=name]", "Laptop")
    show(page, "passkey")
    page.click("#passkey-button")
    page.wait_for_url(lambda url: not url.endswith(reverse("mfa_add_webauthn")))


def prove_again(page: Page) -> None:
    """Whoever changes factors shows once more who they are."""
    page.fill("input[name=password]", browser.PASSWORD)
    page.press("input[name=password]", "Enter")


def read_books(page: Page) -> dict[str, int]:
    rows = page.query_selector_all(".balance-sum tr")
    texts = [[cell.inner_text() for cell in row.query_selector_all("th, td")] for row in rows]
    return {label.strip().lower(): int(re.sub(r"\D", "", count)) for label, count, *_ in texts}


def launch(client: post.Client, workspace: Workspace) -> str:
    """The page of a run to many who are quick and to some who keep a worker busy."""
    press.people(workspace.pk, FAST)
    for number in range(SLOW):
        Contact.objects.create(
            workspace=workspace, address=f"slow+{number}@example.com", name=f"Slow {number}"
        )
    content = {"kind": "inline", "format": "markdown"}
    content |= {"subject": "News for {{ name }}", "body": "# Hello {{ name }}"}
    draft = {"tag": "november", "name": "November product letter", "content": content}
    campaign = client.ask("/v1/campaigns", draft).body["id"]
    run_id = client.ask(f"/v1/campaigns/{campaign}/launch", {}).body["run_id"]
    return reverse("run", args=[workspace.pk, run_id])


ENVIRONMENT = {
    "ALLOWED_HOSTS": "localhost,127.0.0.1",
    "FROM_EMAIL": "news@acme.example",
    "ORG_NAME": "Acme",
    "ORG_ADDRESS": "1 Main St",
    "UNSUBSCRIBE_BASE_URL": "https://acme.example/unsubscribe",
    "UNSUBSCRIBE_SECRET": "only-for-tests, and long enough here",
    "LEASE_SECONDS": "5",
}


def test_a_campaign_is_followed_through_a_crash_and_its_doubts_are_decided(tmp_path: Path) -> None:
    port = rig.free_port()
    origin = f"http://localhost:{port}"
    environment = {**ENVIRONMENT, "STATE_FOLDER": str(tmp_path / "state")}
    with (
        rig.installation(tmp_path, stage.database(), **environment) as installed,
        browser.chromium() as chromium,
        browser.visitor(chromium, origin) as (page, watch),
    ):
        page.set_default_timeout(60_000)
        installed.run("setup")
        process, code = start(installed, port)
        enter(page, code)
        workspace = Workspace.objects.get()
        made = keys.create_key(workspace.pk, name="shop", scopes=list(Scope), actor="test")
        Sender.objects.update(rate_per_second=None)
        slow_down(workspace)
        run_page = launch(post.Client(origin, made.token), workspace)
        books = follow_through_a_crash(page, run_page, process)
        decide(page, workspace)
        report = download_report(page, run_page)
        look_around(page, workspace)

    rows = csv.DictReader(report.splitlines())
    assert Counter(row["status"] for row in rows) == {"sent": FAST + SLOW}
    assert sum(books.values()) - books["planned"] == books["planned"] == FAST + SLOW
    assert books["in doubt"] > 0
    assert books[State.ACCEPTED.value] + books["in doubt"] == FAST + SLOW
    assert watch.strange_requests == []


def slow_down(workspace: Workspace) -> None:
    """Mail to slow@ is with the sandbox for so long that a worker can die meanwhile."""
    account = ProviderAccount.objects.get()
    provider_accounts.update_account(
        workspace.pk, account_id=account.pk, changes={"slow": 60}, actor="test"
    )


def enter(page: Page, code: str) -> None:
    """As the first owner; then with a code of the app, and with a passkey."""
    create_owner(page, code)
    connect_sandbox(page)
    secret = turn_on_app(page)
    sign_out(page)
    sign_in_with_app(page, secret)
    add_passkey(page)
    sign_out(page)
    page.click("#passkey-button")
    page.wait_for_url("**/w/**")


def follow_through_a_crash(page: Page, run_page: str, process: rig.Process) -> dict[str, int]:
    """The books when nothing waits any more, read from a page that was never reloaded."""
    page.goto(run_page)
    rig.until(lambda: read_books(page)["accepted"] == FAST)
    for pid in list_workers(process):
        os.kill(pid, signal.SIGKILL)
    show(page, "run-live")
    rig.until(lambda: read_books(page)["waiting"] == 0, seconds=180)
    show(page, "run-doubts")
    return read_books(page)


def decide(page: Page, workspace: Workspace) -> None:
    page.goto(reverse("attention", args=[workspace.pk]))
    show(page, "needs-attention")
    page.check("input[value=count_as_sent]")
    page.click("article .btn-primary")
    page.get_by_text("Decided for").wait_for()
    show(page, "decided")


def download_report(page: Page, run_page: str) -> str:
    page.goto(run_page)
    show(page, "run-over")
    with page.expect_download() as download:
        page.get_by_role("link", name="Report").click()
    return Path(download.value.path()).read_text()


def look_around(page: Page, workspace: Workspace) -> None:
    page.goto(reverse("overview", args=[workspace.pk]))
    show(page, "overview")
    page.goto(reverse("messages", args=[workspace.pk]))
    show(page, "messages")
    page.click("main table a")
    page.wait_for_load_state("networkidle")
    show(page, "message")
