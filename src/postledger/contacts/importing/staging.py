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
from postledger.contacts.importing.rows import Line
from postledger.contacts.importing.seen import Seen

_STAGE: LiteralString = """
CREATE TEMPORARY TABLE IF NOT EXISTS contacts_staged (
    row_number bigint, address text, external_id text, name text, from_name text, locale text,
    time_zone text, attributes jsonb, places text
) ON COMMIT DELETE ROWS;
TRUNCATE contacts_staged
"""


def repeated(seen: Seen, columns: Columns, lines: list[Line]) -> tuple[list[Line], list[Problem]]:
    """The rows of a chunk without those whose address the file had before, and these.

    The first row of an address wins, whatever its capitals, as PostgreSQL compares them.
    """
    found = seen.repeated(lines)
    if not found:
        return lines, []
    header = columns.header[columns.fields[Field.EMAIL]]
    duplicates = [
        Problem.masked(
            row,
            header,
            text.partition("\t")[0],
            f"Row {found[row]} has the same address, and the first one counts.",
            "Take one of the two rows away.",
        )
        for row, text in lines
        if row in found
    ]
    return [line for line in lines if line[0] not in found], duplicates


def fill(lines: list[Line]) -> None:
    """Brings the rows of a chunk into the database; the caller's transaction is their lifetime."""
    sql.changed(_STAGE, {})
    # Compiling statements of this size takes longer than executing them.
    sql.changed("SET LOCAL jit = off", {})
    with connection.cursor() as cursor, cursor.copy("COPY contacts_staged FROM STDIN") as copy:
        copy.write("".join([f"{row}\t{text}\n" for row, text in lines]).encode())


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


def taken_ids(workspace_id: int, columns: Columns) -> list[Problem]:
    """Takes rows away whose external id is another contact's."""
    if Field.EXTERNAL_ID not in columns.fields:
        return []
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


# How each staged row stands towards mail, to the list or without one to all: the contact it meets
# and whether the row says something new of it, what keeps it back, and the subscription that is
# there; or that its owner was forgotten, of whose address only a hash is left. The look-ups stay
# look-ups (OFFSET 0), however large the tables are. Of what keeps an address back the word on all
# mail comes first: NULL is the largest list. In the order of the addresses, so that neighbours are
# looked up together, and lie together once they are contacts.
STOOD = pg.SQL("""
stood AS (
    SELECT staged.*, contact.id AS contact_id, subscription.state AS subscription,
           staged.name NOT IN ('', contact.name)
               OR coalesce(nullif(staged.from_name, ''), contact.from_name)
                  IS DISTINCT FROM contact.from_name
               OR coalesce(nullif(staged.locale, ''), contact.locale)
                  IS DISTINCT FROM contact.locale
               OR coalesce(nullif(staged.time_zone, ''), contact.time_zone)
                  IS DISTINCT FROM contact.time_zone
               OR staged.places <> '' AND string_to_array(staged.places, ' ') <> contact.ocd_ids
               OR contact.attributes || staged.attributes <> contact.attributes AS differs,
           contact.id IS NULL AND kept.is_unnamed IS TRUE AS is_forgotten,
           contact.is_unconfirmed,
           kept.reason AS reason, kept.list_id IS NULL AND kept.has_left AS has_left,
           kept.list_id IS NULL AS is_general,
           coalesce(
               CASE WHEN contact.state <> 'active' THEN contact.state END,
               kept.reason,
               CASE WHEN subscription.state IN ('unsubscribed', 'suppressed')
                    THEN subscription.state END
           ) AS kept_back
    FROM (
        SELECT *, lower(address) COLLATE "C" AS lowered FROM contacts_staged ORDER BY lowered
    ) AS staged
    LEFT JOIN LATERAL (
        SELECT id, state, is_unconfirmed, name, from_name, locale, time_zone, attributes, ocd_ids
        FROM contacts_contact
        WHERE workspace_id = %(workspace)s AND deleted_at IS NULL
          AND lower(address) COLLATE "C" = staged.lowered
        OFFSET 0
    ) AS contact ON true
    LEFT JOIN LATERAL (
        SELECT reason, has_left, list_id, list_id IS NULL AND address IS NULL AS is_unnamed
        FROM contacts_suppression
        WHERE workspace_id = %(workspace)s AND address_hash = contacts_fingerprint(
              (SELECT salt FROM contacts_salt), staged.address
          )
          AND (list_id IS NULL OR list_id = %(list)s)
        ORDER BY list_id DESC LIMIT 1
    ) AS kept ON true
    LEFT JOIN LATERAL (
        SELECT state FROM contacts_subscription
        WHERE contact_id = contact.id AND list_id = %(list)s
        OFFSET 0
    ) AS subscription ON true
)
""")


def forgotten(columns: Columns, found: Sequence[sql.Row]) -> list[Problem]:
    """What is said of rows (number alone) whose owner asked to be forgotten; not who that was."""
    return [
        Problem.masked(
            row,
            columns.header[columns.fields[Field.EMAIL]],
            "",
            "Its owner asked to be forgotten here, and is not imported.",
            "Take the row out of the file, and out of where the file comes from.",
        )
        for (row,) in found
    ]


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
