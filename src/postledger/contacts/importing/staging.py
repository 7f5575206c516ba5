"""The rows of one chunk inside the database: brought there, and those sorted out that only the
database can judge. It all belongs to a session, and is gone when a transaction ends.
"""

from collections.abc import Sequence
from typing import LiteralString

from django.db import connection
from psycopg import sql as pg

from postledger.contacts import sql
from postledger.contacts.importing.columns import Columns, Field
from postledger.contacts.importing.problems import Problem
from postledger.contacts.importing.rows import Sifted

SEEN = pg.Identifier("contacts_importedrow")
# A dry run remembers the addresses of a file for itself.
SEEN_BY_DRY_RUN = pg.Identifier("contacts_dry_run")

_STAGE: LiteralString = """
CREATE TEMPORARY TABLE IF NOT EXISTS contacts_staged (
    row_number bigint, address text, external_id text, name text, from_name text, locale text,
    time_zone text, attributes jsonb, places text
) ON COMMIT DELETE ROWS;
TRUNCATE contacts_staged
"""
_DRY: LiteralString = """
CREATE TEMPORARY TABLE IF NOT EXISTS contacts_dry_run (
    import_id bigint, address_hash bytea, row_number bigint, PRIMARY KEY (import_id, address_hash)
);
TRUNCATE contacts_dry_run
"""


def open_dry_run() -> None:
    sql.changed(_DRY, {})


def fill(sifted: Sifted) -> None:
    """Brings the rows of a chunk into the database; the caller's transaction is their lifetime."""
    sql.changed(_STAGE, {})
    # Compiling statements of this size takes longer than executing them.
    sql.changed("SET LOCAL jit = off", {})
    with connection.cursor() as cursor, cursor.copy("COPY contacts_staged FROM STDIN") as copy:
        copy.write(sifted.lines)


def sort_out(
    workspace_id: int, import_id: int, columns: Columns, *, seen: pg.Identifier, staged: int
) -> tuple[list[Problem], list[Problem]]:
    """Takes rows away that repeat an address of the file, and those whose id is another's."""
    duplicates = _duplicates(import_id, columns, seen=seen, staged=staged)
    refused = _taken_ids(workspace_id, columns) if Field.EXTERNAL_ID in columns.fields else []
    return duplicates, refused


_NOTE = pg.SQL("""
INSERT INTO {seen} (import_id, address_hash, row_number)
SELECT %(import)s, contacts_fingerprint((SELECT salt FROM contacts_salt), address), row_number
FROM contacts_staged ORDER BY row_number
ON CONFLICT DO NOTHING
""")
_REPEATED = pg.SQL("""
DELETE FROM contacts_staged AS staged USING {seen} AS seen
WHERE seen.import_id = %(import)s AND seen.row_number <> staged.row_number
  AND seen.address_hash
      = contacts_fingerprint((SELECT salt FROM contacts_salt), staged.address)
RETURNING staged.row_number, staged.address, seen.row_number
""")


def _duplicates(
    import_id: int, columns: Columns, *, seen: pg.Identifier, staged: int
) -> list[Problem]:
    """The first row of an address wins, whatever its capitals, as PostgreSQL compares them."""
    params = {"import": import_id}
    if sql.changed(_NOTE.format(seen=seen), params) == staged:
        return []
    return [
        Problem.masked(
            row,
            columns.header[columns.fields[Field.EMAIL]],
            address,
            f"Row {first} has the same address, and the first one counts.",
            "Take one of the two rows away.",
        )
        for row, address, first in sql.rows(_REPEATED.format(seen=seen), params)
    ]


# Only a new contact is given an external id, so only there can it be another's.
_TAKEN: LiteralString = """
WITH new AS MATERIALIZED (
    SELECT staged.row_number, staged.external_id,
           row_number() OVER (PARTITION BY staged.external_id ORDER BY staged.row_number) AS place
    FROM contacts_staged AS staged
    WHERE staged.external_id <> '' AND NOT EXISTS (
        SELECT FROM contacts_contact AS c
        WHERE c.workspace_id = %(workspace)s AND c.deleted_at IS NULL
          AND lower(c.address) COLLATE "C" = lower(staged.address) COLLATE "C"
    )
), taken AS MATERIALIZED (
    SELECT row_number FROM new
    WHERE place > 1 OR EXISTS (
        SELECT FROM contacts_contact AS c
        WHERE c.workspace_id = %(workspace)s AND c.deleted_at IS NULL
          AND c.external_id = new.external_id
    )
)
DELETE FROM contacts_staged AS staged USING taken WHERE staged.row_number = taken.row_number
RETURNING staged.row_number, staged.external_id
"""


def _taken_ids(workspace_id: int, columns: Columns) -> list[Problem]:
    return [
        Problem.masked(
            row,
            columns.header[columns.fields[Field.EXTERNAL_ID]],
            external_id,
            "Another contact has this external id already.",
            "Give each person an id of their own, or change that contact's address.",
        )
        for row, external_id in sql.rows(_TAKEN, {"workspace": workspace_id})
    ]


# How each staged row stands towards mail, to the list or without one to all: what keeps it back,
# and the subscription that is there. The look-ups stay look-ups (OFFSET 0), however large the
# tables are.
STOOD = pg.SQL("""
stood AS MATERIALIZED (
    SELECT staged.row_number, staged.address, contact.id, subscription.state AS subscription,
           coalesce(
               CASE WHEN contact.state <> 'active' THEN contact.state END,
               kept.reason,
               CASE WHEN subscription.state IN ('unsubscribed', 'suppressed')
                    THEN subscription.state END
           ) AS kept_back
    FROM contacts_staged AS staged
    LEFT JOIN LATERAL (
        SELECT id, state FROM contacts_contact
        WHERE workspace_id = %(workspace)s AND deleted_at IS NULL
          AND lower(address) COLLATE "C" = lower(staged.address) COLLATE "C"
        OFFSET 0
    ) AS contact ON true
    LEFT JOIN LATERAL (
        SELECT reason FROM contacts_suppression
        WHERE workspace_id = %(workspace)s AND address_hash = contacts_fingerprint(
              (SELECT salt FROM contacts_salt), staged.address
          )
          AND (list_id IS NULL OR list_id = %(list)s)
        ORDER BY list_id NULLS FIRST LIMIT 1
    ) AS kept ON true
    LEFT JOIN LATERAL (
        SELECT state FROM contacts_subscription
        WHERE contact_id = contact.id AND list_id = %(list)s
        OFFSET 0
    ) AS subscription ON true
)
""")

_KEPT_BACK = {
    "unsubscribed": "Its owner has left, and is not subscribed again.",
    "bounced": "The address takes no mail, and is not subscribed.",
    "complained": "Its owner called our mail spam, and is not subscribed.",
    "by_hand": "Somebody of the workspace keeps the address back.",
    "suppressed": "The address is kept back from the list.",
}


def kept_back(columns: Columns, found: Sequence[sql.Row]) -> list[Problem]:
    """What is said of rows (number, address, reason) whose contact is not subscribed."""
    return [
        Problem.masked(
            row,
            columns.header[columns.fields[Field.EMAIL]],
            address,
            _KEPT_BACK[reason],
            "Nothing: an import never brings back who has left. Only they can, or an operator.",
        )
        for row, address, reason in found
    ]
