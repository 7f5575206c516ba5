"""Why planning stopped is kept as JSON, with the form that it is said in other languages by."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0002_deleted")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    """
                    ALTER TABLE campaigns_run
                    ALTER trouble DROP DEFAULT,
                    ALTER trouble TYPE jsonb USING to_jsonb(trouble),
                    ALTER trouble SET DEFAULT '""'
                    """,
                    """
                    ALTER TABLE campaigns_run
                    ALTER trouble DROP DEFAULT,
                    ALTER trouble TYPE text USING trouble #>> '{}',
                    ALTER trouble SET DEFAULT ''
                    """,
                )
            ],
            state_operations=[
                migrations.AlterField("run", "trouble", models.JSONField(db_default=""))
            ],
        )
    ]
