"""Campaigns over HTTP: written, changed, previewed, tested and launched."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.db import connection

from postledger.accounts import senders, workspaces
from postledger.accounts.keys import Scope
from postledger.campaigns.models import Run
from postledger.deliveries import queries
from tests.campaigns import press
from tests.web import newsroom
from tests.web.callers import Caller, caller

ARTICLE = {"kind": "article", "key": "flood"}
EVERY_DAY = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
# As they are written, and the days that are shown.
WINDOWS: list[tuple[dict[str, Any], list[str]]] = [
    ({"opens": "09:00", "closes": "20:00"}, EVERY_DAY),
    ({"opens": "09:00", "closes": "20:00", "weekdays": ["tue", "mon", "tue"]}, ["mon", "tue"]),
    ({"opens": "22:00", "closes": "06:00", "weekdays": ["fri"]}, ["fri"]),
    ({"opens": "00:00", "closes": "00:00", "weekdays": ["sat", "sun"]}, ["sat", "sun"]),
]
SOON = f"{datetime.now(UTC) + timedelta(days=30):%Y-%m-%dT%H:%M:%S}"


@pytest.fixture(autouse=True)
def furnished(alice: Caller, settings: LazySettings) -> None:
    newsroom.furnish(alice, settings)


def rows() -> dict[str, int]:
    """How many rows each table has."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        tables = [name for (name,) in cursor.fetchall()]
        counted = {}
        for table in tables:
            cursor.execute(f'SELECT count(*) FROM "{table}"')
            [(counted[table],)] = cursor.fetchall()
    return counted


# The content, and the timing, that are written.
WRITTEN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {**newsroom.NEW["content"], "locale": "pt-BR", "required": ["plan"], "optional": ["a"]},
        {"at": None, "local_time": None},
    ),
    ({"kind": "template", "id": "welcome", "version": 3}, {"at": f"{SOON}Z", "local_time": None}),
    ({"kind": "template", "id": "welcome", "version": None}, {"at": None, "local_time": SOON}),
    (ARTICLE, {"at": None, "local_time": SOON}),
    ({"kind": "page", "page_id": str(uuid4())}, {"at": None, "local_time": None}),
]


def test_a_campaign_is_found_as_it_was_written_and_its_tag_is_taken_once(alice: Caller) -> None:
    alice.post("/v1/lists", {"key": "news", "name": "News"})
    for number, (content, timing) in enumerate(WRITTEN):
        written = {
            **newsroom.NEW,
            "tag": f"news-{number}",
            "content": content,
            "sender": "news@acme.example",
            "list": "news",
            "audience_filter": {"state": "OH"},
            "timing": timing,
        }

        reply = alice.post("/v1/campaigns", written)
        fetched = alice.get(f"/v1/campaigns/{reply.body['id']}")
        again = alice.post("/v1/campaigns", written)

        assert reply.status == 201, content
        assert fetched.body == reply.body
        stored = {name: fetched.body[name] for name in written}
        assert {**stored, "content": None} == {**written, "content": None}
        assert content.items() <= stored["content"].items()
        assert (again.status, again.body["code"]) == (409, "campaign_exists")


def test_a_delivery_window_is_kept_until_it_is_removed(alice: Caller) -> None:
    for number, (written, shown) in enumerate(WINDOWS):
        new = {**newsroom.NEW, "tag": f"news-{number}", "delivery_window": written}
        created = alice.post("/v1/campaigns", new).body
        path = f"/v1/campaigns/{created['id']}"
        renamed = alice.ask("PATCH", path, {"name": "Other"}).body
        removed = alice.ask("PATCH", path, {"delivery_window": None}).body
        changed = alice.ask("PATCH", path, {"delivery_window": written}).body

        assert created["delivery_window"] == {**written, "weekdays": shown}
        assert renamed["delivery_window"] == created["delivery_window"]
        assert removed["delivery_window"] is None
        assert changed["delivery_window"] == created["delivery_window"]


def test_campaigns_come_in_pages_the_newest_first(alice: Caller) -> None:
    made = [newsroom.make_campaign(alice, tag=f"news-{number}") for number in range(3)]

    first = alice.get("/v1/campaigns", limit="2").body
    second = alice.get("/v1/campaigns", limit="2", cursor=first["next"]).body

    assert [campaign["id"] for campaign in first["campaigns"]] == [made[2], made[1]]
    assert [campaign["id"] for campaign in second["campaigns"]] == [made[0]]
    assert second["next"] is None


def test_a_change_leaves_what_it_does_not_name(alice: Caller) -> None:
    id_ = newsroom.make_campaign(alice, audience_filter={"state": "OH"}, timing={"at": f"{SOON}Z"})
    before = alice.get(f"/v1/campaigns/{id_}").body

    renamed = alice.ask("PATCH", f"/v1/campaigns/{id_}", {"name": "Other"}).body
    other = alice.ask("PATCH", f"/v1/campaigns/{id_}", {"content": ARTICLE, "timing": None}).body
    same = alice.ask("PATCH", f"/v1/campaigns/{id_}", {}).body

    assert renamed == {**before, "name": "Other", "updated_at": renamed["updated_at"]}
    assert other["content"] == ARTICLE
    assert other["timing"] == {"at": None, "local_time": None}
    assert other["audience_filter"] == {"state": "OH"}
    assert same == other


def test_a_draft_is_deleted_and_a_launched_campaign_is_not(alice: Caller) -> None:
    draft, launched = newsroom.make_campaign(alice), newsroom.make_campaign(alice, tag="sent")
    newsroom.launched(alice, launched)

    deleted = alice.ask("DELETE", f"/v1/campaigns/{draft}")
    refused = alice.ask("DELETE", f"/v1/campaigns/{launched}")

    assert deleted.status == 204
    assert alice.get(f"/v1/campaigns/{draft}").status == 404
    assert alice.ask("DELETE", f"/v1/campaigns/{draft}").status == 404
    assert (refused.status, refused.body["code"]) == (409, "campaign_already_launched")
    assert alice.get(f"/v1/campaigns/{launched}").status == 200


# What is changed, and the code: one of each kind.
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"tag": "May News"}, "INVALID_PAYLOAD"),
    ({"name": " "}, "invalid_name"),
    ({"content": {**ARTICLE, "subject": "a"}}, "INVALID_PAYLOAD"),
    ({"content": {**newsroom.NEW["content"], "body": "a\0b"}}, "invalid_text"),
    ({"content": {**newsroom.NEW["content"], "subject": "\ud800"}}, "INVALID_PAYLOAD"),
    ({"content": {"kind": "page", "page_id": "../users"}}, "INVALID_PAYLOAD"),
    ({"sender": "other@acme.example"}, "sender_unknown"),
    ({"sender": "no\0body"}, "INVALID_PAYLOAD"),
    ({"list": "nothing"}, "list_unknown"),
    ({"audience_filter": {"list": "nothing"}}, "list_unknown"),
    ({"audience_filter": {"all": 5}}, "invalid_filter"),
    ({"audience_filter": {"a": "\0"}}, "invalid_filter"),
    ({"timing": {"at": "9999-12-31T23:59:59Z"}}, "invalid_timing"),
    ({"timing": {"local_time": "9999-12-31T23:59"}}, "invalid_timing"),
    ({"timing": {"local_time": "0001-01-01T00:00"}}, "invalid_timing"),
    ({"timing": {"local_time": f"{SOON}Z"}}, "INVALID_PAYLOAD"),
    ({"timing": {"at": f"{SOON}Z", "local_time": SOON}}, "INVALID_PAYLOAD"),
    ({"delivery_window": {"opens": "09:00"}}, "INVALID_PAYLOAD"),
    ({"delivery_window": {"opens": "09:00", "closes": "24:00"}}, "INVALID_PAYLOAD"),
    ({"delivery_window": {"opens": "09:00", "closes": "20:00", "weekdays": []}}, "INVALID_PAYLOAD"),
    ({"audience": {}}, "INVALID_PAYLOAD"),
]


def test_wrong_input_is_refused_and_says_how(alice: Caller) -> None:
    id_ = newsroom.make_campaign(alice, tag="written-before")
    for change, code in WRONG:
        created = alice.post("/v1/campaigns", {**newsroom.NEW, **change})
        changed = alice.ask("PATCH", f"/v1/campaigns/{id_}", change)

        assert (created.status, created.body["code"]) == (422, code), change
        assert (changed.status, changed.body["code"]) == (422, code), change


def test_a_campaign_whose_sender_is_archived_is_refused_and_previewed_with_the_reason(
    alice: Caller,
) -> None:
    sender_id = senders.create_sender(alice.workspace_id, address="b@acme.example", actor="test")
    id_ = newsroom.make_campaign(alice, sender="b@acme.example")
    senders.archive_sender(alice.workspace_id, sender_id=sender_id, actor="test")

    created = alice.post("/v1/campaigns", {**newsroom.NEW, "tag": "x", "sender": "b@acme.example"})
    launched = alice.post(f"/v1/campaigns/{id_}/launch", None)
    tested = alice.post(f"/v1/campaigns/{id_}/test", {"addresses": ["a@example.com"]})
    previewed = alice.post(f"/v1/campaigns/{id_}/preview", {})
    changed = alice.ask("PATCH", f"/v1/campaigns/{id_}", {"sender": None})

    for refused in (created, launched, tested):
        assert (refused.status, refused.body["code"]) == (422, "sender_archived")
    assert [finding["code"] for finding in previewed.body["findings"]] == ["sender_archived"]
    assert (changed.status, changed.body["sender"]) == (200, "news@acme.example")
    assert alice.post(f"/v1/campaigns/{id_}/launch", None).status == 202


def test_a_test_as_a_contact_takes_the_scope_to_read_contacts_and_a_live_key_of_its_workspace(
    alice: Caller, charlie: Caller
) -> None:
    [contact_id] = newsroom.people(alice, 1, name="Ann")
    [other] = newsroom.people(charlie, 1, name="Ann")
    id_ = newsroom.make_campaign(alice)
    asked = {"addresses": ["a@example.com"], "contact_id": contact_id}
    write_only = caller("acme", scopes=[Scope.CAMPAIGNS_WRITE])
    test_key = caller("acme", is_test=True)

    blind, tested = (who.post(f"/v1/campaigns/{id_}/test", asked) for who in (write_only, test_key))
    for unknown in (other, other + 1):
        refused = alice.post(f"/v1/campaigns/{id_}/test", {**asked, "contact_id": unknown})
        shown = alice.post(f"/v1/campaigns/{id_}/preview", {"contact_id": unknown})
        assert refused.status == shown.status == 404

    assert (blind.status, blind.body["code"]) == (403, "scope_missing")
    assert (tested.status, tested.body["code"]) == (403, "live_key_required")
    assert not Run.objects.exists()
    assert alice.post(f"/v1/campaigns/{id_}/test", asked).status == 202


def test_a_contact_or_a_made_up_reader_sees_its_own_values_and_nothing_is_stored(
    alice: Caller,
) -> None:
    alice.post("/v1/lists", {"key": "news", "name": "News"})
    details = {"name": "Ann", "attributes": {"plan": "pro"}, "from_name": "Ann's friends"}
    [contact_id] = newsroom.people(alice, 1, **details, lists=["news"], is_confirmed=True)
    words = {**newsroom.NEW["content"], "body": "Your plan is {{ plan }}.", "required": ["plan"]}
    path = f"/v1/campaigns/{newsroom.make_campaign(alice, content=words, list='news')}/preview"
    before = rows()

    shown = alice.post(path, {"contact_id": contact_id})
    given = alice.post(path, {"reader": {"name": "Bob", "attributes": {"plan": "free"}}}).body
    lacking = alice.post(path, {"reader": {"name": "Bob"}}).body
    nobody = alice.post(path, {}).body
    both = alice.post(path, {"contact_id": contact_id, "reader": {}})

    assert (shown.status, shown.body["subject"]) == (200, "News for Ann")
    assert "Your plan is pro." in shown.body["text"]
    assert "Acme — 1 Road" in shown.body["html"]
    assert (shown.body["sender"], shown.body["from_name"]) == ("news@acme.example", "Ann's friends")
    assert (given["subject"], "free" in given["text"]) == ("News for Bob", True)
    assert lacking["subject"] is None
    assert [finding["code"] for finding in lacking["findings"]] == ["template_missing_variable"]
    assert "Your plan is [plan]." in nobody["text"]
    assert (both.status, both.body["code"]) == (422, "INVALID_PAYLOAD")
    assert rows() == before


def test_content_or_a_footer_that_is_not_there_stops_a_preview_a_test_and_a_launch(
    alice: Caller, settings: LazySettings
) -> None:
    missing: list[dict[str, Any]] = [ARTICLE, {"kind": "template", "id": "nothing"}]
    for number, content in enumerate(missing):
        id_ = newsroom.make_campaign(alice, content=content, tag=f"news-{number}")

        for path, body in (
            ("preview", {}),
            ("launch", None),
            ("test", {"addresses": ["a@b.example"]}),
        ):
            refused = alice.post(f"/v1/campaigns/{id_}/{path}", body)
            assert (refused.status, refused.body["code"]) == (422, "content_unknown"), content
    settings.UNSUBSCRIBE_SECRET = ""
    id_ = newsroom.make_campaign(alice)
    shown = alice.post(f"/v1/campaigns/{id_}/preview", {}).body
    refused = alice.post(f"/v1/campaigns/{id_}/launch", None)

    assert shown["findings"][0]["code"] == "footer_env_missing"
    assert (refused.status, refused.body["code"]) == (422, "footer_env_missing")
    assert not Run.objects.exists()


def test_a_test_goes_to_whom_it_is_for_and_may_be_repeated(alice: Caller) -> None:
    newsroom.people(alice, 2)
    id_ = newsroom.make_campaign(alice)
    path = f"/v1/campaigns/{id_}/test"

    nobody = alice.post(path, {})
    workspaces.set_test_emails(alice.workspace_id, "b@example.com; a@example.com", actor="test")
    own = alice.post(path, {})
    named = [alice.post(path, {"addresses": ["c@example.com"]}) for _ in range(2)]

    assert (nobody.status, nobody.body["code"]) == (422, "test_emails_empty")
    assert [reply.status for reply in (own, *named)] == [202, 202, 202]
    runs = [Run.objects.get(pk=reply.body["run_id"]) for reply in (own, *named)]
    assert press.addresses(runs[0]) == ["a@example.com", "b@example.com"]
    assert press.addresses(runs[1]) == press.addresses(runs[2]) == ["c@example.com"]
    assert alice.get(own.body["links"]["self"]).body["is_test"]


def test_a_campaign_is_launched_once_and_tells_where_it_can_be_followed(alice: Caller) -> None:
    newsroom.people(alice, 2)
    id_ = newsroom.make_campaign(alice)

    launched = alice.post(f"/v1/campaigns/{id_}/launch", None)
    again = alice.post(f"/v1/campaigns/{id_}/launch", None)

    assert launched.status == 202
    run_id = launched.body["run_id"]
    assert launched.body["links"] == {
        "self": f"/v1/runs/{run_id}",
        "report": f"/v1/runs/{run_id}/report.csv",
        "failures": f"/v1/runs/{run_id}/failures",
    }
    assert (again.status, again.body["code"]) == (409, "campaign_already_launched")
    [run] = alice.get(f"/v1/campaigns/{id_}/runs").body["runs"]
    assert (run["run_id"], run["is_test"], run["actor"][:4]) == (run_id, False, "key ")


def test_what_a_test_key_launches_goes_to_the_sandbox_and_leaves_the_launch_free(
    alice: Caller,
) -> None:
    newsroom.people(alice, 2)
    id_ = newsroom.make_campaign(alice)
    tester = caller("acme", is_test=True)

    tried = [newsroom.launched(tester, id_)]
    live = newsroom.launched(alice, id_)
    tried.append(newsroom.launched(tester, id_))

    def is_sandboxed(run_id: str) -> bool:
        stream = queries.find_stream(newsroom.stream_of(run_id))
        return stream is not None and stream.is_test

    assert [is_sandboxed(run_id) for run_id in (*tried, live)] == [True, True, False]
    assert alice.get(f"/v1/runs/{tried[0]}").body["is_test"]
    assert alice.get(f"/v1/runs/{live}").body["books"]["planned"] == 2


def test_a_preview_counts_the_contacts_that_lack_a_value_for_who_may_read_contacts(
    alice: Caller,
) -> None:
    needs_plan = {**newsroom.NEW["content"], "body": "{{ plan }}, {{ city }}"}
    needs_plan["required"] = ["name", "plan", "city"]
    full, *_ = newsroom.people(alice, 3, attributes={"plan": "pro", "city": "Porto"})
    for number, attributes in enumerate([{"plan": "pro"}, {}], start=3):
        details = {"address": f"r{number}@example.com", "attributes": attributes}
        alice.post("/v1/contacts", details)
    left = alice.post("/v1/contacts", {"address": "r5@example.com"}).body["id"]
    alice.post(f"/v1/contacts/{left}/unsubscribe", {})
    path = f"/v1/campaigns/{newsroom.make_campaign(alice, content=needs_plan)}/preview"
    wish = {"check_audience": True}

    checked = alice.post(path, wish).body["audience"]

    assert checked["is_complete"] is True
    found = {
        each["variable"]: (each["count"], [contact["email"] for contact in each["contacts"]])
        for each in checked["missing_values"]
    }
    assert found == {
        "city": (2, ["r3@example.com", "r4@example.com"]),
        "plan": (1, ["r4@example.com"]),
    }
    assert alice.post(path, {"contact_id": full}).body["audience"] is None
    assert caller("acme", scopes=[Scope.CAMPAIGNS_READ]).post(path, wish).status == 403
    assert caller("acme", is_test=True).post(path, wish).status == 403
