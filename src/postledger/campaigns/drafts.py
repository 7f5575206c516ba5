"""Campaigns before their launch: made, changed, found and listed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

from django.db import transaction
from django.db.models.functions import Now

from postledger.accounts import constraints, names, trail
from postledger.accounts import queries as accounts
from postledger.accounts.queries import SenderFacts
from postledger.campaigns import launching, material, timing
from postledger.campaigns.material import Material, Words
from postledger.campaigns.models import Campaign, Run
from postledger.campaigns.timing import AtOnce, When
from postledger.contacts import details, filter_parsing, filters, lists
from postledger.content import storable
from postledger.lib.errors import RefusedError

TAG = "[a-z0-9-]{1,200}"

_TAG = re.compile(TAG)
PAGE = 100
LONGEST_NAME = names.LONGEST


class CampaignExistsError(RefusedError):
    code: ClassVar[str] = "campaign_exists"


class InvalidTagError(RefusedError):
    code: ClassVar[str] = "invalid_campaign_tag"


class SenderUnknownError(RefusedError):
    code: ClassVar[str] = "sender_unknown"


class SenderRequiredError(RefusedError):
    code: ClassVar[str] = "sender_required"


@dataclass(frozen=True, slots=True)
class Draft:
    """A campaign as somebody wants it; without a sender, the workspace's only one."""

    tag: str
    name: str
    material: Material
    sender: str | None = None
    list_key: str | None = None  # None: all that the workspace sends
    audience: Mapping[str, Any] | None = None  # None: everybody
    when: When = AtOnce()  # noqa: RUF009  a value without parts


@dataclass(frozen=True, slots=True)
class CampaignFacts:
    id: int
    tag: str
    name: str
    sender: str
    list_key: str | None
    audience: Mapping[str, Any]
    material: Material
    when: When
    created_by: str
    created_at: datetime
    updated_at: datetime


def create(workspace_id: int, draft: Draft, *, actor: str, now: datetime) -> int:
    return make(workspace_id, checked(workspace_id, draft, now), actor=actor).pk


def make(workspace_id: int, fields: Mapping[str, Any], *, actor: str) -> Campaign:
    """Stores a campaign of columns that were checked."""
    taken = CampaignExistsError(
        f"This workspace has a campaign {fields['tag']!r} already: change that one, or choose"
        " another tag."
    )
    with constraints.kept(campaigns_campaign_once=taken):
        made = Campaign.objects.create(workspace_id=workspace_id, created_by=actor, **fields)
        _note(workspace_id, "campaign.created", made.tag, actor)
    return made


def update(workspace_id: int, campaign_id: int, draft: Draft, *, actor: str, now: datetime) -> None:
    """Changes what later runs send; what was launched goes on as it was frozen."""
    fields = checked(workspace_id, draft, now)
    taken = CampaignExistsError(
        f"This workspace has another campaign {draft.tag!r} already: choose another tag."
    )
    with constraints.kept(campaigns_campaign_once=taken):
        own = Campaign.objects.filter(workspace_id=workspace_id, pk=campaign_id)
        # A launch takes the same lock: it comes before the look for runs, or after the change.
        there = own.select_for_update(no_key=True).first()
        if there is None:
            raise launching.unknown()
        if there.tag != draft.tag:
            _check_renamable(there)
        write(there, fields, actor=actor)


def _check_renamable(campaign: Campaign) -> None:
    if Run.objects.filter(campaign=campaign).exists():
        raise launching.AlreadyLaunchedError(
            f"The campaign {campaign.tag!r} has runs, which requests that are repeated find by its"
            " tag: with another one they would send everything again. Leave its tag as it is, or"
            " make a new campaign."
        )


def write(campaign: Campaign, fields: Mapping[str, Any], *, actor: str) -> None:
    """Changes a campaign that is locked, to columns that were checked."""
    Campaign.objects.filter(pk=campaign.pk).update(**fields, updated_at=Now())
    _note(campaign.workspace_id, "campaign.changed", fields["tag"], actor)


def change(
    workspace_id: int, campaign_id: int, changes: Mapping[str, Any], *, actor: str, now: datetime
) -> None:
    """Changes some fields of a draft; what is not named stays, also what others change now."""
    with transaction.atomic():
        there = Campaign.objects.select_for_update(no_key=True)
        there.filter(workspace_id=workspace_id, pk=campaign_id).first()
        known = find(workspace_id, campaign_id)
        before = Draft(
            known.tag,
            known.name,
            known.material,
            known.sender,
            known.list_key,
            known.audience,
            known.when,
        )
        after = replace(before, **changes)
        if after != before:
            update(workspace_id, campaign_id, after, actor=actor, now=now)


def checked(workspace_id: int, draft: Draft, now: datetime) -> dict[str, Any]:
    """The columns of a draft; refused where a launch would be."""
    check_tag(draft.tag)
    names.check("a campaign", draft.name)
    timing.check(draft.when, now=now)
    if isinstance(draft.material, Words):
        for place in ("subject", "body", "text"):
            storable.check(place, getattr(draft.material, place))
    if draft.list_key is not None:
        if not details.is_storable(draft.list_key):
            raise lists.unknown(draft.list_key)
        lists.named(workspace_id, draft.list_key)
    audience = filter_parsing.parse(dict(draft.audience or {}), now=now)
    lists.ids(workspace_id, filters.lists_of(audience))
    return {**columns(draft), "sender_id": sender(workspace_id, draft.sender).id}


def check_tag(given: str) -> None:
    if not _TAG.fullmatch(given):
        raise InvalidTagError(
            f"{given[:64]!r} cannot be the tag of a campaign: write up to 200 small letters,"
            " digits and hyphens."
        )


def columns(draft: Draft) -> dict[str, Any]:
    """All but the sender, as they stand there."""
    return {
        "tag": draft.tag,
        "name": draft.name,
        "list_key": draft.list_key or "",
        "audience": dict(draft.audience or {}),
        "material": material.written(draft.material),
        "timing": timing.written(draft.when),
    }


def sender(workspace_id: int, address: str | None) -> SenderFacts:
    """The sender of an address; without one, the only sender that the workspace has."""
    if address is not None:
        found = accounts.sender_by_address(workspace_id, address=address)
        if found is None:
            raise SenderUnknownError(
                f"{address[:254]!r} is not a sender of this workspace."
                " Use the address of one, or add it as a sender first."
            )
        return found
    match accounts.senders(workspace_id):
        case [only]:
            return only
        case []:
            raise SenderUnknownError("This workspace has no sender yet. Add one, then try again.")
        case _:
            raise SenderRequiredError(
                "This workspace has several senders. Say in sender which one the mail comes from."
            )


_COLUMNS = (
    "id",
    "tag",
    "name",
    "sender__address",
    "list_key",
    "audience",
    "material",
    "timing",
    "created_by",
    "created_at",
    "updated_at",
)


def find(workspace_id: int, campaign_id: int) -> CampaignFacts:
    there = Campaign.objects.filter(workspace_id=workspace_id, pk=campaign_id)
    row = there.values_list(*_COLUMNS).first() if 0 < campaign_id < 2**63 else None
    if row is None:
        raise launching.unknown()
    return _facts(row)


def listing(
    workspace_id: int, *, before: int = 2**63 - 1, limit: int = PAGE
) -> list[CampaignFacts]:
    """A workspace's campaigns, the newest first; `before` is the id of the last one seen."""
    there = Campaign.objects.filter(workspace_id=workspace_id, pk__lt=before).order_by("-pk")
    return [_facts(row) for row in there.values_list(*_COLUMNS)[:limit]]


def _facts(row: tuple[Any, ...]) -> CampaignFacts:
    id_, tag, name, address, list_key, audience, said, when, *rest = row
    return CampaignFacts(
        id_,
        tag,
        name,
        address,
        list_key or None,
        audience,
        material.read(said),
        timing.read(when),
        *rest,
    )


def _note(workspace_id: int, action: str, tag: str, actor: str) -> None:
    trail.note(workspace_id, actor=actor, action=action, subject=f"campaign {tag}")
