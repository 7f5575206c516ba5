"""Reads contacts, their subscriptions and the history of their consents."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import LiteralString

from django.db.models import QuerySet

from postledger.accounts import hash_key
from postledger.contacts import audience as audiences
from postledger.contacts import sql
from postledger.contacts.filters.expressions import EVERYBODY, Filter
from postledger.contacts.models import ConsentEvent, Contact, List, Subscription
from postledger.contacts.states import ListKind, SubscriptionState
from postledger.lib.errors import ConflictError, NotFoundError
from postledger.lib.ids import LAST_ID
from postledger.lib.sentences import say

HISTORY_PAGE = 100


class ContactUnknownError(NotFoundError):
    code = "contact_unknown"


def find_contact(workspace_id: int, *, contact_id: int) -> Contact | None:
    """A contact of the workspace that is not deleted."""
    return Contact.objects.filter(pk=contact_id, workspace_id=workspace_id, deleted_at=None).first()


def get_contact(workspace_id: int, *, contact_id: int) -> Contact:
    contact = find_contact(workspace_id, contact_id=contact_id)
    if contact is None:
        raise contact_not_found(contact_id)
    return contact


def contact_not_found(contact_id: int) -> ContactUnknownError:
    return ContactUnknownError(
        say(
            "Contact %(contact_id)s not found. It may have been deleted.",
            contact_id=str(contact_id),
        )
    )


# Two look-ups, served by contacts_contact_once and contacts_contact_deleted: no index has both.
_IDS: LiteralString = """
SELECT id FROM contacts_contact
WHERE workspace_id = %(workspace)s AND lower(address) COLLATE "C" = lower(%(address)s) COLLATE "C"
  AND deleted_at IS NULL
UNION ALL
SELECT id FROM contacts_contact
WHERE workspace_id = %(workspace)s AND lower(address) COLLATE "C" = lower(%(address)s) COLLATE "C"
  AND deleted_at IS NOT NULL
ORDER BY id
"""


def list_contact_ids(workspace_id: int, *, address: str) -> list[int]:
    """Every contact with a canonical address, including deleted ones."""
    rows = sql.rows(_IDS, {"workspace": workspace_id, "address": address})
    return [contact_id for (contact_id,) in rows]


_BY_ADDRESSES: LiteralString = """
SELECT contact.*, lower(given.address) AS given_address
FROM unnest(%(addresses)s::text[]) AS given (address) CROSS JOIN LATERAL (
    SELECT * FROM contacts_contact
    WHERE workspace_id = %(workspace)s AND deleted_at IS NULL
      AND lower(address) COLLATE "C" = lower(given.address) COLLATE "C"
) AS contact
"""


def find_contacts(workspace_id: int, addresses: Sequence[str]) -> dict[str, Contact]:
    """The contacts of some addresses, by lower-case address."""
    params = {"workspace": workspace_id, "addresses": list(addresses)}
    contacts = Contact.objects.raw(_BY_ADDRESSES, params)
    return {vars(contact)["given_address"]: contact for contact in contacts}


# Served by contacts_contact_by_former and contacts_contact_once.
_MOVED: LiteralString = """
SELECT given.address, contact.address
FROM unnest(%(addresses)s::text[]) AS given (address) CROSS JOIN LATERAL (
    SELECT address FROM contacts_contact
    WHERE workspace_id = %(workspace)s AND deleted_at IS NULL
      AND former_addresses @> ARRAY[lower(given.address)]
    OFFSET 0
) AS contact
WHERE (
    SELECT id FROM contacts_contact
    WHERE workspace_id = %(workspace)s AND deleted_at IS NULL
      AND lower(address) COLLATE "C" = lower(given.address) COLLATE "C"
    LIMIT 1  -- not NOT EXISTS, for which all contacts may be read
) IS NULL
ORDER BY contact.address
"""


def find_new_addresses(workspace_id: int, addresses: Collection[str]) -> dict[str, list[str]]:
    """Where the contacts are now that had these addresses; none for an address of somebody else.

    The caller has taken the consent lock, which a change of address waits for.
    """
    moved: dict[str, list[str]] = {}
    for former, address in sql.rows(
        _MOVED, {"workspace": workspace_id, "addresses": list(addresses)}
    ):
        moved.setdefault(former, []).append(address)
    return moved


_TIME_ZONES: LiteralString = """
SELECT id, time_zone FROM contacts_contact
WHERE id = ANY(%(contacts)s::bigint[]) AND workspace_id = %(workspace)s AND time_zone IS NOT NULL
"""


def find_time_zones(workspace_id: int, contact_ids: Sequence[int]) -> dict[int, str]:
    """The time zones of those of these contacts that have one of their own."""
    params = {"workspace": workspace_id, "contacts": list(contact_ids)}
    return dict(sql.rows(_TIME_ZONES, params))


class AddressChangedError(ConflictError):
    code = "address_changed"


def check_address(workspace_id: int, *, contact_id: int, address: str) -> None:
    """Refuses what was meant for a contact at another address than it has now.

    The caller has taken the consent lock, which a change of address waits for.
    """
    contact = get_contact(workspace_id, contact_id=contact_id)
    if contact.address.lower() != address.lower():
        raise AddressChangedError(
            say(
                "Meanwhile the contact has another address, so nothing was done. Look at the"
                " contact, and ask again."
            )
        )


def find_addresses(workspace_id: int, contact_ids: Sequence[int]) -> dict[int, str]:
    """The addresses of those of these contacts that exist, as they are written."""
    contacts = Contact.objects.filter(
        pk__in=contact_ids, workspace_id=workspace_id, deleted_at=None
    )
    return dict(contacts.values_list("pk", "address"))


# In the order of contacts_contact_once, which no other index has. By id, the planner would take the
# primary key, and read past the contacts of every other workspace.
_PAGE: LiteralString = """
SELECT contact.*, lower(contact.address) COLLATE "C" AS sort_key
FROM contacts_contact AS contact
WHERE contact.workspace_id = %(workspace)s::bigint AND contact.deleted_at IS NULL
  AND lower(contact.address) COLLATE "C" > %(after)s::text AND {condition}
"""
_BY_ADDRESS: LiteralString = (
    ' AND lower(contact.address) COLLATE "C" = lower(%(address)s::text) COLLATE "C"'
)
# Served by contacts_contact_external_once.
_BY_EXTERNAL_ID: LiteralString = " AND contact.external_id = %(external_id)s::text"
_LIMITED: LiteralString = ' ORDER BY lower(contact.address) COLLATE "C" LIMIT %(limit)s::bigint'


def list_contacts(  # noqa: PLR0913  each condition by its name
    workspace_id: int,
    *,
    audience: Filter = EVERYBODY,
    address: str | None = None,
    external_id: str | None = None,
    after: str = "",
    limit: int,
    patience: timedelta = audiences.PATIENCE,
) -> tuple[Sequence[Contact], str | None]:
    """A page of the contacts that meet all conditions, and `after` of the next page, if any."""
    statement = _PAGE
    if address is not None:
        statement += _BY_ADDRESS
    if external_id is not None:
        statement += _BY_EXTERNAL_ID
    params = {"address": address, "external_id": external_id, "after": after, "limit": limit + 1}
    query = audiences.compile_query(statement + _LIMITED, workspace_id, audience, params)
    with audiences.limited_time(patience):
        contacts = list(Contact.objects.raw(query.sql.as_string(), query.params))
    # PostgreSQL's lower() counts: Python's differs for some letters.
    next_after = vars(contacts[limit - 1])["sort_key"] if len(contacts) > limit else None
    return contacts[:limit], next_after


def list_subscriptions(workspace_id: int, *, contact_id: int) -> QuerySet[Subscription]:
    """A contact's subscriptions, with their lists and by the keys of these."""
    subscriptions = Subscription.objects.filter(
        contact_id=contact_id, contact__workspace_id=workspace_id
    )
    return subscriptions.select_related("list").order_by("list__key")


def name_lists(workspace_id: int, keys: Iterable[str]) -> dict[str, str]:
    """The names of lists by their keys."""
    lists = List.objects.filter(workspace_id=workspace_id, key__in=set(keys))
    return dict(lists.values_list("key", "name"))


def list_names_of_lists(contact_ids: Collection[int]) -> dict[int, list[str]]:
    """The names of the lists, and not of the topics, whose mail each of these contacts gets."""
    active = Subscription.objects.filter(
        contact_id__in=contact_ids,
        state=SubscriptionState.ACTIVE.value,
        list__kind=ListKind.LIST.value,
    )
    names: dict[int, list[str]] = {}
    for contact_id, name in active.order_by("list__key").values_list("contact_id", "list__name"):
        names.setdefault(contact_id, []).append(name)
    return names


def list_locales(
    workspace_id: int, *, contact_ids: Collection[int], list_key: str | None
) -> dict[int, str]:
    """The languages of some contacts: of the subscription to this list, else of the contact.

    Empty for a contact without any.
    """
    contacts = Contact.objects.filter(pk__in=contact_ids, workspace_id=workspace_id)
    locales = {pk: locale or "" for pk, locale in contacts.values_list("pk", "locale")}
    subscriptions = Subscription.objects.filter(
        contact__in=contacts, list__key=list_key, list__workspace_id=workspace_id
    )
    own = subscriptions.exclude(locale=None).values_list("contact_id", "locale")
    return locales | {contact_id: locale for contact_id, locale in own if locale}


# Served by contacts_consent_newest and contacts_consent_of_address: events of an address before it
# had a contact belong to the history of the contact that has it now.
_HISTORY: LiteralString = """
WITH contact AS MATERIALIZED (
    SELECT id, contacts_fingerprint(%(hash_key)s::bytea, address) AS hash
    FROM contacts_contact WHERE id = %(contact)s AND workspace_id = %(workspace)s
)
(
    SELECT event.* FROM contact JOIN contacts_consentevent AS event
      ON event.contact_id = contact.id
    WHERE event.id < %(before)s
    ORDER BY event.id DESC LIMIT %(limit)s
)
UNION ALL
(
    SELECT event.* FROM contact JOIN contacts_consentevent AS event
      ON event.workspace_id = %(workspace)s AND event.address_hash = contact.hash
     AND event.contact_id IS NULL
    WHERE event.id < %(before)s
    ORDER BY event.id DESC LIMIT %(limit)s
)
ORDER BY id DESC LIMIT %(limit)s
"""


def list_history(
    workspace_id: int, *, contact_id: int, before: int = LAST_ID, limit: int = HISTORY_PAGE
) -> list[ConsentEvent]:
    """A contact's consent events, newest first; `before` is the id of the last one shown."""
    params = {
        "workspace": workspace_id,
        "contact": contact_id,
        "before": before,
        "limit": limit,
        "hash_key": hash_key.read(),
    }
    return list(ConsentEvent.objects.raw(_HISTORY, params).prefetch_related("list"))


# Served by contacts_consent_of_address.
_ADDRESS_HISTORY: LiteralString = """
SELECT * FROM contacts_consentevent
WHERE workspace_id = %(workspace)s AND contact_id IS NULL
  AND address_hash = contacts_fingerprint(%(hash_key)s::bytea, %(address)s)
ORDER BY id DESC
"""


def list_address_history(workspace_id: int, *, address: str) -> list[ConsentEvent]:
    """All consent events of a canonical address while it had no contact, newest first."""
    params = {"workspace": workspace_id, "address": address, "hash_key": hash_key.read()}
    return list(ConsentEvent.objects.raw(_ADDRESS_HISTORY, params).prefetch_related("list"))


# Served by contacts_contact_once, contacts_consent_newest and contacts_consent_of_address.
_LEFT_SINCE: LiteralString = """
SELECT EXISTS (
    SELECT FROM contacts_consentevent AS event
    WHERE event.workspace_id = %(workspace)s AND event.action = 'unsubscribed'
      AND event.at > %(since)s AND (event.list_id IS NULL OR event.list_id = %(list)s)
      AND (
          event.contact_id = (
              SELECT id FROM contacts_contact
              WHERE workspace_id = %(workspace)s AND deleted_at IS NULL
                AND lower(address) COLLATE "C" = lower(%(address)s) COLLATE "C"
          )
          OR event.contact_id IS NULL
          AND event.address_hash = contacts_fingerprint(%(hash_key)s::bytea, %(address)s)
      )
)
"""


def has_left_since(workspace_id: int, *, address: str, list_id: int, since: datetime) -> bool:
    """Whether the owner of a canonical address left the list, or everything, after a moment."""
    params = {"workspace": workspace_id, "address": address, "list": list_id, "since": since}
    [(has_left,)] = sql.rows(_LEFT_SINCE, params)
    return bool(has_left)
