"""The letters of a stream, and which of them each variant of its recipients gets.

Recipients share a variant if they read the same language, or live in the same of the places that
the slices distinguish. The letter of a variant is made once.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import sha256

from django.db.models import Max

from postledger.accounts import queries as accounts
from postledger.contacts.unsubscribe_links import GENERAL
from postledger.content import letters
from postledger.content.locales import MissingLocaleError
from postledger.content.rendering.letter import Script
from postledger.content.slices import SubjectRequiredError
from postledger.deliveries import ledger
from postledger.deliveries.entries import Body
from postledger.lib.errors import RefusedError, TooManyRequestsError
from postledger.lib.sentences import say
from postledger.mailing import snapshot
from postledger.mailing.chunks import Exclusion
from postledger.mailing.models import LetterStream, Variant
from postledger.mailing.snapshot import ByLocale, ByPlaces, LetterChoice

MAX_LETTERS = 32_767  # the range of a delivery's letter number


# What a test says of itself: to people, and to programs such as filters of a mailbox.
TEST_PREFIX = "[Test] "
TEST_HEADERS: Mapping[str, str] = {"X-Postledger-Test": "yes"}


class TooManyLettersError(RefusedError):
    code = "too_many_letters"


def add_letter(stream: LetterStream, number: int, script: Script) -> None:
    """Stores a letter under its number in the stream.

    Without a list, its recipients unsubscribe from everything that the workspace sends.
    """
    if stream.is_test:
        script = replace(script, subject_prefix=TEST_PREFIX)
    body = Body(
        subject=script.subject_prefix + script.subject,
        letter=letters.keep(stream.workspace_id, script),
        list_key=stream.list_key or GENERAL,
        request_id=stream.request_id,
        headers=TEST_HEADERS if stream.is_test else None,
    )
    ledger.add_letters(stream.id, {number: body})


def digest_variant(variant: str) -> bytes:
    """The key of a variant, however many places it names; chunks computes the same in SQL."""
    return sha256(variant.encode()).digest()


def resolve_letters(
    stream: LetterStream, choice: LetterChoice, variants: Collection[str], *, launched_at: datetime
) -> Mapping[str, int | None]:
    """The letter numbers of these variants; missing letters are made now, as of the launch."""
    digests = list(map(digest_variant, variants))
    stored = Variant.objects.filter(stream_id=stream.id, digest__in=digests)
    numbers = dict(stored.values_list("variant", "letter"))
    missing = sorted(set(variants) - numbers.keys())
    if not missing:
        return numbers
    if isinstance(choice, ByLocale):
        created = [_resolve_locale(stream, choice, locale) for locale in missing]
    else:
        created = _resolve_places(stream, choice, missing, launched_at)
    Variant.objects.bulk_create(created)
    return numbers | {variant.variant: variant.letter for variant in created}


def _resolve_locale(stream: LetterStream, choice: ByLocale, locale: str) -> Variant:
    try:
        number = snapshot.choose_letter(choice, locale)
    except MissingLocaleError:
        return _variant(stream, locale, code=Exclusion.MISSING_LOCALE.value)
    return _variant(stream, locale, number)


def _resolve_places(
    stream: LetterStream, choice: ByPlaces, variants: list[str], launched_at: datetime
) -> list[Variant]:
    footer = letters.require_footer(accounts.organisation(stream.workspace_id))
    stored = Variant.objects.filter(stream_id=stream.id)
    highest = stored.aggregate(highest=Max("letter"))["highest"]
    number = -1 if highest is None else highest
    created: list[Variant] = []
    for variant in variants:
        try:
            script = snapshot.assemble_letter(
                stream.workspace_id, choice, variant.split(), footer=footer, now=launched_at
            )
        except SubjectRequiredError:
            created.append(_variant(stream, variant, code=Exclusion.SUBJECT_REQUIRED.value))
            continue
        except TooManyRequestsError:
            raise  # says nothing about the letter
        except RefusedError:
            created.append(_variant(stream, variant, code=Exclusion.INVALID_TEMPLATE.value))
            continue
        number += 1
        if number > MAX_LETTERS:
            raise TooManyLettersError(
                say(
                    "The audience needs more than %(most)s different letters, the limit"
                    " of one run. Give slices to fewer places, or send to parts of the"
                    " audience.",
                    most=MAX_LETTERS,
                )
            )
        add_letter(stream, number, script)
        created.append(_variant(stream, variant, number))
    return created


def _variant(
    stream: LetterStream, variant: str, letter: int | None = None, *, code: str = ""
) -> Variant:
    digest = digest_variant(variant)
    return Variant(stream_id=stream.id, digest=digest, variant=variant, letter=letter, code=code)
