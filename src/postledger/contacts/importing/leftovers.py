"""Takes away what an import needed only while it was under way: people are in all of it."""

from postledger.contacts import sql
from postledger.contacts.importing.models import Import, ImportPart


def take_away(import_id: int) -> None:
    """The file, what was shown of it, and the addresses by which repeated ones are found."""
    Import.objects.filter(pk=import_id).update(upload=None, preview=None, trouble=None)
    ImportPart.objects.filter(of_import_id=import_id).delete()
    sql.changed(
        "DELETE FROM contacts_importedrow WHERE import_id = %(import)s", {"import": import_id}
    )
