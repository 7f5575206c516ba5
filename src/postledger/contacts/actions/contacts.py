"""Makes, changes and deletes contacts."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import datetime

from django.db import transaction
from django.db.models import F, Func, JSONField, Value
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from postledger.accounts import constraints, trail
from postledger.contacts import details as contents
from postledger.contacts import locks, queries, states
from postledger.contacts.actions import standing
from postledger.contacts.actions.standing import Step
from postledger.contacts.consent import Origin
from postledger.contacts.details import Changes, Details
from postledger.contacts.models import Contact
from postledger.contacts.states import ConsentAction
from postledger.lib.errors import RefusedError
from postledger.providers import addresses

_NOTHING = Details()


class ContactExistsError(RefusedError):
    code = "contact_exists"


class ContactUnknownError(RefusedError):
    code = "contact_unknown"


def create_contact(  # noqa: PLR0913  each part by its name
    workspace_id: int,
    *,
    address: str,
    external_id: str | None = None,
    details: Details = _NOTHING,
    is_unconfirmed: bool = False,
    actor: str,
) -> int:
    """Makes a contact. It stands as its address does: who left before has still left.

    An unconfirmed one is known by a form that anybody can fill in, and gets no mail of a list or
    without one until it agreed to some list.
    """
    contents.check(details)
    address = addresses.canonical(address)
    with _once():
        locks.joining(workspace_id)
        kept = queries.suppression(workspace_id, address=address)
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
            state=states.state_under(kept).value,
            is_unconfirmed=is_unconfirmed,
        )
        _note(workspace_id, "contact.created", contact.pk, actor=actor)
    return contact.pk


def update_contact(
    workspace_id: int, *, contact_id: int, changes: Changes, actor: str, now: datetime
) -> None:
    """Changes what is known of a contact.

    A new address leaves the state as it is, unless it is suppressed and that weighs more: who
    left has left with every address, and after a bounce an operator restores.
    """
    contents.check(changes)
    fields = _fields(changes)
    there = Contact.objects.filter(pk=contact_id, workspace_id=workspace_id, deleted_at=None)
    with _once():
        if changes.address is not None:
            locks.joining(workspace_id)
        # By the database's clock, as the moment at which an audience is frozen.
        if not there.update(**fields, updated_at=Now()):
            raise unknown(contact_id)
        if changes.address is not None:
            address = addresses.canonical(changes.address)
            _take_over(workspace_id, address=address, actor=actor, now=now)
        _note(workspace_id, "contact.changed", contact_id, actor=actor, fields=[*fields])


def _fields(changes: Changes) -> dict[str, object]:
    """The columns that are written, by name."""
    fields: dict[str, object] = {
        name: getattr(changes, name) or None
        for name in ("external_id", "from_name", "locale", "time_zone")
        if getattr(changes, name) is not None
    }
    if changes.address is not None:
        fields["address"] = addresses.canonical(changes.address)
    if changes.name is not None:
        fields["name"] = changes.name
    if changes.ocd_ids is not None:
        fields["ocd_ids"] = list(changes.ocd_ids)
    if changes.attributes is not None:
        fields["attributes"] = _merged(changes.attributes)
    return fields


def _merged(attributes: Mapping[str, contents.Value | None]) -> Func:
    """Merged by PostgreSQL, so that two who change different attributes both succeed."""
    given = Value(dict(attributes), JSONField())
    both = CombinedExpression(F("attributes"), "||", given, output_field=JSONField())
    return Func(both, function="jsonb_strip_nulls", output_field=JSONField())


def _take_over(workspace_id: int, *, address: str, actor: str, now: datetime) -> None:
    kept = queries.suppression(workspace_id, address=address)
    found = standing.whose(workspace_id, address=address)
    told = states.state_under(kept)
    if found.contact_id is None or found.state is None or told.priority <= found.state.priority:
        return
    standing.set_state(workspace_id, contact_id=found.contact_id, state=told, at=now)
    step = Step(ConsentAction.SUPPRESSED, Origin("a new address", actor), now)
    standing.record(workspace_id, step, contact_id=found.contact_id, before=found.state, after=told)


def delete_contact(workspace_id: int, *, contact_id: int, actor: str, now: datetime) -> None:
    """Keeps the row and mails it no more; address and external id become free for another."""
    there = Contact.objects.filter(pk=contact_id, workspace_id=workspace_id, deleted_at=None)
    with transaction.atomic():
        if not there.update(deleted_at=now):
            raise unknown(contact_id)
        _note(workspace_id, "contact.deleted", contact_id, actor=actor)


def unknown(contact_id: int) -> ContactUnknownError:
    return ContactUnknownError(
        f"This workspace has no contact {contact_id}, or it was deleted before."
    )


def _once() -> AbstractContextManager[None]:
    known = ContactExistsError(
        "A contact of this workspace has this address already: change that one, or delete it first."
    )
    named = ContactExistsError(
        "A contact of this workspace has this external id already: change that one,"
        " or delete it first."
    )
    return constraints.kept(contacts_contact_once=known, contacts_contact_external_once=named)


def _note(
    workspace_id: int,
    action: str,
    contact_id: int,
    *,
    actor: str,
    fields: list[str] | None = None,
) -> None:
    trail.note(
        workspace_id,
        actor=actor,
        action=action,
        subject=f"contact {contact_id}",
        data={} if fields is None else {"fields": fields},
    )
