"""Launches campaigns: to everybody once, under a batch id, as a test, or to the remaining.

A launch freezes everything that its run needs, and opens a stream for it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Protocol
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

from postledger.accounts import queries as accounts
from postledger.accounts import trail
from postledger.accounts.models import Sender
from postledger.campaigns.launches import previous_runs, test_sends, waves
from postledger.campaigns.models import Campaign, Run
from postledger.campaigns.runs import progress, run_log
from postledger.campaigns.runs.run_lookup import CampaignUnknownError, find_run
from postledger.contacts import lists
from postledger.contacts import queries as contacts
from postledger.contacts.filters import parsing
from postledger.contacts.filters.expressions import Op
from postledger.contacts.models import Contact
from postledger.content.notion.pages import Page
from postledger.deliveries import ledger
from postledger.deliveries.entries import StreamKind
from postledger.lib import moments
from postledger.lib.errors import ConflictError
from postledger.lib.sentences import say
from postledger.mailing import content_source, send_times, snapshot, stream_letters
from postledger.mailing.snapshot import Snapshot
from postledger.supabase import passes

_FIRST_MOMENT = datetime(moments.FIRST_YEAR, 1, 1, tzinfo=UTC)


class AlreadyLaunchedError(ConflictError):
    code = "campaign_already_launched"


class CampaignChangedError(ConflictError):
    code = "campaign_changed"


class BatchTakenError(ConflictError):
    code = "send_batch_taken"


class ListNotChosenError(ConflictError):
    code = "list_not_chosen"


class PageRules(Protocol):
    """The rules for Notion pages; called in the transaction that creates the run."""

    def check(self, workspace_id: int, page: Page, *, is_remaining: bool) -> None:
        """Refuses a page that may not be mailed, by a RefusedError."""

    def record(self, run: Run, page: Page) -> None:
        """Stores that the run mails the page."""


def _load_page_rules() -> PageRules:
    """Those of the setting: campaigns do not import the wing that has them."""
    rules: PageRules = import_string(settings.PAGE_RULES)()
    return rules


@dataclass(frozen=True, slots=True)
class Launch:
    """Who launches a campaign, when, and for which recipients."""

    actor: str
    now: datetime
    launch_id: UUID
    is_first: bool = False  # refused if the campaign was launched before
    test_addresses: tuple[str, ...] | None = None  # None: to the audience
    test_contact: Contact | None = None  # whose values fill every mail of a test
    is_sandboxed: bool = False  # asked for with a test key: nobody gets it
    root_id: UUID | None = None  # the first of the runs whose recipients are left out
    as_of: datetime | None = None  # refused if the campaign changed after this moment
    snapshot: Snapshot | None = None  # already taken of the campaign's page
    member_id: int | None = None  # whose daily limit counts its mails

    @property
    def is_test(self) -> bool:
        return self.is_sandboxed or self.test_addresses is not None


def digest(campaign: Campaign) -> bytes:
    """Equal for launches that would send the same content to the same recipients."""
    launched: Mapping[str, Any] = {
        "content": campaign.content,
        "audience": campaign.audience,
        "list": campaign.list_key,
        "sender": campaign.sender_id,
        "timing": campaign.timing,
        "delivery_window": campaign.delivery_window,
    }
    return sha256(json.dumps(launched, sort_keys=True).encode()).digest()


def launch_campaign(  # noqa: PLR0913  the parts of a launch, each by its name
    workspace_id: int,
    campaign_id: int,
    *,
    actor: str,
    member_id: int | None = None,
    now: datetime,
    is_sandboxed: bool = False,
    as_of: datetime | None = None,
) -> UUID:
    """Launches a campaign to its audience; refuses a second launch.

    With `as_of`, a campaign that was changed since then is refused.
    """
    launch = Launch(
        actor,
        now,
        uuid4(),
        is_first=not is_sandboxed,
        is_sandboxed=is_sandboxed,
        as_of=as_of,
        member_id=member_id,
    )
    return start_run(workspace_id, campaign_id, launch)


def launch_once(
    campaign: Campaign,
    *,
    launch_id: UUID,
    actor: str,
    member_id: int | None = None,
    now: datetime,
) -> UUID:
    """Launches a campaign under the caller's id. Idempotent: a repeat returns the same run, even if
    the template behind it has changed.
    """
    run_id = find_launch(campaign, launch_id)
    if run_id is not None:
        return run_id
    launch = Launch(actor, now, launch_id, as_of=campaign.updated_at, member_id=member_id)
    return start_run(campaign.workspace_id, campaign.pk, launch)


def send_test(  # noqa: PLR0913  the parts of a test, each by its name
    workspace_id: int,
    campaign_id: int,
    *,
    addresses: str | None,
    contact_id: int | None = None,
    actor: str,
    member_id: int | None = None,
    now: datetime,
    is_sandboxed: bool = False,
) -> UUID:
    """Sends a campaign to some addresses, or to the workspace's test addresses; repeatable.

    With a contact, every mail has the content that this contact would get.
    """
    text = accounts.test_emails(workspace_id) if addresses is None else addresses
    launch = Launch(
        actor,
        now,
        uuid4(),
        test_addresses=test_sends.parse_addresses(text),
        test_contact=(
            None
            if contact_id is None
            else contacts.get_contact(workspace_id, contact_id=contact_id)
        ),
        is_sandboxed=is_sandboxed,
        member_id=member_id,
    )
    return start_run(workspace_id, campaign_id, launch)


def launch_remaining(
    workspace_id: int,
    run_id: UUID,
    *,
    actor: str,
    member_id: int | None = None,
    now: datetime,
) -> UUID:
    """Sends the campaign's current content to the recipients for whom no run has handed over a
    mail, or tried to.
    """
    run = find_run(workspace_id, run_id)
    if run.is_test:
        raise CampaignUnknownError(say("Run not found."))
    root_id = run.root_id or run.pk
    previous_runs.check_root(root_id)
    launch = Launch(actor, now, uuid4(), root_id=root_id, member_id=member_id)
    return start_run(workspace_id, run.campaign_id, launch)


def start_run(workspace_id: int, campaign_id: int, launch: Launch) -> UUID:
    """Creates the run of a launch, or returns the run that its batch id has already."""
    campaign = Campaign.objects.filter(workspace_id=workspace_id, pk=campaign_id).first()
    if campaign is None:
        raise CampaignUnknownError(say("Campaign not found."))
    # Before the transaction: a page is read over the network.
    content = launch.snapshot or snapshot.take_snapshot(
        workspace_id, content_source.from_json(campaign.content), now=launch.now
    )
    with transaction.atomic():
        # A concurrent launch waits here, and sees the run of this one.
        locked = Campaign.objects.select_for_update(no_key=True).filter(pk=campaign.pk).first()
        if locked is None:  # deleted meanwhile
            raise CampaignUnknownError(say("Campaign not found."))
        if locked.updated_at != (launch.as_of or campaign.updated_at):
            raise CampaignChangedError(
                say("The campaign was changed at the same time. Look at it, and try again.")
            )
        run_id = find_launch(campaign, launch.launch_id)
        if run_id is not None:
            return run_id
        _lock_sender(locked)
        if launch.is_first and Run.objects.filter(campaign=campaign, is_test=False).exists():
            raise AlreadyLaunchedError(
                say(
                    "This campaign was launched before, and is never sent to everybody twice."
                    " Send it to the remaining recipients, or create a new campaign."
                )
            )
        if content.page is not None and not launch.is_test:
            is_remaining = launch.root_id is not None
            _load_page_rules().check(workspace_id, content.page, is_remaining=is_remaining)
        return _create_run(campaign, launch, content)


def _lock_sender(campaign: Campaign) -> None:
    """Refuses an archived sender; a person who archives it now waits, and then sees the run."""
    sender = Sender.objects.select_for_update(no_key=True).get(pk=campaign.sender_id)
    accounts.refuse_archived(sender)


def find_launch(campaign: Campaign, launch_id: UUID) -> UUID | None:
    """The campaign's run with this batch id; refuses the batch id of a launch with other input."""
    run = Run.objects.filter(campaign_id=campaign.pk, launch_id=launch_id).first()
    if run is None:
        return None
    if bytes(run.input_digest) != digest(campaign):
        raise BatchTakenError(
            say(
                "This send_batch_id was used with other input. Use a new one to send something"
                " else; repeat it with the same input to get its run."
            )
        )
    return run.pk


def _create_run(campaign: Campaign, launch: Launch, content: Snapshot) -> UUID:
    """Stores a run in the caller's transaction; the mails of a test are planned at once."""
    workspace_id = campaign.workspace_id
    recipients = _copy_audience(campaign, launch)
    stream_id = ledger.open_stream(
        workspace_id,
        sender_id=campaign.sender_id,
        kind=StreamKind.CAMPAIGN,
        title=f"{campaign.name}, test" if launch.is_test else campaign.name,
        is_test=launch.is_sandboxed,
        is_trial=launch.is_test,
        member_id=None if launch.is_sandboxed else launch.member_id,  # no mail leaves the sandbox
        delivery_window=None if launch.is_test else campaign.delivery_window,
    )
    is_article = campaign.content["kind"] == "article"
    run = Run.objects.create(
        workspace_id=workspace_id,
        campaign=campaign,
        launch_id=launch.launch_id,
        input_digest=digest(campaign),
        root_id=launch.root_id,
        stream_id=stream_id,
        is_test=launch.is_test,
        is_sandboxed=launch.is_sandboxed,
        test_contact_id=launch.test_contact.pk if launch.test_contact else None,
        actor=launch.actor,
        launched_at=launch.now,
        article_key=campaign.content["key"] if is_article else "",
        letter_choice=snapshot.to_json(content.choice),
        waves=_split_waves(campaign, launch),
        awaited_pass=_request_pass(workspace_id, launch),
        **recipients,
    )
    for number, script in enumerate(content.scripts):
        stream_letters.add_letter(run.letter_stream, number, script)
    if content.page is not None and not launch.is_sandboxed:
        _load_page_rules().record(run, content.page)
    if launch.test_addresses is not None:
        test_sends.plan_test(run, content.choice, launch.test_addresses, launch.test_contact)
    run_log.log("campaign tested" if run.is_test else "campaign launched", run)
    begins = None if run.is_test else progress.find_start(run)
    trail.note(
        workspace_id,
        actor=launch.actor,
        action="campaign.tested" if run.is_test else "campaign.launched",
        subject=f"campaign {campaign.tag}",
        data={"run": str(run.pk)} | ({"begins": begins.isoformat()} if begins else {}),
    )
    return run.pk


def _request_pass(workspace_id: int, launch: Launch) -> int | None:
    """The pass over the subscribers of Supabase that the run waits for, if it is for contacts."""
    return passes.request_pass(workspace_id) if launch.test_addresses is None else None


def _copy_audience(campaign: Campaign, launch: Launch) -> dict[str, Any]:
    """The columns of a run that say whom it is for; refuses a filter that cannot be read.

    It is a rule, not a list of contacts: contacts that are created later (`read_cutoff`) are
    excluded, and everything else about a contact is read at planning.

    The remaining recipients are those of the first run, whatever the campaign says now: relative
    days are counted from its launch.
    """
    columns: dict[str, Any] = {"list_key": campaign.list_key, "audience": campaign.audience}
    if launch.root_id is not None:
        root = Run.objects.get(pk=launch.root_id)
        fixed_filter = _fix_days(root.audience, now=root.launched_at)
        columns = {"list_key": root.list_key, "audience": fixed_filter}
    elif campaign.lacks_list and launch.test_addresses is None:
        raise ListNotChosenError(
            say(
                "Nobody has chosen yet who gets this draft. Give it a list, or null for all"
                " contacts, and launch it again."
            )
        )
    parsing.parse(columns["audience"], now=launch.now)
    if columns["list_key"]:
        lists.get_active_id(campaign.workspace_id, columns["list_key"])
    return columns


def _fix_days(audience: Mapping[str, Any], *, now: datetime) -> Mapping[str, Any]:
    """A valid filter with its relative days as dates, so that it means the same days later."""
    match audience:
        case {"field": field, Op.WITHIN_DAYS.value: int(days)}:
            since = max(now - timedelta(days=days), _FIRST_MOMENT)  # filters take none before it
            return {"field": field, Op.SINCE.value: since.isoformat()}
        case {"all": [*parts]}:
            return {"all": [_fix_days(part, now=now) for part in parts]}
        case {"any": [*parts]}:
            return {"any": [_fix_days(part, now=now) for part in parts]}
        case {"not": part}:
            return {"not": _fix_days(part, now=now)}
        case _:
            return audience


def _split_waves(campaign: Campaign, launch: Launch) -> list[dict[str, Any]]:
    if launch.test_addresses is not None:
        return []
    send_time = send_times.from_json(campaign.timing)
    if launch.root_id is None:  # the remaining get theirs at once if the time is past
        send_times.check(send_time, now=launch.now)
    window = None if launch.is_test else campaign.delivery_window
    run_waves = waves.split_waves(campaign.workspace_id, send_time, window, now=launch.now)
    return [send_times.wave_to_json(wave) for wave in run_waves]
