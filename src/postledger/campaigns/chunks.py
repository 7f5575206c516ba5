"""One chunk of an audience as a query: who gets which letter with which values, and who none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from django.db import connection
from psycopg import sql as pg
from psycopg.sql import Composable, Composed

from postledger.campaigns.frozen import ByLocale, ByPlaces, Frozen
from postledger.campaigns.states import Exclusion
from postledger.contacts.audience import Source
from postledger.deliveries import lineage as lineages


@dataclass(frozen=True, slots=True)
class Chunk:
    """People of a roll, for a run whose letters are chosen in this way."""

    people: Source
    chosen: Frozen
    scopes: Sequence[str]  # the places that slices tell apart
    stream_id: int  # of the run
    lineage: Sequence[int]  # the streams whose recipients are left out

    @property
    def has_one_letter(self) -> bool:
        """Then nobody's language or place makes a difference."""
        return isinstance(self.chosen, ByLocale) and (
            len(self.chosen.numbers) == 1 and bool(self.chosen.fallback)
        )


_VARIANTS = pg.SQL("SELECT DISTINCT {variant} FROM ({people}) AS roll WHERE roll.kept_back IS NULL")


def variants(chunk: Chunk) -> set[str]:
    """What its recipients are told apart by: each variant is served by one letter."""
    statement = _VARIANTS.format(variant=_variant(chunk.chosen), people=chunk.people.sql)
    with connection.cursor() as cursor:
        cursor.execute(statement.as_string(), _params(chunk))
        return {variant for (variant,) in cursor.fetchall()}


# One line for each, keyed by the address. A variant that came up since they were looked for has no
# letter yet, and whoever plans must look again.
_LINES = pg.SQL("""
SELECT roll.address, roll.place AS dedupe_key, roll.contact_id, {variables} AS variables,
       {letter} AS letter, coalesce(roll.kept_back, {tried}, {moved}, {unserved}) AS kept_back
FROM ({people}) AS roll {served}
ORDER BY roll.place
""")
UNKNOWN_VARIANT = "unknown_variant"
# By the digest, as variants.digest makes it: a text may be too long for an index.
_SERVED: LiteralString = """
LEFT JOIN campaigns_variant AS variant
  ON variant.run_id = %(run)s AND variant.digest = sha256(convert_to({variant}, 'UTF8'))
"""
_UNSERVED: LiteralString = """
CASE WHEN variant.letter IS NULL THEN coalesce(variant.code, 'unknown_variant') END
"""


def lines(chunk: Chunk, run_id: UUID) -> Source:
    """What the ledger plans, once the letters of all variants are there."""
    is_one = chunk.has_one_letter
    statement = _LINES.format(
        variables=_variables(chunk.chosen),
        letter=pg.SQL("0" if is_one else "variant.letter"),
        tried=_tried(chunk.lineage),
        moved=_already(_MOVED),
        unserved=pg.SQL("NULL" if is_one else _UNSERVED),
        served=pg.SQL("" if is_one else _SERVED).format(variant=_variant(chunk.chosen)),
        people=chunk.people.sql,
    )
    return Source(statement, {**_params(chunk), "run": run_id})


def _params(chunk: Chunk) -> dict[str, Any]:
    lists = {"scopes": list(chunk.scopes), "lineage": list(chunk.lineage)}
    mailed_in = [chunk.stream_id, *chunk.lineage]
    return {**chunk.people.params, **lists, "mailed_in": mailed_in}


# What fills a letter in: the name, who it comes from, and those attributes that it uses.
_KNOWN: LiteralString = """
jsonb_strip_nulls(jsonb_build_object('name', roll.name, 'from_name', roll.from_name{}))
"""


def _variables(chosen: Frozen) -> Composed:
    pairs = [
        pg.SQL(", {name}, roll.attributes -> {name}").format(name=pg.Literal(name))
        for name in chosen.names
        if name not in {"name", "from_name"}
    ]
    return pg.SQL(_KNOWN).format(pg.SQL("").join(pairs))


_PLACES: LiteralString = """
(
    SELECT coalesce(string_agg(DISTINCT place, ' ' ORDER BY place), '')
    FROM unnest(roll.ocd_ids) AS place WHERE place = ANY(%(scopes)s::text[])
)
"""


def _variant(chosen: Frozen) -> Composable:
    match chosen:
        case ByLocale():
            return pg.SQL("roll.locale")
        case ByPlaces():
            return pg.SQL(_PLACES)


_TRIED = pg.SQL(lineages.TRIED).format(place=pg.SQL("roll.place"))
_MOVED = pg.SQL(lineages.MAILED_BEFORE_MOVING).format(
    former=pg.SQL("roll.former_addresses"), contact=pg.SQL("roll.contact_id")
)


def _tried(lineage: Sequence[int]) -> Composable:
    return _already(_TRIED) if lineage else pg.SQL("NULL")


def _already(condition: Composable) -> Composable:
    word = pg.Literal(Exclusion.ALREADY_MAILED.value)
    return pg.SQL("CASE WHEN {} THEN {} END").format(condition, word)
