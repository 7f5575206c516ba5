"""A real Chromium that a person's hands would drive, and what it noticed meanwhile."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.db import connections
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request, sync_playwright

EMAIL = "olga@acme.example"
PASSWORD = "correct horse battery staple"
AXE = Path(__file__).parent / "vendor" / "axe-4.14.0.min.js"
# Only rules that can find what is serious or critical.
_RUN_AXE = """(leftOut) => axe.run({exclude: leftOut}, {
    resultTypes: ["violations"],
    preload: false,
    rules: Object.fromEntries(axe._audit.rules
        .filter(rule => ["minor", "moderate"].includes(rule.impact))
        .map(rule => [rule.id, {enabled: false}])),
})"""
_WEB = {"http", "https", "ws", "wss"}


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser; while it runs, Django takes this thread for one with an event loop."""
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"),
                args=["--no-sandbox", "--disable-gpu", "--no-first-run"],
            )
            try:
                yield browser
            finally:
                browser.close()
                # Beside an event loop Django opens connections of their own, which nobody ends.
                connections.close_all()
    finally:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@dataclass
class Watch:
    """What a page did that it should not do."""

    origin: str
    strange_requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)  # errors, refusals by the CSP, dialogs

    def note_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in _WEB and f"{parts.scheme}://{parts.netloc}" != self.origin:
            self.strange_requests.append(request.url)

    def note_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" or "Content Security Policy" in message.text:
            self.complaints.append(message.text)

    def dismiss_dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@contextmanager
def visitor(browser: Browser, origin: str, **options: Any) -> Iterator[tuple[Page, Watch]]:
    """A window of its own, with cookies of its own."""
    context = browser.new_context(base_url=origin, **options)
    watch = Watch(origin)
    page = context.new_page()
    page.on("request", watch.note_request)
    page.on("console", watch.note_console)
    page.on("pageerror", lambda error: watch.complaints.append(str(error)))
    page.on("dialog", watch.dismiss_dialog)
    try:
        yield page, watch
    finally:
        context.close()


def sign_in(page: Page, email: str, password: str = PASSWORD) -> None:
    page.goto("/account/login/")
    page.fill("input[name=login]", email)
    page.fill("input[name=password]", password)
    page.press("input[name=password]", "Enter")
    page.wait_for_url("**/w/**")


def find_barriers(page: Page, *, leave_out: Sequence[str] = ()) -> list[str]:
    """What axe finds serious or critical on the page as it is shown now.

    A test of many pages has them load axe by themselves.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    results = page.evaluate(_RUN_AXE, list(leave_out))
    return [
        f"{violation['id']}: {violation['nodes'][0]['html'][:200]}"
        for violation in results["violations"]
        if violation["impact"] in {"serious", "critical"}
    ]
