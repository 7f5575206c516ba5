from pathlib import Path

from django.db import migrations

_BACK = """
DROP VIEW dead_letters, delivery_events, email_events, send_logs, email_outbox, email_logs;
DROP FUNCTION delivery_status(text, integer);
DROP FUNCTION delivery_position(uuid);
DROP FUNCTION delivery_stream(uuid);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("deliveries", "0001_initial"),
    ]

    operations = [
        migrations.RunSQL(
            (Path(__file__).parent / "0002_seed_views.sql").read_text(),
            reverse_sql=_BACK,
        ),
    ]
