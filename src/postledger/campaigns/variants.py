"""Which letter of a run's stream serves whom: made once for each kind of recipient, and kept.

Recipients are of one kind when they read the same language, or live in the same places as far as
the slices tell places apart.
"""

from collections.abc import Collection, Mapping
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


def resolve(run: Run, chosen: Frozen, kinds: Collection[str]) -> Mapping[str, int | None]:
    """The letters of these kinds of recipients; those that are not there are made now."""
    there = Variant.objects.filter(run=run, variant__in=kinds)
    known = dict(there.values_list("variant", "letter"))
    missing = sorted(set(kinds) - known.keys())
    if not missing:
        return known
    made = _made(run, chosen, missing)
    Variant.objects.bulk_create(made)
    return known | {variant.variant: variant.letter for variant in made}


def _made(run: Run, chosen: Frozen, kinds: list[str]) -> list[Variant]:
    match chosen:
        case ByLocale():
            return [_of_locale(run, chosen, kind) for kind in kinds]
        case ByPlaces():
            return _of_places(run, chosen, kinds)


def _of_locale(run: Run, chosen: ByLocale, locale: str) -> Variant:
    try:
        number = frozen.number_for(chosen, locale)
    except MissingLocaleError:
        return Variant(run=run, variant=locale, code=Exclusion.MISSING_LOCALE.value)
    return Variant(run=run, variant=locale, letter=number, code="")


def _of_places(run: Run, chosen: ByPlaces, kinds: list[str]) -> list[Variant]:
    footer = footing.of(accounts.organisation(run.workspace_id))
    highest = Variant.objects.filter(run=run).aggregate(highest=Max("letter"))["highest"]
    number = -1 if highest is None else highest
    made: list[Variant] = []
    for kind in kinds:
        try:
            script = frozen.assembled(chosen, kind.split(), footer=footer, now=run.launched_at)
        except RefusedError as refused:
            made.append(Variant(run=run, variant=kind, code=_code(refused)))
            continue
        number += 1
        if number > MOST_LETTERS:
            raise TooManyLettersError(
                f"The audience needs more than {MOST_LETTERS:,} different letters, which one run"
                " cannot carry. Give slices to fewer places, or send to parts of the audience."
            )
        digest = letters.keep(run.workspace_id, script)
        letters_of_run.add(run, number, digest, subject=script.subject)
        made.append(Variant(run=run, variant=kind, letter=number, code=""))
    return made


def _code(refused: RefusedError) -> str:
    is_subject = isinstance(refused, SubjectRequiredError)
    return (Exclusion.SUBJECT_REQUIRED if is_subject else Exclusion.INVALID_TEMPLATE).value
