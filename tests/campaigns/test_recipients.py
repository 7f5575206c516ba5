"""The recipients that are counted before a launch are those that the launch then plans."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from postledger.accounts import working_hours
from postledger.campaigns.drafts import drafts, forecasts, preview, recipients
from postledger.contacts import lists
from postledger.content import articles, templates
from postledger.content.rendering.source import Format, Source
from postledger.content.slices import SliceFields
from postledger.content.versions import Version
from postledger.mailing.content_source import ArticleSource, ContentSource, TemplateSource
from postledger.mailing.send_times import SendTime
from tests.campaigns import press
from tests.contacts import people

pytestmark = pytest.mark.django_db

OHIO = "ocd-division/country:us/state:oh"
CONTENTS: tuple[ContentSource, ...] = (
    press.WORDS,
    TemplateSource("hello"),
    ArticleSource("may"),
)
FILTERS: tuple[Mapping[str, Any], ...] = (
    {},
    {"plan": "pro"},
    {"any": [{"field": "attributes.plan", "is": "free"}, {"list": "news"}]},
    {"not": {"field": "locale", "in": ["en", "ru"]}},
)


TIMES = (
    SendTime(),
    SendTime(at=press.NOW + timedelta(hours=20)),
    SendTime(local_time=(press.NOW + timedelta(hours=20)).replace(tzinfo=None)),
)
WINDOWS = (
    None,
    working_hours.parse_hours(["09:00-10:00"]),
    working_hours.parse_hours(["08:00-12:00", "14:00-16:00"], days="mon,tue"),
)


@pytest.fixture
def acme(settings: Settings) -> int:
    """A workspace with contacts and subscriptions of all kinds, and content for some of them."""
    workspace_id = press.set_up_workspace(settings)
    for key in ("news", "offers"):
        lists.create_list(workspace_id, key=key, name=key, actor="alice")
    with connection.cursor() as cursor:
        cursor.execute(_PEOPLE, [workspace_id, press.NOW])
        cursor.execute(_SUBSCRIPTIONS, [press.NOW, workspace_id])
    for number in (3, 4):
        people.suppress(workspace_id, f"r{number}@example.com")
    templates.create(workspace_id, key="hello", name="Hello", actor="alice")
    texts = (
        Source("Hello", "Hello.", Format.MARKDOWN, locale="en"),
        Source("Olá", "Olá.", Format.MARKDOWN, locale="pt"),
    )
    version = Version((), (), "", texts)
    templates.add_version(workspace_id, key="hello", version=version, actor="alice")
    articles.create(workspace_id, key="may", title="May", actor="alice")
    ohio = SliceFields(title="Ohio", body_md="Ohio.", scope_ocd_id=OHIO, is_published=True)
    articles.add_slice(workspace_id, article_key="may", fields=ohio, actor="alice")
    return workspace_id


_PEOPLE = """
INSERT INTO contacts_contact
    (workspace_id, address, state, is_unconfirmed, locale, ocd_ids, attributes, created_at,
     time_zone)
SELECT %s, 'r' || n || '@example.com',
       CASE WHEN n %% 7 = 0 THEN 'unsubscribed' WHEN n %% 11 = 0 THEN 'bounced' ELSE 'active' END,
       n %% 13 = 0, (ARRAY['en', 'pt', 'ru', NULL])[1 + n %% 4],
       CASE WHEN n %% 3 = 0 THEN ARRAY['ocd-division/country:us/state:oh'] ELSE '{}' END,
       jsonb_build_object('plan', (ARRAY['free', 'pro'])[1 + n %% 2]), %s,
       (ARRAY['Asia/Tokyo', 'Pacific/Pago_Pago', 'Pacific/Kiritimati', NULL])[1 + n %% 4]
FROM generate_series(1, 60) AS n
"""
# By the numbers in the addresses: ids depend on the tests that ran before.
_SUBSCRIPTIONS = """
INSERT INTO contacts_subscription (contact_id, list_id, state, snooze_until)
SELECT contact.id, list.id,
       (ARRAY['active', 'active', 'pending', 'paused', 'unsubscribed'])
           [1 + (n + CASE list.key WHEN 'offers' THEN n / 5 ELSE 0 END) %% 5],
       CASE WHEN n %% 5 < 2 THEN %s::timestamptz + (n %% 7) * interval '6 hours' END
FROM contacts_contact AS contact
CROSS JOIN LATERAL CAST(substring(contact.address FROM '[0-9]+') AS bigint) AS n
JOIN contacts_list AS list ON list.workspace_id = contact.workspace_id
WHERE contact.workspace_id = %s AND n %% 4 <> 0
  AND (list.key = 'news' OR n %% 3 = 0)
"""


@pytest.mark.slow
@pytest.mark.sample
def test_random_campaigns_reach_whom_they_were_counted_for(acme: int) -> None:
    random, seen = Random(23), set[str]()
    for number in range(20):
        campaign_id = press.campaign(
            acme,
            tag=f"news-{number}",
            content=random.choice(CONTENTS),
            audience=random.choice(FILTERS),
            list_key=random.choice([None, "news"]),
            timing=random.choice(TIMES),
            window=random.choice(WINDOWS),
        )
        campaign = drafts.find_campaign(acme, campaign_id)
        counts = recipients.count_recipients(acme, campaign, now=press.NOW)
        listed = {
            reason: [
                one.address
                for one in recipients.list_people(
                    acme, campaign, reason=reason, limit=100, now=press.NOW
                )
            ]
            for reason in (None, *counts.excluded)
        }
        outlook = forecasts.forecast_campaign(acme, campaign_id, worker_count=1, now=press.NOW)

        run = press.launched(acme, campaign_id)

        assert listed[None] == sorted(press.addresses(run))
        assert counts.number == outlook.waiting == len(listed[None])
        assert counts.excluded == run.excluded
        assert {reason: len(listed[reason]) for reason in run.excluded} == run.excluded
        seen |= counts.excluded.keys()
    assert {"unsubscribed", "by_hand", "snoozed", "unconfirmed", "list_pending"} <= seen
    assert {"template_missing_locale", "subject_required", "left_every_list", "on_break"} <= seen


def test_whose_snooze_is_over_when_their_day_has_come_is_counted_and_asked_for_values(
    acme: int,
) -> None:
    """A launch mails them: the page must not say that nobody would get it."""
    local = SendTime(local_time=(press.NOW + timedelta(days=5)).replace(tzinfo=None))
    friday = working_hours.parse_hours(["09:00-10:00"], days="fri")
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE contacts_subscription SET snooze_until = %s", [press.NOW + timedelta(days=2)]
        )
    words = replace(press.WORDS, required=("city",))
    for tag, timing, window, list_key in (
        ("local", local, None, "news"),
        ("window", SendTime(), friday, "news"),
        ("all", local, None, None),
    ):
        campaign_id = press.campaign(
            acme, tag=tag, content=words, list_key=list_key, timing=timing, window=window
        )
        campaign = drafts.find_campaign(acme, campaign_id)

        counts = recipients.count_recipients(acme, campaign, now=press.NOW)
        checked = preview.check_audience(acme, campaign, now=press.NOW)

        run = press.launched(acme, campaign_id)
        assert counts.number == len(press.addresses(run)) > 0
        assert counts.excluded == run.excluded
        assert "snoozed" not in counts.excluded
        assert checked.missing_values is not None
        assert [missing.count for missing in checked.missing_values] == [counts.number]


def test_a_page_of_recipients_goes_on_after_the_last_one(acme: int) -> None:
    campaign = drafts.find_campaign(acme, press.campaign(acme))
    whole = recipients.list_people(acme, campaign, reason=None, limit=100, now=press.NOW)

    first = recipients.list_people(acme, campaign, reason=None, limit=10, now=press.NOW)
    after = first[-1].sort_key
    rest = recipients.list_people(
        acme, campaign, reason=None, after=after, limit=100, now=press.NOW
    )

    assert [*first, *rest] == whole
