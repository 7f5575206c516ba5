"""One chunk of an audience as a query: the letter, values or exclusion of each recipient."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, LiteralString

from django.db import connection
from psycopg import sql as pg
from psycopg.sql import Composable, Composed

from postledger.contacts.audience import AudienceQuery
from postledger.deliveries import lineage as lineages
from postledger.mailing.snapshot import ByLocale, LetterChoice


class Exclusion(StrEnum):
    """Why a contact of an audience gets no mail; the audience walk has further reasons."""

    ALREADY_MAILED = "already_mailed"  # by a previous run, or by this one at a former address
    SUBJECT_REQUIRED = "subject_required"  # no slice for them has a title or a dek
    MISSING_LOCALE = "template_missing_locale"  # the template has no text in their language
    INVALID_TEMPLATE = "invalid_template"  # their letter could not be made


@dataclass(frozen=True, slots=True)
class Chunk:
    """Contacts of an audience, and how their letters in a stream are chosen."""

    people: AudienceQuery
    choice: LetterChoice
    places: Sequence[str]  # those that slices distinguish
    stream_id: int
    lineage: Sequence[int]  # the streams whose recipients are left out

    @property
    def has_one_letter(self) -> bool:
        """Whether all recipients get the same letter."""
        choice = self.choice
        return isinstance(choice, ByLocale) and len(choice.numbers) == 1 and bool(choice.fallback)


_VARIANTS = pg.SQL(
    "SELECT DISTINCT {variant} FROM ({people}) AS recipient WHERE recipient.kept_back IS NULL"
)


def list_variants(chunk: Chunk) -> set[str]:
    """The variants of its recipients; each variant gets one letter."""
    statement = _VARIANTS.format(variant=_variant_sql(chunk.choice), people=chunk.people.sql)
    with connection.cursor() as cursor:
        cursor.execute(statement.as_string(), _params(chunk))
        return {variant for (variant,) in cursor.fetchall()}


@dataclass(frozen=True, slots=True)
class VariantCount:
    """How many contacts of a chunk share a variant, and the reason why they get no mail."""

    kept_back: str | None  # None: none that the audience walk knows
    variant: str  # empty if all recipients get the same letter
    is_on_list: bool  # of a campaign to all contacts: some list
    count: int


_COUNTS = pg.SQL(
    "SELECT recipient.kept_back, {variant}, recipient.is_on_list, count(*)"
    " FROM ({people}) AS recipient GROUP BY 1, 2, 3"
)


def count_variants(chunk: Chunk) -> list[VariantCount]:
    statement = _COUNTS.format(variant=_shown_variant_sql(chunk), people=chunk.people.sql)
    with connection.cursor() as cursor:
        cursor.execute(statement.as_string(), _params(chunk))
        return [VariantCount(*row) for row in cursor.fetchall()]


@dataclass(frozen=True, slots=True)
class Recipient:
    contact_id: int
    address: str
    name: str
    kept_back: str | None
    variant: str
    sort_key: str


_PEOPLE = pg.SQL("""
SELECT recipient.contact_id, recipient.address, recipient.name, recipient.kept_back, {variant},
       recipient.address_key
FROM ({people}) AS recipient
WHERE recipient.kept_back IS NOT DISTINCT FROM %(kept_back)s::text
  AND ({variant} = ANY(%(variants)s::text[])) = %(is_among)s
ORDER BY recipient.address_key LIMIT %(size)s
""")


def list_people(
    chunk: Chunk, *, kept_back: str | None, variants: Sequence[str], is_among: bool, size: int
) -> list[Recipient]:
    """Some contacts of a chunk with one reason, or with none, whose variant is among those given,
    or is not.
    """
    statement = _PEOPLE.format(variant=_shown_variant_sql(chunk), people=chunk.people.sql)
    params = {"kept_back": kept_back, "variants": list(variants), "is_among": is_among}
    with connection.cursor() as cursor:
        cursor.execute(statement.as_string(), {**_params(chunk), **params, "size": size})
        return [Recipient(*row) for row in cursor.fetchall()]


def _shown_variant_sql(chunk: Chunk) -> Composable:
    return pg.SQL("''") if chunk.has_one_letter else _variant_sql(chunk.choice)


# One row for each contact, keyed by the address. A variant that appeared after list_variants has no
# letter yet: planning must start again.
_LINES = pg.SQL("""
SELECT recipient.address, recipient.address_key AS dedupe_key, recipient.contact_id,
       {variables} AS variables,
       {letter} AS letter, coalesce(recipient.kept_back, {tried}, {moved}, {unserved}) AS kept_back
FROM ({people}) AS recipient {served}
ORDER BY recipient.address_key
""")
UNKNOWN_VARIANT = "unknown_variant"
# By the digest of stream_letters.digest_variant: a variant may be too long for an index.
_SERVED: LiteralString = """
LEFT JOIN mailing_variant AS variant
  ON variant.stream_id = %(stream)s AND variant.digest = sha256(convert_to({variant}, 'UTF8'))
"""
_UNSERVED: LiteralString = """
CASE WHEN variant.letter IS NULL THEN coalesce(variant.code, 'unknown_variant') END
"""


def build_lines(chunk: Chunk) -> AudienceQuery:
    """The query that the ledger plans from; the letters of all variants must exist."""
    unserved = _unserved_sql(chunk)
    return _build_lines(chunk, tried=_tried_sql(unserved) if chunk.lineage else pg.SQL("NULL"))


# Those that this chunk plans again as soon as their failures are over.
_RECIPIENTS = pg.SQL("SELECT dedupe_key FROM ({lines}) AS line WHERE kept_back IS NULL")


def build_recipients(chunk: Chunk) -> AudienceQuery:
    """The query for the keys of the recipients, whether previous runs have tried them or not."""
    lines = _build_lines(chunk, tried=pg.SQL("NULL"))
    return AudienceQuery(_RECIPIENTS.format(lines=lines.sql), lines.params)


def _build_lines(chunk: Chunk, *, tried: Composable) -> AudienceQuery:
    is_one = chunk.has_one_letter
    statement = _LINES.format(
        variables=_variables_sql(chunk.choice),
        letter=pg.SQL("0" if is_one else "variant.letter"),
        tried=tried,
        moved=_exclude_if(_MOVED),
        unserved=_unserved_sql(chunk),
        served=pg.SQL("" if is_one else _SERVED).format(variant=_variant_sql(chunk.choice)),
        people=chunk.people.sql,
    )
    return AudienceQuery(statement, {**_params(chunk), "stream": chunk.stream_id})


def _unserved_sql(chunk: Chunk) -> Composable:
    return pg.SQL("NULL" if chunk.has_one_letter else _UNSERVED)


def _params(chunk: Chunk) -> dict[str, Any]:
    return {
        **chunk.people.params,
        "scopes": list(chunk.places),
        "lineage": list(chunk.lineage),
        "mailed_in": [chunk.stream_id, *chunk.lineage],
    }


# The variables of a letter: the name, the sender's name, and the attributes that it uses.
_VARIABLES: LiteralString = """
jsonb_strip_nulls(jsonb_build_object('name', recipient.name, 'from_name', recipient.from_name{}))
"""


def _variables_sql(choice: LetterChoice) -> Composed:
    pairs = [
        pg.SQL(", {name}, recipient.attributes -> {name}").format(name=pg.Literal(name))
        for name in choice.names
        if name not in {"name", "from_name"}
    ]
    return pg.SQL(_VARIABLES).format(pg.SQL("").join(pairs))


_READ_VARIABLES = pg.SQL("""
SELECT recipient.id, ({variables})::text FROM contacts_contact AS recipient
WHERE recipient.id = ANY(%(contacts)s::bigint[]) AND recipient.deleted_at IS NULL
""")


def read_variables(choice: LetterChoice, contact_ids: Sequence[int]) -> dict[int, str]:
    """The variables that these contacts have now, as JSON; deleted contacts are left out."""
    statement = _READ_VARIABLES.format(variables=_variables_sql(choice))
    with connection.cursor() as cursor:
        cursor.execute(statement.as_string(), {"contacts": list(contact_ids)})
        return dict(cursor.fetchall())


_PLACES: LiteralString = """
(
    SELECT coalesce(string_agg(DISTINCT place, ' ' ORDER BY place), '')
    FROM unnest(recipient.ocd_ids) AS place WHERE place = ANY(%(scopes)s::text[])
)
"""


def _variant_sql(choice: LetterChoice) -> Composable:
    return pg.SQL("recipient.locale" if isinstance(choice, ByLocale) else _PLACES)


_ADDRESS = pg.SQL("recipient.address_key")
_TRIED = pg.SQL(lineages.TRIED).format(address=_ADDRESS)
_ONLY_FAILED = pg.SQL(lineages.ONLY_FAILED).format(address=_ADDRESS)
_MOVED = pg.SQL(lineages.MAILED_BEFORE_MOVING).format(
    former=pg.SQL("recipient.former_addresses"), contact=pg.SQL("recipient.contact_id")
)


def _tried_sql(unserved: Composable) -> Composable:
    """A failure that stays one because the run has no letter for its recipient is called that."""
    return pg.SQL("CASE WHEN {tried} THEN coalesce({unserved}, {reason}) END").format(
        tried=_TRIED,
        unserved=pg.SQL("CASE WHEN {} THEN {} END").format(_ONLY_FAILED, unserved),
        reason=pg.Literal(Exclusion.ALREADY_MAILED.value),
    )


def _exclude_if(condition: Composable) -> Composable:
    reason = pg.Literal(Exclusion.ALREADY_MAILED.value)
    return pg.SQL("CASE WHEN {} THEN {} END").format(condition, reason)
