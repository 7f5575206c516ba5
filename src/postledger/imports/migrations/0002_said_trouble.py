"""What stopped a worker is kept as JSON, with the form that it is said in other languages by."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("imports", "0001_initial")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE imports_import ALTER trouble TYPE jsonb USING to_jsonb(trouble)",
                    "ALTER TABLE imports_import ALTER trouble TYPE text USING trouble #>> '{}'",
                )
            ],
            state_operations=[
                migrations.AlterField("import", "trouble", models.JSONField(null=True))
            ],
        )
    ]
