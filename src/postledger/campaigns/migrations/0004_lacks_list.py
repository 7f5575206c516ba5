"""A draft knows whether somebody has chosen between the lists and all contacts."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0003_said_trouble")]

    operations = [
        migrations.AddField("campaign", "lacks_list", models.BooleanField(db_default=False))
    ]
