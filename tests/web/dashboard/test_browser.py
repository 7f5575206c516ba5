"""Every page in a real browser: hostile texts stay texts, and everybody can read and use them."""

import re
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar, Literal, override

import pytest
from django.urls import reverse
from playwright.sync_api import FilePayload, Page, Route, expect

from postledger.accounts import workspaces
from postledger.accounts.models import User, Workspace
from postledger.accounts.people.roles import Permission
from postledger.accounts.queries import Organisation
from postledger.campaigns.models import Campaign, Run
from postledger.content.models import Slice
from postledger.deliveries.entries import Body, StreamKind
from postledger.lib.ids import DeliveryId
from postledger.web.dashboard import page_rules, urls
from postledger.web.dashboard.page_rules import Audience, OpenPage
from tests import cast
from tests.campaigns import press
from tests.journeys import stage
from tests.web.dashboard import browser, hostile
from tests.web.dashboard.examples import EXAMPLES, Example
from tests.web.dashboard.keyboard import follow, press_until

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

# Downloads, fragments of pages, and what only leads on.
NO_PAGES = {"run_report", "run_live", "overview_live", "attention_number"}
NO_PAGES |= {"message_letter", "campaign_letter", "template_letter", "home", "account_logout"}
NO_PAGES |= {"campaign_readers"}
NO_PAGES |= {"contacts_export", "contact_export", "import_live", "import_problems"}
NO_PAGES |= {"article_letter", "notion_letter", "branding_letter"}
# They are there for a person who has a second factor.
WITH_FACTOR = {"mfa_deactivate_totp", "mfa_view_recovery_codes", "mfa_download_recovery_codes"}
WITH_FACTOR |= {"mfa_generate_recovery_codes", "mfa_reauthenticate", "mfa_reauthenticate_webauthn"}
PICTURE = FilePayload(name="a.png", mimeType="image/png", buffer=b"\x89PNG\r\n\x1a\n picture")
type Theme = Literal["light", "dark"]
HIT = "window.__hit = () => console.error('a script of a stranger ran')"


def list_urls(acme: Workspace) -> Iterator[tuple[str, str]]:
    """The name and the URL of every page that an owner can open."""
    for page in page_rules.list_rules(urls.urlpatterns):
        example = EXAMPLES.get(page.name, Example())
        if page.name in NO_PAGES | WITH_FACTOR or example.is_post or example.status != 200:
            continue
        if isinstance(page.rule, Permission):
            values = {"workspace_id": acme.pk, **example.make_values(acme)}
            yield page.name, reverse(page.name, kwargs=values)
        elif is_own(page.rule) and "<" not in page.route:
            yield page.name, reverse(page.name)


def is_own(rule: object) -> bool:
    return isinstance(rule, OpenPage) and rule.audience is Audience.SIGNED_IN


def find_barriers_in(
    page: Page, looks: Iterable[tuple[Theme, int]], *, has_menu: bool
) -> Iterator[str]:
    """The barriers of one page in each theme and width, without loading it again."""
    leave_out = () if has_menu else (".nav",)
    for theme, width in looks:
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": width, "height": 900})
        for barrier in browser.find_barriers(page, leave_out=leave_out):
            yield f"{theme} at {width} px: {barrier}"
        yield from find_overflows(page, width)


# What is wider than the page, or lower than the screen; on a narrow one the menu is not shown.
OVERFLOWS = """() => {
    const root = document.documentElement, nav = document.querySelector(".nav");
    const wide = [...document.querySelectorAll("main *")].filter(
        (element) => element.getBoundingClientRect().right > root.clientWidth);
    return [
        ...(root.scrollWidth > root.clientWidth
            ? [`to ${root.scrollWidth} px: ${wide.at(-1)?.outerHTML.slice(0, 200)}`] : []),
        ...(nav && nav.scrollWidth > nav.clientWidth ? ["in the menu"] : []),
        ...(nav && nav.querySelector(".nav-foot").getBoundingClientRect().bottom > innerHeight
            ? ["and the foot of the menu is out of sight"] : []),
    ];
}"""


def find_overflows(page: Page, width: int) -> Iterator[str]:
    for overflow in page.evaluate(OVERFLOWS):
        yield f"scrolls sideways at {width} px, {overflow}"


# Pages with long words.
IN_RUSSIAN = {"overview", "run", "campaigns", "message", "attention", "contact", "sender", "audit"}


def find_overflows_in_russian(
    page: Page, pages: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, list[str]]]:
    User.objects.update(language="ru")
    for name, url in pages:
        if name not in IN_RUSSIAN:
            continue
        page.goto(url)
        found: list[str] = []
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            found += find_overflows(page, width)
        if found:
            yield f"{name} in Russian", found


def test_no_page_runs_a_strangers_script_asks_elsewhere_or_has_a_barrier(
    acme: Workspace, origin: str
) -> None:
    pages = list(list_urls(acme))
    cast.block()
    hostile.poison()
    findings: dict[str, list[str]] = {}

    with browser.chromium() as chromium, browser.visitor(chromium, origin) as (page, watch):
        page.add_init_script(HIT)
        page.add_init_script(path=browser.AXE)
        browser.sign_in(page, browser.EMAIL)
        for name, url in pages:
            answer = page.goto(url)
            assert answer is not None
            found = [] if answer.status == 200 else [f"status {answer.status}"]
            # The menu is the same on all pages, and is looked at on one of them.
            looks: list[tuple[Theme, int]] = [("dark", 390), ("light", 1280)]
            found += find_barriers_in(page, looks, has_menu=name == "overview")
            found += [*watch.complaints, *watch.strange_requests]
            watch.complaints.clear()
            watch.strange_requests.clear()
            if found:
                findings[name] = found
        findings |= find_overflows_in_russian(page, pages)

    assert len(pages) > 15
    assert findings == {}


class Canary(BaseHTTPRequestHandler):
    """The attacker's server, which notes who comes."""

    visits: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.visits.append(self.path)
        self.send_error(404)

    @override
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def attacker() -> Iterator[str]:
    Canary.visits.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Canary) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_a_hostile_letter_is_shown_in_a_frame_where_it_can_do_nothing(
    acme: Workspace, origin: str, attacker: str
) -> None:
    html = hostile.write_letter(attacker)
    body = Body(subject=hostile.TEXT, html=html, text=hostile.TEXT)
    stream_id = stage.stream(cast.sender(), StreamKind.CAMPAIGN, body=body)
    cast.plan(stream_id, [1])
    values = {"workspace_id": acme.pk, "mail_id": DeliveryId(stream_id, 0).uuid()}

    with browser.chromium() as chromium, browser.visitor(chromium, origin) as (page, watch):
        page.add_init_script(HIT)
        browser.sign_in(page, browser.EMAIL)
        page.goto(reverse("message", kwargs=values))
        page.wait_for_load_state("networkidle")
        shown = page.frame_locator("iframe").locator("body").inner_text()
        answer = page.goto(reverse("message_letter", kwargs=values))
        page.wait_for_load_state("networkidle")
        stayed = page.url.startswith(origin)

    assert "Hello" in shown
    assert stayed
    assert answer is not None
    assert answer.headers["content-security-policy"].startswith("sandbox")
    assert Canary.visits == []
    assert "a script of a stranger ran" not in watch.complaints


def test_a_doubt_is_decided_by_keyboard_alone(acme: Workspace, origin: str) -> None:
    with browser.chromium() as chromium, browser.visitor(chromium, origin) as (page, _):
        page.goto(reverse("account_login"))
        press_until(page, "Tab", "input[name=password]")
        page.keyboard.press("Shift+Tab")
        press_until(page, "Shift+Tab", "input[name=login]")
        page.keyboard.type(browser.EMAIL)
        press_until(page, "Tab", "input[name=password]")
        page.keyboard.type(browser.PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url("**/w/**")
        page.keyboard.press("Tab")
        skips = page.evaluate("document.activeElement.matches('.skip')")
        press_until(page, "Tab", ".nav a[href$='/attention/']")
        page.keyboard.press("Enter")
        page.wait_for_url("**/attention/")
        press_until(page, "Tab", "input[value=count_as_sent]")
        page.keyboard.press("Space")
        press_until(page, "Tab", "article .btn-primary")
        page.keyboard.press("Enter")
        page.get_by_text("Decided for 2 emails.").wait_for()

    assert skips


def manage_article_by_keyboard(page: Page) -> None:
    """Renames an article, and deletes it."""
    follow(page, ".nav a[href$='/content/articles/']", "**/articles/")
    follow(page, "main tbody th a", "**/articles/*/")
    follow(page, "main a[href$='/rename/']", "**/rename/")
    press_until(page, "Tab", "main input[name=title]")
    page.keyboard.type("News of June")
    follow(page, "main .btn-primary", "**/articles/*/")
    follow(page, "main a[href$='/delete/']", "**/articles/*/delete/")
    follow(page, "main .btn-primary", "**/articles/")
    page.get_by_text("The article is deleted.").wait_for()


def set_up_by_keyboard(page: Page) -> None:
    """Holds a sender, limits it, looks at requests, and changes a setting."""
    follow(page, ".nav a[href$='/senders/']", "**/senders/")
    follow(page, "main a[href*='/senders/']:not([href$='/connect/'])", "**/senders/*/")
    follow(page, "main a[href$='/hold/']", "**/hold/")
    press_until(page, "Tab", "main input[name=reason]")
    page.keyboard.type("the domain moves")
    page.keyboard.press("Enter")
    page.get_by_text("(Olga: the domain moves)").wait_for()
    follow(page, "main a[href$='/limits/']", "**/limits/")
    press_until(page, "Tab", "main input[name=daily_limit]")
    page.keyboard.type("500")
    page.keyboard.press("Enter")
    page.get_by_text("Workers follow within 10 seconds.").wait_for()
    follow(page, ".nav a[href$='/developers/']", "**/developers/")
    follow(page, "main .tabs a[href$='/requests/']", "**/requests/")
    follow(page, ".nav a[href$='/settings/']", "**/settings/")
    press_until(page, "Tab", "main input[name=test_emails]")
    page.keyboard.type("olga@acme.example")
    page.keyboard.press("Enter")
    page.get_by_text("Saved.").wait_for()


@pytest.mark.sample
def test_the_main_pages_are_used_by_keyboard_alone(acme: Workspace, origin: str) -> None:
    """From the last control of each page Tab leads around to the navigation: nothing traps it."""
    EXAMPLES["message"].make_values(acme)
    EXAMPLES["run"].make_values(acme)
    EXAMPLES["article"].make_values(acme)
    with browser.chromium() as chromium, browser.visitor(chromium, origin) as (page, watch):
        browser.sign_in(page, browser.EMAIL)
        press_until(page, "Tab", ".nav input[name=q]")
        page.keyboard.type("r0@example.com")
        page.keyboard.press("Enter")
        page.wait_for_url("**/messages/?q=*")
        follow(page, "main tbody a", "**/messages/*-*/")
        press_until(page, "Tab", "main aside a")
        follow(page, ".nav a[href$='/campaigns/']", "**/campaigns/")
        press_until(page, "Tab", "#tabs a:last-child")
        page.evaluate("htmx.ajax('GET', location.href, {target: '#live', swap: 'outerHTML'})")
        stayed = page.evaluate("document.activeElement.matches('#tabs a:last-child')")
        follow(page, "main tbody th a", "**/campaigns/*/")
        press_until(page, "Tab", "#report")
        follow(page, ".nav a[href$='/attention/']", "**/attention/")
        press_until(page, "Tab", "button[value=requeue]")
        page.keyboard.press("Enter")
        page.get_by_text("1 email will be tried again.").wait_for()
        manage_article_by_keyboard(page)
        set_up_by_keyboard(page)
        follow(page, "main .tabs a[href$='/members/']", "**/members/")
        press_until(page, "Tab", "main input[name=email]")
        page.keyboard.type("new@acme.example")
        press_until(page, "Tab", "main .btn-primary")
        page.keyboard.press("Enter")
        page.locator("#invitation-link").wait_for()
        follow(page, ".nav-foot a[href$='/security/']", "**/security/")
        press_until(page, "Tab", "select[name=language]")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        press_until(page, "Tab", "main .btn-primary")
        page.keyboard.press("Enter")
        page.locator("html[lang=ru]").wait_for()
        follow(page, ".nav-foot a[href$='/logout/']", "**/logout/")
        follow(page, "main .btn-primary", "**/login/")

    assert stayed, "a refresh takes the focus away"
    assert watch.complaints == []


def test_reading_and_forms_work_without_scripts(acme: Workspace, origin: str) -> None:
    EXAMPLES["run"].make_values(acme)
    with (
        browser.chromium() as chromium,
        browser.visitor(chromium, origin, java_script_enabled=False) as (page, _),
    ):
        browser.sign_in(page, browser.EMAIL)
        page.fill("input[name=q]", "r0@example.com")
        page.press("input[name=q]", "Enter")
        page.wait_for_url("**/messages/**")
        found = page.inner_text("main table")
        page.goto(reverse("attention", args=[acme.pk]))
        page.check("input[value=count_as_not_sent]")
        page.click("article .btn-primary")
        decided = page.inner_text("main")
        page.goto(reverse("security"))
        page.select_option("select[name=language]", "ru")
        page.click("main form .btn-primary")
        language = page.get_attribute("html", "lang")

    assert "r0@example.com" in found.lower()
    assert "Decided for 2 emails." in decided
    assert language == "ru"


@pytest.mark.parametrize("height", [700, 900])
def test_a_refused_form_opens_at_its_first_wrong_field_and_shows_what_is_wrong(
    acme: Workspace, origin: str, height: int
) -> None:
    values = EXAMPLES["template_write"].make_values(acme)
    look: Any = {"java_script_enabled": False, "viewport": {"width": 1280, "height": height}}
    with browser.chromium() as chromium, browser.visitor(chromium, origin, **look) as (page, _):
        browser.sign_in(page, browser.EMAIL)
        page.goto(reverse("template_write", args=[acme.pk, *values.values()]))
        page.fill("[name=texts-0-body]", "{{ open")
        page.click(".dock .btn-primary")
        focused = page.get_attribute(":focus", "name")
        error = page.locator(".error").bounding_box()
        dock = page.locator(".dock").bounding_box()

    assert focused == "texts-0-body"
    assert error is not None
    assert dock is not None
    assert 0 < error["y"] < dock["y"] - error["height"]


def write_while_signed_out(page: Page, watch: browser.Watch) -> None:
    """The editor says that it saves nothing, and does so again after a sign-in beside it."""
    page.context.clear_cookies()
    page.fill("input[name=preheader]", "Tea & more cake")
    page.locator("#dock").get_by_text("You are signed out, so nothing more is saved.").wait_for()
    assert page.locator("#saved").is_hidden()
    beside = page.context.new_page()
    browser.sign_in(beside, browser.EMAIL)
    beside.close()
    page.get_by_text("Preheader: Tea & more cake").wait_for()
    assert page.locator("#saved").is_visible()
    assert all("401" in line or "403" in line for line in watch.complaints)
    watch.complaints.clear()


def test_a_campaign_is_written_while_it_saves_itself_and_launched(
    acme: Workspace, origin: str
) -> None:
    """Two people write; the second one is told."""
    organisation = Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe")
    workspaces.set_organisation(acme.pk, organisation, actor="alice")
    press.people(acme.pk, 3)
    with (
        browser.chromium() as chromium,
        browser.visitor(chromium, origin) as (page, watch),
        browser.visitor(chromium, origin) as (other, _),
    ):
        browser.sign_in(page, browser.EMAIL)
        page.goto(reverse("new_campaign", args=[acme.pk]))
        page.fill("main input[name=name]", "Winter catalogue")
        page.keyboard.press("Enter")
        page.wait_for_url("**/edit/")
        press_until(page, "Tab", "select[name=field]")
        press_until(page, "Tab", "input[name=kind]")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowLeft")
        press_until(page, "Tab", "input[name=subject]")
        page.keyboard.type("Hello {{ name }}")
        press_until(page, "Tab", "input[name=preheader]")
        page.keyboard.type("Tea & cake")
        press_until(page, "Tab", "textarea[name=body]")
        page.keyboard.type("The **catalogue** is here, ")
        press_until(page, "Tab", "[data-insert-value]")
        page.keyboard.press("Enter")
        assert page.input_value("textarea[name=body]") == "The **catalogue** is here, {{ name }}"
        page.get_by_text("Hello [name]").or_(page.get_by_text("Hello Alice")).wait_for()
        frame = page.frame_locator("#preview iframe")
        frame.get_by_text("catalogue").wait_for()
        page.get_by_text("Preheader: Tea & cake").wait_for()
        # Enter shows another reader in place.
        page.fill("#preview-controls input[name=as]", "r1@example")
        page.keyboard.press("Enter")
        page.get_by_text("To: Reader 1 <r1@example.com>").wait_for()
        assert page.url.endswith("/edit/")
        write_while_signed_out(page, watch)
        # A second window of the same person is asked about like somebody else.
        browser.sign_in(other, browser.EMAIL)
        other.goto(page.url)
        other.fill("input[name=subject]", "Hello from elsewhere")
        other.get_by_text("Subject: Hello from elsewhere").wait_for()
        page.fill("input[name=subject]", "Hello again")
        page.locator("#dock").get_by_role("link", name="Not all is saved.").click()
        # What is not saved is not launched.
        assert page.get_by_role("button", name="Launch to 3 people").is_disabled()
        page.get_by_role("button", name="Keep this one").click()
        page.get_by_text("Subject: Hello again").wait_for()
        barriers = browser.find_barriers(page)
        page.get_by_role("button", name="Launch to 3 people…").click()
        page.get_by_role("button", name="Launch to 3 people", exact=True).click()
        page.wait_for_url("**/campaigns/runs/**")
        page.go_back()
        page.get_by_role("heading", name="Winter catalogue").wait_for()

    assert barriers == []
    assert watch.complaints == []
    assert Campaign.objects.get().content["subject"] == "Hello again"


def test_what_is_typed_while_a_save_is_under_way_is_not_tested_or_launched(
    acme: Workspace, origin: str
) -> None:
    draft = str(EXAMPLES["campaign_edit"].make_values(acme)["campaign_id"])
    held: list[Route] = []
    with browser.chromium() as chromium, browser.visitor(chromium, origin) as (page, _):
        browser.sign_in(page, browser.EMAIL)
        page.goto(reverse("campaign_edit", args=[acme.pk, draft]))
        send = page.get_by_role("button", name="Send test")
        expect(send).to_be_enabled()
        page.route("**/edit/", lambda route: held.append(route), times=2)  # noqa: PLW0108  it takes no builtin
        with page.expect_request("**/edit/"):
            page.fill("input[name=subject]", "Hello at first")
        page.fill("input[name=subject]", "Hello later")
        page.wait_for_timeout(2000)  # the second save waits for the first
        with page.expect_request("**/edit/"):
            held[0].continue_()
        page.wait_for_timeout(500)
        is_enabled = send.is_enabled()
        held[1].continue_()
        expect(send).to_be_enabled()

    assert not is_enabled
    assert Campaign.objects.get(pk=draft).content["subject"] == "Hello later"


# The second time when the first request is on its way.
SUBMIT_TWICE = """() => {
    const form = document.querySelector("[name=title]").form;
    form.requestSubmit();
    setTimeout(() => form.requestSubmit(), 30);
}"""


def test_a_test_goes_and_a_slice_is_made_once_however_often_a_button_is_clicked(
    acme: Workspace, origin: str
) -> None:
    organisation = Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe")
    workspaces.set_organisation(acme.pk, organisation, actor="alice")
    draft = EXAMPLES["campaign_edit"].make_values(acme)["campaign_id"]
    with browser.chromium() as chromium, browser.visitor(chromium, origin) as (page, _):
        browser.sign_in(page, browser.EMAIL)
        page.goto(reverse("campaign_edit", args=[acme.pk, draft]))
        page.get_by_role("button", name="Send test").dblclick()
        page.get_by_text("The test is on its way; its state is below.").wait_for()
        page.wait_for_load_state("networkidle")
        article = EXAMPLES["article"].make_values(acme)["key"]
        page.goto(reverse("new_slice", args=[acme.pk, article]))
        page.fill("[name=title]", "Made once")
        page.evaluate(SUBMIT_TWICE)
        page.wait_for_url("**/articles/*/")

    assert Run.objects.get().is_test
    assert Slice.objects.filter(title="Made once").count() == 1


def insert_picture(page: Page) -> str:
    """The text after a double click, the caret being at the end of its first line."""
    body = page.locator("[name=body]")
    body.fill("Above\n\nBelow")
    body.evaluate("body => { body.focus(); body.setSelectionRange(5, 5); }")
    page.get_by_text("Add a picture").click()
    page.locator("#f-picture").set_input_files(PICTURE)
    page.fill("#f-description", "A hen")
    page.get_by_role("button", name="Insert the picture").dblclick()
    page.get_by_text("The picture is in the text:").wait_for()
    page.wait_for_load_state("networkidle")
    return body.input_value()


def mend_refused_test(page: Page) -> tuple[str, bool]:
    """What a refusal leaves of the form; then the test is sent."""
    to, send = page.locator("#test-to"), page.get_by_role("button", name="Send test")
    to.fill("nobody")
    send.click()
    page.locator("#test-to-error:not(:empty)").wait_for()
    kept = (to.input_value(), send.is_enabled())
    to.fill("anna@example.com")
    page.wait_for_timeout(1000)
    send.click()
    page.get_by_text("The test is on its way; its state is below.").wait_for()
    return kept


def test_what_is_wrong_in_the_editor_is_said_where_it_is_mended(
    acme: Workspace, origin: str
) -> None:
    organisation = Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe")
    workspaces.set_organisation(acme.pk, organisation, actor="alice")
    draft = str(EXAMPLES["campaign_edit"].make_values(acme)["campaign_id"])
    people = {"all": [{"field": "attributes.plan", "is": "plus"}]}
    Campaign.objects.filter(pk=draft).update(audience=people)
    with browser.chromium() as chromium, browser.visitor(chromium, origin) as (page, watch):
        browser.sign_in(page, browser.EMAIL)
        page.goto(reverse("campaign_edit", args=[acme.pk, draft]))
        lines = page.locator(".condition")
        page.get_by_role("button", name="Add a condition").click()
        lines.nth(1).locator("[name=field]").select_option("created_at")
        lines.nth(1).locator("[name=op]").select_option("within_days")
        lines.nth(1).locator("[name=value]:enabled").fill("many")
        wrong = lines.nth(1).get_by_text("Write a number, such as")
        wrong.wait_for()
        described = lines.nth(1).locator("[name=value]:enabled").get_attribute("aria-describedby")
        described_by = wrong.get_attribute("id")
        lines.nth(0).get_by_label("Remove the condition").click()
        page.locator(".condition:nth-of-type(1) .error").wait_for()
        lines.nth(0).get_by_label("Remove the condition").click()
        page.locator("#problems:empty").wait_for(state="attached")
        left = lines.evaluate_all(
            "all => all.map(one =>"
            " [...one.querySelectorAll('select:enabled, input:enabled')].map(field => field.value))"
        )
        errors = page.locator("#draft .field > .error").count()
        # The preview says what it does not show yet, and shows the rest.
        page.fill("#draft [name=name]", "")
        page.fill("[name=subject]", "Read this")
        page.get_by_text("The preview shows what was saved last. Name:").wait_for()
        page.get_by_text("Subject: Read this").wait_for()
        page.fill("#draft [name=name]", "June")
        page.locator("#problems:empty").wait_for(state="attached")
        written = insert_picture(page)
        kept = mend_refused_test(page)

    assert described == described_by
    assert re.fullmatch(r"Above\n\n!\[A hen\]\(\S+\.png\)\n\nBelow", written)
    assert kept == ("nobody", True)
    assert left == [["", "is", ""]]
    assert errors == 0
    assert Campaign.objects.get(pk=draft).audience == {}
    assert watch.complaints == []


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("template_write", "texts-0-body"),
        ("new_slice", "body_md"),
        ("contact_edit", "name"),
    ],
)
def test_a_form_that_is_half_written_is_not_left_by_a_slip(
    acme: Workspace, origin: str, name: str, field: str
) -> None:
    values = EXAMPLES[name].make_values(acme)
    with browser.chromium() as chromium, browser.visitor(chromium, origin) as (page, watch):
        browser.sign_in(page, browser.EMAIL)
        page.goto(reverse(name, kwargs={"workspace_id": acme.pk, **values}))
        page.fill(f"[name={field}]", "Half of a te")
        if name == "template_write":
            page.get_by_role("button", name="Preview").first.click()  # in a frame: it stays unsaved
        page.locator("nav a").first.click()
        page.wait_for_timeout(500)
        stays = page.input_value(f"[name={field}]")

    assert stays == "Half of a te"
    assert [complaint.partition(":")[0] for complaint in watch.complaints] == ["dialog"]
