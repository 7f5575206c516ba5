"""Campaigns before their launch: created, changed, found and listed."""

import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from datetime import datetime
from itertools import count
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from postledger.accounts import constraints, trail, working_hours
from postledger.accounts import queries as accounts
from postledger.accounts.working_hours import Hours
from postledger.campaigns.drafts import draft_checks
from postledger.campaigns.launches import launching
from postledger.campaigns.launches.launching import AlreadyLaunchedError, CampaignChangedError
from postledger.campaigns.models import Campaign, Run
from postledger.campaigns.runs.run_lookup import CampaignUnknownError
from postledger.deliveries import queries
from postledger.lib.errors import ConflictError, RefusedError
from postledger.lib.ids import LAST_ID
from postledger.lib.keys import make_key
from postledger.lib.sentences import say
from postledger.mailing import content_source, send_times
from postledger.mailing.content_source import ContentSource, InlineSource
from postledger.mailing.send_times import SendTime

MAX_NAME = constraints.LONGEST_NAME
PAGE = 100

_LONGEST_START = 60  # of a tag that is made from a name
_TRIES = 3  # to number such a tag; then it ends at random
_CHANGED = say("The campaign was changed by somebody else meanwhile. Look at it, and try again.")


class CampaignExistsError(ConflictError):
    code = "campaign_exists"


@dataclass(frozen=True, slots=True)
class Draft:
    """A campaign as a caller wants it."""

    tag: str
    name: str
    content: ContentSource
    sender: str | None = None  # None: the workspace's default
    list_key: str | None = None  # None: all that the workspace sends
    audience: Mapping[str, Any] | None = None  # None: everybody
    timing: SendTime = SendTime()  # noqa: RUF009  a frozen value
    delivery_window: Hours | None = None  # of each contact's own day; None: always
    lacks_list: bool = False  # nobody has chosen yet between the lists and all; the page asks
    # The text of its own while the content is of another kind; nothing sends it.
    kept_text: InlineSource | None = None

    @property
    def text(self) -> InlineSource | None:
        return self.content if isinstance(self.content, InlineSource) else self.kept_text


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignFacts(Draft):
    """A campaign as it is stored."""

    id: int
    sender: str
    audience: Mapping[str, Any]
    created_by: str
    created_at: datetime
    updated_at: datetime


def create_campaign(workspace_id: int, draft: Draft, *, actor: str, now: datetime) -> int:
    return _insert(workspace_id, _columns(workspace_id, draft, now), actor=actor).pk


def _insert(workspace_id: int, columns: Mapping[str, Any], *, actor: str) -> Campaign:
    with constraints.refusing(campaigns_campaign_once=_tag_taken(columns["tag"])):
        campaign = Campaign.objects.create(workspace_id=workspace_id, created_by=actor, **columns)
        _log(workspace_id, "campaign.created", campaign.tag, actor)
    return campaign


def change_campaign(  # noqa: PLR0913  the parts of a change, each by its name
    workspace_id: int,
    campaign_id: int,
    changes: Mapping[str, Any],
    *,
    actor: str,
    now: datetime,
    as_of: datetime | None = None,
    only_draft: bool = False,
) -> datetime | None:
    """Changes some fields for later runs; others keep their values, also if changed concurrently.

    A launched run keeps its snapshot. With `as_of`, the `updated_at` that the caller has seen, a
    campaign that somebody changed since then is refused; with `only_draft`, one that was launched.
    Returns the new `updated_at`, or None if nothing had to be changed.
    """
    with constraints.refusing(campaigns_campaign_once=_tag_taken(str(changes.get("tag")))):
        # A launch takes the same lock, so it cannot come between the check for runs and the change.
        Campaign.objects.select_for_update(no_key=True).filter(
            workspace_id=workspace_id, pk=campaign_id
        ).first()
        before = find_campaign(workspace_id, campaign_id)
        has_list = "list_key" in changes or not before.lacks_list
        after = replace(before, **{"lacks_list": not has_list, **changes})
        if after == before:
            return None
        if as_of not in {None, before.updated_at}:
            raise CampaignChangedError(_CHANGED)
        runs = Run.objects.filter(campaign_id=campaign_id, is_sandboxed=False)
        if only_draft and runs.filter(is_test=False).exists():
            raise AlreadyLaunchedError(
                say(
                    "The campaign '%(tag)s' was launched, so it is not a draft any more."
                    " Duplicate it to change it.",
                    tag=before.tag,
                )
            )
        if after.tag != before.tag and runs.exists():
            raise AlreadyLaunchedError(
                say(
                    "The campaign '%(tag)s' has runs, and repeated requests find them by its"
                    " tag: with another tag they would send everything again. Keep the tag, or"
                    " create a new campaign.",
                    tag=before.tag,
                )
            )
        _store_changes(workspace_id, before, after, actor=actor, now=now)
        return Campaign.objects.values_list("updated_at", flat=True).get(pk=campaign_id)


def _store_changes(
    workspace_id: int, before: CampaignFacts, after: CampaignFacts, *, actor: str, now: datetime
) -> None:
    """Checks what differs and nothing else: what is wrong meanwhile must not keep it from mending.

    The launch checks all.
    """
    old, new = _name_parts(before), _name_parts(after)
    changed = {name: part for name, part in new.items() if part != old[name]}
    draft_checks.check_parts(workspace_id, changed, now=now)
    columns = _stored(after)
    if "sender" in changed:
        columns["sender_id"] = accounts.select_sender(workspace_id, address=after.sender).pk
    _update(workspace_id, before.id, columns, actor=actor)


def _update(workspace_id: int, campaign_id: int, columns: Mapping[str, Any], *, actor: str) -> None:
    Campaign.objects.filter(pk=campaign_id).update(**columns, updated_at=Now())
    _log(workspace_id, "campaign.changed", columns["tag"], actor)


def delete_campaign(
    workspace_id: int, campaign_id: int, *, actor: str, as_of: datetime | None = None
) -> None:
    """Deletes a campaign that was never launched, with everything written in it.

    Mail of its tests stays in the books. With `as_of`, the `updated_at` that the caller has seen, a
    campaign that somebody changed since then is refused.
    """
    own = Campaign.objects.filter(workspace_id=workspace_id, pk=campaign_id)
    with transaction.atomic():
        # A launch takes the same lock: the later of the two is refused.
        campaign = own.select_for_update(no_key=True).first()
        if campaign is None:
            raise CampaignUnknownError(say("Campaign not found."))
        if Run.objects.filter(campaign=campaign, is_test=False).exists():
            raise AlreadyLaunchedError(
                say(
                    "The campaign %(name)s was launched, so it cannot be deleted: its emails are in"
                    " the books. Cancel its run if it should not go on.",
                    name=campaign.name,
                )
            )
        if as_of not in {None, campaign.updated_at}:
            raise CampaignChangedError(_CHANGED)
        own.update(
            content={},
            kept_text=None,
            audience={},
            timing={},
            delivery_window=None,
            deleted_at=Now(),
            updated_at=Now(),
        )
        _log(workspace_id, "campaign.deleted", campaign.tag, actor, name=campaign.name)


def put_campaign(
    workspace_id: int,
    draft: Draft,
    *,
    launch_id: UUID,
    actor: str,
    now: datetime,
) -> Campaign:
    """Creates or changes the campaign with the draft's tag, for the run with this batch id.

    Without a sender in the draft, the campaign keeps its own; a new one gets the default.

    If the run exists, the row stays as it is, and the draft itself is returned as a campaign: a
    later run may have changed the row, and what the draft names may be gone.
    """
    draft_checks.check_parts(workspace_id, {"tag": draft.tag}, now=now)
    repeated = _find_repeated(workspace_id, draft, launch_id)
    if repeated is not None:
        return repeated
    columns = _columns(workspace_id, draft, now)
    with transaction.atomic():
        campaign = _lock_or_insert(workspace_id, columns, actor)
        # A concurrent request with this batch id may have been quicker.
        repeated = _find_repeated(workspace_id, draft, launch_id)
        if repeated is not None:
            return repeated
        if draft.sender is None:
            columns["sender_id"] = campaign.sender_id
        # Two concurrent requests with the same input must not change it under each other.
        if launching.digest(campaign) != launching.digest(Campaign(**columns)):
            _update(workspace_id, campaign.pk, columns, actor=actor)
        return Campaign.objects.get(pk=campaign.pk)


def _find_repeated(workspace_id: int, draft: Draft, launch_id: UUID) -> Campaign | None:
    """The draft as a campaign if it has the run; refuses other input under its batch id."""
    campaigns = Campaign.objects.filter(workspace_id=workspace_id, tag=draft.tag)
    with_tag = Run.objects.filter(campaign__in=campaigns)
    run = with_tag.filter(launch_id=launch_id).first()
    if run is None:
        return None
    campaign = Campaign(pk=run.campaign_id, workspace_id=workspace_id, **_stored(draft))
    stream = queries.find_stream(run.stream_id)
    if draft.sender is None and stream is not None:
        campaign.sender_id = stream.sender_id  # the one that was chosen the first time
    else:
        campaign.sender_id = accounts.select_sender(workspace_id, address=draft.sender).id
    launching.find_launch(campaign, launch_id)
    return campaign


def _lock_or_insert(workspace_id: int, columns: Mapping[str, Any], actor: str) -> Campaign:
    with_tag = Campaign.objects.filter(workspace_id=workspace_id, tag=columns["tag"])
    locked = with_tag.select_for_update(no_key=True)
    campaign = locked.first()
    if campaign is None:
        with suppress(CampaignExistsError):  # inserted by a concurrent request
            _insert(workspace_id, columns, actor=actor)
        campaign = locked.get()
    return campaign


def _columns(workspace_id: int, draft: Draft, now: datetime) -> dict[str, Any]:
    """The columns of a draft; refuses a draft that could not be launched."""
    draft_checks.check_parts(workspace_id, _name_parts(draft), now=now)
    sender = accounts.select_sender(workspace_id, address=draft.sender)
    return {**_stored(draft), "sender_id": sender.id}


def list_flaws(
    workspace_id: int, campaign: CampaignFacts, *, now: datetime
) -> Mapping[str, RefusedError]:
    """What became wrong with a stored campaign and would refuse its launch, by part."""
    return draft_checks.list_flaws(workspace_id, _name_parts(campaign), now=now)


def _name_parts(draft: Draft) -> dict[str, Any]:
    return {part.name: getattr(draft, part.name) for part in dataclass_fields(Draft)}


def _tag_taken(tag: str) -> CampaignExistsError:
    return CampaignExistsError(
        say("This workspace has a campaign '%(tag)s': choose another tag.", tag=tag)
    )


def _stored(draft: Draft) -> dict[str, Any]:
    """The columns of a draft except its sender."""
    window, kept = draft.delivery_window, draft.kept_text
    return {
        "tag": draft.tag,
        "name": draft.name,
        "list_key": draft.list_key or "",
        "lacks_list": draft.lacks_list,
        "audience": dict(draft.audience or {}),
        "content": content_source.to_json(draft.content),
        "kept_text": content_source.to_json(kept) if kept else None,
        "timing": send_times.to_json(draft.timing),
        "delivery_window": working_hours.to_json(window) if window else None,
    }


def find_campaign(workspace_id: int, campaign_id: int) -> CampaignFacts:
    campaigns = Campaign.objects.filter(workspace_id=workspace_id, pk=campaign_id)
    campaign = campaigns.select_related("sender").first() if 0 < campaign_id < 2**63 else None
    if campaign is None:
        raise CampaignUnknownError(say("Campaign not found."))
    return _facts(campaign)


def list_campaigns(
    workspace_id: int, *, before: int = LAST_ID, limit: int = PAGE
) -> list[CampaignFacts]:
    """A workspace's campaigns, the newest first; `before` is the last id of the previous page."""
    campaigns = Campaign.objects.filter(workspace_id=workspace_id, pk__lt=before)
    return [_facts(row) for row in campaigns.select_related("sender").order_by("-pk")[:limit]]


def _facts(campaign: Campaign) -> CampaignFacts:
    window = campaign.delivery_window
    return CampaignFacts(
        id=campaign.pk,
        tag=campaign.tag,
        name=campaign.name,
        content=content_source.from_json(campaign.content),
        kept_text=content_source.text_from_json(campaign.kept_text),
        sender=campaign.sender.address,
        list_key=campaign.list_key or None,
        lacks_list=campaign.lacks_list,
        audience=campaign.audience,
        timing=send_times.from_json(campaign.timing),
        delivery_window=None if window is None else working_hours.from_json(window),
        created_by=campaign.created_by,
        created_at=campaign.created_at,
        updated_at=campaign.updated_at,
    )


def create_with_free_tag(workspace_id: int, draft: Draft, *, actor: str, now: datetime) -> int:
    """Creates a campaign under a free tag that resembles its name, in place of the draft's."""
    tagged = replace(draft, tag=_choose_tag(workspace_id, draft.name))
    columns = _columns(workspace_id, tagged, now)
    return _insert_with_free_tag(workspace_id, columns, actor=actor)


def _insert_with_free_tag(workspace_id: int, columns: Mapping[str, Any], *, actor: str) -> int:
    for _attempt in range(_TRIES):
        tag = _choose_tag(workspace_id, columns["name"])
        with suppress(CampaignExistsError):  # a concurrent request took the tag
            return _insert(workspace_id, {**columns, "tag": tag}, actor=actor).pk
    tag = f"{_begin_tag(columns['name'])}-{secrets.token_hex(4)}"
    return _insert(workspace_id, {**columns, "tag": tag}, actor=actor).pk


def _choose_tag(workspace_id: int, name: str) -> str:
    """A free tag that resembles the name of a campaign."""
    start = _begin_tag(name)
    campaigns = Campaign.objects.filter(workspace_id=workspace_id, tag__startswith=start)
    taken = set(campaigns.values_list("tag", flat=True))
    numbered = (f"{start}-{number}" for number in count(2))
    return start if start not in taken else next(tag for tag in numbered if tag not in taken)


def _begin_tag(name: str) -> str:
    """Names without a Latin letter all begin alike."""
    return make_key(name, longest=_LONGEST_START) or "campaign"


def copy_campaign(
    workspace_id: int, campaign_id: int, *, name: str, actor: str, now: datetime
) -> int:
    """Creates a draft with the audience and content of a campaign.

    It has its time if that lies ahead; otherwise it is to be sent at once. Its list or its sender
    may be archived: the draft has them too, until somebody chooses others.
    """
    original = find_campaign(workspace_id, campaign_id)
    zone = accounts.time_zone(workspace_id)
    is_ahead = send_times.is_ahead(original.timing, zone=zone, now=now)
    timing = original.timing if is_ahead else SendTime()
    copied = replace(original, name=name[:MAX_NAME].strip(), timing=timing)
    draft_checks.check_parts(workspace_id, {"name": copied.name}, now=now)
    sender_id = accounts.find_sender(workspace_id, address=original.sender).pk
    columns = {**_stored(copied), "sender_id": sender_id, "origin_id": campaign_id}
    return _insert_with_free_tag(workspace_id, columns, actor=actor)


def find_last_change(workspace_id: int, tag: str) -> tuple[str, datetime] | None:
    """Who created or changed a campaign last, and when, by the audit trail."""
    return trail.find_last(
        workspace_id,
        subjects=[f"campaign {tag}"],
        actions=["campaign.created", "campaign.changed"],
    )


def name_campaign(workspace_id: int, campaign_id: int) -> str:
    """The name of a campaign, also of a deleted one, whose tests have pages of their own."""
    campaigns = Campaign.with_deleted.filter(workspace_id=workspace_id, pk=campaign_id)
    return campaigns.values_list("name", flat=True).get()


def _log(workspace_id: int, action: trail.Action, tag: str, actor: str, **data: trail.Fact) -> None:
    trail.note(workspace_id, actor=actor, action=action, subject=f"campaign {tag}", data=data)
