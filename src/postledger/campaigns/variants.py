"""Which letter of a run's stream serves whom: made once for each variant, and kept.

Recipients get one variant when they read the same language, or live in the same places as far as
the slices tell places apart.
"""

from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import ClassVar

from django.db.models import Max

from postledger.accounts import queries as accounts
from postledger.campaigns import frozen, letters_of_run
from postledger.campaigns.frozen import ByLocale, ByPlaces, Frozen
from postledger.campaigns.models import Run, Variant
from postledger.campaigns.states import Exclusion
from postledger.content import footing, letters
from postledger.content.locales import MissingLocaleError
from postledger.content.slices import SubjectRequiredError
from postledger.lib.errors import RefusedError

MOST_LETTERS = 32_767  # what a line of the books can tell apart


class TooManyLettersError(RefusedError):
    code: ClassVar[str] = "too_many_letters"


def digest(variant: str) -> bytes:
    """What a variant is looked up by, however many places it names."""
    return sha256(variant.encode()).digest()


def resolve(run: Run, chosen: Frozen, variants: Collection[str]) -> Mapping[str, int | None]:
    """The letters of these variants; those that are not there are made now."""
    there = Variant.objects.filter(run=run, digest__in=list(map(digest, variants)))
    known = dict(there.values_list("variant", "letter"))
    missing = sorted(set(variants) - known.keys())
    if not missing:
        return known
    made = _made(run, chosen, missing)
    Variant.objects.bulk_create(made)
    return known | {variant.variant: variant.letter for variant in made}


def _made(run: Run, chosen: Frozen, variants: list[str]) -> list[Variant]:
    match chosen:
        case ByLocale():
            return [_of_locale(run, chosen, locale) for locale in variants]
        case ByPlaces():
            return _of_places(run, chosen, variants)


def _of_locale(run: Run, chosen: ByLocale, locale: str) -> Variant:
    try:
        number = frozen.number_for(chosen, locale)
    except MissingLocaleError:
        return _made_one(run, locale, code=Exclusion.MISSING_LOCALE.value)
    return _made_one(run, locale, number)


def _of_places(run: Run, chosen: ByPlaces, variants: list[str]) -> list[Variant]:
    footer = footing.of(accounts.organisation(run.workspace_id))
    highest = Variant.objects.filter(run=run).aggregate(highest=Max("letter"))["highest"]
    number = -1 if highest is None else highest
    made: list[Variant] = []
    for variant in variants:
        try:
            script = frozen.assembled(chosen, variant.split(), footer=footer, now=run.launched_at)
        except RefusedError as refused:
            made.append(_made_one(run, variant, code=_code(refused)))
            continue
        number += 1
        if number > MOST_LETTERS:
            raise TooManyLettersError(
                f"The audience needs more than {MOST_LETTERS:,} different letters, which one run"
                " cannot carry. Give slices to fewer places, or send to parts of the audience."
            )
        kept = letters.keep(run.workspace_id, script)
        letters_of_run.add(run, number, kept, subject=script.subject)
        made.append(_made_one(run, variant, number))
    return made


def _made_one(run: Run, variant: str, letter: int | None = None, *, code: str = "") -> Variant:
    return Variant(run=run, digest=digest(variant), variant=variant, letter=letter, code=code)


def _code(refused: RefusedError) -> str:
    is_subject = isinstance(refused, SubjectRequiredError)
    return (Exclusion.SUBJECT_REQUIRED if is_subject else Exclusion.INVALID_TEMPLATE).value
