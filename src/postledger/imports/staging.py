"""One chunk's rows in temporary tables, matched with the file's earlier rows and the contacts.

The rows of a chunk are gone when its transaction ends. The addresses of the file stay in the
session, so that a repeated one is found however far apart the rows are. They take disk space and
not memory.
"""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import LiteralString

from django.db import connection
from psycopg import sql as pg

from postledger.contacts import details, reach, sql, suppressions
from postledger.contacts.csv_columns import Field
from postledger.contacts.filter_sql import NUMBER
from postledger.imports.columns import Columns
from postledger.imports.old_states import OldState
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


class OwnChoice(StrEnum):
    """What a person of the file did here, and what the import makes of it."""

    RETURNING = "returning"  # left every list they were on; they would be on one again
    CONFIRMED = "confirmed"  # nothing
    LEFT = "left"  # nothing
    ENDED = "ended"  # confirmed here; the file says that the mail of the old tool ended


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


# The look-up stays one: the statistics of a temporary table say nothing.
_LOST_NUMBERS = pg.SQL("""
SELECT matched.row_number, stored.key, matched.attributes ->> stored.key
FROM contacts_matched AS matched
CROSS JOIN LATERAL (
    SELECT attributes FROM contacts_contact WHERE id = matched.id OFFSET 0
) AS contact
CROSS JOIN LATERAL jsonb_each(contact.attributes) AS stored
WHERE matched.differs AND NOT matched.is_new AND jsonb_typeof(stored.value) = 'number'
  AND matched.attributes ? stored.key AND ({number}) IS NULL
ORDER BY matched.row_number, stored.key
""").format(
    number=pg.SQL(NUMBER).format(attributes=pg.SQL("matched.attributes"), key=pg.SQL("stored.key"))
)


def find_lost_numbers(columns: Columns) -> list[RowProblem]:
    """The matched rows whose text is about to replace a number of a contact."""
    if not columns.attributes:
        return []
    names = {key: columns.header[index] for key, index in columns.attributes}
    problem = say(
        "The contact has a number in this attribute, and the cell is not a number. It is stored as"
        " a text, so conditions such as “is over” no longer find the contact."
    )
    remedy = say("Write digits alone, such as 1200 or 12.5, and import the row again.")
    return [
        RowProblem.quoting(row, names[key], text, problem, remedy)
        for row, key, text in sql.rows(_LOST_NUMBERS, {})
    ]


_KEPT_BACK: LiteralString = """
SELECT row_number, address, kept_back, is_new FROM contacts_matched WHERE kept_back IS NOT NULL
ORDER BY row_number
"""
_REASONS = {
    "unsubscribed": say("This person unsubscribed, and is not subscribed again."),
    "bounced": say("The address bounced, and is not subscribed."),
    "complained": say("This person reported our mail as spam, and is not subscribed."),
    "by_hand": say("The workspace suppresses the address."),
    "suppressed": say("The address is suppressed for the list."),
    OldState.NOT_SUBSCRIBED: say(
        "This person was not subscribed in your old tool, or had not confirmed there, and is not"
        " subscribed. The contact was here before, and stays as it was."
    ),
    OldState.UNSUBSCRIBED: say("This person unsubscribed in your old tool."),
    OldState.COMPLAINED: say("This person reported mail from your old tool as spam."),
    OldState.BOUNCED: say("The address bounced in your old tool."),
}
_ENDS = {"unsubscribed", "bounced", "complained"}
_UNCONFIRMED = say(
    "This person was not subscribed in your old tool, or had not confirmed there. The contact is"
    " created as not confirmed: no campaign reaches it, also none to all contacts."
)
_CONFIRM = say(
    "No action needed. Campaigns reach the contact once the person confirms a list, or you"
    " subscribe them to one."
)


def find_kept_back(
    columns: Columns, reported: Mapping[str, OldState]
) -> tuple[Counter[str], list[RowProblem]]:
    """The matched rows whose contact must not be subscribed: how many by reason, and each.

    `reported` are the ends that the file reports: also by a row that repeats an address, which has
    ended the mail by now.
    """
    kept_back = [
        (row, address, reported.get(address.lower(), reason) if reason in _ENDS else reason, is_new)
        for row, address, reason, is_new in sql.rows(_KEPT_BACK, {})
    ]
    column = columns.name_of(Field.EMAIL)
    remedy = say(
        "No action needed. Imports do not resubscribe people; the person or an operator can."
    )
    return Counter(reason for _, _, reason, _ in kept_back), [
        RowProblem.quoting(row, column, address, _UNCONFIRMED, _CONFIRM)
        if is_new and reason == OldState.NOT_SUBSCRIBED
        else RowProblem.quoting(row, column, address, _REASONS[reason], remedy)
        for row, address, reason, is_new in kept_back
        if reason != OldState.UNKNOWN  # its remark says more
    ]


# Of somebody who both confirmed and left, the later one counts.
_OWN_CHOICES: LiteralString = """
SELECT id, CASE
    WHEN kept_back = 'unsubscribed' THEN 'left'
    WHEN kept_back IN ('old_unsubscribed', 'old_complained', 'old_bounced') THEN 'ended'
    ELSE 'confirmed'
END
FROM contacts_matched AS matched
WHERE NOT is_new AND CASE
    WHEN kept_back = 'unsubscribed' THEN EXISTS (
        SELECT FROM contacts_consentevent WHERE contact_id = matched.id AND action = 'unsubscribed'
    )
    WHEN kept_back IS NULL OR starts_with(kept_back, 'old_') THEN 'confirmed' = (
        SELECT action FROM contacts_consentevent
        WHERE contact_id = matched.id AND action IN ('confirmed', 'unsubscribed')
        ORDER BY id DESC LIMIT 1
    )
END
ORDER BY row_number
"""


def find_own_choices() -> list[tuple[int, OwnChoice]]:
    """The matched contacts who confirmed or unsubscribed here by themselves."""
    return [(pk, OwnChoice(choice)) for pk, choice in sql.rows(_OWN_CHOICES, {})]


# The rule of campaigns to all contacts, as it was before the rows were merged. Who was deleted here
# and is made anew comes last: nobody can look at such a contact yet. A new contact is on no other
# list, so none is looked for: in a table that was empty before, a look-up can read the whole chunk.
_RETURNING = pg.SQL("""
SELECT contact.id FROM (
    SELECT matched.*, (
        SELECT former_addresses FROM contacts_contact WHERE id = matched.id
    ) AS former_addresses
    FROM contacts_matched AS matched
) AS contact {reach}
WHERE contact.kept_back IS NULL AND contact.subscription IS NULL AND reach.kept_back = {left}
ORDER BY contact.is_new, contact.row_number
""").format(
    reach=reach.join_reach(
        pg.SQL("statement_timestamp()"), pg.SQL("NOT contact.is_new AND s.list_id <> %(list)s")
    ),
    left=pg.Literal(reach.LEFT_EVERY_LIST),
)


def find_returning(workspace_id: int, list_id: int) -> list[tuple[int, OwnChoice]]:
    """The matched people who left every list they were on, and are put on this one."""
    rows = sql.rows(_RETURNING, {"workspace": workspace_id, "list": list_id})
    return [(pk, OwnChoice.RETURNING) for (pk,) in rows]


# Of few contacts, and read once for a file: asked for each chunk, the index of former addresses is
# slower than everything else. Whoever was erased or deleted is not among them.
_CREATE_FORMER: LiteralString = """
CREATE TEMPORARY TABLE IF NOT EXISTS contacts_former_address (address text PRIMARY KEY);
TRUNCATE contacts_former_address
"""
_COLLECT_FORMER: LiteralString = """
INSERT INTO contacts_former_address
SELECT DISTINCT former.address
FROM contacts_contact AS c CROSS JOIN unnest(c.former_addresses) AS former (address)
WHERE c.workspace_id = %(workspace)s AND c.deleted_at IS NULL AND c.former_addresses IS NOT NULL
"""
_FORMER: LiteralString = """
SELECT row_number, matched.address FROM contacts_matched AS matched
WHERE is_new AND lower(matched.address) IN (SELECT address FROM contacts_former_address)
"""


def collect_former(workspace_id: int) -> None:
    """Prepares `find_former` for the chunks of a file."""
    sql.execute(_CREATE_FORMER, {})
    sql.execute(_COLLECT_FORMER, {"workspace": workspace_id})


def find_former(columns: Columns) -> list[RowProblem]:
    """The matched rows that make a contact of an address that another one had before."""
    column = columns.name_of(Field.EMAIL)
    problem = say("This was the address of a contact that has another one now.")
    remedy = say(
        "The row makes a second contact: remove it if it is the same person. The search of contacts"
        " finds them by this address."
    )
    return [
        RowProblem.quoting(row, column, address, problem, remedy)
        for row, address in sql.rows(_FORMER, {})
    ]


def find_changed(limit: int) -> dict[int, int]:
    """The first contacts that the matched rows change: their ids, each with its row."""
    statement: LiteralString = """
        SELECT id, row_number FROM contacts_matched WHERE differs AND NOT is_new
        ORDER BY row_number LIMIT %(limit)s
    """
    return dict(sql.rows(statement, {"limit": limit}))
