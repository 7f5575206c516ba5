"""Freezes what a campaign says at its launch: every letter is made once, before anything goes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, assert_never

from postledger.accounts import queries as accounts
from postledger.campaigns import frozen, sources
from postledger.campaigns.frozen import ByLocale, ByPlaces, Frozen
from postledger.campaigns.material import Material, OfArticle, OfPage, OfTemplate, Words
from postledger.content import footing, mailouts, scripts, slices
from postledger.content.footer import Footer
from postledger.content.letter import Letter, Script
from postledger.content.notion.pages import Page
from postledger.content.slices import SubjectRequiredError
from postledger.content.source import Source
from postledger.lib.errors import RefusedError


class EmptyBodyError(RefusedError):
    code: ClassVar[str] = "empty_body"


class NotAMailoutError(RefusedError):
    code: ClassVar[str] = "page_not_a_mailout"


@dataclass(frozen=True, slots=True)
class Said:
    """What a run says: how its letters are chosen, and those that are made already, by number."""

    frozen: Frozen
    scripts: Sequence[Script]
    page: Page | None = None  # of Notion, that it was made from


def said(workspace_id: int, material: Material, *, now: datetime) -> Said:
    """Raises RefusedError for what could not be sent to anybody; may ask Notion for a page."""
    footer = footing.of(accounts.organisation(workspace_id))
    match material:
        case Words():
            return _of_words(material, footer)
        case OfTemplate(key, version):
            return _of_template(workspace_id, key, version, footer)
        case OfArticle(key):
            return _of_article(workspace_id, key, footer, now)
        case OfPage(page_id):
            return of_page(page_to_mail(workspace_id, page_id), footer)
        case _:
            assert_never(material)


def page_to_mail(workspace_id: int, page_id: str) -> Page:
    """Reads a page that is mailed, to testers as well: whoever shows it to a reader only looks.

    Refuses one that is none of the mailouts, though the token shows it.
    """
    notion = mailouts.notion_of(workspace_id)
    page = mailouts.read(notion, page_id)
    if notion.mailouts and notion.mailouts not in page.mailout.homes:
        raise NotAMailoutError(
            "The page is not in the table of mailouts that the integration notion names."
            " Move it there, or mail another one."
        )
    return page


def of_page(page: Page, footer: Footer) -> Said:
    """What a page says in mail."""
    check_page(page)
    script = mailouts.script(page, locale="en", footer=footer)
    return replace(_by_locale({"en": script}, "en"), page=page)


def check_page(page: Page) -> None:
    """Refuses a page that says nothing."""
    if not page.mailout.subject.strip():
        raise SubjectRequiredError("The page has no subject. Write one in its subject property.")
    if not page.html.strip() and not page.text.strip():
        raise EmptyBodyError("The page has no content. Write something into it, then send it.")


def _of_words(words: Words, footer: Footer) -> Said:
    if not words.subject.strip():
        raise SubjectRequiredError("The campaign has no subject. Write one.")
    if not words.body.strip():
        raise EmptyBodyError("The campaign has no body. Write one.")
    source = Source(words.subject, words.body, words.format, words.text, words.locale)
    script = scripts.of_source(
        source, required=words.required, optional=words.optional, footer=footer
    )
    return _by_locale({words.locale: script}, words.locale)


def _of_template(workspace_id: int, key: str, version: int | None, footer: Footer) -> Said:
    chosen = sources.template(workspace_id, key, version)
    made = {
        text.locale: scripts.of_source(
            text, required=chosen.required, optional=chosen.optional, footer=footer
        )
        for text in chosen.texts
    }
    return _by_locale(made, chosen.fallback_locale)


def _by_locale(made: dict[str, Script], fallback: str) -> Said:
    for script in made.values():
        Letter(script)
    [*found] = made.values()
    names = dict.fromkeys(name for script in found for name in (*script.required, *script.optional))
    numbers = {locale: number for number, locale in enumerate(made)}
    return Said(ByLocale(numbers, fallback, tuple(names)), found)


def _of_article(workspace_id: int, key: str, footer: Footer, now: datetime) -> Said:
    """Tries the letter of who is everywhere: it has every slice that anybody gets."""
    published = sources.slices(workspace_id, key)
    chosen = ByPlaces(published)
    everywhere = frozen.scopes(chosen, now=now)
    if not any(slices.relevant(published, ocd_ids=frozenset(everywhere), now=now)):
        raise EmptyBodyError(
            f"The article {key!r} has no slice that is published now. Publish one, then send it."
        )
    frozen.assembled(chosen, everywhere, footer=footer, now=now)
    return Said(chosen, ())
