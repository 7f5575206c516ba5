from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("lib", "0001_initial"),
    ]

    # Not reversible: before the first migration there is no installation to go back to.
    operations = [
        migrations.CreateModel(
            name="Worker",
            fields=[
                ("name", models.TextField(primary_key=True, serialize=False)),
                ("started_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
                ("busy_streams", models.IntegerField()),
                ("claimed_at", models.DateTimeField(null=True)),
                ("ticked_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.RunSQL("SELECT close_tables('dispatch')"),
    ]
