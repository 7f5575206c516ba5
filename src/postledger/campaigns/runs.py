"""Makes runs: everything a launch needs is frozen with it, and a stream is opened to carry it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from postledger.accounts import queries as accounts
from postledger.accounts import trail
from postledger.campaigns import (
    frozen,
    letters_of_run,
    mailout_notes,
    material,
    relative_days,
    testing,
    timing,
)
from postledger.campaigns.freezing import Said
from postledger.campaigns.models import Campaign, Run
from postledger.campaigns.timing import Wave
from postledger.contacts import filter_parsing, lists, roll
from postledger.content import letters
from postledger.deliveries import ledger
from postledger.deliveries.entries import Kind


@dataclass(frozen=True, slots=True)
class Launch:
    """Who launches, under which name, and when: everything else is frozen as it is then."""

    actor: str
    now: datetime
    batch_id: UUID
    test_addresses: tuple[str, ...] | None = None  # None: to the audience
    is_sandboxed: bool = False  # whoever asks with a test key reaches nobody
    root_id: UUID | None = None  # of the runs whose recipients are left out
    as_of: datetime | None = None  # what is wanted is the campaign as it was changed then
    said: Said | None = None  # what was made of the campaign's page already

    @property
    def is_test(self) -> bool:
        return self.is_sandboxed or self.test_addresses is not None


def digest(campaign: Campaign, *, is_sandboxed: bool = False) -> bytes:
    """Equal for launches that would send the same to the same; nobody gets what is sandboxed."""
    said: Mapping[str, Any] = {
        "material": campaign.material,
        "audience": campaign.audience,
        "list": campaign.list_key,
        "sender": campaign.sender_id,
        "timing": campaign.timing,
        **({"sandbox": True} if is_sandboxed else {}),
    }
    return sha256(json.dumps(said, sort_keys=True).encode()).digest()


def make(campaign: Campaign, wanted: Launch, said: Said) -> UUID:
    """Stores a run, in the caller's transaction; what a test says is planned at once."""
    workspace_id = campaign.workspace_id
    meant = _meant(campaign, wanted)
    stream_id = ledger.open_stream(
        workspace_id,
        sender_id=campaign.sender_id,
        kind=Kind.CAMPAIGN,
        title=f"{campaign.name}, test" if wanted.is_test else campaign.name,
        is_test=wanted.is_sandboxed,
    )
    run = Run.objects.create(
        workspace_id=workspace_id,
        campaign=campaign,
        batch_id=wanted.batch_id,
        input_digest=digest(campaign, is_sandboxed=wanted.is_sandboxed),
        root_id=wanted.root_id,
        stream_id=stream_id,
        is_test=wanted.is_test,
        actor=wanted.actor,
        launched_at=wanted.now,
        article_key=material.article_of(campaign.material),
        mailout=None if said.page is None else mailout_notes.of_page(workspace_id, said.page),
        letters=frozen.written(said.frozen),
        waves=_waves(campaign, wanted),
        **meant,
    )
    for number, script in enumerate(said.scripts):
        letters_of_run.add(run, number, letters.keep(workspace_id, script), subject=script.subject)
    if run.mailout is not None and said.page is not None:
        mailout_notes.keep_findings(run.mailout, run.pk, said.page.findings)
    if wanted.test_addresses is not None:
        testing.plan(run, said.frozen, wanted.test_addresses)
    trail.note(
        workspace_id,
        actor=wanted.actor,
        action="campaign.tested" if run.is_test else "campaign.launched",
        subject=f"campaign {campaign.tag}",
        data={"run": str(run.pk)},
    )
    return run.pk


def _meant(campaign: Campaign, wanted: Launch) -> dict[str, Any]:
    """Whom a run is for, as its columns; refused where that cannot be told.

    The rest is of those whom the first run meant, whatever the campaign says of them now: who came
    later is not, and days are counted as they were then.
    """
    meant: dict[str, Any] = {"list_key": campaign.list_key, "audience": campaign.audience}
    if wanted.root_id is not None:
        root = Run.objects.get(pk=wanted.root_id)
        audience = relative_days.fixed(root.audience, now=root.launched_at)
        meant = {"list_key": root.list_key, "audience": audience, "frozen_at": root.frozen_at}
    filter_parsing.parse(meant["audience"], now=wanted.now)
    if meant["list_key"]:
        lists.named(campaign.workspace_id, meant["list_key"])
    return meant


def _waves(campaign: Campaign, wanted: Launch) -> list[dict[str, Any]]:
    """Who changes their zone while a run is planned is looked for once more, at its end."""
    if wanted.test_addresses is not None:
        return []
    when = timing.read(campaign.timing)
    if not isinstance(when, timing.Local):
        return [_stored_wave(wave) for wave in timing.waves(when, zones=(), now=wanted.now)]
    default = accounts.time_zone(campaign.workspace_id)
    zones = roll.zones(campaign.workspace_id) | {default}
    found = timing.waves(when, zones=zones, now=wanted.now)
    last = {**_stored_wave(Wave(found[-1].due_at)), "is_last_look": True}
    return [*({**_stored_wave(wave), "default_zone": default} for wave in found), last]


def _stored_wave(wave: Wave) -> dict[str, Any]:
    return {
        "due_at": wave.due_at and wave.due_at.isoformat(),
        "zones": None if wave.zones is None else list(wave.zones),
    }
