"""Texts and JSON values that are to be stored: which of them PostgreSQL takes."""

import json
import re
from collections.abc import Iterator, Mapping
from uuid import UUID

from postledger.lib.sentences import Sentence, say

KEY_PATTERN = "^[a-z0-9][a-z0-9-]{0,63}$"  # of the keys of lists and templates
# A language, its script and its region: de, zh-Hant-TW, es-419.
LOCALE_PATTERN = r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?"
LONGEST_LOCALE = 35
OCD_ID_PATTERN = r"ocd-[a-z]+/[^\s]{1,250}"
_NOTION_ID = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
UNSTORABLE = say("Contains a NUL byte or an unpaired surrogate; remove it.")


def describe_no_locale(text: str) -> Sentence:
    """What is wrong with a text that is no locale, in the same words wherever it was written."""
    return say(
        "'%(locale)s' is not the code of a language: write one like en, and a region after a"
        " hyphen where it matters, like pt-BR.",
        locale=text[:LONGEST_LOCALE],
    )


def is_storable(text: str) -> bool:
    """False for a text with a NUL byte, which PostgreSQL refuses, or an unpaired surrogate."""
    if "\0" in text:
        return False
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def parse_database_id(text: str) -> str:
    """The id of a Notion database as Notion writes it, or an empty text; raises ValueError.

    Takes the link of a database, too: its id is the last one before the question mark.
    """
    ids = find_notion_ids(text) if "/" in text else []
    try:
        return str(UUID(ids[-1] if ids else text)) if text else ""
    except ValueError:
        raise ValueError(say("paste the link of the database, or its id of 32 digits")) from None


def find_notion_ids(link: str) -> list[str]:
    return _NOTION_ID.findall(link.partition("?")[0])


def find_flaw(values: Mapping[str, object], *, most: int) -> str | None:
    """Why the values cannot be stored, as a sentence; `most` is the limit in bytes of JSON."""
    try:
        size = len(json.dumps(values, allow_nan=False))
    except (ValueError, RecursionError):
        return "Contains NaN or Infinity, or is nested too deeply."
    if size > most:
        return f"Has {size} bytes of JSON; at most {most} are allowed."
    return None if all(map(is_storable, _texts(values))) else UNSTORABLE


def _texts(values: object) -> Iterator[str]:
    remaining: list[object] = [values]
    while remaining:
        match remaining.pop():
            case str(text):
                yield text
            case list(items):
                remaining += items
            case dict(items):
                remaining += [*items.keys(), *items.values()]
            case _:
                pass
