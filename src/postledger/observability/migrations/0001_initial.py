import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("lib", "0001_initial"),
    ]

    # Not reversible: before the first migration there is no installation to go back to.
    operations = [
        migrations.CreateModel(
            name="MetricTotal",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "name",
                        "labels",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.TextField()),
                (
                    "labels",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                ("value", models.FloatField()),
            ],
        ),
        migrations.RunSQL("SELECT close_tables('observability')"),
    ]
