from django.db import migrations, models

# Closed to everyone but the owner, as every table is.
_CLOSE = """
ALTER TABLE lib_worklease ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_only ON lib_worklease USING (false);
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="WorkLease",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "work",
                        "number",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("work", models.TextField()),
                ("number", models.BigIntegerField()),
                ("holder", models.UUIDField()),
                ("until", models.DateTimeField()),
            ],
        ),
        migrations.RunSQL(_CLOSE, migrations.RunSQL.noop),
    ]
