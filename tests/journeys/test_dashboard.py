"""A person's first day: owner, second factors, a campaign that loses its worker, and the books."""

import csv
import hmac
import os
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
from tests.campaigns import press
from tests.journeys import first_day, post, rig, stage
from tests.web.dashboard import browser

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

FAST, SLOW = 60, 6


def one_time_code(secret: str) -> str:
    """RFC 6238, as an authenticator app computes it."""
    padded = secret + "=" * (-len(secret) % 8)
    digest = hmac.digest(b32decode(padded), struct.pack(">Q", int(time.time()) // 30), "sha1")
    offset = digest[-1] & 15
    number = struct.unpack(">I", digest[offset : offset + 4])[0] & 0x7FFFFFFF
    return f"{number % 1_000_000:06}"


def turn_on_app(page: Page) -> str:
    page.goto(reverse("mfa_activate_totp"))
    secret = page.inner_text("#secret").strip()
    first_day.show(page, "authenticator-app")
    code = one_time_code(secret)
    page.fill("input[name=code]", code)
    page.click("button.btn-primary")
    page.wait_for_url(lambda url: not url.endswith(reverse("mfa_activate_totp")))
    first_day.show(page, "recovery-codes")
    # No code is taken twice.
    rig.until(lambda: one_time_code(secret) != code)
    return secret


def sign_out(page: Page) -> None:
    page.goto(reverse("account_logout"))
    page.click("button[type=submit]")
    page.wait_for_url("**/account/login/**")


def sign_in_with_app(page: Page, secret: str) -> None:
    first_day.show(page, "sign-in")
    page.fill("input[name=login]", first_day.EMAIL)
    page.fill("input[name=password]", browser.PASSWORD)
    page.press("input[name=password]", "Enter")
    page.wait_for_selector("input[name=code]")
    first_day.show(page, "sign-in-code")
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
    first_day.show(page, "passkey")
    page.click("#passkey-button")
    page.wait_for_url(lambda url: not url.endswith(reverse("mfa_add_webauthn")))


def prove_again(page: Page) -> None:
    """Whoever changes factors shows once more who they are."""
    page.fill("input[name=password]", browser.PASSWORD)
    page.press("input[name=password]", "Enter")


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


def test_a_campaign_is_followed_through_a_crash_and_its_doubts_are_decided(tmp_path: Path) -> None:
    port = rig.free_port()
    origin = f"http://localhost:{port}"
    environment = {**first_day.ENVIRONMENT, "STATE_FOLDER": str(tmp_path / "state")}
    with (
        rig.installation(tmp_path, stage.database(), **environment) as installed,
        browser.chromium() as chromium,
        browser.visitor(chromium, origin) as (page, watch),
    ):
        page.set_default_timeout(60_000)
        installed.run("setup")
        process, code = first_day.start(installed, port)
        enter(page, code)
        workspace = Workspace.objects.get()
        made = keys.create_key(workspace.pk, name="shop", scopes=list(Scope), actor="test")
        Sender.objects.update(rate_per_second=None)
        slow_down(workspace)
        run_page = launch(post.Client(origin, made.token), workspace)
        books = follow_through_a_crash(page, run_page, process)
        decide(page, workspace)
        report = first_day.download_report(page, run_page)
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
    first_day.create_owner(page, code)
    first_day.connect_sandbox(page)
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
    rig.until(lambda: first_day.read_books(page)["accepted"] == FAST)
    for pid in first_day.list_workers(process):
        os.kill(pid, signal.SIGKILL)
    first_day.show(page, "run-live")
    rig.until(lambda: first_day.read_books(page)["waiting"] == 0, seconds=180)
    first_day.show(page, "run-doubts")
    return first_day.read_books(page)


def decide(page: Page, workspace: Workspace) -> None:
    page.goto(reverse("attention", args=[workspace.pk]))
    first_day.show(page, "needs-attention")
    page.check("input[value=count_as_sent]")
    page.click("article .btn-primary")
    page.get_by_text("Decided for").wait_for()
    first_day.show(page, "decided")


def look_around(page: Page, workspace: Workspace) -> None:
    page.goto(reverse("overview", args=[workspace.pk]))
    first_day.show(page, "overview")
    page.goto(reverse("messages", args=[workspace.pk]))
    first_day.show(page, "messages")
    page.click("main table a")
    page.wait_for_load_state("networkidle")
    first_day.show(page, "message")
