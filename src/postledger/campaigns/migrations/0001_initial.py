import django.contrib.postgres.functions
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0004_tests_and_zone"),
    ]

    operations = [
        migrations.CreateModel(
            name="Campaign",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("tag", models.TextField()),
                ("name", models.TextField()),
                ("list_key", models.TextField(db_default="")),
                ("audience", models.JSONField(db_default={})),
                ("material", models.JSONField()),
                ("timing", models.JSONField(db_default={})),
                ("created_by", models.TextField()),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "updated_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "sender",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.sender",
                    ),
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
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        db_default=django.contrib.postgres.functions.RandomUUID(),
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("batch_id", models.UUIDField()),
                ("input_digest", models.BinaryField()),
                ("stream_id", models.BigIntegerField()),
                ("is_test", models.BooleanField()),
                ("actor", models.TextField()),
                ("launched_at", models.DateTimeField()),
                (
                    "frozen_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("list_key", models.TextField()),
                ("audience", models.JSONField()),
                ("letters", models.JSONField()),
                ("waves", models.JSONField()),
                ("cursor_wave", models.IntegerField(db_default=0)),
                ("cursor_place", models.TextField(db_collation="C", db_default="")),
                ("excluded", models.JSONField(db_default={})),
                ("trouble", models.TextField(db_default="")),
                ("trouble_since", models.DateTimeField(null=True)),
                ("planned_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("ended_as", models.TextField(null=True)),
                ("ended_by", models.TextField(db_default="")),
                (
                    "campaign",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="campaigns.campaign",
                    ),
                ),
                (
                    "root",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="campaigns.run",
                    ),
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
        ),
        migrations.CreateModel(
            name="Variant",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "variant",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("variant", models.TextField(db_collation="C")),
                ("letter", models.SmallIntegerField(null=True)),
                ("code", models.TextField(db_default="")),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="campaigns.run",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="campaign",
            index=models.Index(fields=["workspace", "-id"], name="campaigns_campaign_newest"),
        ),
        migrations.AddConstraint(
            model_name="campaign",
            constraint=models.UniqueConstraint(
                fields=("workspace", "tag"), name="campaigns_campaign_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="campaign",
            constraint=models.CheckConstraint(
                condition=models.Q(("tag__regex", "^[a-z0-9-]{1,200}$")),
                name="campaigns_campaign_tag",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["workspace", "-launched_at"], name="campaigns_run_newest"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                fields=["campaign", "-launched_at"], name="campaigns_run_of_campaign"
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("root__isnull", False)),
                fields=["root"],
                name="campaigns_run_of_root",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("ended_at", None)),
                fields=["launched_at"],
                name="campaigns_run_alive",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                fields=("campaign", "batch_id"), name="campaigns_run_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                fields=("stream_id",), name="campaigns_run_of_stream"
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ended_as", None), ("ended_at", None)),
                    models.Q(
                        ("ended_as__in", ["cancelled", "closed", "sent"]),
                        ("ended_at__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="campaigns_run_ended",
            ),
        ),
    ]
