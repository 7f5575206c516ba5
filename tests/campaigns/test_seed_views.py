"""Campaigns read as the tables they stand for: history, runs and dead letters."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from postledger.campaigns.drafts import drafts
from postledger.campaigns.drafts.drafts import Draft
from postledger.campaigns.launches import launching
from postledger.campaigns.models import Run
from postledger.content import articles
from postledger.content.rendering.source import Format
from postledger.content.slices import SliceFields as Slice
from postledger.mailing.content_source import ArticleSource, InlineSource
from tests import cast
from tests.campaigns import press
from tests.deliveries import views

pytestmark = pytest.mark.django_db

COLUMNS = {
    "delivery_history": [
        *["id", "email", "campaign_tag", "send_batch_id", "provider_message_id", "sent_at"],
        *["stream_id", "position"],
    ],
    "campaign_runs": [
        *["id", "campaign_tag", "article_key", "actor", "send_batch_id", "started_at"]
    ],
    "campaign_queue": [
        *["id", "campaign_id", "run_id", "status", "defer_reason", "deferred_until"],
        *["created_at", "started_at", "completed_at"],
    ],
}


def test_a_view_has_the_columns_it_stands_for() -> None:
    for view, expected in COLUMNS.items():
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {view} LIMIT 0")
            columns = [column.name for column in cursor.description or []]
            cursor.execute("SELECT reloptions FROM pg_class WHERE relname = %s", [view])
            [(options,)] = cursor.fetchall()
        assert (columns, options) == (expected, ["security_invoker=true"])


def test_the_history_has_who_was_sent_to_and_nobody_else(acme: int) -> None:
    press.people(acme, 3)
    run = press.launched(acme, press.campaign(acme))
    cast.book(run.stream_id, press.taken, size=1)
    cast.book(run.stream_id, press.refused, size=1)

    [row] = views.read("delivery_history", run.stream_id)

    assert row["id"] == views.name(run.stream_id, 0)
    assert row["email"] == "R0@example.com"
    assert row["campaign_tag"] == "news-1"
    assert row["send_batch_id"] == str(run.launch_id)
    assert row["provider_message_id"] == "m0"
    assert row["sent_at"] >= run.planned_at


def runs() -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM campaign_runs")
        names = [column.name for column in cursor.description or []]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def test_a_run_is_told_with_its_article_as_it_was_launched_and_a_test_has_no_history(
    acme: int,
) -> None:
    press.people(acme, 1)
    articles.create(acme, key="budget", title="Budget", actor="alice")
    words = Slice(title="Budget", body_md="Hello.", is_headline=True, is_published=True)
    articles.add_slice(acme, article_key="budget", fields=words, actor="alice")
    campaign_id = press.campaign(acme, content=ArticleSource("budget"))
    run = press.launched(acme, campaign_id)
    changes = {"content": press.WORDS}
    drafts.change_campaign(acme, campaign_id, changes, actor="bob", now=press.NOW)

    assert runs() == [
        {
            "id": run.pk,
            "campaign_tag": "news-1",
            "article_key": "budget",
            "actor": "alice",
            "send_batch_id": str(run.launch_id),
            "started_at": press.NOW,
        }
    ]
    test = press.planned(press.send_test(acme, campaign_id, "a@example.com"))
    cast.book(test.stream_id, press.taken)
    assert views.read("delivery_history", test.stream_id) == []
    assert {row["id"] for row in runs()} == {run.pk, test.pk}


def test_the_log_and_the_outbox_tell_what_a_campaign_said(acme: int) -> None:
    press.people(acme, 2)
    words = InlineSource("Good news", "Hello, {{ name }}.", Format.MARKDOWN)
    run = press.launched(acme, press.campaign(acme, content=words))

    for row in views.read("email_logs", run.stream_id) + views.read("email_outbox", run.stream_id):
        assert (row["subject"], row["requestId"]) == ("Good news", str(run.pk))
    for row in views.read("email_outbox", run.stream_id):
        assert "Hello, {{ name }}." in row["html"]


def test_every_permanent_failure_of_a_campaign_is_a_dead_letter(acme: int) -> None:
    press.people(acme, 3)
    run = press.launched(acme, press.campaign(acme))
    cast.book(run.stream_id, press.taken, size=1)
    cast.book(run.stream_id, press.refused, size=2)

    letters = views.read("dead_letters", run.stream_id)

    assert [letter["topic"] for letter in letters] == ["campaign"] * 2
    assert [letter["error"] for letter in letters] == ["550 5.1.1: No such user."] * 2
    assert [letter["payload"]["to"] for letter in letters] == ["r1@example.com", "r2@example.com"]
    assert letters[0]["payload"]["variables"] == {"name": "Reader 1"}


def test_a_repeated_batch_adds_no_history_and_no_run(acme: int) -> None:
    press.people(acme, 2)
    launch_id = uuid4()

    def send() -> Run:
        draft = Draft("news-1", "News", press.WORDS)
        campaign = drafts.put_campaign(
            acme, draft, launch_id=launch_id, actor="alice", now=press.NOW
        )
        run_id = launching.launch_once(campaign, launch_id=launch_id, actor="alice", now=press.NOW)
        return press.planned(run_id)

    run = send()
    cast.book(run.stream_id, press.taken)
    before = views.read("delivery_history", run.stream_id)

    assert send() == run
    assert views.read("delivery_history", run.stream_id) == before
    assert len(before) == 2
    assert len(runs()) == 1
