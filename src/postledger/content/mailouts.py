"""Reads pages of Notion with this installation's token, and keeps their pictures here."""

from pathlib import Path
from typing import ClassVar

from django.conf import settings

from postledger.content import scripts
from postledger.content.footer import Footer
from postledger.content.letter import Script
from postledger.content.notion import client, pages
from postledger.content.notion.album import NOTION_ORIGINS, Album
from postledger.content.notion.pages import Page
from postledger.content.notion.pictures import Keep, UnavailableError
from postledger.lib.errors import RefusedError


class NotionNotSetUpError(RefusedError):
    code: ClassVar[str] = "notion_not_set_up"


def read(page_id: str) -> Page:
    """Raises RefusedError when there is no token, or Notion does not show the page."""
    if not settings.NOTION_TOKEN:
        raise NotionNotSetUpError(
            "There is no NOTION_TOKEN. Make an integration in Notion, share the page with it, and"
            " set its secret as NOTION_TOKEN."
        )
    with client.connect(settings.NOTION_TOKEN, base_url=settings.NOTION_URL) as reader:
        return pages.read(reader, page_id, keep=_keep())


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
