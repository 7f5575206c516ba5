from pathlib import Path

from django.db import migrations

_HERE = Path(__file__).parent


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("content", "0001_initial"),
    ]

    # The tables are written by hand (partitions, fillfactor, exclusion); Django knows none of them.
    # Not reversible: before the first migration there is no installation to go back to.
    operations = [
        migrations.RunSQL((_HERE / "ledger.sql").read_text()),
        migrations.RunSQL((_HERE / "views.sql").read_text()),
    ]
