"""The preflight of a campaign asks its links, after the page is there."""

from random import randrange
from uuid import uuid4

from django.conf import LazySettings

from postledger.content.rendering.source import Format
from postledger.mailing.content_source import InlineSource
from postledger.web.dashboard.editor import preflight
from postledger.web.dashboard.pages.campaigns.editor_checks import LINK_TURNS
from tests.campaigns import press
from tests.web.dashboard.visitors import Person

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
