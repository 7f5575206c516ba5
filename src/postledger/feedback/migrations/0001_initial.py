import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="InboxMessage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("message_id", models.TextField()),
                ("body", models.TextField()),
                ("sent_at", models.DateTimeField(null=True)),
                (
                    "received_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("fault", models.TextField(db_default="")),
                ("failed_at", models.DateTimeField(null=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.provideraccount",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("fault", "")),
                        fields=["id"],
                        name="feedback_inbox_waiting",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ReceivedMessage",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "message_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("account_id", models.BigIntegerField()),
                ("message_id", models.TextField()),
                (
                    "received_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["received_at"], name="feedback_received_at")],
            },
        ),
        migrations.CreateModel(
            name="Topic",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("arn", models.TextField()),
                ("queue_url", models.TextField(db_default="")),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("confirmed_at", models.DateTimeField(null=True)),
                ("last_polled_at", models.DateTimeField(null=True)),
                ("trouble", models.TextField(db_default="")),
                ("removed_at", models.DateTimeField(null=True)),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="accounts.provideraccount"
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="accounts.workspace"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("removed_at", None)),
                        fields=("arn",),
                        name="feedback_topic_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("removed_at", None), models.Q(("queue_url", ""), _negated=True)
                        ),
                        fields=("queue_url",),
                        name="feedback_queue_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="UnmatchedEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.TextField()),
                ("kind", models.TextField()),
                ("name", models.TextField()),
                ("why", models.TextField()),
                ("reference", models.TextField(db_default="")),
                ("provider_id", models.TextField(db_default="")),
                ("happened_at", models.DateTimeField(null=True)),
                (
                    "received_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="accounts.provideraccount"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["account", "-received_at"], name="feedback_unmatched_newest"
                    ),
                    models.Index(fields=["received_at"], name="feedback_unmatched_at"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "key"), name="feedback_unmatched_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="WebhookKey",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_key", models.TextField()),
                ("webhook_id", models.TextField(db_default="")),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("last_used_at", models.DateTimeField(null=True)),
                ("removed_at", models.DateTimeField(null=True)),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="accounts.provideraccount"
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="accounts.workspace"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("removed_at", None)),
                        fields=("public_key",),
                        name="feedback_webhook_key_once",
                    )
                ],
            },
        ),
        migrations.RunSQL("SELECT close_tables('feedback')"),
    ]
