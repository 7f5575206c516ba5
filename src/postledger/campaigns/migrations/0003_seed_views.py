from pathlib import Path

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0002_mailouts"),
        ("deliveries", "0005_letters_of_a_stream"),
    ]

    operations = [
        migrations.RunSQL(
            (Path(__file__).parent / "0003_seed_views.sql").read_text(),
            reverse_sql="DROP VIEW campaign_runs, delivery_history;",
        ),
    ]
