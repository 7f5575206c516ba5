from pathlib import Path

import django.contrib.postgres.functions
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

_HERE = Path(__file__).parent


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("deliveries", "0001_initial"),
    ]

    # Not reversible: before the first migration there is no installation to go back to.
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
                ("content", models.JSONField()),
                ("timing", models.JSONField(db_default={})),
                ("delivery_window", models.JSONField(null=True)),
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
            options={
                "indexes": [
                    models.Index(fields=["workspace", "-id"], name="campaigns_campaign_newest"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "tag"), name="campaigns_campaign_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("tag__regex", "^[a-z0-9-]{1,200}$")),
                        name="campaigns_campaign_tag",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Mailout",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("page_id", models.UUIDField()),
                ("sent_at", models.DateTimeField(null=True)),
                ("reported_at", models.DateTimeField(null=True)),
                ("sent_count", models.BigIntegerField(null=True)),
                ("failed_count", models.BigIntegerField(null=True)),
                ("word", models.TextField(db_default="")),
                ("delivered_count", models.BigIntegerField(db_default=0)),
                ("bounced_count", models.BigIntegerField(db_default=0)),
                ("complained_count", models.BigIntegerField(db_default=0)),
                ("counted_at", models.DateTimeField(null=True)),
                ("trouble", models.TextField(db_default="")),
                ("report_after", models.DateTimeField(null=True)),
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
                        fields=("workspace", "page_id"), name="campaigns_mailout_once"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ErrorRow",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("reference", models.TextField()),
                ("code", models.TextField()),
                ("detail", models.TextField(db_default="")),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("begun_at", models.DateTimeField(null=True)),
                ("written_at", models.DateTimeField(null=True)),
                ("write_after", models.DateTimeField(null=True)),
                ("refusals", models.SmallIntegerField(db_default=0)),
                (
                    "mailout",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="campaigns.mailout",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("written_at", None)),
                        fields=["id"],
                        name="campaigns_errorrow_unwritten",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("mailout", "reference", "code"), name="campaigns_errorrow_once"
                    ),
                ],
            },
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
                ("launch_id", models.UUIDField()),
                ("input_digest", models.BinaryField()),
                ("stream_id", models.BigIntegerField()),
                ("is_test", models.BooleanField()),
                ("is_sandboxed", models.BooleanField()),
                ("test_contact_id", models.BigIntegerField(null=True)),
                ("actor", models.TextField()),
                ("article_key", models.TextField(db_default="")),
                ("launched_at", models.DateTimeField()),
                (
                    "frozen_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("awaited_pass", models.BigIntegerField(null=True)),
                ("synced_at", models.DateTimeField(null=True)),
                ("list_key", models.TextField()),
                ("audience", models.JSONField()),
                ("letter_choice", models.JSONField()),
                ("waves", models.JSONField()),
                ("cursor_wave", models.IntegerField(db_default=0)),
                ("cursor_address", models.TextField(db_collation="C", db_default="")),
                ("excluded", models.JSONField(db_default={})),
                ("trouble", models.TextField(db_default="")),
                ("trouble_since", models.DateTimeField(null=True)),
                ("planned_at", models.DateTimeField(null=True)),
                ("first_mail_at", models.DateTimeField(null=True)),
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
                    "mailout",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="campaigns.mailout",
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
            options={
                "indexes": [
                    models.Index(
                        fields=["campaign", "-stream_id"], name="campaigns_run_of_campaign"
                    ),
                    models.Index(
                        condition=models.Q(("root__isnull", False)),
                        fields=["root"],
                        name="campaigns_run_of_root",
                    ),
                    models.Index(
                        condition=models.Q(("mailout__isnull", False)),
                        fields=["mailout"],
                        name="campaigns_run_of_mailout",
                    ),
                    models.Index(
                        condition=models.Q(("ended_at", None)),
                        fields=["launched_at"],
                        name="campaigns_run_alive",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("campaign", "launch_id"), name="campaigns_run_once"
                    ),
                    models.UniqueConstraint(fields=("stream_id",), name="campaigns_run_of_stream"),
                    models.CheckConstraint(
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
                ],
            },
        ),
        migrations.CreateModel(
            name="ExcludedContact",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "contact_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("contact_id", models.BigIntegerField()),
                ("reason", models.TextField()),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="campaigns.run",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["contact_id"], name="campaigns_excluded_contact"),
                ],
            },
        ),
        migrations.RunSQL((_HERE / "0001_initial.sql").read_text()),
    ]
