"""Reads and writes pages of Notion with this installation's token, and keeps their pictures."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar
from uuid import UUID

from django.conf import settings

from postledger.accounts import queries as accounts
from postledger.content import scripts
from postledger.content.footer import Footer
from postledger.content.letter import Script
from postledger.content.notion import client, pages
from postledger.content.notion.album import NOTION_ORIGINS, Album
from postledger.content.notion.pages import Page
from postledger.content.notion.pictures import Keep, UnavailableError
from postledger.content.notion.writing import Writer
from postledger.lib.errors import RefusedError


class NotionNotSetUpError(RefusedError):
    code: ClassVar[str] = "notion_not_set_up"


def page_id(written: str) -> UUID:
    """The id of a page, however somebody copied it; raises PageNotFoundError for what is none."""
    return UUID(client.canonical(written))


def of_workspace(workspace_id: int, page_id: str) -> Page:
    """A page for a member of a workspace: the token opens what the first one shared with it."""
    if workspace_id != accounts.default_workspace_id():
        raise NotionNotSetUpError(
            "Notion is connected for the installation's first workspace, and this is another one."
            " Write the mail as a template or an article instead."
        )
    return read(page_id)


def read(page_id: str) -> Page:
    """Raises RefusedError when there is no token, or Notion does not show the page."""
    with client.connect(_token(), base_url=settings.NOTION_URL) as reader:
        return pages.read(reader, page_id, keep=_keep())


@contextmanager
def writing() -> Iterator[Writer]:
    """A writer for as long as the block lasts, which keeps Notion's pace."""
    with client.connect(_token(), base_url=settings.NOTION_URL) as reader:
        yield reader.writer()


def _token() -> str:
    if not settings.NOTION_TOKEN:
        raise NotionNotSetUpError(
            "There is no NOTION_TOKEN. Make an integration in Notion, share the page with it, and"
            " set its secret as NOTION_TOKEN."
        )
    return str(settings.NOTION_TOKEN)


def script(page: Page, *, locale: str, footer: Footer | None) -> Script:
    return scripts.of_fragment(
        page.mailout.subject, html=page.html, text=page.text, locale=locale, footer=footer
    )


def _keep() -> Keep:
    if not (settings.PICTURES_FOLDER and settings.PICTURES_URL):
        return _nowhere
    folder = Path(settings.PICTURES_FOLDER)
    # Where Notion answers is believed to serve Notion's files.
    origins = NOTION_ORIGINS | {settings.NOTION_URL.rstrip("/")}
    return Album(folder, base_url=settings.PICTURES_URL, origins=origins).keep


def _nowhere(_url: str) -> str:
    raise UnavailableError(
        "There is no place for pictures, and Notion's own addresses of them end after an hour."
        " Set PICTURES_FOLDER and PICTURES_URL."
    )
