"""Reads and writes pages of Notion with a workspace's token, and keeps their pictures."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar
from uuid import UUID

from django.conf import settings

from postledger.accounts import integrations
from postledger.accounts.integrations import Notion
from postledger.content import scripts
from postledger.content.footer import Footer
from postledger.content.letter import Script
from postledger.content.notion import client, pages
from postledger.content.notion.album import NOTION_ORIGINS, Album
from postledger.content.notion.pages import Page
from postledger.content.notion.pictures import Keep, UnavailableError
from postledger.content.notion.writing import Writer
from postledger.lib.errors import RefusedError
from postledger.lib.secrets import UnsealableError


class NotionNotSetUpError(RefusedError):
    code: ClassVar[str] = "notion_not_set_up"


def page_id(written: str) -> UUID:
    """The id of a page, however somebody copied it; raises PageNotFoundError for what is none."""
    return UUID(client.canonical(written))


def notion_of(workspace_id: int) -> Notion:
    """The Notion of a workspace, which opens nothing that another one has."""
    try:
        found = integrations.notion(workspace_id)
    except UnsealableError:
        raise NotionNotSetUpError(
            "The workspace's integration notion cannot be opened: it was sealed under another"
            " SECRET_KEY. postledger doctor says what to do."
        ) from None
    if found is None:
        raise NotionNotSetUpError(
            "The workspace has no Notion. Make an integration in Notion, share the page with it,"
            " and run postledger integration set WORKSPACE notion --secret token=FILE."
        )
    return found


def read(notion: Notion, page_id: str) -> Page:
    """Raises RefusedError when Notion does not show the page."""
    with client.connect(notion.token, base_url=settings.NOTION_URL) as reader:
        return pages.read(reader, page_id, keep=_keep())


@contextmanager
def writing(notion: Notion) -> Iterator[Writer]:
    """A writer for as long as the block lasts, which keeps Notion's pace."""
    with client.connect(notion.token, base_url=settings.NOTION_URL) as reader:
        yield reader.writer()


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
