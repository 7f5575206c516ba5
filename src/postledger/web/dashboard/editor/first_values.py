"""A campaign as the fields of the editor show it."""

import json
from datetime import timedelta
from typing import Any

from django.utils import timezone

from postledger.accounts.working_hours import WEEKDAYS
from postledger.campaigns.drafts.drafts import CampaignFacts
from postledger.mailing.content_source import (
    ArticleSource,
    ContentSource,
    InlineSource,
    PageSource,
    TemplateSource,
)
from postledger.web.dashboard import formats
from postledger.web.dashboard.editor import audience_exceptions, conditions

NOT_CHOSEN = "-"  # in place of the key of a list, which begins with no hyphen


def list_first_values(campaign: CampaignFacts) -> dict[str, Any]:
    people, _excepted = audience_exceptions.split_filter(campaign.audience)
    return {
        "name": campaign.name,
        "list_key": NOT_CHOSEN if campaign.lacks_list else campaign.list_key or "",
        "match": (conditions.read_filter(people) or ("all",))[0],
        "filter_json": json.dumps(campaign.audience, ensure_ascii=False, indent=2),
        "sender": campaign.sender,
        **_list_text_values(campaign.text),
        **_list_content_values(campaign.content),
        **_list_time_values(campaign),
    }


def _list_text_values(text: InlineSource | None) -> dict[str, Any]:
    if text is None:
        return {"locale": "en"}
    names = ("subject", "preheader", "body", "text", "locale")
    return {name: getattr(text, name) for name in names}


def _list_content_values(content: ContentSource) -> dict[str, Any]:
    match content:
        case InlineSource():
            return {"kind": content.format.value}
        case TemplateSource(key, version):
            return {"kind": "template", "template": key, "version": version}
        case ArticleSource(key):
            return {"kind": "article", "article": key}
        case PageSource(page_id):
            return {"kind": "page", "page": page_id}


def _list_time_values(campaign: CampaignFacts) -> dict[str, Any]:
    timing, window = campaign.timing, campaign.delivery_window
    # A time that can be taken as it is, as soon as somebody chooses to set one.
    morning = f"{timezone.localtime() + timedelta(days=1):%Y-%m-%d}T09:00"
    values: dict[str, Any] = {"when": "now", "at": morning, "local_at": morning}
    values |= {"opens": "09:00", "closes": "20:00", "weekdays": WEEKDAYS}
    if timing.at is not None:
        values |= {"when": "at", "at": formats.input_moment(timing.at)}
    if timing.local_time is not None:
        values |= {"when": "local", "local_at": f"{timing.local_time:%Y-%m-%dT%H:%M}"}
    if window is not None:
        [(opens, closes), *_more] = window.spans
        values |= {"has_window": True, "opens": f"{opens:%H:%M}", "closes": f"{closes:%H:%M}"}
        values["weekdays"] = [WEEKDAYS[day] for day in window.weekdays]
    return values
