import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("contacts", "0001_initial"),
    ]

    # Not reversible: before the first migration there is no installation to go back to.
    operations = [
        migrations.CreateModel(
            name="Sync",
            fields=[
                (
                    "workspace",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        serialize=False,
                        to="accounts.workspace",
                    ),
                ),
                ("cursor", models.TextField(db_default="")),
                ("pass_count", models.BigIntegerField(db_default=0)),
                ("requested_pass", models.BigIntegerField(db_default=0)),
                ("complete_pass", models.BigIntegerField(db_default=0)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("read_count", models.BigIntegerField(db_default=0)),
                ("created_count", models.BigIntegerField(db_default=0)),
                ("renamed_count", models.BigIntegerField(db_default=0)),
                ("ended_count", models.BigIntegerField(db_default=0)),
                ("written_count", models.BigIntegerField(db_default=0)),
                ("gone_count", models.BigIntegerField(db_default=0)),
                ("returned_count", models.BigIntegerField(db_default=0)),
                ("trouble", models.TextField(null=True)),
                ("troubled_at", models.DateTimeField(null=True)),
                ("retry_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Subscriber",
            fields=[
                (
                    "contact",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        serialize=False,
                        to="contacts.contact",
                    ),
                ),
                ("row_hash", models.BinaryField()),
                ("seen_in", models.BigIntegerField(db_default=0)),
                ("gone_at", models.DateTimeField(null=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.workspace",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "row_hash"), name="supabase_subscriber_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SyncProblem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("row_hash", models.BinaryField()),
                ("failure", models.TextField()),
                ("shown", models.TextField()),
                ("problem", models.TextField()),
                (
                    "since",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "seen_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.workspace",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "row_hash", "failure"),
                        name="supabase_syncproblem_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("failure__in", ["not_applied", "not_found", "not_written"])
                        ),
                        name="supabase_syncproblem_failure",
                    ),
                ],
            },
        ),
        migrations.RunSQL("SELECT close_tables('supabase')"),
    ]
