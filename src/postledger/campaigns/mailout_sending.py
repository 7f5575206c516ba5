"""Mails a page of Notion to everybody, once; or, as the page says, to the addresses for tests."""

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID, uuid4

from postledger.accounts import names
from postledger.accounts import queries as accounts
from postledger.campaigns import (
    batches,
    drafts,
    freezing,
    launching,
    mailout_notes,
    mailout_once,
    testing,
)
from postledger.campaigns.drafts import Draft
from postledger.campaigns.freezing import Said
from postledger.campaigns.launching import AlreadyLaunchedError, CampaignChangedError
from postledger.campaigns.material import OfPage
from postledger.campaigns.models import Campaign
from postledger.campaigns.runs import Launch
from postledger.content import footing
from postledger.content.notion.pages import Page
from postledger.lib.errors import RefusedError


@dataclass(frozen=True, slots=True)
class Wish:
    """Which page is to go, and from whom to which list, as somebody asks for it."""

    page_id: UUID
    sender: str | None = None  # None: the workspace's only one
    list_key: str | None = None  # None: all that the workspace sends
    is_sandboxed: bool = False  # whoever asks with a test key reaches nobody


@dataclass(frozen=True, slots=True)
class Sent:
    run_id: UUID
    is_test: bool


def send(workspace_id: int, wish: Wish, *, actor: str, now: datetime) -> Sent:
    """The page is read once: what was looked at is what goes.

    What keeps it from going is raised, and told to the table of errors in Notion afterwards.
    """
    # Where this is refused it is not told in Notion: nobody there knows the page as a mailout.
    page = freezing.page_to_mail(workspace_id, str(wish.page_id))
    try:
        said = _said(workspace_id, wish, page)
        return _launched(workspace_id, wish, said, actor=actor, now=now)
    except RefusedError as refused:
        mailout = mailout_notes.of(workspace_id, wish.page_id)
        mailout_notes.keep_abort(mailout, refused, now=now)
        raise


def _said(workspace_id: int, wish: Wish, page: Page) -> Said:
    freezing.check_page(page)
    if not page.mailout.is_test and not wish.is_sandboxed:
        mailout_once.check(workspace_id, page)
    return freezing.of_page(page, footing.of(accounts.organisation(workspace_id)))


def _launched(workspace_id: int, wish: Wish, said: Said, *, actor: str, now: datetime) -> Sent:
    wanted = Launch(
        actor,
        now,
        uuid4(),
        test_addresses=_test_addresses(workspace_id, said),
        is_sandboxed=wish.is_sandboxed,
        said=said,
    )
    campaign = _campaign(workspace_id, wish, said, wanted)
    # Another request may want the page for another list, and has changed the campaign meanwhile.
    wanted = replace(wanted, as_of=campaign.updated_at)
    try:
        run_id = launching.launch_said(workspace_id, campaign.pk, wanted)
    except (AlreadyLaunchedError, CampaignChangedError):
        # Of two requests at a time, one was quicker.
        if mailout_once.was_mailed(workspace_id, wish.page_id):
            raise mailout_once.already("This page was mailed a moment ago.") from None
        raise
    return Sent(run_id, wanted.is_test)


def _test_addresses(workspace_id: int, said: Said) -> tuple[str, ...] | None:
    is_test = said.page is not None and said.page.mailout.is_test
    return testing.addresses(accounts.test_emails(workspace_id)) if is_test else None


def _campaign(workspace_id: int, wish: Wish, said: Said, wanted: Launch) -> Campaign:
    """The campaign that stands for the page: it lists its runs, and can be steered.

    A test, whose readers are named, changes nothing of one that was launched.
    """
    tag = f"notion-{wish.page_id}"
    if wanted.test_addresses is not None:
        known = Campaign.objects.filter(workspace_id=workspace_id, tag=tag)
        found = known.filter(run__is_test=False).first()
        if found is not None:
            return found
    draft = Draft(
        tag=tag,
        name=_name(said.scripts[0].subject),
        material=OfPage(str(wish.page_id)),
        sender=drafts.sender(workspace_id, wish.sender).address,
        list_key=wish.list_key,
    )
    return batches.put(
        workspace_id, draft, batch_id=wanted.batch_id, actor=wanted.actor, now=wanted.now
    )


def _name(subject: str) -> str:
    return "".join(filter(str.isprintable, subject))[: names.LONGEST].strip() or "Mailout"
