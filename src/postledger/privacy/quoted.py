"""Forgets what the error files of imports quote of one person: an id or a name that was refused."""

from postledger.contacts import profiles
from postledger.contacts.importing.models import ImportProblem
from postledger.contacts.importing.problems import Problem
from postledger.contacts.models import Contact


def forget(workspace_id: int, *, address: str) -> None:
    """Empties such values; the line stays, with the number of its row.

    Found by what the contacts of the address are called, so it comes before these are emptied.
    Addresses are masked in such a file from the start.
    """
    contacts = Contact.objects.filter(pk__in=profiles.ids_of(workspace_id, address=address))
    names = [name for pair in contacts.values_list("external_id", "name") for name in pair if name]
    quoted = [Problem.masked(0, "", name, "", "").value for name in names]
    if quoted:
        there = ImportProblem.objects.filter(of_import__workspace_id=workspace_id)
        there.filter(value__in=quoted).update(value="")
