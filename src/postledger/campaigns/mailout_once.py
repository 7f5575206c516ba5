"""A page of Notion goes to everybody once, whichever door it is sent through."""

from typing import ClassVar
from uuid import UUID

from postledger.campaigns import mailout_notes
from postledger.campaigns.mailout_results import SENT
from postledger.campaigns.models import Mailout, Run
from postledger.content.notion.pages import Page
from postledger.lib.errors import RefusedError


class MailoutAlreadySentError(RefusedError):
    code: ClassVar[str] = "mailout_already_sent"


class PageIsTestError(RefusedError):
    code: ClassVar[str] = "page_is_test"


def check_live(page: Page) -> None:
    """Nobody but testers gets a page that says it is a test, not even the rest of its readers."""
    if page.mailout.is_test:
        raise PageIsTestError(
            "The page says that it is a test: is_test is ticked. Untick it to send it to everybody,"
            " or send a test."
        )


def check(workspace_id: int, page: Page) -> None:
    """Our own books count even where somebody changed the page back."""
    check_live(page)
    if was_mailed(workspace_id, UUID(page.mailout.page_id)):
        raise already("This page was mailed before, whatever it says in Notion now.")
    if page.mailout.status.casefold() == SENT.casefold() or page.mailout.sent_at is not None:
        raise already("The page says that it was sent: see its status and sent_at.")


def check_alone(workspace_id: int, page: Page) -> None:
    """The same, in a transaction that makes its run: of two at once, the second one waits."""
    mailout = mailout_notes.of_page(workspace_id, page)
    Mailout.objects.select_for_update(no_key=True).get(pk=mailout.pk)
    check(workspace_id, page)


def was_mailed(workspace_id: int, page_id: UUID) -> bool:
    of_page = Run.objects.filter(mailout__workspace_id=workspace_id, mailout__page_id=page_id)
    return of_page.filter(is_test=False).exists()


def already(why: str) -> MailoutAlreadySentError:
    return MailoutAlreadySentError(
        f"{why} A page goes to everybody once. Send its run to the rest, tick is_test to see it"
        " again yourself, or copy it to a new page."
    )
