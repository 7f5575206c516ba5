"""A page of Notion that is sent goes to everybody once, to testers at will, or says why not."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from pytest_django import Settings

from postledger.accounts import workspaces
from postledger.accounts.keys import Scope
from postledger.accounts.models import Workspace
from postledger.accounts.people import members
from postledger.accounts.people.roles import Role
from postledger.accounts.queries import Organisation
from postledger.campaigns.drafts import drafts
from postledger.campaigns.drafts.drafts import Draft
from postledger.campaigns.models import Campaign, ErrorRow, Mailout, Run
from postledger.campaigns.notion import status_reports
from postledger.deliveries import ledger, queries
from postledger.mailing.content_source import PageSource
from tests.campaigns import mailouts, press
from tests.contacts import people
from tests.fakes import notion_pages as pages
from tests.fakes.notion import TOKEN, FakeNotion
from tests.races import collide
from tests.web import callers
from tests.web.callers import Caller

pytestmark = pytest.mark.django_db


def test_a_page_is_mailed_to_everybody_and_read_once(fake: FakeNotion, alice: Caller) -> None:
    page_id = mailouts.page(fake)

    reply = mailouts.send(alice, page_id)

    assert reply.status == 202
    run = press.planned(UUID(reply.body["run_id"]))
    assert press.addresses(run) == ["R0@example.com", "r1@example.com", "r2@example.com"]
    assert not reply.body["is_test"]
    assert reply.body["report_url"].endswith(f"/v1/runs/{run.pk}/report.csv")
    assert alice.get(f"/v1/runs/{run.pk}/report.csv").status == 200
    assert Campaign.objects.get().tag == f"notion-{page_id}"
    assert mailouts.reads(fake, page_id) == 1


def test_a_page_that_is_mailed_with_a_members_key_is_the_members(
    fake: FakeNotion, alice: Caller
) -> None:
    member_id = members.add_member(
        alice.workspace_id, email="m@acme.example", role=Role.MANAGER, actor="setup"
    )

    run = mailouts.send_and_plan(callers.caller("acme", member_id=member_id), mailouts.page(fake))

    stream = queries.find_stream(run.stream_id)
    assert stream
    assert stream.member_id == member_id


def test_the_page_may_be_named_as_other_programs_name_it_and_what_names_none_is_refused(
    fake: FakeNotion, alice: Caller
) -> None:
    for named in ("", "news", "0" * 31):
        reply = mailouts.send(alice, named)
        assert (reply.status, reply.body["code"]) == (422, "notion_page_not_found"), named
    page_id = mailouts.page(fake)
    reply = alice.post("/send-mailout", {"notionPageId": UUID(page_id).hex})
    assert reply.status == 202


def test_a_page_that_was_mailed_is_not_mailed_again_even_if_it_was_edited_back(
    fake: FakeNotion, alice: Caller
) -> None:
    page_id = mailouts.page(fake)
    mailouts.send_and_plan(alice, page_id)
    fake.pages[page_id]["properties"] = mailouts.row("Something else")

    reply = mailouts.send(alice, page_id)

    assert (reply.status, reply.body["code"]) == (409, "mailout_already_sent")
    assert Run.objects.count() == 1


def test_a_page_that_another_campaign_has_sent_is_not_mailed_again(
    fake: FakeNotion, alice: Caller
) -> None:
    page_id = mailouts.page(fake)
    campaign_id = press.campaign(alice.workspace_id, tag="news-1", content=PageSource(page_id))
    press.launched(alice.workspace_id, campaign_id, now=datetime.now(UTC))

    reply = mailouts.send(alice, page_id)

    assert (reply.status, reply.body["code"]) == (409, "mailout_already_sent")


def test_a_page_that_says_it_was_sent_is_not_mailed(fake: FakeNotion, alice: Caller) -> None:
    said: list[dict[str, Any]] = [
        {"Status": pages.state("Send")},
        {"Status": pages.state("Failed"), "Sent at": pages.date("2026-11-15")},
        {"Sent at": pages.date("2026-11-15T09:00:00.000+01:00")},
    ]
    for overrides in said:
        page_id = mailouts.page(fake, properties={**mailouts.row(), **overrides})
        reply = mailouts.send(alice, page_id)
        assert (reply.status, reply.body["code"]) == (409, "mailout_already_sent"), overrides

    assert not Run.objects.exists()


def test_a_test_goes_to_testers_only_may_repeat_and_leaves_the_page_to_be_sent(
    fake: FakeNotion, alice: Caller
) -> None:
    emails = "b@example.com; A@example.com, nobody a@example.com"
    Workspace.objects.filter(pk=alice.workspace_id).update(test_emails=emails)
    page_id = mailouts.page(fake, properties=mailouts.row(is_test=True))

    tests = [mailouts.send_and_plan(alice, page_id) for _ in range(2)]
    fake.pages[page_id]["properties"] = mailouts.row()
    live = mailouts.send_and_plan(alice, page_id)

    assert [press.addresses(run) for run in tests] == [["A@example.com", "b@example.com"]] * 2
    assert [run.is_test for run in (*tests, live)] == [True, True, False]
    assert len(press.addresses(live)) == 3
    fake.pages[page_id]["properties"] = mailouts.row(is_test=True) | {"Status": pages.state("Send")}
    assert mailouts.send_and_plan(alice, page_id).is_test


def test_a_test_changes_nothing_of_whom_the_page_goes_to(fake: FakeNotion, alice: Caller) -> None:
    people.news(alice.workspace_id)
    people.member(alice.workspace_id, "reader@example.com")
    page_id = mailouts.page(fake)
    assert mailouts.send(alice, page_id, list="news").status == 202
    Workspace.objects.filter(pk=alice.workspace_id).update(test_emails="a@example.com")
    fake.pages[page_id]["properties"] = mailouts.row(is_test=True)

    mailouts.send_and_plan(alice, page_id)

    assert Campaign.objects.get().list_key == "news"


@pytest.mark.parametrize(
    ("before", "code"), [(True, "mailout_already_sent"), (False, "page_is_test")]
)
def test_a_campaign_of_a_page_goes_by_the_pages_rules(
    before: bool,  # noqa: FBT001  whether it was mailed, else it says that it is a test
    code: str,
    fake: FakeNotion,
    alice: Caller,
) -> None:
    page_id = mailouts.page(fake, properties=mailouts.row(is_test=not before))
    if before:
        mailouts.send_and_plan(alice, page_id)
        fake.pages[page_id]["properties"] = mailouts.row()
    campaign_id = press.campaign(alice.workspace_id, content=PageSource(page_id))

    reply = alice.post(f"/v1/campaigns/{campaign_id}/launch", {})

    assert (reply.status // 100, reply.body["code"]) == (4, code)


def test_addresses_for_tests_that_are_none_are_logged_as_a_number_only(
    fake: FakeNotion, alice: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    emails = "nobody@, a@example.com, b@@example.com"
    Workspace.objects.filter(pk=alice.workspace_id).update(test_emails=emails)

    mailouts.send_and_plan(alice, mailouts.page(fake, properties=mailouts.row(is_test=True)))

    logs = [line.msg for line in caplog.records if isinstance(line.msg, dict)]
    [left_out] = [log for log in logs if log.get("count")]
    assert left_out["count"] == 2
    assert "nobody" not in str(logs)


def test_only_active_people_get_a_page(fake: FakeNotion, alice: Caller) -> None:
    bounced = people.contact(alice.workspace_id, "bounced@example.com")
    gone = people.contact(alice.workspace_id, "gone@example.com")
    alice.post("/v1/suppressions", {"address": "bounced@example.com"})
    alice.post(f"/v1/contacts/{gone}/unsubscribe", {})

    run = mailouts.send_and_plan(alice, mailouts.page(fake))

    assert press.addresses(run) == ["R0@example.com", "r1@example.com", "r2@example.com"]
    assert sum(run.excluded.values()) == len({bounced, gone})


def no_subject(fake: FakeNotion, _: int) -> str:
    return mailouts.page(fake, properties=mailouts.row(" "))


def no_body(fake: FakeNotion, _: int) -> str:
    return mailouts.page(fake, pages.paragraph(" "))


def no_testers(fake: FakeNotion, workspace_id: int) -> str:
    Workspace.objects.filter(pk=workspace_id).update(test_emails="nobody, @")
    return mailouts.page(fake, properties=mailouts.row(is_test=True))


def sent_before(fake: FakeNotion, _: int) -> str:
    return mailouts.page(fake, properties=mailouts.row() | {"Status": pages.state("Send")})


def no_footer(fake: FakeNotion, workspace_id: int) -> str:
    empty = Organisation("Acme", "", "https://acme.example/unsubscribe")
    workspaces.set_organisation(workspace_id, empty, actor="alice")
    return mailouts.page(fake)


ABORTS = {
    "subject_required": no_subject,
    "empty_body": no_body,
    "test_emails_empty": no_testers,
    "mailout_already_sent": sent_before,
    "footer_env_missing": no_footer,
}


@pytest.mark.parametrize("code", ABORTS)
def test_what_keeps_a_page_back_is_answered_and_written_to_the_table_of_errors(
    code: str, fake: FakeNotion, alice: Caller
) -> None:
    page_id = ABORTS[code](fake, alice.workspace_id)

    reply = mailouts.send(alice, page_id)
    for _ in range(2):
        status_reports.report_all(datetime.now(UTC))

    assert reply.status == (409 if code == "mailout_already_sent" else 422)
    assert reply.headers["Content-Type"] == "application/problem+json"
    assert reply.body["code"] == code
    assert mailouts.errors(fake) == [(code, None)]
    [row] = fake.rows(mailouts.ERRORS.data_source_id)
    assert reply.body["detail"] in str(row)
    assert page_id in str(row)
    assert not Run.objects.exists()
    assert not Campaign.objects.exists()


def test_an_abort_is_answered_and_its_row_kept_when_notion_takes_none(
    fake: FakeNotion, alice: Caller
) -> None:
    reply = mailouts.send(alice, no_body(fake, 0))
    fake.token = "another"
    status_reports.report_all(datetime.now(UTC))
    before = mailouts.errors(fake)
    fake.token = TOKEN
    status_reports.report_all(datetime.now(UTC))

    assert (reply.status, reply.body["code"]) == (422, "empty_body")
    assert before == []
    assert mailouts.errors(fake) == [("empty_body", None)]
    # Without a table of errors nothing is kept for it.
    ErrorRow.objects.all().delete()
    mailouts.change(alice.workspace_id, errors=None)
    assert mailouts.send(alice, no_body(fake, 0)).body["code"] == "empty_body"
    assert not ErrorRow.objects.exists()


def test_through_no_door_a_page_from_outside_the_table_is_mailed_though_it_can_be_looked_at(
    fake: FakeNotion, alice: Caller
) -> None:
    mailouts.change(alice.workspace_id, mailouts=mailouts.MAILOUTS.database_id)
    outside = fake.add_page(pages.paragraph("Salaries"), properties=mailouts.row())
    path = f"/v1/campaigns/{press.campaign(alice.workspace_id, content=PageSource(outside))}"

    replies = [
        mailouts.send(alice, outside),
        alice.post(f"{path}/launch", None),
        alice.post(f"{path}/test", {"addresses": ["a@example.com"]}),
    ]
    shown = alice.post(f"{path}/preview", {})

    assert [reply.body["code"] for reply in replies] == ["page_not_a_mailout"] * 3
    assert "Salaries" in shown.body["text"]
    assert not Run.objects.exists()
    assert mailouts.send(alice, mailouts.page(fake)).status == 202


def test_the_rest_of_a_page_that_says_it_is_a_test_goes_to_nobody(
    fake: FakeNotion, alice: Caller
) -> None:
    page_id = mailouts.page(fake)
    run = mailouts.send_and_plan(alice, page_id)
    alice.post(f"/v1/runs/{run.pk}/cancel", None)
    while ledger.drain(run.stream_id):
        pass
    fake.pages[page_id]["properties"] = mailouts.row(is_test=True)

    refused = alice.post(f"/v1/runs/{run.pk}/remaining", None)
    fake.pages[page_id]["properties"] = mailouts.row()
    taken = alice.post(f"/v1/runs/{run.pk}/remaining", None)

    assert (refused.status, refused.body["code"]) == (422, "page_is_test")
    assert len(press.addresses(press.planned(UUID(taken.body["run_id"])))) == 3


@pytest.mark.django_db(transaction=True)
def test_a_page_never_goes_to_the_list_that_another_request_named(
    fake: FakeNotion, alice: Caller
) -> None:
    for key in ("staff", "public"):
        people.news(alice.workspace_id, key)
    page_id = mailouts.page(fake)
    tag = f"notion-{page_id}"
    other = Draft(tag, "Weekly news", PageSource(page_id), list_key="public")
    seen: list[str] = []

    def between(execute: Any, sql: str, *given: Any) -> Any:
        """Where the first has put its campaign, and not launched it, another one puts its own."""
        seen.append(sql)
        is_put = any(one.startswith('INSERT INTO "campaigns_campaign"') for one in seen)
        if is_put and not connection.in_atomic_block and "other" not in seen:
            seen.append("other")
            drafts.put_campaign(
                alice.workspace_id, other, launch_id=uuid4(), actor="bob", now=datetime.now(UTC)
            )
        return execute(sql, *given)

    with connection.execute_wrapper(between):
        first = mailouts.send(alice, page_id, list="staff")

    assert Campaign.objects.get(tag=tag).list_key == "public"
    assert (first.status, first.body["code"]) == (409, "campaign_changed")
    assert not Run.objects.exists()


def test_a_key_without_the_scope_and_another_method_are_problems(fake: FakeNotion) -> None:
    reader = callers.caller("acme", scopes=[Scope.CAMPAIGNS_READ])

    assert mailouts.send(reader, mailouts.page(fake)).body["code"] == "scope_missing"
    assert reader.get("/send-mailout").body["code"] == "method_not_allowed"
    assert Client().post("/send-mailout").json()["code"] == "unauthorized"


def test_a_test_key_mails_no_page_and_its_sandbox_leaves_the_page_alone(
    fake: FakeNotion, alice: Caller
) -> None:
    page_id = mailouts.page(fake)
    campaign_id = press.campaign(alice.workspace_id, content=PageSource(page_id))
    tester = callers.caller("acme", is_test=True)

    refused = mailouts.send(tester, page_id)
    launched = tester.post(f"/v1/campaigns/{campaign_id}/launch", None)
    sandboxed = Run.objects.get(pk=launched.body["run_id"])

    assert (refused.status, refused.body["code"]) == (403, "live_key_required")
    assert (sandboxed.is_sandboxed, sandboxed.mailout) == (True, None)
    assert not Mailout.objects.exists()
    assert not mailouts.send_and_plan(alice, page_id).is_test


def test_pages_are_open_to_no_workspace_without_a_notion_of_its_own(
    fake: FakeNotion, alice: Caller, settings: Settings
) -> None:
    press.set_up_workspace(settings, "globex")
    charlie = callers.caller("globex")
    page_id = mailouts.page(fake)
    run = mailouts.send_and_plan(alice, page_id)

    campaign_id = press.campaign(charlie.workspace_id, content=PageSource(page_id))
    replies = [
        mailouts.send(charlie, page_id),
        charlie.post(f"/v1/campaigns/{campaign_id}/launch", {}),
        charlie.post(f"/v1/campaigns/{campaign_id}/preview", {}),
    ]

    assert {reply.body["code"] for reply in replies} == {"notion_not_set_up"}
    assert mailouts.reads(fake, page_id) == 1
    for path in ("report.csv", "failures"):
        assert charlie.get(f"/v1/runs/{run.pk}/{path}").status == 404


@pytest.mark.django_db(transaction=True)
def test_of_many_who_mail_a_page_at_once_one_does(fake: FakeNotion, alice: Caller) -> None:
    page_id = mailouts.page(fake)

    def attempt() -> str:
        reply = mailouts.send(alice, page_id)
        return str(reply.body.get("code", reply.status))

    outcomes = collide.together([attempt] * 4)

    assert Run.objects.count() == 1
    assert outcomes.count("202") == 1
    assert set(outcomes) <= {"202", "mailout_already_sent"}
