"""Reads and writes pages of Notion with a workspace's token, and keeps their pictures."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

from django.conf import settings

from postledger.accounts import integrations
from postledger.accounts.integrations import NotionSettings
from postledger.content import isolation
from postledger.content.notion import client, pages
from postledger.content.notion.album import NOTION_ORIGINS, Album, NotCopiedError, UnavailableError
from postledger.content.notion.pages import Keep, Page
from postledger.content.notion.writing import Writer
from postledger.content.rendering.branding import NO_BRANDING, Branding
from postledger.content.rendering.footer import Footer
from postledger.content.rendering.letter import Script
from postledger.content.rendering.source import make_fragment_script
from postledger.lib.errors import RefusedError
from postledger.lib.secrets import UnsealableError
from postledger.lib.sentences import say

_PATIENCE = 20.0  # seconds that a person waits for a preview
_PATIENCE_OF_CHECK = 8.0  # and for a token to be tried


class NotionNotSetUpError(RefusedError):
    code = "notion_not_set_up"


def parse_page_id(text: str) -> UUID:
    """The id of a page, with or without hyphens; raises NotionPageNotFoundError if it is none."""
    return UUID(client.canonical(text))


def require_notion(workspace_id: int) -> NotionSettings:
    """The Notion integration of a workspace; raises NotionNotSetUpError if it has none."""
    try:
        notion = integrations.notion(workspace_id)
    except UnsealableError:
        raise NotionNotSetUpError(
            say(
                "The workspace's integration notion cannot be opened: it was sealed under another"
                " SECRET_KEY. Enter its token anew in the settings, under Integrations; postledger"
                " doctor says more."
            )
        ) from None
    if notion is None:
        raise NotionNotSetUpError(
            say(
                "The workspace has no Notion integration. Create one in Notion, share the page with"
                " it, and enter its token in the settings, under Integrations, or run postledger"
                " integration set WORKSPACE notion --secret token=FILE."
            )
        )
    return notion


def check_notion(token: str, databases: Iterable[str]) -> bool:
    """Whether any page is shared with a token, which can read these databases.

    Raises NotionUnauthorizedError if Notion refuses the token, NotionPageNotFoundError if it does
    not show one of the databases, and RefusedError if it says nothing. Somebody waits for
    it, so each is asked once.
    """
    with client.connect(token, base_url=settings.NOTION_URL, patience=_PATIENCE_OF_CHECK) as reader:
        reader.check_token()
        for database_id in databases:
            reader.check_database(database_id)
        return reader.sees_any_page()


def read_page(notion: NotionSettings, page_id: str) -> Page:
    """Raises RefusedError when Notion does not show the page."""
    with client.connect(notion.token, base_url=settings.NOTION_URL) as reader:
        return pages.read(reader, page_id, keep=_choose_keep())


def look_at_page(notion: NotionSettings, page_id: str) -> Page:
    """The same for people who wait to see it, and for nobody else: no picture is copied.

    Raises NotionTooSlowError when Notion takes too long for all of it.
    """
    keep = _leave_for_launch if _has_folder() else _refuse_picture
    with client.connect(notion.token, base_url=settings.NOTION_URL, patience=_PATIENCE) as reader:
        return pages.read(reader, page_id, keep=keep)


@contextmanager
def open_writer(notion: NotionSettings) -> Iterator[Writer]:
    """A writer inside the block, which keeps to Notion's rate limit."""
    with client.connect(notion.token, base_url=settings.NOTION_URL) as reader:
        yield reader.writer()


def make_script(
    workspace_id: int,
    page: Page,
    *,
    locale: str,
    footer: Footer | None,
    branding: Branding = NO_BRANDING,
) -> Script:
    return isolation.render(
        workspace_id,
        make_fragment_script,
        page.mailout.subject,
        html=page.html,
        text=page.text,
        locale=locale,
        preheader=page.mailout.preheader,
        footer=footer,
        branding=branding,
    )


def _choose_keep() -> Keep:
    if not _has_folder():
        return _refuse_picture
    folder = Path(settings.PICTURES_FOLDER)
    # The host of the API may serve files, too.
    origins = NOTION_ORIGINS | {settings.NOTION_URL.rstrip("/")}
    return Album(folder, base_url=settings.PICTURES_URL, origins=origins).keep


def _has_folder() -> bool:
    return bool(settings.PICTURES_FOLDER and settings.PICTURES_URL)


def _leave_for_launch(_url: str) -> str:
    raise NotCopiedError(
        say(
            "The preview shows the picture's description: pictures that Notion hosts are"
            " private, and are copied to their public address by a launch or a test."
        )
    )


def _refuse_picture(_url: str) -> str:
    raise UnavailableError(
        say(
            "There is no folder for pictures, and Notion's own URLs of them expire after an"
            " hour. Set PICTURES_FOLDER and PICTURES_URL."
        )
    )
