"""Finds the contacts that requests name, all of them at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q

from postledger.contacts.models import Contact
from postledger.transactional.values import Reference


@dataclass(frozen=True, slots=True)
class Found:
    id: int
    address: str


def find(workspace_id: int, references: Sequence[Reference]) -> Mapping[Reference, Found]:
    """The contacts that are there; none that was deleted, and with two ids both must fit.

    One statement however many are asked for, and none when nobody is.
    """
    if not references:
        return {}
    ids = [named.id for named in references if named.id is not None]
    names = [named.external_id for named in references if named.external_id is not None]
    rows = Contact.objects.filter(
        Q(pk__in=ids) | Q(external_id__in=names), workspace_id=workspace_id, deleted_at=None
    ).values_list("pk", "external_id", "address")
    by_id = {pk: (pk, external_id, address) for pk, external_id, address in rows}
    by_name = {external_id: row for row in by_id.values() if (external_id := row[1]) is not None}
    found: dict[Reference, Found] = {}
    for named in references:
        row = by_name.get(named.external_id or "") if named.id is None else by_id.get(named.id)
        if row is not None and named.external_id in {None, row[1]}:
            found[named] = Found(row[0], row[2])
    return found
