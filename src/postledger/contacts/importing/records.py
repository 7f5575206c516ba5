"""Finds imports by their numbers, those of a workspace in it alone."""

from postledger.contacts.importing.models import Import, ImportState
from postledger.contacts.importing.refusals import ImportUnknownError


def of(workspace_id: int, import_id: int) -> Import:
    there = Import.objects.filter(workspace_id=workspace_id, pk=import_id)
    found = there.select_related("list", "workspace").first() if 0 < import_id < 2**63 else None
    if found is None:
        raise ImportUnknownError(
            f"This workspace has no import {import_id}: an import says its number when it begins."
        )
    return found


def state(import_id: int) -> ImportState:
    return ImportState(Import.objects.values_list("state", flat=True).get(pk=import_id))
