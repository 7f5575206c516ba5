from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("lib", "0001_initial"),
    ]

    # Not reversible: before the first migration there is no installation to go back to.
    operations = [
        migrations.CreateModel(
            name="Variant",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "stream_id",
                        "digest",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("stream_id", models.BigIntegerField()),
                ("digest", models.BinaryField()),
                ("variant", models.TextField(db_collation="C")),
                ("letter", models.SmallIntegerField(null=True)),
                ("code", models.TextField(db_default="")),
            ],
        ),
        migrations.RunSQL("SELECT close_tables('mailing')"),
    ]
