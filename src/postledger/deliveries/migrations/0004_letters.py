from django.db import migrations, models

_ADD = """
ALTER TABLE deliveries_body
    ADD COLUMN letter text NOT NULL DEFAULT '',
    ADD COLUMN list_key text NOT NULL DEFAULT '';
"""
_BACK = "ALTER TABLE deliveries_body DROP COLUMN letter, DROP COLUMN list_key;"


class Migration(migrations.Migration):
    dependencies = [
        ("deliveries", "0003_requests"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(_ADD, reverse_sql=_BACK)],
            state_operations=[
                migrations.AddField("body", "letter", models.TextField(db_default="")),
                migrations.AddField("body", "list_key", models.TextField(db_default="")),
            ],
        ),
    ]
