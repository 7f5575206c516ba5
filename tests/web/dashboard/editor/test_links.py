"""The preflight of a campaign asks its links, after the page is there."""

from random import randrange
from uuid import uuid4

from django.conf import LazySettings

from postledger.content import pictures
from postledger.content.link_checks import LinkReport, LinkState
from postledger.content.rendering.source import Format
from postledger.mailing.content_source import InlineSource
from postledger.web.dashboard.editor import content_checks, preflight
from postledger.web.dashboard.editor.checks import OK, WARNING
from postledger.web.dashboard.pages.campaigns.editor_checks import LINK_TURNS
from tests.campaigns import press
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard.visitors import Person

LINK = "https://acme.example/winter"
INSIDE = f"http://127.0.0.1:9/{uuid4()}"  # Redis remembers for all tests
DEAD = "redis://127.0.0.1:1/0"
PART = {"HX-Request": "true"}


def write_draft(person: Person, *links: str, tag: str = "news") -> str:
    body = "\n\n".join(["Hello, {{ name }}.", *(f"[Winter]({link})" for link in links)])
    words = InlineSource("News", body, Format.MARKDOWN, required=("name",))
    campaign_id = press.campaign(person.workspace_id, tag=tag, content=words)
    return f"campaigns/{campaign_id}/edit/"


def ask(person: Person, editor: str) -> tuple[str, str]:
    answer = person.client.get(person.url(f"{editor}links/"), headers=PART)
    return answer.content.decode(), answer.headers.get("HX-Trigger", "")


def test_links_are_asked_by_another_request_and_counted_then(anna: Person) -> None:
    editor = write_draft(anna, INSIDE)

    before = anna.read(f"{editor}checks/")
    _, trigger = ask(anna, editor)
    after = anna.read(f"{editor}checks/")

    assert f'hx-get="{anna.url(editor)}links/"' in before
    assert "Links are being checked, and not counted yet." in before
    assert "A link leads inside a network" not in before
    assert trigger == "looked-up"
    assert "A link leads inside a network" in after
    assert f"Readers elsewhere cannot open {INSIDE}, so it was not checked." in after
    assert "Links are being checked" not in after


def test_a_draft_without_links_waits_for_none(anna: Person) -> None:
    assert "/links/" not in anna.read(f"{write_draft(anna)}checks/")


def test_a_broken_link_warns_and_does_not_refuse_the_launch(alice: Caller, anna: Person) -> None:
    newsroom.people(alice, 2)
    page = anna.read(f"{write_draft(anna, INSIDE)}links/")

    assert "A link leads inside a network" in page
    assert "problems: 0" in page
    assert 'data-needs-saved aria-describedby="launch-hint"' in page


def test_a_workspace_has_no_more_links_asked_than_it_may(
    anna: Person, settings: LazySettings
) -> None:
    # Redis has counted for the workspace of another run of the tests, but not at this rate.
    settings.LINK_CHECKS_OF_ONE = f"1/{randrange(60, 100_000)} minutes"
    first = write_draft(anna, INSIDE)
    nothing_new = [ask(anna, editor)[1] for editor in (write_draft(anna, tag="none"), first, first)]

    lines, trigger = ask(anna, write_draft(anna, f"{INSIDE}/2", tag="second"))

    assert nothing_new == ["looked-up"] * 3, "only a link that is asked counts"

    assert "Too many links were checked. Try again in" in lines
    assert trigger == ""


def test_what_a_link_has_in_it_stays_text(anna: Person) -> None:
    page = anna.read(f"{write_draft(anna, 'http://127.0.0.1/<script>alert(1)</script>')}links/")

    assert "<script>alert" not in page


def test_each_fault_of_a_link_is_said_with_what_to_do() -> None:
    for report, title, told in (
        (LinkReport(LINK, LinkState.GONE, 404), "A link is broken", "answers 404"),
        (LinkReport(LINK, LinkState.FAILS, 503), "A link leads to an error", "the error 503"),
        (LinkReport(LINK, LinkState.REDIRECT_LOOP), "redirected too often", "Browsers give up"),
        (LinkReport(LINK, LinkState.NO_HOST), "not known", "cannot be looked up"),
        (LinkReport(LINK, LinkState.BAD_REDIRECT), "to no web page", "where it leads"),
        (LinkReport(LINK, LinkState.SILENT), "does not answer", "gave no answer"),
        (LinkReport(LINK, LinkState.UNSAFE), "not safe", "its certificate"),
        (LinkReport(LINK, LinkState.WORKS, 200, 6.2), "slowly", "6 seconds. 412,000 people"),
    ):
        line, *_ = content_checks.describe_links([report], recipient_count=412_000)

        assert line.level == WARNING, report
        assert title in line.title
        assert told in line.text
        assert LINK in line.text


def test_links_that_answer_are_one_line_and_those_that_refuse_programs_are_none() -> None:
    states = (LinkState.WORKS, LinkState.WORKS, LinkState.UNSURE)
    reports = [LinkReport(f"{LINK}/{n}", state, 200) for n, state in enumerate(states)]

    [line] = content_checks.describe_links(reports, recipient_count=1)

    assert (line.level, line.title) == (OK, "2 links and pictures answer")


def test_a_picture_of_ours_at_its_former_address_is_to_be_inserted_again(
    anna: Person, settings: LazySettings
) -> None:
    settings.PUBLIC_URL = "http://127.0.0.1:8000"
    url = pictures.keep_picture(anna.workspace_id, b"\x89PNG\r\n\x1a\n", actor="anna")
    settings.PUBLIC_URL = "https://mail.acme.example"
    page = anna.read(f"{write_draft(anna, f'{url}) ![Winter]({INSIDE}.png')}links/")

    assert "A picture of yours still has its former address" in page
    assert f"cannot open {url}" not in page
    assert "A picture is inside a network" in page


def test_without_redis_the_part_tells_what_the_links_answered_and_asks_once(
    anna: Person, settings: LazySettings
) -> None:
    editor = write_draft(anna, INSIDE)
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": DEAD}}

    lines, trigger = ask(anna, editor)
    page = anna.read(f"{editor}links/")

    assert f"Readers elsewhere cannot open {INSIDE}, so it was not checked." in lines
    assert '<span id="links-state" hx-swap-oob="true"></span>' in lines
    assert trigger == "", "the preflight would ask again without end"
    assert "A link leads inside a network" in page
    assert "Links are being checked" not in page


def test_one_check_of_a_workspace_runs_at_a_time_and_others_ask_again(anna: Person) -> None:
    editor = write_draft(anna, INSIDE)

    with preflight.TURNS.take(anna.workspace_id), LINK_TURNS.take(anna.workspace_id):
        checks = anna.client.get(anna.url(f"{editor}checks/"), headers=PART).content.decode()
        lines, trigger = ask(anna, editor)
    after = anna.client.get(anna.url(f"{editor}checks/"), headers=PART).content.decode()

    again = f'hx-get="{anna.url(editor)}checks/" hx-trigger="load delay:2s"'
    assert again in checks
    assert f'hx-get="{anna.url(editor)}links/"' in lines
    assert trigger == ""
    assert again not in after


def test_a_page_holds_no_thread_until_another_check_has_ended(anna: Person) -> None:
    editor = write_draft(anna, INSIDE)

    with preflight.TURNS.take(anna.workspace_id):
        for page in ("checks/", "links/"):
            assert anna.get(f"{editor}{page}").status_code == 429, page


def test_a_refused_test_says_why_also_while_another_draft_is_checked(anna: Person) -> None:
    editor = write_draft(anna)

    with preflight.TURNS.take(anna.workspace_id):
        refused = anna.post(f"{editor}test/", to="nobody")

    assert refused.status_code == 422
    assert "The test was not sent" in refused.content.decode()
