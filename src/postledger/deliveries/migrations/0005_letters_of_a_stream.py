from django.db import migrations, models


class Migration(migrations.Migration):
    """A stream may have several letters: one for each language, or for each set of places."""

    dependencies = [
        ("deliveries", "0004_letters"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE deliveries_delivery ADD COLUMN letter smallint NOT NULL DEFAULT 0",
                    reverse_sql="ALTER TABLE deliveries_delivery DROP COLUMN letter",
                )
            ],
            state_operations=[
                migrations.AddField("delivery", "letter", models.SmallIntegerField(db_default=0)),
            ],
        ),
    ]
