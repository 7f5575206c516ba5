"""What there is to say of the matched rows of a chunk: who is kept back, who chose otherwise here,
and what the rows replace.
"""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import LiteralString

from psycopg import sql as pg

from postledger.accounts import queries as account_queries
from postledger.contacts import reach, sql
from postledger.contacts.csv_columns import PARTS_OF_NAME, Field
from postledger.contacts.filter_sql import NUMBER
from postledger.imports.columns import Columns
from postledger.imports.old_states import OldState
from postledger.imports.problems import RowProblem
from postledger.lib.sentences import say
from postledger.providers import addresses


class OwnChoice(StrEnum):
    """What a person of the file did here, and what the import makes of it."""

    RETURNING = "returning"  # left every list they were on; they would be on one again
    CONFIRMED = "confirmed"  # nothing
    LEFT = "left"  # nothing
    ENDED = "ended"  # confirmed here; the file says that the mail of the old tool ended


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


# A name that did not have the part before was another one for the person, as a nickname.
_LEFT_PARTS: LiteralString = """
SELECT matched.row_number, matched.name, part.key
FROM contacts_matched AS matched
CROSS JOIN LATERAL (
    SELECT name, attributes FROM contacts_contact WHERE id = matched.id OFFSET 0
) AS contact
CROSS JOIN LATERAL jsonb_each_text(contact.attributes) AS part
WHERE matched.differs AND NOT matched.is_new AND matched.name NOT IN ('', contact.name)
  AND part.key = ANY(%(parts)s) AND part.value <> '' AND NOT matched.attributes ? part.key
  AND strpos(lower(contact.name), lower(part.value)) > 0
  AND strpos(lower(matched.name), lower(part.value)) = 0
ORDER BY matched.row_number, part.key
"""


def find_left_parts(columns: Columns) -> list[RowProblem]:
    """The matched rows whose name replaces one of which a contact's attribute keeps a part.

    That part is not quoted: an erasure finds problems by the name of the contact.
    """
    if Field.NAME not in columns.fields:
        return []
    return [
        RowProblem.quoting(
            row,
            columns.name_of(Field.NAME),
            name,
            say(
                "The name changes, and the attribute %(key)s keeps a part of the old one: an email"
                " that greets by it has the old name.",
                key=key,
            ),
            say("Map a column to %(key)s, or correct the attribute of the contact.", key=key),
        )
        for row, name, key in sql.rows(_LEFT_PARTS, {"parts": list(map(str, PARTS_OF_NAME))})
    ]


_WITHOUT_DOT: LiteralString = """
SELECT row_number, address FROM contacts_matched WHERE address NOT LIKE '%%@%%.%%'
ORDER BY row_number
"""


def find_without_ending(columns: Columns, workspace_id: int) -> list[RowProblem]:
    """The matched rows with a domain such as gmail, at which the workspace has no sender."""
    rows = sql.rows(_WITHOUT_DOT, {})
    known = [sender.address for sender in account_queries.senders(workspace_id)] if rows else []
    column = columns.name_of(Field.EMAIL)
    problem = say(
        "The address has no ending, such as .com: a part of it may be missing. Only a mail server"
        " of your own network takes email to it."
    )
    remedy = say(
        "The row is imported all the same: correct the address in the file before, or that of the"
        " contact afterwards."
    )
    return [
        RowProblem.quoting(row, column, address, problem, remedy)
        for row, address in rows
        if addresses.lacks_ending(address, known=known)
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
        pg.SQL("statement_timestamp()"),
        pg.SQL("NOT contact.is_new AND s.list_id <> %(list)s"),
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
