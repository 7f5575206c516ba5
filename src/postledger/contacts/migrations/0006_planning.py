from pathlib import Path

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
from django.db import migrations, models

_HERE = Path(__file__).parent
_BACK = """
DROP TRIGGER contacts_contact_moves ON contacts_contact;
DROP FUNCTION contacts_keep_former_address();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0004_tests_and_zone"),
        ("contacts", "0005_references"),
    ]

    operations = [
        migrations.AddField(
            model_name="contact",
            name="former_addresses",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(), null=True, size=None
            ),
        ),
        migrations.AddIndex(
            model_name="contact",
            index=django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("former_addresses__isnull", False)),
                fields=["former_addresses"],
                name="contacts_contact_by_former",
            ),
        ),
        migrations.RunSQL((_HERE / "0006_planning.sql").read_text(), reverse_sql=_BACK),
        migrations.AddIndex(
            model_name="subscription",
            index=models.Index(
                condition=models.Q(("state", "pending")),
                fields=["contact"],
                name="contacts_subscription_pending",
            ),
        ),
        migrations.AddIndex(
            model_name="suppression",
            index=models.Index(
                condition=models.Q(("reason", "by_hand")),
                fields=["workspace"],
                name="contacts_suppression_by_hand",
            ),
        ),
    ]
