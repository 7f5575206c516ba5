from pathlib import Path

from django.db import migrations, models

_HERE = Path(__file__).parent


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    # Not reversible: before the first migration there is no installation to go back to.
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
        migrations.RunSQL((_HERE / "0001_initial.sql").read_text()),
    ]
