"""Says what an import would do, and changes nothing."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import LiteralString

from django.db import transaction
from psycopg import sql as pg

from postledger.contacts import lists, sql
from postledger.contacts.importing import columns as headers
from postledger.contacts.importing import reading, running, staging
from postledger.contacts.importing.columns import Columns
from postledger.contacts.importing.problems import Problem
from postledger.contacts.importing.reading import Survey
from postledger.contacts.importing.rows import Sifted
from postledger.contacts.importing.seen import Seen
from postledger.observability import masking

_SAMPLES = 5


@dataclass(slots=True)
class Preview:
    """What would come of the rows of a file."""

    survey: Survey
    columns: Columns
    done: int = 0
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    duplicates: int = 0
    refused: int = 0
    blank: int = 0
    subscribed: int = 0
    kept_back: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)  # of the refused
    samples: list[str] = field(default_factory=list)  # of what would change

    @property
    def row_count(self) -> int:
        return self.survey.row_count


type Tell = Callable[[Preview], None]
type Keep = Callable[[Iterable[Problem]], None]


def preview(  # noqa: PLR0913  what an import takes, and who listens
    workspace_id: int,
    path: Path,
    *,
    mapping: Mapping[str, str],
    list_key: str | None = None,
    tell: Tell,
    keep: Keep,
) -> Preview:
    """Reads the whole file and compares it; `keep` is given the problems of each chunk.

    An external id that two new contacts of the file have is only found if they are near each
    other; the import itself finds all.
    """
    list_id = None if list_key is None else lists.named(workspace_id, list_key)
    survey = reading.survey(path)
    found = Preview(survey, headers.read(survey.header, mapping))
    seen = Seen()
    for _, sifted in running.prepared(path, survey, found.columns, byte=survey.body, row=2):
        with transaction.atomic():
            keep(_compare(workspace_id, list_id, found, sifted, seen=seen))
        tell(found)
    return found


# The same comparison as that of the import; what differs is told as before and after.
_DIFFERENCES: LiteralString = """
WITH compared (row_number, address, is_new, before, after) AS MATERIALIZED (
    SELECT staged.row_number, staged.address, c.id IS NULL,
           to_jsonb(before) - array(SELECT key FROM jsonb_each(to_jsonb(before)) AS b
                                    WHERE b.value = to_jsonb(after) -> b.key),
           to_jsonb(after)
    FROM contacts_staged AS staged
    LEFT JOIN LATERAL (
        SELECT * FROM contacts_contact
        WHERE workspace_id = %(workspace)s AND deleted_at IS NULL
          AND lower(address) COLLATE "C" = lower(staged.address) COLLATE "C"
        OFFSET 0
    ) AS c ON true
    CROSS JOIN LATERAL (
        SELECT c.name, c.from_name, c.locale, c.time_zone, c.attributes, c.ocd_ids
    ) AS before
    CROSS JOIN LATERAL (
        SELECT coalesce(nullif(staged.name, ''), c.name) AS name,
               coalesce(nullif(staged.from_name, ''), c.from_name) AS from_name,
               coalesce(nullif(staged.locale, ''), c.locale) AS locale,
               coalesce(nullif(staged.time_zone, ''), c.time_zone) AS time_zone,
               c.attributes || staged.attributes AS attributes,
               CASE WHEN staged.places = '' THEN c.ocd_ids
                    ELSE string_to_array(staged.places, ' ') END AS ocd_ids
    ) AS after
)
SELECT count(*) FILTER (WHERE is_new), count(*) FILTER (WHERE NOT is_new AND before <> '{}'),
       (SELECT array_agg(told) FROM (
            SELECT ARRAY[row_number::text, address, before::text, after::text] AS told
            FROM compared WHERE NOT is_new AND before <> '{}'
            ORDER BY row_number LIMIT %(samples)s
       ) AS told)
FROM compared
"""
_FORGET = pg.SQL("""
WITH {stood}
DELETE FROM contacts_staged AS staged USING stood
WHERE stood.is_forgotten AND staged.row_number = stood.row_number
RETURNING staged.row_number
""").format(stood=staging.STOOD)
_STANDING = pg.SQL("""
WITH {stood}
SELECT NULL::bigint, NULL::text, count(*)::text FROM stood
WHERE kept_back IS NULL AND subscription IS NULL
UNION ALL
SELECT row_number, address, kept_back FROM stood WHERE kept_back IS NOT NULL
""").format(stood=staging.STOOD)


def _compare(
    workspace_id: int, list_id: int | None, found: Preview, sifted: Sifted, *, seen: Seen
) -> list[Problem]:
    lines, duplicates = staging.repeated(seen, found.columns, sifted.lines)
    staging.fill(lines)
    taken = staging.taken_ids(workspace_id, found.columns)
    known = {"workspace": workspace_id, "list": list_id}
    forgotten = staging.forgotten(found.columns, sql.rows(_FORGET, known))
    _count(workspace_id, found, len(lines) - len(taken) - len(forgotten))
    kept_back = _standing(workspace_id, list_id, found)
    refused = [*sifted.problems, *taken, *forgotten]
    found.duplicates += len(duplicates)
    found.refused += len(refused)
    found.reasons.update(one.problem for one in refused)
    found.blank += sifted.blank_count
    found.done += len(sifted.lines) + len(sifted.problems) + sifted.blank_count
    return [*refused, *duplicates, *kept_back]


def _count(workspace_id: int, found: Preview, staged: int) -> None:
    params = {"workspace": workspace_id, "samples": _SAMPLES - len(found.samples)}
    [(created, updated, samples)] = sql.rows(_DIFFERENCES, params)
    found.created += created
    found.updated += updated
    found.unchanged += staged - created - updated
    for row, address, before, after in samples or ():
        found.samples.append(_sample(row, address, before, after))


def _sample(row: str, address: str, before: str, after: str) -> str:
    old, new = json.loads(before), json.loads(after)
    changes = "; ".join(f"{key}: {old[key]!r} → {new[key]!r}" for key in sorted(old))
    return f"row {row}, {masking.mask_text(address)}: {changes}"


def _standing(workspace_id: int, list_id: int | None, found: Preview) -> list[Problem]:
    if list_id is None:
        return []
    told = sql.rows(_STANDING, {"workspace": workspace_id, "list": list_id})
    found.subscribed += sum(int(word) for row, _, word in told if row is None)
    kept_back = [one for one in told if one[0] is not None]
    found.kept_back.update(reason for _, _, reason in kept_back)
    return staging.kept_back(found.columns, kept_back)
