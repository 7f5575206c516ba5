"""Campaigns that are put as one request wants them, for the run that it gives a name to."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.db import transaction

from postledger.accounts import queries as accounts
from postledger.campaigns import drafts, launching, runs
from postledger.campaigns.drafts import CampaignExistsError, Draft
from postledger.campaigns.models import Campaign, Run
from postledger.deliveries import queries


def put(  # noqa: PLR0913  what a batch is, each part by its name
    workspace_id: int,
    draft: Draft,
    *,
    batch_id: UUID,
    actor: str,
    now: datetime,
    is_sandboxed: bool = False,
) -> Campaign:
    """The campaign of a tag, made or changed into what is wanted, for the run of this name.

    Who names no sender means the one that the campaign has; a new one has the oldest.

    Where there is such a run, the row is left alone and the answer is the campaign as it is
    wanted: a later run may have changed it, and what it names may be gone.
    """
    drafts.check_tag(draft.tag)
    repeated = _repeated(workspace_id, draft, batch_id, is_sandboxed=is_sandboxed)
    if repeated is not None:
        return repeated
    fields = drafts.checked(workspace_id, _from_oldest(workspace_id, draft), now)
    with transaction.atomic():
        found = _locked(workspace_id, fields, actor)
        # Somebody else's, under the same name, which was quicker.
        repeated = _repeated(workspace_id, draft, batch_id, is_sandboxed=is_sandboxed)
        if repeated is not None:
            return repeated
        if draft.sender is None:
            fields["sender_id"] = found.sender_id
        # Of two who ask for the same at once, neither changes it under the other.
        if runs.digest(found) != runs.digest(Campaign(**fields)):
            drafts.write(found, fields, actor=actor)
        return Campaign.objects.get(pk=found.pk)


def _repeated(
    workspace_id: int, draft: Draft, batch_id: UUID, *, is_sandboxed: bool
) -> Campaign | None:
    """The campaign as it is wanted, where it has the run; other input under its name is refused."""
    of_tag = Run.objects.filter(campaign__workspace_id=workspace_id, campaign__tag=draft.tag)
    run = of_tag.filter(batch_id=batch_id).first()
    if run is None:
        return None
    wanted = Campaign(pk=run.campaign_id, workspace_id=workspace_id, **drafts.columns(draft))
    wanted.sender_id = _sender(run, draft)
    launching.find(wanted, batch_id, is_sandboxed=is_sandboxed)
    return wanted


def _sender(run: Run, draft: Draft) -> int:
    """Who named none got the run from some sender, and means that one when they repeat it."""
    stream = queries.stream(run.stream_id)
    if draft.sender is None and stream is not None:
        return stream.sender_id
    return drafts.sender(run.workspace_id, draft.sender).id


def _from_oldest(workspace_id: int, draft: Draft) -> Draft:
    known = accounts.senders(workspace_id)
    if draft.sender is not None or not known:
        return draft
    return replace(draft, sender=min(known, key=attrgetter("id")).address)


def _locked(workspace_id: int, fields: Mapping[str, Any], actor: str) -> Campaign:
    """The campaign of a tag, made where there is none; no other request changes it meanwhile."""
    of_tag = Campaign.objects.filter(workspace_id=workspace_id, tag=fields["tag"])
    there = of_tag.select_for_update(no_key=True)
    found = there.first()
    if found is None:
        with suppress(CampaignExistsError):  # made by somebody else at this very moment
            drafts.make(workspace_id, fields, actor=actor)
        found = there.get()
    return found
