"""A copy knows what it is a copy of."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0005_kept_text")]

    operations = [
        migrations.AddField(
            "campaign",
            "origin",
            models.ForeignKey(
                "campaigns.campaign",
                on_delete=django.db.models.deletion.PROTECT,
                null=True,
                db_index=False,
            ),
        )
    ]
