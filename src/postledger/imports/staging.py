"""One chunk's rows in temporary tables, matched with the file's earlier rows and the contacts.

The rows of a chunk are gone when its transaction ends. The addresses of the file stay in the
session, so that a repeated one is found however far apart the rows are. They take disk space and
not memory.
"""

from collections.abc import Mapping
from typing import LiteralString

from django.db import connection
from psycopg import sql as pg

from postledger.contacts import details, sql, suppressions
from postledger.contacts.csv_columns import Field
from postledger.imports.columns import Columns
from postledger.imports.problems import RowProblem
from postledger.lib.sentences import say

# An address is kept as a hash of 64 bits: among five million, two are taken for one with a chance
# of one in a million.
_CREATE_ADDRESSES: LiteralString = """
CREATE TEMPORARY TABLE IF NOT EXISTS contacts_file_address (
    address_hash bigint PRIMARY KEY, row_number bigint NOT NULL
);
TRUNCATE contacts_file_address
"""
_CREATE_STAGED: LiteralString = """
CREATE TEMPORARY TABLE IF NOT EXISTS contacts_staged (
    row_number bigint, address text, external_id text, name text, from_name text, locale text,
    time_zone text, attributes jsonb, places text, old_state text, has_part_of_name boolean
) ON COMMIT DELETE ROWS;
TRUNCATE contacts_staged
"""
# The first row of an address wins. Capitals make no difference, as PostgreSQL compares addresses.
_REMOVE_REPEATED: LiteralString = """
WITH first AS (
    INSERT INTO contacts_file_address AS earlier
    SELECT hashtextextended(lower(address), 0), min(row_number) FROM contacts_staged GROUP BY 1
    ON CONFLICT (address_hash) DO UPDATE SET row_number = earlier.row_number
    RETURNING address_hash, row_number
)
DELETE FROM contacts_staged AS staged USING first
WHERE first.address_hash = hashtextextended(lower(staged.address), 0)
  AND first.row_number <> staged.row_number
RETURNING staged.row_number, staged.address, first.row_number
"""


def forget_addresses() -> None:
    """Prepares for the first chunk of a file."""
    sql.execute(_CREATE_ADDRESSES, {})


def stage_rows(columns: Columns, lines: list[str]) -> list[RowProblem]:
    """Copies the rows of the file's next chunk; removes those that repeat an earlier address."""
    sql.execute(_CREATE_STAGED, {})
    # Compiling statements of this size takes longer than executing them.
    sql.execute("SET LOCAL jit = off", {})
    with connection.cursor() as cursor, cursor.copy("COPY contacts_staged FROM STDIN") as copy:
        copy.write("".join(lines).encode())
    column, remedy = columns.name_of(Field.EMAIL), say("Remove one of the two rows.")
    return [
        RowProblem.quoting(
            row,
            column,
            address,
            say("Row %(first)s has the same address, and the first row counts.", first=str(first)),
            remedy,
        )
        for row, address, first in sorted(sql.rows(_REMOVE_REPEATED, {}))
    ]


# Only a new contact is given an external id, so only there can it be another contact's.
_REMOVE_TAKEN: LiteralString = """
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


def remove_taken_ids(columns: Columns, workspace_id: int) -> list[RowProblem]:
    """Removes the rows whose external id is another contact's."""
    if Field.EXTERNAL_ID not in columns.fields:
        return []
    column = columns.name_of(Field.EXTERNAL_ID)
    problem = say("Another contact already has this external id.")
    remedy = say("Give each person an id of their own, or change that contact's address.")
    return [
        RowProblem.quoting(row, column, external_id, problem, remedy)
        for row, external_id in sql.rows(_REMOVE_TAKEN, {"workspace": workspace_id})
    ]


# Everything is looked up once, and a new contact is given its id here already: its subscription
# and the proof of it then need no look-up of their own.
_CREATE_MATCHED: LiteralString = """
CREATE TEMPORARY TABLE IF NOT EXISTS contacts_matched (
    row_number bigint, address text, external_id text, name text, from_name text, locale text,
    time_zone text, attributes jsonb, places text, id bigint, is_new boolean, differs boolean,
    is_erased boolean, has_too_much boolean, state text, subscription text, kept_back text,
    is_confirmed boolean, is_unconfirmed boolean
) ON COMMIT DELETE ROWS;
TRUNCATE contacts_matched
"""
# The look-ups stay look-ups (OFFSET 0), however large the tables are. They go in the order of the
# addresses, so that neighbours are looked up together, and lie together once they are contacts.
# Of two suppressions the one of all mail counts: NULL is the largest list. A suppression for the
# list alone leaves a new contact active. Of an erased person only the hash of the address is left.
# An old state that ended nothing leaves a subscription that there is here. A first name alone makes
# a name, but replaces none.
_MATCH = pg.SQL("""
INSERT INTO contacts_matched
SELECT staged.row_number, staged.address, nullif(staged.external_id, ''),
       CASE WHEN staged.has_part_of_name AND contact.name <> '' THEN '' ELSE staged.name END,
       nullif(staged.from_name, ''), nullif(staged.locale, ''), nullif(staged.time_zone, ''),
       staged.attributes, staged.places,
       coalesce(contact.id, nextval('contacts_contact_id_seq')), contact.id IS NULL,
       staged.name NOT IN ('', contact.name)
               AND (staged.has_part_of_name AND contact.name <> '') IS NOT TRUE
           OR coalesce(nullif(staged.from_name, ''), contact.from_name)
              IS DISTINCT FROM contact.from_name
           OR coalesce(nullif(staged.locale, ''), contact.locale) IS DISTINCT FROM contact.locale
           OR coalesce(nullif(staged.time_zone, ''), contact.time_zone)
              IS DISTINCT FROM contact.time_zone
           OR staged.places <> '' AND string_to_array(staged.places, ' ') <> contact.ocd_ids
           OR contact.attributes || staged.attributes <> contact.attributes,
       contact.id IS NULL AND suppression.is_unnamed IS TRUE,
       contact.id IS NOT NULL AND staged.attributes <> '{{}}' AND (
           octet_length((contact.attributes || staged.attributes)::text) > %(largest)s
           OR (
               SELECT count(*) FROM jsonb_object_keys(contact.attributes || staged.attributes)
           ) > %(most_keys)s
       ),
       CASE WHEN suppression.list_id IS NOT NULL THEN 'active' ELSE {implied_state} END,
       subscription.state, kept_back.reason,
       contact.is_unconfirmed IS TRUE AND %(list)s::bigint IS NOT NULL
           AND kept_back.reason IS NULL AND subscription.state IS NULL,
       contact.id IS NULL AND staged.old_state = 'old_not_subscribed'
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
    WHERE workspace_id = %(workspace)s
      AND address_hash = (SELECT contacts_fingerprint(%(hash_key)s::bytea, staged.address))
      AND (list_id IS NULL OR list_id = %(list)s)
    ORDER BY list_id DESC LIMIT 1
) AS suppression ON true
LEFT JOIN LATERAL (
    SELECT state FROM contacts_subscription
    WHERE contact_id = contact.id AND list_id = %(list)s
    OFFSET 0
) AS subscription ON true
CROSS JOIN LATERAL (
    SELECT coalesce(
        CASE WHEN staged.old_state IN ('old_unsubscribed', 'old_complained', 'old_bounced')
             THEN staged.old_state END,
        CASE WHEN contact.state <> 'active' THEN contact.state END,
        suppression.reason,
        CASE WHEN subscription.state IN ('unsubscribed', 'suppressed') THEN subscription.state END,
        CASE WHEN subscription.state IS NULL THEN nullif(staged.old_state, '') END
    ) AS reason
) AS kept_back
""").format(implied_state=suppressions.IMPLIED_STATE)
_REMOVE_ERASED: LiteralString = "DELETE FROM contacts_matched WHERE is_erased RETURNING row_number"
_REMOVE_TOO_MUCH: LiteralString = """
DELETE FROM contacts_matched WHERE has_too_much RETURNING row_number
"""


def match_contacts(columns: Columns, params: Mapping[str, object]) -> list[RowProblem]:
    """Fills contacts_matched with the staged rows; removes those of erased people, and those that
    would give a contact too many attributes.
    """
    sql.execute(_CREATE_MATCHED, {})
    limits = {"largest": details.LARGEST, "most_keys": details.MOST_KEYS}
    sql.execute(_MATCH, {**params, **limits})
    return [*_remove_erased(columns), *_remove_too_much()]


def _remove_erased(columns: Columns) -> list[RowProblem]:
    column, value = columns.name_of(Field.EMAIL), ""  # nothing that names an erased person
    problem = say("This person asked to be erased, and is not imported.")
    remedy = say("Remove the row from the file, and from the source of the file.")
    return [
        RowProblem.quoting(row, column, value, problem, remedy)
        for (row,) in sql.rows(_REMOVE_ERASED, {})
    ]


def _remove_too_much() -> list[RowProblem]:
    problem = say(
        "With those that it has, the contact would have more than %(most)s attributes, or more than"
        " %(largest)s bytes of them.",
        most=details.MOST_KEYS,
        largest=details.LARGEST,
    )
    remedy = say("Remove attributes of the contact first, or leave columns out.")
    return [
        RowProblem.quoting(row, "", "", problem, remedy)
        for (row,) in sql.rows(_REMOVE_TOO_MUCH, {})
    ]
