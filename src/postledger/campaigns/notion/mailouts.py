"""Mails Notion pages: each to everybody once; a page that is a test, to the test addresses."""

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID, uuid4

from postledger.accounts import constraints
from postledger.accounts import queries as accounts
from postledger.campaigns.drafts import drafts
from postledger.campaigns.drafts.drafts import Draft
from postledger.campaigns.launches import launching, test_sends
from postledger.campaigns.launches.launching import (
    AlreadyLaunchedError,
    CampaignChangedError,
    Launch,
)
from postledger.campaigns.models import Campaign, Mailout, Run
from postledger.campaigns.notion import error_rows
from postledger.content import letters
from postledger.content.notion.pages import Page
from postledger.lib.errors import ConflictError, RefusedError
from postledger.lib.sentences import say
from postledger.mailing import snapshot
from postledger.mailing.content_source import PageSource

# The values of a page's status property.
SENT = "Send"
FAILED = "Failed"


class MailoutAlreadySentError(ConflictError):
    code = "mailout_already_sent"


class PageIsTestError(RefusedError):
    code = "page_is_test"


@dataclass(frozen=True, slots=True)
class MailoutRequest:
    page_id: UUID
    sender: str | None = None  # None: the workspace's only one
    list_key: str | None = None  # None: all that the workspace sends
    member_id: int | None = None  # whose daily limit counts its mails


@dataclass(frozen=True, slots=True)
class LaunchedMailout:
    run_id: UUID
    is_test: bool


def send_page(
    workspace_id: int, request: MailoutRequest, *, actor: str, now: datetime
) -> LaunchedMailout:
    """Reads the page once, checks it, and launches it.

    A refusal is raised, and is written to the error table in Notion later.
    """
    # A refusal to read it is not written there: the page may not be a mailout.
    page = snapshot.read_mailout_page(workspace_id, str(request.page_id))
    try:
        return _launch(workspace_id, request, page, actor=actor, now=now)
    except RefusedError as error:
        mailout = _find_or_create(workspace_id, request.page_id)
        error_rows.store_refusal(mailout, error, now=now)
        raise


def _launch(
    workspace_id: int, request: MailoutRequest, page: Page, *, actor: str, now: datetime
) -> LaunchedMailout:
    snapshot.check_page(page)
    if not page.mailout.is_test:
        _check_unsent(workspace_id, page)
    footer = letters.require_footer(accounts.organisation(workspace_id))
    content = snapshot.snapshot_page(workspace_id, page, footer)
    test_addresses = None
    if page.mailout.is_test:
        test_addresses = test_sends.parse_addresses(accounts.test_emails(workspace_id))
    launch = Launch(
        actor,
        now,
        uuid4(),
        is_first=not page.mailout.is_test,
        test_addresses=test_addresses,
        snapshot=content,
        member_id=request.member_id,
    )
    campaign = _campaign(workspace_id, request, content.scripts[0].subject, launch)
    # A concurrent request may have changed the campaign to another list.
    launch = replace(launch, as_of=campaign.updated_at)
    try:
        run_id = launching.start_run(workspace_id, campaign.pk, launch)
    except (AlreadyLaunchedError, CampaignChangedError):
        if _was_mailed(workspace_id, request.page_id):
            raise _already_sent(say("This page was mailed a moment ago.")) from None
        raise
    return LaunchedMailout(run_id, page.mailout.is_test)


def _campaign(workspace_id: int, request: MailoutRequest, subject: str, launch: Launch) -> Campaign:
    """The campaign that stands for the page: it lists its runs, and can be paused or cancelled.

    A test, whose recipients are named, changes nothing of a campaign that was launched.
    """
    tag = f"notion-{request.page_id}"
    if launch.test_addresses is not None:
        campaigns = Campaign.objects.filter(workspace_id=workspace_id, tag=tag)
        launched = campaigns.filter(run__is_test=False).first()
        if launched is not None:
            return launched
    name = "".join(filter(str.isprintable, subject))[: constraints.LONGEST_NAME].strip()
    draft = Draft(
        tag=tag,
        name=name or "Mailout",
        content=PageSource(str(request.page_id)),
        sender=accounts.select_sender(workspace_id, address=request.sender).address,
        list_key=request.list_key,
    )
    return drafts.put_campaign(
        workspace_id, draft, launch_id=launch.launch_id, actor=launch.actor, now=launch.now
    )


class PageLaunchRules:
    """What a launch asks of its page."""

    def check(self, workspace_id: int, page: Page, *, is_remaining: bool) -> None:
        if is_remaining:
            _check_not_test(page)
            return
        mailout = _find_or_create(workspace_id, page.mailout.page_id)
        # A concurrent launch waits here.
        Mailout.objects.select_for_update(no_key=True).get(pk=mailout.pk)
        _check_unsent(workspace_id, page)

    def record(self, run: Run, page: Page) -> None:
        run.mailout = _find_or_create(run.workspace_id, page.mailout.page_id)
        run.save(update_fields=["mailout"])
        error_rows.store_findings(run.mailout, run.pk, page.findings)


def _find_or_create(workspace_id: int, page_id: UUID | str) -> Mailout:
    mailout, _ = Mailout.objects.get_or_create(workspace_id=workspace_id, page_id=page_id)
    return mailout


def _check_not_test(page: Page) -> None:
    """Refuses a page that is marked as a test: only the test addresses get it."""
    if page.mailout.is_test:
        raise PageIsTestError(
            say(
                "The page is a test: is_test is ticked. Untick it to send it to everybody, or"
                " send a test."
            )
        )


def _check_unsent(workspace_id: int, page: Page) -> None:
    """Refuses a page that was mailed by our own books, or by its properties."""
    _check_not_test(page)
    if _was_mailed(workspace_id, page.mailout.page_id):
        raise _already_sent(say("This page was mailed before, whatever it says in Notion now."))
    if page.mailout.status.casefold() == SENT.casefold() or page.mailout.sent_at is not None:
        raise _already_sent(say("The page says that it was sent: see its status and sent_at."))


def _was_mailed(workspace_id: int, page_id: UUID | str) -> bool:
    runs = Run.objects.filter(mailout__workspace_id=workspace_id, mailout__page_id=page_id)
    return runs.filter(is_test=False).exists()


def _already_sent(reason: str) -> MailoutAlreadySentError:
    return MailoutAlreadySentError(
        say(
            "%(reason)s A page goes to everybody once. Send its run to the remaining"
            " recipients, tick is_test to see it again yourself, or copy it to a new page.",
            reason=reason,
        )
    )
