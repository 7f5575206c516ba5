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
        ("content", "0001_initial"),
    ]

    # The tables are written by hand (partitions, fillfactor, exclusion); Django only knows them.
    # Not reversible: before the first migration there is no installation to go back to.
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL((_HERE / "ledger.sql").read_text()),
                migrations.RunSQL((_HERE / "views.sql").read_text()),
            ],
            state_operations=[
                migrations.CreateModel(
                    name="Attempt",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "stream_id",
                                "position",
                                "id",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("id", models.BigIntegerField()),
                        ("stream_id", models.BigIntegerField()),
                        ("position", models.BigIntegerField()),
                        ("try_number", models.IntegerField()),
                        ("at", models.DateTimeField()),
                        ("outcome", models.TextField()),
                        ("state", models.TextField()),
                        ("code", models.TextField(null=True)),
                        ("detail", models.TextField(null=True)),
                        ("message_id", models.TextField(null=True)),
                        ("duration_ms", models.IntegerField(null=True)),
                        ("category", models.TextField(null=True)),
                        ("original_code", models.TextField(null=True)),
                        ("delay_ms", models.BigIntegerField(null=True)),
                    ],
                ),
                migrations.CreateModel(
                    name="Batch",
                    fields=[
                        ("id", models.BigAutoField(primary_key=True, serialize=False)),
                        ("stream_id", models.BigIntegerField()),
                        ("lo", models.BigIntegerField()),
                        ("hi", models.BigIntegerField()),
                        ("armed_to", models.BigIntegerField(null=True)),
                        ("is_single", models.BooleanField()),
                        ("try_number", models.IntegerField()),
                        ("due_at", models.DateTimeField()),
                        ("reason", models.TextField()),
                        ("since", models.DateTimeField()),
                        ("lease", models.BigIntegerField(null=True)),
                        ("lease_until", models.DateTimeField(null=True)),
                        ("version", models.IntegerField(db_default=0)),
                        ("losses", models.SmallIntegerField(db_default=0)),
                        ("lone_losses", models.SmallIntegerField(db_default=0)),
                        ("planned", models.IntegerField(db_default=0)),
                    ],
                ),
                migrations.CreateModel(
                    name="Body",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "stream_id",
                                "position",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("stream_id", models.BigIntegerField()),
                        ("position", models.BigIntegerField()),
                        ("request_id", models.TextField()),
                        ("subject", models.TextField()),
                        ("html", models.TextField()),
                        ("text", models.TextField()),
                        ("headers", models.JSONField(null=True)),
                        ("size", models.IntegerField(db_default=0)),
                        ("to_name", models.TextField(db_default="")),
                        ("reply_to", models.TextField(db_default="")),
                        ("tags", models.JSONField(null=True)),
                        ("attachments", models.JSONField(null=True)),
                        ("letter", models.TextField(db_default="")),
                        ("list_key", models.TextField(db_default="")),
                        ("secret_until", models.DateTimeField(null=True)),
                        ("digest", models.BinaryField(null=True)),
                    ],
                ),
                migrations.CreateModel(
                    name="Delivery",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "stream_id",
                                "position",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("stream_id", models.BigIntegerField()),
                        ("position", models.BigIntegerField()),
                        ("planned_at", models.DateTimeField()),
                        ("address", models.TextField()),
                        ("contact_id", models.BigIntegerField(null=True)),
                        ("dedupe_key", models.TextField(db_collation="C", null=True)),
                        ("variables", models.JSONField(null=True)),
                        ("letter", models.SmallIntegerField(db_default=0)),
                        ("state", models.TextField(db_default="waiting")),
                        ("last_try", models.IntegerField(db_default=0)),
                        ("attempts", models.IntegerField(db_default=0)),
                        ("code", models.TextField(null=True)),
                        ("message_id", models.TextField(null=True)),
                        ("duration_ms", models.IntegerField(null=True)),
                        ("settled_at", models.DateTimeField(null=True)),
                        (
                            "doubts",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.IntegerField(), null=True, size=None
                            ),
                        ),
                        ("resend_after", models.DateTimeField(null=True)),
                    ],
                ),
                migrations.CreateModel(
                    name="DeliveryEvent",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "stream_id",
                                "position",
                                "id",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("id", models.BigIntegerField()),
                        ("stream_id", models.BigIntegerField()),
                        ("position", models.BigIntegerField()),
                        ("at", models.DateTimeField()),
                        ("kind", models.TextField()),
                        ("actor", models.TextField()),
                        ("data", models.JSONField()),
                    ],
                ),
                migrations.CreateModel(
                    name="DroppedMonth",
                    fields=[
                        ("month", models.IntegerField(primary_key=True, serialize=False)),
                        ("dropped_at", models.DateTimeField()),
                    ],
                ),
                migrations.CreateModel(
                    name="Feedback",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "stream_id",
                                "position",
                                "key",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("stream_id", models.BigIntegerField()),
                        ("position", models.BigIntegerField()),
                        ("key", models.TextField(db_collation="C")),
                        ("happened_at", models.DateTimeField()),
                        ("received_at", models.DateTimeField()),
                        ("try_number", models.IntegerField()),
                        ("kind", models.TextField()),
                        ("counts_as", models.TextField(null=True)),
                        ("name", models.TextField()),
                        ("code", models.TextField(null=True)),
                        ("detail", models.TextField(null=True)),
                        ("message_id", models.TextField(null=True)),
                    ],
                ),
                migrations.CreateModel(
                    name="DeadAddress",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "stream_id",
                                "position",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("stream_id", models.BigIntegerField()),
                        ("position", models.BigIntegerField()),
                        ("code", models.TextField()),
                        ("at", models.DateTimeField()),
                    ],
                ),
                migrations.CreateModel(
                    name="Lane",
                    fields=[
                        ("stream_id", models.BigIntegerField(primary_key=True, serialize=False)),
                        ("priority", models.SmallIntegerField()),
                        ("turn_at", models.DateTimeField()),
                    ],
                ),
                migrations.CreateModel(
                    name="Lease",
                    fields=[
                        ("token", models.BigIntegerField(primary_key=True, serialize=False)),
                        ("holder", models.TextField()),
                        ("taken_at", models.DateTimeField()),
                        ("check_at", models.DateTimeField()),
                        ("is_alone", models.BooleanField()),
                        (
                            "batch_ids",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.BigIntegerField(), size=None
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="ProviderMessage",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "stream_id",
                                "message_id",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("stream_id", models.BigIntegerField()),
                        ("message_id", models.TextField()),
                        ("position", models.BigIntegerField()),
                        ("try_number", models.IntegerField()),
                    ],
                ),
                migrations.CreateModel(
                    name="StreamHold",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "stream_id",
                                "reason",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("stream_id", models.BigIntegerField()),
                        ("reason", models.TextField()),
                        ("since", models.DateTimeField()),
                        ("until", models.DateTimeField(null=True)),
                        ("actor", models.TextField()),
                        ("detail", models.TextField()),
                    ],
                ),
                migrations.CreateModel(
                    name="SenderHold",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "sender_id",
                                "reason",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        (
                            "sender",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                to="accounts.sender",
                            ),
                        ),
                        ("reason", models.TextField()),
                        ("since", models.DateTimeField()),
                        ("until", models.DateTimeField(null=True)),
                        ("actor", models.TextField()),
                        ("detail", models.TextField()),
                        ("is_account", models.BooleanField()),
                        ("times", models.SmallIntegerField()),
                        ("code", models.TextField(null=True)),
                        ("category", models.TextField(null=True)),
                        ("original_code", models.TextField(null=True)),
                        ("fails_at", models.DateTimeField(null=True)),
                        ("probe_lease", models.BigIntegerField(null=True)),
                        ("probe_until", models.DateTimeField(null=True)),
                    ],
                ),
                migrations.CreateModel(
                    name="StreamDelta",
                    fields=[
                        ("id", models.BigAutoField(primary_key=True, serialize=False)),
                        ("stream_id", models.BigIntegerField()),
                        (
                            "at",
                            models.DateTimeField(
                                db_default=django.db.models.functions.datetime.Now()
                            ),
                        ),
                        ("planned", models.IntegerField(db_default=0)),
                        ("accepted", models.IntegerField(db_default=0)),
                        ("failed", models.IntegerField(db_default=0)),
                        ("skipped", models.IntegerField(db_default=0)),
                        ("suppressed", models.IntegerField(db_default=0)),
                        ("expired", models.IntegerField(db_default=0)),
                        ("cancelled", models.IntegerField(db_default=0)),
                        ("in_doubt", models.IntegerField(db_default=0)),
                        ("delivered", models.IntegerField(db_default=0)),
                        ("bounced", models.IntegerField(db_default=0)),
                        ("soft_bounced", models.IntegerField(db_default=0)),
                        ("on_suppression_list", models.IntegerField(db_default=0)),
                        ("complained", models.IntegerField(db_default=0)),
                        ("dropped", models.IntegerField(db_default=0)),
                        ("opened", models.IntegerField(db_default=0)),
                        ("clicked", models.IntegerField(db_default=0)),
                        ("reported", models.IntegerField(db_default=0)),
                    ],
                ),
                migrations.CreateModel(
                    name="StreamPace",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "stream_id",
                                "slot",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("stream_id", models.BigIntegerField()),
                        ("slot", models.DateTimeField()),
                        ("accepted", models.IntegerField()),
                        ("failed", models.IntegerField()),
                        ("skipped", models.IntegerField()),
                        ("suppressed", models.IntegerField()),
                        ("expired", models.IntegerField()),
                        ("cancelled", models.IntegerField()),
                        ("in_doubt", models.IntegerField()),
                        ("delivered", models.IntegerField()),
                        ("bounced", models.IntegerField()),
                        ("complained", models.IntegerField()),
                        ("reported", models.IntegerField()),
                    ],
                ),
                migrations.CreateModel(
                    name="Word",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "stream_id",
                                "word",
                                "position",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("stream_id", models.BigIntegerField()),
                        ("word", models.TextField(db_collation="C")),
                        ("position", models.BigIntegerField()),
                    ],
                ),
                migrations.CreateModel(
                    name="Stream",
                    fields=[
                        ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                        ("kind", models.TextField()),
                        ("title", models.TextField()),
                        ("is_test", models.BooleanField(db_default=False)),
                        ("is_trial", models.BooleanField(db_default=False)),
                        ("delivery_window", models.JSONField(null=True)),
                        ("epoch", models.IntegerField(db_default=1)),
                        ("lifted_epoch", models.IntegerField(null=True)),
                        ("next_position", models.BigIntegerField(db_default=0)),
                        ("cancelled_at", models.DateTimeField(null=True)),
                        ("cancelled_by", models.TextField(null=True)),
                        ("block_code", models.TextField(null=True)),
                        ("block_category", models.TextField(null=True)),
                        ("block_original_code", models.TextField(null=True)),
                        ("block_detail", models.TextField(null=True)),
                        (
                            "created_at",
                            models.DateTimeField(
                                db_default=django.db.models.functions.datetime.Now()
                            ),
                        ),
                        ("folded_at", models.DateTimeField(null=True)),
                        ("planned", models.BigIntegerField(db_default=0)),
                        ("accepted", models.BigIntegerField(db_default=0)),
                        ("failed", models.BigIntegerField(db_default=0)),
                        ("skipped", models.BigIntegerField(db_default=0)),
                        ("suppressed", models.BigIntegerField(db_default=0)),
                        ("expired", models.BigIntegerField(db_default=0)),
                        ("cancelled", models.BigIntegerField(db_default=0)),
                        ("in_doubt", models.BigIntegerField(db_default=0)),
                        ("delivered", models.BigIntegerField(db_default=0)),
                        ("bounced", models.BigIntegerField(db_default=0)),
                        ("soft_bounced", models.BigIntegerField(db_default=0)),
                        ("on_suppression_list", models.BigIntegerField(db_default=0)),
                        ("complained", models.BigIntegerField(db_default=0)),
                        ("dropped", models.BigIntegerField(db_default=0)),
                        ("opened", models.BigIntegerField(db_default=0)),
                        ("clicked", models.BigIntegerField(db_default=0)),
                        ("reported", models.BigIntegerField(db_default=0)),
                        (
                            "member",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                to="accounts.member",
                            ),
                        ),
                        (
                            "sender",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, to="accounts.sender"
                            ),
                        ),
                        (
                            "workspace",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, to="accounts.workspace"
                            ),
                        ),
                        ("guard_since", models.DateTimeField(null=True)),
                        ("guard_accepted", models.BigIntegerField(db_default=0)),
                        ("guard_delivered", models.BigIntegerField(db_default=0)),
                        ("guard_bounced", models.BigIntegerField(db_default=0)),
                        ("guard_complained", models.BigIntegerField(db_default=0)),
                    ],
                ),
            ],
        ),
    ]
