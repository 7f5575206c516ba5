from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

_HERE = Path(__file__).parent


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("contacts", "0001_initial"),
        ("deliveries", "0001_initial"),
    ]

    # Not reversible: before the first migration there is no installation to go back to.
    operations = [
        migrations.CreateModel(
            name="Source",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.TextField()),
                ("url", models.TextField(db_default="")),
                ("interval_seconds", models.IntegerField(db_default=60)),
                ("items_path", models.TextField(db_default="")),
                (
                    "id_fields",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                ("watched_field", models.TextField()),
                ("fields", models.JSONField(db_default={})),
                ("archived_at", models.DateTimeField(null=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "next_poll_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("last_snapshot_at", models.DateTimeField(null=True)),
                ("snapshot_hash", models.TextField(db_default="")),
                ("trouble", models.TextField(db_default="")),
                ("trouble_since", models.DateTimeField(null=True)),
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
            name="SourceItem",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "source_id",
                        "key",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("key", models.TextField(db_collation="C")),
                ("value", models.TextField()),
                (
                    "changed_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("missing_since", models.DateTimeField(null=True)),
                (
                    "source",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="notifications.source",
                    ),
                ),
            ],
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
                ("template", models.TextField()),
                ("template_version", models.IntegerField(null=True)),
                ("event_schema", models.JSONField(db_default={})),
                (
                    "match_fields",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                ("status_field", models.TextField(db_default="statusAfter")),
                (
                    "notify_on",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), db_default=["Open"], size=None
                    ),
                ),
                ("fallback_locale", models.TextField(db_default="")),
                ("dedupe_seconds", models.IntegerField(db_default=180)),
                ("ttl_seconds", models.IntegerField(db_default=86400)),
                ("is_by_job", models.BooleanField(db_default=False)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "list",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, to="contacts.list"
                    ),
                ),
                (
                    "sender",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.PROTECT, to="accounts.sender"
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.workspace",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="source",
            name="topic",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, to="notifications.topic"
            ),
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.TextField(null=True)),
                ("data", models.JSONField()),
                ("digest", models.BinaryField()),
                ("trace_id", models.TextField(db_default="")),
                ("dedupe_key", models.TextField()),
                ("occurred_at", models.DateTimeField()),
                (
                    "received_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("expires_at", models.DateTimeField()),
                ("unchanged_at", models.DateTimeField(null=True)),
                ("actor", models.TextField()),
                (
                    "match_digests",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BinaryField(), size=None
                    ),
                ),
                ("stream_id", models.BigIntegerField(null=True)),
                ("template", models.TextField(db_default="")),
                ("template_version", models.IntegerField(null=True)),
                ("cursor", models.BigIntegerField(db_default=0)),
                ("planned_at", models.DateTimeField(null=True)),
                ("trouble", models.TextField(db_default="")),
                ("trouble_since", models.DateTimeField(null=True)),
                (
                    "topic",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="notifications.topic",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="TopicStream",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("month", models.IntegerField()),
                ("stream_id", models.BigIntegerField()),
                (
                    "sender",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="accounts.sender"
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="notifications.topic",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="TopicSubscription",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("contact_type", models.TextField(db_default="email")),
                ("match", models.JSONField(db_default={})),
                ("match_digest", models.BinaryField()),
                ("state", models.TextField(db_default="active")),
                (
                    "notify_on",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), null=True, size=None
                    ),
                ),
                ("max_notifications", models.IntegerField(null=True)),
                ("window_from", models.SmallIntegerField(null=True)),
                ("window_until", models.SmallIntegerField(null=True)),
                ("snooze_until", models.DateTimeField(null=True)),
                ("locale", models.TextField(db_default="")),
                ("forgotten_sent", models.IntegerField(db_default=0)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "changed_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "contact",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="contacts.contact",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="notifications.topic",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Notification",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("dedupe_key", models.TextField()),
                ("end", models.TextField(null=True)),
                ("code", models.TextField(db_default="")),
                ("is_planned", models.BooleanField(db_default=False)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("max_attempts", models.SmallIntegerField(null=True)),
                ("lock_ttl_seconds", models.IntegerField(null=True)),
                (
                    "retry_schedule_ms",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), null=True, size=None
                    ),
                ),
                (
                    "event",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="notifications.event",
                    ),
                ),
                (
                    "subscription",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="notifications.topicsubscription",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="source",
            index=models.Index(
                condition=models.Q(("archived_at", None), models.Q(("url", ""), _negated=True)),
                fields=["next_poll_at"],
                name="notifications_source_due",
            ),
        ),
        migrations.AddConstraint(
            model_name="source",
            constraint=models.UniqueConstraint(
                fields=("workspace", "key"), name="notifications_source_once"
            ),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(fields=["topic", "-id"], name="notifications_event_newest"),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
                condition=models.Q(("planned_at", None)),
                fields=["topic", "id"],
                name="notifications_unplanned",
            ),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(fields=["stream_id"], name="notifications_event_of_stream"),
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.UniqueConstraint(
                fields=("topic", "key"), name="notifications_event_once"
            ),
        ),
        migrations.AddIndex(
            model_name="topicstream",
            index=models.Index(
                fields=["topic", "sender", "month", "id"], name="notifications_stream_newest"
            ),
        ),
        migrations.AddConstraint(
            model_name="topicstream",
            constraint=models.UniqueConstraint(
                fields=("stream_id",), name="notifications_stream_of_topic"
            ),
        ),
        migrations.AddIndex(
            model_name="topicsubscription",
            index=models.Index(
                fields=["topic", "match_digest", "id"], name="notifications_matching"
            ),
        ),
        migrations.AddConstraint(
            model_name="topicsubscription",
            constraint=models.UniqueConstraint(
                fields=("contact", "topic", "match_digest"), name="notifications_subscription_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="topicsubscription",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("window_from", None), ("window_until", None)),
                    models.Q(
                        ("window_from__gte", 0),
                        ("window_from__lte", 1440),
                        ("window_until__gte", 0),
                        ("window_until__lte", 1440),
                    ),
                    _connector="OR",
                ),
                name="notifications_subscription_window",
            ),
        ),
        migrations.AddConstraint(
            model_name="topicsubscription",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("max_notifications", None), ("max_notifications__gte", 1), _connector="OR"
                ),
                name="notifications_subscription_most",
            ),
        ),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(
                fields=["subscription", "-created_at"], name="notifications_of_subscription"
            ),
        ),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(
                condition=models.Q(("end", None), ("is_planned", False)),
                fields=["event"],
                name="notifications_without_job",
            ),
        ),
        migrations.AddConstraint(
            model_name="notification",
            constraint=models.UniqueConstraint(
                fields=("event", "subscription"), name="notifications_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="notification",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("end", None), ("end__in", ("expired", "skipped")), _connector="OR"
                ),
                name="notifications_end",
            ),
        ),
        migrations.RunSQL((_HERE / "views.sql").read_text()),
    ]
