"""The contacts that a filter selects: counted, sampled, and walked through for a mailout.

The walk goes in chunks, by lower-case address in byte order, so that it can be continued.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import LiteralString

import psycopg
from django.db import OperationalError, transaction
from psycopg import sql as pg
from psycopg.sql import Composed

from postledger.accounts import hash_key
from postledger.contacts import filter_sql, lists, reach, sql
from postledger.contacts.counts import ContactCount
from postledger.contacts.filters import expressions
from postledger.contacts.filters.expressions import (
    All,
    Column,
    Comparison,
    Filter,
    InAllContacts,
    OnList,
    Op,
)
from postledger.contacts.models import Contact
from postledger.contacts.states import ContactState, SubscriptionState
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say

PATIENCE = timedelta(seconds=5)


class FilterTooCostlyError(RefusedError):
    code = "filter_too_costly"


@contextmanager
def limited_time(patience: timedelta = PATIENCE) -> Iterator[None]:
    """Ends each query after `patience`; a query outlives the client that asked for it.

    For those who wait for an answer. Planning is not limited: a launch must be able to finish.
    """
    try:
        with transaction.atomic():
            timeout = max(1, patience // timedelta(milliseconds=1))
            set_timeout = "SELECT set_config('statement_timeout', %(timeout)s::text, true)"
            sql.rows(set_timeout, {"timeout": timeout})
            yield
    except OperationalError as error:
        if not isinstance(error.__cause__, psycopg.errors.QueryCanceled):
            raise
        raise FilterTooCostlyError(
            say(
                "Finding these contacts took longer than %(seconds)s seconds. Narrow the"
                " filter, for instance by a list, or use fewer and simpler conditions.",
                seconds=f"{patience.total_seconds():g}",
            )
        ) from None


@dataclass(frozen=True, slots=True)
class AudienceQuery:
    """A query and its parameters, to be run here or inside the statement that plans a mailout."""

    sql: Composed
    params: Mapping[str, object]


def compile_query(
    statement: LiteralString,
    workspace_id: int,
    audience: Filter,
    params: Mapping[str, object] | None = None,
) -> AudienceQuery:
    """Puts a filter into the `{condition}` of a statement about `contact`.

    Lists that the workspace does not have are refused: a typing error is not an empty audience.
    """
    list_ids = lists.get_ids(workspace_id, expressions.list_keys(audience))
    condition = filter_sql.compile_filter(audience, list_ids)
    return AudienceQuery(
        pg.SQL(statement).format(condition=condition.sql),
        {"workspace": workspace_id, **(params or {}), **condition.params},
    )


def check(workspace_id: int, audience: Filter) -> None:
    """Refuses a filter with an unknown list; reads no contact."""
    lists.get_ids(workspace_id, expressions.list_keys(audience))


def only_active(audience: Filter) -> Filter:
    """The contacts of an audience that a live mailout goes to."""
    return All((audience, Comparison(Column.STATE, Op.IS, ContactState.ACTIVE.value)))


def only_reached(audience: Filter, *, at: datetime) -> Filter:
    """The contacts of an audience that a campaign to all contacts goes to."""
    return All((audience, InAllContacts(at)))


_SELECTED: LiteralString = """
FROM contacts_contact AS contact
WHERE contact.workspace_id = %(workspace)s::bigint AND contact.deleted_at IS NULL AND {condition}
"""
COUNT: LiteralString = "SELECT count(*)" + _SELECTED


def count(workspace_id: int, audience: Filter) -> int:
    """How many contacts a filter selects, in any state; `only_active` narrows it."""
    query = compile_query(COUNT, workspace_id, audience)
    with transaction.atomic():
        # Compiling a statement of this kind takes longer than executing it.
        sql.execute("SET LOCAL jit = off", {})
        [(number,)] = sql.rows(query.sql, query.params)
    return int(number)


def count_or_estimate(
    workspace_id: int, audience: Filter, *, patience: timedelta = PATIENCE
) -> ContactCount:
    """The count, or an estimate when counting takes longer than `patience`."""
    try:
        with limited_time(patience):
            return ContactCount(count(workspace_id, audience), is_exact=True)
    except FilterTooCostlyError:
        return ContactCount(estimate(workspace_id, audience), is_exact=False)


_ON_BREAK: LiteralString = (
    COUNT
    + """ AND EXISTS (
    SELECT FROM contacts_subscription AS taken
    JOIN contacts_list AS list ON list.id = taken.list_id AND list.key = %(break_list)s
    WHERE taken.contact_id = contact.id AND taken.snooze_until > statement_timestamp()
)"""
)


def count_on_break(
    workspace_id: int, audience: Filter, *, list_key: str, patience: timedelta = PATIENCE
) -> int:
    """How many contacts of an audience take a break from a list now; 0 when counting takes longer
    than `patience`.
    """
    query = compile_query(_ON_BREAK, workspace_id, audience, {"break_list": list_key})
    try:
        with limited_time(patience):
            return int(sql.rows(query.sql, query.params)[0][0])
    except FilterTooCostlyError:
        return 0


def estimate(workspace_id: int, audience: Filter) -> int:
    """How many contacts PostgreSQL expects a filter to select, in any state; reads none."""
    query = compile_query("SELECT" + _SELECTED, workspace_id, audience)
    return int(sql.explain(query.sql, query.params)["Plan Rows"])


def sample(
    workspace_id: int, audience: Filter, *, size: int = 10, patience: timedelta = PATIENCE
) -> Sequence[Contact]:
    """Some contacts that a filter selects, in any state and in no order.

    Finding the first ones of an order could mean reading all.
    """
    statement = "SELECT contact.*" + _SELECTED + "LIMIT %(limit)s::bigint"
    query = compile_query(statement, workspace_id, audience, {"limit": size})
    with limited_time(patience):
        return list(Contact.objects.raw(query.sql.as_string(), query.params))


@dataclass(frozen=True, slots=True)
class FrozenAudience:
    """The rule that selects the contacts of a run.

    Contacts created after `frozen_at` are excluded; everything else is read at planning.
    """

    audience: Filter
    list_key: str | None
    frozen_at: datetime
    mailed_at: datetime | None = None  # None: at once
    # For contacts of these time zones: when they are mailed, in place of mailed_at.
    mailed_in_zones: Mapping[str, datetime] = field(default_factory=dict)
    zones: tuple[str, ...] | None = None  # None: contacts of every time zone
    default_zone: str = "UTC"  # of contacts without a time zone
    changed_since: datetime | None = None  # only contacts that changed since then


# contacts_contact_once lies in this order and has each address once, whatever its capitals. The
# look-ups stay look-ups (OFFSET 0), and are made for the rows of one chunk only.
_CHUNK: LiteralString = """
SELECT contact.id AS contact_id, contact.address, contact.address_key, contact.former_addresses,
       contact.name, contact.from_name, coalesce({locale}, '') AS locale, contact.attributes,
       contact.ocd_ids, {is_on_list} AS is_on_list, {kept_back} AS kept_back
FROM (
    SELECT contact.id, contact.address, lower(contact.address) COLLATE "C" AS address_key,
           contact.former_addresses, contact.name, contact.from_name, contact.locale,
           contact.attributes, contact.ocd_ids, contact.state, contact.is_unconfirmed,
           contact.time_zone
    FROM contacts_contact AS contact
    WHERE contact.workspace_id = %(workspace)s::bigint AND contact.deleted_at IS NULL
      AND lower(contact.address) COLLATE "C" > %(after)s::text
      AND contact.created_at <= %(frozen_at)s::timestamptz AND {condition} AND {wave}
    ORDER BY lower(contact.address) COLLATE "C"
    LIMIT %(limit)s::bigint
) AS contact
{lists}
ORDER BY contact.address_key
"""
# When a contact is mailed: its time zone may have a moment of its own.
_MAILED_AT: LiteralString = """
coalesce(
    (
        %(mailed_in_zones)s::jsonb ->> coalesce(contact.time_zone, %(default_zone)s::text)
    )::timestamptz,
    %(mailed_at)s::timestamptz, %(frozen_at)s::timestamptz
)
"""

_SUBSCRIPTION: LiteralString = """
LEFT JOIN LATERAL (
    SELECT s.state, s.locale, s.snooze_until FROM contacts_subscription AS s
    WHERE s.contact_id = contact.id AND s.list_id = %(list)s::bigint OFFSET 0
) AS subscription ON true
"""

# The gates check again before a mail goes, also `reach`; except `unconfirmed`: a contact cannot
# become unconfirmed after planning.
# Bounces, complaints and unsubscribes show in the state of a contact or of its subscription. A
# suppression by hand does not, so addresses are looked up in workspaces that have one.
_KEPT_BACK = pg.SQL(
    "CASE WHEN contact.state <> 'active' THEN contact.state {by_list} {by_hand} END"
)
_WITH_LIST: LiteralString = """
WHEN subscription.state <> 'active' THEN 'list_' || subscription.state
WHEN subscription.snooze_until > {mailed_at} THEN 'snoozed'
"""
# Without a list, an unconfirmed contact has agreed to nothing before it confirms. A request for a
# list does not count: anybody can make one for another's address.
_WITHOUT_LIST: LiteralString = """
WHEN contact.is_unconfirmed THEN 'unconfirmed'
WHEN reach.kept_back IS NOT NULL THEN reach.kept_back
"""
_BY_HAND: LiteralString = """
ELSE (
    SELECT CASE WHEN s.list_id IS NULL THEN s.reason ELSE 'list_suppressed' END
    FROM contacts_suppression AS s
    WHERE s.workspace_id = %(workspace)s::bigint AND s.reason = 'by_hand'
      AND s.address_hash = (SELECT contacts_fingerprint(%(hash_key)s::bytea, contact.address))
      AND (s.list_id IS NULL OR s.list_id = %(list)s::bigint)
    ORDER BY s.list_id NULLS FIRST LIMIT 1
)
"""
# Served by contacts_suppression_by_hand.
_ANY_BY_HAND: LiteralString = """
SELECT EXISTS (
    SELECT FROM contacts_suppression WHERE workspace_id = %(workspace)s AND reason = 'by_hand'
)
"""


def compile_chunk(
    workspace_id: int, frozen: FrozenAudience, *, after: str, limit: int
) -> AudienceQuery:
    """The next `limit` contacts after the `address_key` of the last one, which is empty at first.

    The columns are contact_id, address, address_key, former_addresses, name, from_name, locale,
    attributes, ocd_ids, is_on_list and kept_back, ordered by address_key. `kept_back` is the reason
    why a contact gets no mail, or NULL.
    """
    audience = frozen.audience
    if frozen.list_key is not None:
        audience = All((audience, OnList(frozen.list_key, tuple(SubscriptionState))))
    list_ids = lists.get_ids(workspace_id, expressions.list_keys(audience))
    list_id = None if frozen.list_key is None else list_ids[frozen.list_key]
    condition = filter_sql.compile_filter(audience, list_ids)
    mailed_at = pg.SQL(_MAILED_AT)
    statement = pg.SQL(_CHUNK).format(
        condition=condition.sql,
        wave=_wave(frozen),
        lists=reach.join_reach(mailed_at) if list_id is None else pg.SQL(_SUBSCRIPTION),
        is_on_list=pg.SQL("reach.is_on_list" if list_id is None else "true"),
        locale=pg.SQL(
            "contact.locale" if list_id is None else "coalesce(subscription.locale, contact.locale)"
        ),
        kept_back=_KEPT_BACK.format(
            by_list=pg.SQL(_WITHOUT_LIST if list_id is None else _WITH_LIST).format(
                mailed_at=mailed_at
            ),
            by_hand=pg.SQL(_BY_HAND if _has_any_by_hand(workspace_id) else ""),
        ),
    )
    params = {
        "workspace": workspace_id,
        "list": list_id,
        "after": after,
        "limit": limit,
        "frozen_at": frozen.frozen_at,
        "mailed_at": frozen.mailed_at,
        "mailed_in_zones": json.dumps(
            {zone: at.isoformat() for zone, at in frozen.mailed_in_zones.items()}
        ),
        "zones": list(frozen.zones or ()),
        "default_zone": frozen.default_zone,
        "changed_since": frozen.changed_since,
        "hash_key": hash_key.read(),
    }
    return AudienceQuery(statement, {**params, **condition.params})


def _has_any_by_hand(workspace_id: int) -> bool:
    [(exists,)] = sql.rows(_ANY_BY_HAND, {"workspace": workspace_id})
    return bool(exists)


def _wave(frozen: FrozenAudience) -> Composed:
    parts: list[LiteralString] = ["true"]
    if frozen.zones is not None:
        parts.append("coalesce(contact.time_zone, %(default_zone)s::text) = ANY(%(zones)s::text[])")
    if frozen.changed_since is not None:
        parts.append("contact.updated_at >= %(changed_since)s::timestamptz")
    return pg.SQL(" AND ").join(map(pg.SQL, parts))


_ZONES: LiteralString = """
SELECT DISTINCT time_zone FROM contacts_contact
WHERE workspace_id = %(workspace)s AND deleted_at IS NULL AND time_zone IS NOT NULL
"""


def list_time_zones(workspace_id: int) -> set[str]:
    """The time zones of a workspace's contacts; reads each contact once."""
    return {zone for (zone,) in sql.rows(_ZONES, {"workspace": workspace_id})}
