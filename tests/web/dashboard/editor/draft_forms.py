"""What a person does with the form of a draft, as a browser sends it."""

from html import unescape
from typing import Any

from postledger.campaigns.models import Campaign
from tests.web.dashboard.visitors import Person

PART = {"HX-Request": "true"}


def fields(campaign_id: int, **changes: Any) -> dict[str, Any]:
    """The form as a browser sends it: what the campaign has, and what a person changed."""
    campaign = Campaign.objects.select_related("sender").get(pk=campaign_id)
    text = campaign.kept_text or campaign.content
    return {
        "seen": campaign.updated_at.isoformat(),
        "name": campaign.name,
        "list_key": campaign.list_key,
        "match": "all",
        "field": [""],
        "op": ["is"],
        "value": [""],
        "kind": "markdown",
        "subject": text["subject"],
        "body": text["body"],
        "sender": campaign.sender.address,
        "when": "now",
        "complete": "1",
        **changes,
    }


def save(person: Person, campaign_id: int, **changes: Any) -> Any:
    url = person.url(f"campaigns/{campaign_id}/edit/")
    return person.client.post(url, fields(campaign_id, **changes))


def autosave(person: Person, campaign_id: int, **changes: Any) -> Any:
    url = person.url(f"campaigns/{campaign_id}/edit/")
    return person.client.post(url, fields(campaign_id, **changes), headers=PART)


def read_text(response: Any) -> str:
    return unescape(" ".join(response.content.decode().split()))


def launch(person: Person, draft: int, **changes: str) -> Any:
    """The answer to the question whether a draft is launched."""
    seen = Campaign.objects.get(pk=draft).updated_at.isoformat()
    answer = {"seen": seen, "shown": "99", "sure": "1", **changes}
    return person.post(f"campaigns/{draft}/edit/launch/", **answer)
