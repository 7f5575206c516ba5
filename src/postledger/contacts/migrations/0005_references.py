from pathlib import Path
from typing import Any

import django.db.models.deletion
from django.db import migrations, models

# What the rows of unfinished imports had as addresses, to know one that a file has twice, however
# far apart: the rows of a chunk together, read again only by whoever resumes the import. An import
# that is under way goes on without what it knew: such an address is then met as a contact.
_CHUNKS = """
DROP TABLE contacts_importedrow;
CREATE TABLE contacts_importedrow (
    import_id bigint NOT NULL,
    first_row bigint NOT NULL,
    hashes bytea NOT NULL,
    row_numbers bytea NOT NULL,
    PRIMARY KEY (import_id, first_row)
)
"""
_ROWS = """
DROP TABLE contacts_importedrow;
CREATE TABLE contacts_importedrow (
    import_id bigint NOT NULL,
    address_hash bytea NOT NULL,
    row_number bigint NOT NULL,
    PRIMARY KEY (import_id, address_hash)
)
"""
_HERE = Path(__file__).parent


def _unchecked(to: str, *, is_null: bool = False) -> "models.ForeignKey[Any, Any]":
    return models.ForeignKey(
        db_constraint=False,
        db_index=False,
        null=is_null,
        on_delete=django.db.models.deletion.PROTECT,
        to=to,
    )


class Migration(migrations.Migration):
    dependencies = [("contacts", "0004_uploads")]

    operations = [
        migrations.AlterField("contact", "workspace", _unchecked("accounts.workspace")),
        migrations.AlterField("subscription", "contact", _unchecked("contacts.contact")),
        migrations.AlterField("subscription", "list", _unchecked("contacts.list")),
        migrations.AlterField("consentevent", "workspace", _unchecked("accounts.workspace")),
        migrations.AlterField(
            "consentevent", "contact", _unchecked("contacts.contact", is_null=True)
        ),
        migrations.AlterField("consentevent", "list", _unchecked("contacts.list", is_null=True)),
        migrations.RunSQL(
            (_HERE / "0005_references.sql").read_text(),
            reverse_sql=(_HERE / "0005_references_back.sql").read_text(),
        ),
        migrations.RunSQL(_CHUNKS, reverse_sql=_ROWS),
    ]
