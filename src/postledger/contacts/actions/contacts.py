"""Creates, changes and deletes contacts."""

from contextlib import AbstractContextManager
from datetime import datetime

from django.db import transaction
from django.db.models import F, Func, JSONField, Value
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from postledger.accounts import constraints, trail
from postledger.contacts import queries, sql, states, suppressions
from postledger.contacts.actions import contact_state, suppression
from postledger.contacts.consent import ConsentChange, Origin
from postledger.contacts.details import Changes, Details, check_attributes, check_details
from postledger.contacts.models import Contact
from postledger.contacts.states import ConsentAction, ContactState
from postledger.lib.errors import ConflictError
from postledger.lib.sentences import say
from postledger.providers import addresses

# The sources of what a new address lifts, and of what it ends.
CORRECTION = "a corrected address"
NEW_ADDRESS = "a new address"

_NO_DETAILS = Details()


class ContactExistsError(ConflictError):
    code = "contact_exists"


def create_contact(  # noqa: PLR0913  each part by its name
    workspace_id: int,
    *,
    address: str,
    external_id: str | None = None,
    details: Details = _NO_DETAILS,
    is_unconfirmed: bool = False,
    actor: str,
) -> int:
    """Creates a contact, with the state that the suppression of its address implies.

    An unconfirmed one is known by a form that anybody can fill in. It is mailed only after it has
    confirmed a list.
    """
    check_details(details)
    address = addresses.canonical(address)
    with _unique():
        sql.share_consent_lock(workspace_id)
        status = suppressions.find_status(workspace_id, address=address)
        contact = Contact.objects.create(
            workspace_id=workspace_id,
            address=address,
            external_id=external_id,
            name=details.name,
            from_name=details.from_name or None,
            locale=details.locale or None,
            time_zone=details.time_zone or None,
            attributes=dict(details.attributes),
            ocd_ids=list(details.ocd_ids),
            state=states.implied_state(status).value,
            is_unconfirmed=is_unconfirmed,
        )
        _note(workspace_id, "contact.created", contact.pk, actor=actor)
    return contact.pk


def update_contact(
    workspace_id: int, *, contact_id: int, changes: Changes, actor: str, now: datetime
) -> None:
    """Changes a contact's details.

    With a new address a bounce of the old one ends, and the suppressions of the new one count, also
    those for lists. An unsubscribe or a complaint counts for every address of the contact.
    """
    check_details(changes)
    columns = _columns(changes)
    contacts = Contact.objects.filter(pk=contact_id, workspace_id=workspace_id, deleted_at=None)
    with _unique():
        before = None
        if changes.address is not None:
            before = lock_contact(workspace_id, contact_id=contact_id, ends_consent=True)
        # By the database's clock, as the moment at which an audience is frozen.
        if not contacts.update(**columns, updated_at=Now()):
            raise queries.contact_not_found(contact_id)
        if changes.attributes is not None:  # with those that it had before
            check_attributes(contacts.values_list("attributes", flat=True).get())
        if before is not None:
            _follow_address(before, str(columns["address"]), actor=actor, now=now)
        same = before is not None and before.address == columns["address"]
        fields = [name for name in columns if name != "address" or not same]
        _note(workspace_id, "contact.changed", contact_id, actor=actor, fields=fields)


def lock_contact(workspace_id: int, *, contact_id: int, ends_consent: bool) -> Contact:
    """The contact as it is, locked until the transaction ends; the consent lock is taken first.

    For a transaction of several changes: the same lock twice, first shared and then alone, would
    make two of them wait for each other.
    """
    if ends_consent:
        sql.take_consent_lock(workspace_id)
    else:
        sql.share_consent_lock(workspace_id)
    locked = Contact.objects.select_for_update(no_key=True).filter(
        pk=contact_id, workspace_id=workspace_id, deleted_at=None
    )
    contact = locked.first()
    if contact is None:
        raise queries.contact_not_found(contact_id)
    return contact


def _columns(changes: Changes) -> dict[str, object]:
    """The values to write, by column."""
    columns: dict[str, object] = {
        name: getattr(changes, name) or None
        for name in ("external_id", "from_name", "locale", "time_zone")
        if getattr(changes, name) is not None
    }
    if changes.address is not None:
        columns["address"] = addresses.canonical(changes.address)
    if changes.name is not None:
        columns["name"] = changes.name
    if changes.ocd_ids is not None:
        columns["ocd_ids"] = list(changes.ocd_ids)
    if changes.attributes is not None:
        # Merged by PostgreSQL, so that two requests for different attributes both succeed.
        given = Value(dict(changes.attributes), JSONField())
        merged = CombinedExpression(F("attributes"), "||", given, output_field=JSONField())
        columns["attributes"] = Func(merged, function="jsonb_strip_nulls", output_field=JSONField())
    return columns


def _follow_address(contact: Contact, address: str, *, actor: str, now: datetime) -> None:
    """Sets the states that a contact has at its new address; `contact` is as it was before."""
    if address.lower() == contact.address.lower():
        return
    _follow_state(contact, address, actor=actor, now=now)
    suppression.end_suppressed_subscriptions(
        contact.workspace_id, [contact.pk], origin=Origin(NEW_ADDRESS, actor), now=now
    )


def _follow_state(contact: Contact, address: str, *, actor: str, now: datetime) -> None:
    before = ContactState(contact.state)
    after = states.state_at_new_address(
        before,
        new=suppressions.find_status(contact.workspace_id, address=address),
        had_left=_had_left(contact),
    )
    if after is before:
        return
    contact_state.set_state(contact.workspace_id, contact_id=contact.pk, state=after, at=now)
    is_stopped = after.priority > before.priority
    change = ConsentChange(
        ConsentAction.SUPPRESSED if is_stopped else ConsentAction.RESTORED,
        Origin(NEW_ADDRESS if is_stopped else CORRECTION, actor),
        now,
    )
    contact_state.record(
        contact.workspace_id, change, contact_id=contact.pk, before=before, after=after
    )


def _had_left(contact: Contact) -> bool:
    """Whether a contact unsubscribed or complained, before a bounce or under any of its addresses.

    After two corrections the history alone knows of the last bounce only.
    """
    known = [*(contact.former_addresses or ()), contact.address]
    if suppressions.is_any_wish(contact.workspace_id, known):
        return True
    return contact_state.find_state_before_bounce(contact.pk) is ContactState.UNSUBSCRIBED


def delete_contact(workspace_id: int, *, contact_id: int, actor: str, now: datetime) -> None:
    """Marks a contact as deleted; its address and its external id become free for another."""
    contacts = Contact.objects.filter(pk=contact_id, workspace_id=workspace_id, deleted_at=None)
    with transaction.atomic():
        if not contacts.update(deleted_at=now):
            raise queries.contact_not_found(contact_id)
        _note(workspace_id, "contact.deleted", contact_id, actor=actor)


def _unique() -> AbstractContextManager[None]:
    refusals = {
        constraint: ContactExistsError(
            say(
                "Another contact has this %(attribute)s. Change that one, or delete it first.",
                attribute=attribute,
            )
        )
        for constraint, attribute in (
            ("contacts_contact_once", "address"),
            ("contacts_contact_external_once", "external id"),
        )
    }
    return constraints.refusing(**refusals)


def _note(
    workspace_id: int,
    action: trail.Action,
    contact_id: int,
    *,
    actor: str,
    fields: list[str] | None = None,
) -> None:
    data: dict[str, trail.Fact] = {} if fields is None else {"fields": fields}
    subject = f"contact {contact_id}"
    trail.note(workspace_id, actor=actor, action=action, subject=subject, data=data)
