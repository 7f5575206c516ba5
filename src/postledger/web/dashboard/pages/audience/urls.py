"""The pages of the audience: contacts, imports, lists, segments and suppressions."""

from postledger.accounts.people.roles import Permission
from postledger.web.dashboard.pages.audience import (
    contact,
    contact_bulk,
    contact_edit,
    contact_steps,
    contacts,
    imports,
    lists,
    segments,
    suppressions,
)
from postledger.web.dashboard.routes import page

_CONTACT = "contacts/<number:contact_id>"
_SEGMENT = "segments/<number:segment_id>"
_IMPORT = "imports/<number:import_id>"

PAGES = [
    page("contacts/", contacts.show, Permission.READ, name="contacts"),
    page(
        "contacts/export.csv",
        contacts.export_csv,
        Permission.MANAGE_CONTACTS,
        name="contacts_export",
    ),
    page("contacts/new/", contact_edit.add, Permission.MANAGE_CONTACTS, name="new_contact"),
    page("contacts/bulk/", contact_bulk.decide, Permission.MANAGE_CONTACTS, name="contacts_bulk"),
    page(f"{_CONTACT}/", contact.show, Permission.READ, name="contact"),
    page(f"{_CONTACT}/edit/", contact_edit.change, Permission.MANAGE_CONTACTS, name="contact_edit"),
    page(
        f"{_CONTACT}/export.json",
        contact.export_person,
        Permission.MANAGE_CONTACTS,
        name="contact_export",
    ),
    page(
        f"{_CONTACT}/suppress/",
        contact_steps.suppress,
        Permission.MANAGE_CONTACTS,
        name="contact_suppress",
    ),
    page(
        f"{_CONTACT}/restore/",
        contact_steps.restore,
        Permission.MANAGE_CONTACTS,
        name="contact_restore",
    ),
    page(
        f"{_CONTACT}/erase/", contact_steps.erase, Permission.MANAGE_CONTACTS, name="contact_erase"
    ),
    page("lists/", lists.show, Permission.READ, name="lists"),
    page("lists/new/", lists.create, Permission.MANAGE_CONTACTS, name="new_list"),
    page("lists/<slug:key>/", lists.show_list, Permission.READ, name="list"),
    page("lists/<slug:key>/change/", lists.change, Permission.MANAGE_CONTACTS, name="list_change"),
    page(
        "lists/<slug:key>/archive/", lists.archive, Permission.MANAGE_CONTACTS, name="list_archive"
    ),
    page(
        "lists/<slug:key>/restore/", lists.restore, Permission.MANAGE_CONTACTS, name="list_restore"
    ),
    page("segments/", segments.show, Permission.READ, name="segments"),
    page("segments/new/", segments.create, Permission.MANAGE_CONTACTS, name="new_segment"),
    page(f"{_SEGMENT}/", segments.rename, Permission.MANAGE_CONTACTS, name="segment"),
    page(f"{_SEGMENT}/delete/", segments.delete, Permission.MANAGE_CONTACTS, name="segment_delete"),
    page("suppressions/", suppressions.show, Permission.READ, name="suppressions"),
    page("suppressions/new/", suppressions.add, Permission.MANAGE_CONTACTS, name="new_suppression"),
    page(
        "suppressions/<number:suppression_id>/lift/",
        suppressions.lift,
        Permission.MANAGE_CONTACTS,
        name="suppression_lift",
    ),
    page("imports/", imports.show, Permission.READ, name="imports"),
    page(
        "imports/upload/",
        imports.upload,
        Permission.MANAGE_CONTACTS,
        name="import_upload",
        too_large=imports.refuse_large,
    ),
    page(f"{_IMPORT}/", imports.show_import, Permission.READ, name="import"),
    page(f"{_IMPORT}/live/", imports.refresh, Permission.READ, name="import_live"),
    page(f"{_IMPORT}/try/", imports.try_out, Permission.MANAGE_CONTACTS, name="import_try"),
    page(f"{_IMPORT}/start/", imports.start, Permission.MANAGE_CONTACTS, name="import_start"),
    page(f"{_IMPORT}/abandon/", imports.abandon, Permission.MANAGE_CONTACTS, name="import_abandon"),
    page(
        f"{_IMPORT}/problems.csv",
        imports.get_problems,
        Permission.READ,
        name="import_problems",
    ),
]
