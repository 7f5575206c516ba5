"""A finished import says why people were kept off its list, not only how many."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("imports", "0002_said_trouble")]

    operations = [
        migrations.AddField("import", "kept_back_reasons", models.JSONField(db_default={})),
    ]
