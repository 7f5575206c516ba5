"""The content of a stream, frozen at its launch: letters by language, or slices to assemble them.

Every letter that can be rendered then is rendered once, before anything is sent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, assert_never

from pydantic import TypeAdapter

from postledger.accounts import queries as accounts
from postledger.content import isolation, letters, locales, notion_pages, slices
from postledger.content.brandings import find_branding
from postledger.content.notion.pages import Page
from postledger.content.rendering import letter
from postledger.content.rendering.branding import NO_BRANDING, Branding
from postledger.content.rendering.footer import Footer
from postledger.content.rendering.letter import Script
from postledger.content.rendering.source import make_script
from postledger.content.slices import Slice, SubjectRequiredError
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say
from postledger.mailing import content_source
from postledger.mailing.content_source import (
    ArticleSource,
    ContentSource,
    InlineSource,
    PageSource,
    TemplateSource,
)


class EmptyBodyError(RefusedError):
    code = "empty_body"


class NotAMailoutError(RefusedError):
    code = "page_not_a_mailout"


@dataclass(frozen=True, slots=True)
class ByLocale:
    """Letters that are in the stream from the start, chosen by a recipient's language."""

    numbers: Mapping[str, int]  # by locale
    fallback: str = ""  # empty: recipients of other languages get no mail
    names: tuple[str, ...] = ()  # of the attributes that fill in the letters


@dataclass(frozen=True, slots=True)
class ByPlaces:
    """Slices, chosen by a recipient's places; the first recipient of a combination needs its
    letter.
    """

    slices: tuple[Slice, ...]
    names: tuple[str, ...] = ()
    branding: Branding = NO_BRANDING  # as of the launch


type LetterChoice = ByLocale | ByPlaces


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How recipients' letters are chosen, and the letters rendered so far, by number."""

    choice: LetterChoice
    scripts: Sequence[Script]
    page: Page | None = None  # the Notion page that it was taken from


def take_snapshot(workspace_id: int, content: ContentSource, *, now: datetime) -> Snapshot:
    """Refuses content that could be sent to nobody; reads a Notion page over the network."""
    footer = letters.require_footer(accounts.organisation(workspace_id))
    branding = find_branding(workspace_id)
    match content:
        case InlineSource():
            return _snapshot_inline(workspace_id, content, footer, branding)
        case TemplateSource():
            version = content_source.find_template(workspace_id, content)
            scripts = {
                text.locale: isolation.render(
                    workspace_id,
                    make_script,
                    text,
                    required=version.required,
                    optional=version.optional,
                    footer=footer,
                    branding=branding,
                )
                for text in version.texts
            }
            return _by_locale(workspace_id, scripts, version.fallback_locale)
        case ArticleSource():
            choice = ByPlaces(content_source.find_slices(workspace_id, content), branding=branding)
            return _snapshot_article(workspace_id, content.key, choice, footer, now)
        case PageSource(page_id):
            page = read_mailout_page(workspace_id, page_id)
            return snapshot_page(workspace_id, page, footer)
        case _:
            assert_never(content)


def read_mailout_page(workspace_id: int, page_id: str) -> Page:
    """Refuses a page outside the table of mailouts, even if the token can read it."""
    notion = notion_pages.require_notion(workspace_id)
    page = notion_pages.read_page(notion, page_id)
    if notion.mailouts and notion.mailouts not in page.mailout.table_ids:
        raise NotAMailoutError(
            say(
                "The page is not in the table of mailouts that the integration notion names."
                " Move it there, or mail another page."
            )
        )
    return page


def snapshot_page(workspace_id: int, page: Page, footer: Footer) -> Snapshot:
    check_page(page)
    branding = find_branding(workspace_id)
    script = notion_pages.make_script(
        workspace_id, page, locale="en", footer=footer, branding=branding
    )
    return _by_locale(workspace_id, {"en": script}, "en", page)


def check_page(page: Page) -> None:
    """Refuses a page without a subject or without content."""
    if not page.mailout.subject.strip():
        raise SubjectRequiredError(
            say("The page has no subject. Write one in its subject property.")
        )
    if not page.html.strip() and not page.text.strip():
        raise EmptyBodyError(say("The page has no content. Write something into it, then send it."))


def _snapshot_inline(
    workspace_id: int, content: InlineSource, footer: Footer, branding: Branding
) -> Snapshot:
    if not content.subject.strip():
        raise SubjectRequiredError(say("The campaign has no subject. Write one."))
    if not content.body.strip():
        raise EmptyBodyError(say("The campaign has no body. Write one."))
    script = isolation.render(
        workspace_id,
        make_script,
        content.source,
        required=content.required,
        optional=content.optional,
        footer=footer,
        branding=branding,
    )
    return _by_locale(workspace_id, {content.locale: script}, content.locale)


def _by_locale(
    workspace_id: int, scripts: Mapping[str, Script], fallback: str, page: Page | None = None
) -> Snapshot:
    for script in scripts.values():
        isolation.render(workspace_id, letter.check, script)
    names = dict.fromkeys(
        name for script in scripts.values() for name in (*script.required, *script.optional)
    )
    numbers = {locale: number for number, locale in enumerate(scripts)}
    return Snapshot(ByLocale(numbers, fallback, tuple(names)), list(scripts.values()), page)


def _snapshot_article(
    workspace_id: int, key: str, choice: ByPlaces, footer: Footer, now: datetime
) -> Snapshot:
    """Tries the letter of a recipient in every place: it has every slice that anybody gets."""
    places = list_places(choice, now=now)
    if not any(slices.choose(choice.slices, ocd_ids=frozenset(places), now=now)):
        raise EmptyBodyError(
            say(
                "The article '%(key)s' has no slice that is published now. Publish one, then"
                " send it.",
                key=key,
            )
        )
    assemble_letter(workspace_id, choice, places, footer=footer, now=now)
    return Snapshot(choice, ())


def list_places(choice: ByPlaces, *, now: datetime) -> list[str]:
    """The places that its slices distinguish."""
    return sorted(slices.open_scopes(choice.slices, now=now))


def choose_letter(choice: ByLocale, locale: str) -> int:
    """The number of the letter for this language; raises MissingLocaleError without one."""
    chosen = locales.choose(locale, available=choice.numbers, fallback=choice.fallback)
    return choice.numbers[chosen]


def assemble_letter(
    workspace_id: int, choice: ByPlaces, places: Sequence[str], *, footer: Footer, now: datetime
) -> Script:
    """The letter for recipients in these places; raises RefusedError if there can be none."""
    article = slices.assemble(choice.slices, ocd_ids=frozenset(places), now=now)
    script = isolation.render(
        workspace_id, make_script, article.source(), footer=footer, branding=choice.branding
    )
    isolation.render(workspace_id, letter.check, script)
    return script


_JSON: TypeAdapter[LetterChoice] = TypeAdapter(LetterChoice)


def to_json(choice: LetterChoice) -> dict[str, Any]:
    stored: dict[str, Any] = _JSON.dump_python(choice, mode="json")
    return stored


def from_json(stored: Mapping[str, Any]) -> LetterChoice:
    return _JSON.validate_python(stored)
