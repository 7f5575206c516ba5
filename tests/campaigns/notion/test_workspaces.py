"""Each workspace mails the pages of its own Notion, which the environment says nothing of."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from pytest_django import Settings

from postledger.accounts import integrations
from postledger.accounts.integrations import IntegrationKind
from postledger.accounts.models import Integration
from postledger.campaigns.models import ErrorRow, Mailout
from postledger.campaigns.notion import status_reports
from postledger.campaigns.runs import run_control
from postledger.deliveries import entries
from postledger.mailing.content_source import PageSource
from tests import cast
from tests.campaigns import mailouts, press
from tests.fakes.notion import FakeNotion
from tests.web import callers
from tests.web.callers import Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def theirs(fake: FakeNotion, settings: Settings) -> FakeNotion:
    """The Notion of globex: the same address, another token, and nothing of acme's."""
    made = fake.beside("ntn_of-globex")
    mailouts.connect(settings, made, press.set_up_workspace(settings, "globex"))
    return made


@pytest.fixture
def charlie(theirs: FakeNotion) -> Caller:
    who = callers.caller("globex")
    press.people(who.workspace_id, 2)
    return who


def fail_all(who: Caller, page_id: str) -> None:
    """Mails a page, and nobody takes it."""
    run = mailouts.send_and_plan(who, page_id)
    cast.book(run.stream_id, lambda at: entries.refused(at, code="550 5.1.1"))


def tell() -> None:
    run_control.end_finished_runs()
    status_reports.report_all(datetime.now(UTC))


def lose_key_of(who: Caller) -> None:
    rows = Integration.objects.filter(workspace_id=who.workspace_id)
    rows.update(sealed_settings=b"\x01" + bytes(100))


def read_failed_count(fake: FakeNotion, page_id: str) -> int | None:
    count: int | None = mailouts.read_page_row(fake, page_id)["failed"]
    return count


def test_no_workspace_mails_or_sees_a_page_of_another(
    fake: FakeNotion, theirs: FakeNotion, alice: Caller, charlie: Caller
) -> None:
    hers, his = mailouts.page(fake), mailouts.page(theirs)

    for who, page_id in ((alice, his), (charlie, hers)):
        campaign_id = press.campaign(who.workspace_id, content=PageSource(page_id))
        path = f"/v1/campaigns/{campaign_id}"
        replies = [
            mailouts.send(who, page_id),
            who.post(f"{path}/launch", None),
            who.post(f"{path}/test", {"addresses": ["a@example.com"]}),
            who.post(f"{path}/preview", {}),
        ]

        assert {reply.body["code"] for reply in replies} == {"notion_page_not_found"}
    assert mailouts.reads(fake, hers) == mailouts.reads(theirs, his) == 0
    assert not Mailout.objects.exists()


@pytest.mark.slow
def test_each_page_is_told_with_the_token_and_in_the_table_of_its_own_workspace(
    fake: FakeNotion, theirs: FakeNotion, alice: Caller, charlie: Caller
) -> None:
    hers, his = mailouts.page(fake), mailouts.page(theirs)
    fail_all(alice, hers)
    fail_all(charlie, his)
    kept_back = [mailouts.page(notion, properties=mailouts.row(" ")) for notion in (fake, theirs)]
    for who, page_id in zip((alice, charlie), kept_back, strict=True):
        assert mailouts.send(who, page_id).body["code"] == "subject_required"

    tell()

    assert (read_failed_count(fake, hers), read_failed_count(theirs, his)) == (3, 2)
    assert (len(mailouts.errors(fake)), len(mailouts.errors(theirs))) == (4, 3)
    for notion, other, own in ((fake, his, kept_back[0]), (theirs, hers, kept_back[1])):
        assert not any(other in seen.path for seen in notion.requests)
        assert own in str(notion.rows(mailouts.ERRORS.data_source_id))


@pytest.mark.parametrize("is_lost", [True, False])
@pytest.mark.slow
def test_a_notion_that_cannot_be_used_keeps_no_other_from_being_told(
    is_lost: bool,  # noqa: FBT001  the key it was sealed under; else its token was replaced
    fake: FakeNotion,
    theirs: FakeNotion,
    alice: Caller,
    charlie: Caller,
    caplog: pytest.LogCaptureFixture,
) -> None:
    his = mailouts.page(theirs)
    fail_all(alice, mailouts.page(fake))
    fail_all(charlie, his)
    if is_lost:
        lose_key_of(alice)
    else:
        mailouts.change(alice.workspace_id, token="ntn_replaced")

    tell()

    assert read_failed_count(theirs, his) == 2
    logs = [line.msg for line in caplog.records if isinstance(line.msg, dict)]
    [event] = [log for log in logs if log["event"] == "notion_report_failed"]
    assert event["workspace_id"] == alice.workspace_id
    assert event["code"] == ("notion_not_set_up" if is_lost else "notion_unauthorized")


def test_a_page_that_cannot_be_asked_for_is_refused_with_what_to_do(
    fake: FakeNotion, alice: Caller
) -> None:
    page_id = mailouts.page(fake)
    lose_key_of(alice)
    lost = mailouts.send(alice, page_id)
    integrations.remove_integration(alice.workspace_id, IntegrationKind.NOTION, actor="alice")
    removed = mailouts.send(alice, page_id)

    codes = [(reply.status, reply.body["code"]) for reply in (lost, removed)]
    assert codes == [(422, "notion_not_set_up")] * 2
    assert "postledger doctor" in lost.body["detail"]
    assert "postledger integration set WORKSPACE notion" in removed.body["detail"]


@pytest.mark.slow
def test_a_workspace_whose_notion_was_removed_is_told_once_it_has_one_again(
    fake: FakeNotion, alice: Caller
) -> None:
    page_id = mailouts.page(fake)
    fail_all(alice, page_id)
    integrations.remove_integration(alice.workspace_id, IntegrationKind.NOTION, actor="alice")
    asked = len(fake.requests)
    tell()
    meanwhile = len(fake.requests)

    mailouts.change(alice.workspace_id, token=fake.token, errors=mailouts.ERRORS.database_id)
    tell()

    assert meanwhile == asked
    assert read_failed_count(fake, page_id) == 3
    assert len(mailouts.errors(fake)) == ErrorRow.objects.count() == 3


@pytest.mark.slow
def test_the_row_counts_and_the_environment_connects_nobody(
    fake: FakeNotion, alice: Caller, settings: Settings
) -> None:
    settings.NOTION_TOKEN = "ntn_of-the-environment"
    settings.NOTION_DB_MAILOUTS = settings.NOTION_DB_ERRORS = str(uuid4())
    page_id = mailouts.page(fake)

    fail_all(alice, page_id)
    tell()

    assert read_failed_count(fake, page_id) == len(mailouts.errors(fake)) == 3
    shown = {seen.headers["authorization"] for seen in fake.requests}
    assert shown == {f"Bearer {fake.token}"}
    Integration.objects.all().delete()
    settings.NOTION_TOKEN = fake.token
    fake.requests.clear()
    assert mailouts.send(alice, mailouts.page(fake)).body["code"] == "notion_not_set_up"
    assert fake.requests == []
