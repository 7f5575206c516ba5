from pathlib import Path

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.datetime
import django.db.models.functions.text
import django.db.models.lookups
from django.db import migrations, models

_HERE = Path(__file__).parent


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
    ]

    # Not reversible: before the first migration there is no installation to go back to.
    operations = [
        migrations.CreateModel(
            name="Contact",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("address", models.TextField()),
                (
                    "former_addresses",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), null=True, size=None
                    ),
                ),
                ("external_id", models.TextField(null=True)),
                ("name", models.TextField(db_default="")),
                ("from_name", models.TextField(null=True)),
                ("locale", models.TextField(null=True)),
                ("time_zone", models.TextField(null=True)),
                ("attributes", models.JSONField(db_default={})),
                (
                    "ocd_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), db_default=[], size=None
                    ),
                ),
                ("state", models.TextField(db_default="active")),
                ("is_unconfirmed", models.BooleanField(db_default=False)),
                ("bounce_type", models.TextField(null=True)),
                ("bounce_subtype", models.TextField(null=True)),
                ("bounce_at", models.DateTimeField(null=True)),
                ("state_changed_at", models.DateTimeField(null=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "updated_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("deleted_at", models.DateTimeField(null=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.workspace",
                    ),
                ),
            ],
            options={
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(
                        condition=models.Q(("former_addresses__isnull", False)),
                        fields=["former_addresses"],
                        name="contacts_contact_by_former",
                    ),
                    django.contrib.postgres.indexes.GinIndex(
                        fields=["attributes"],
                        name="contacts_contact_by_attribute",
                        opclasses=["jsonb_path_ops"],
                    ),
                    django.contrib.postgres.indexes.GinIndex(
                        fields=["ocd_ids"], name="contacts_contact_by_place"
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["workspace", "id"],
                        include=("state",),
                        name="contacts_contact_there",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("deleted_at", None), models.Q(("state", "active"), _negated=True)
                        ),
                        fields=["workspace", "state"],
                        name="contacts_contact_not_active",
                    ),
                    models.Index(
                        models.F("workspace"),
                        django.db.models.functions.comparison.Collate(
                            django.db.models.functions.text.Lower("address"), "C"
                        ),
                        condition=models.Q(("deleted_at__isnull", False)),
                        name="contacts_contact_deleted",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None), ("locale__isnull", False)),
                        fields=["workspace", "locale"],
                        name="contacts_contact_by_locale",
                    ),
                    django.contrib.postgres.indexes.BrinIndex(
                        autosummarize=True, fields=["created_at"], name="contacts_contact_by_age"
                    ),
                    models.Index(
                        condition=models.Q(
                            ("deleted_at", None), ("state_changed_at__isnull", False)
                        ),
                        fields=["workspace", "state_changed_at"],
                        name="contacts_contact_changed",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None), ("is_unconfirmed", True)),
                        fields=["created_at"],
                        name="contacts_contact_unconfirmed",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("workspace"),
                        django.db.models.functions.comparison.Collate(
                            django.db.models.functions.text.Lower("address"), "C"
                        ),
                        condition=models.Q(("deleted_at", None)),
                        name="contacts_contact_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at", None), ("external_id__isnull", False)),
                        fields=("workspace", "external_id"),
                        name="contacts_contact_external_once",
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            models.Func(
                                "attributes",
                                function="jsonb_typeof",
                                output_field=models.TextField(),
                            ),
                            models.Value("object"),
                        ),
                        name="contacts_contact_attributes",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ("active", "bounced", "unsubscribed"))),
                        name="contacts_contact_state",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="List",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.TextField()),
                ("name", models.TextField()),
                ("kind", models.TextField(db_default="list")),
                ("is_public", models.BooleanField(db_default=False)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("archived_at", models.DateTimeField(null=True)),
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
                    models.UniqueConstraint(fields=("workspace", "key"), name="contacts_list_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("key__regex", "^[a-z0-9][a-z0-9-]{0,63}$"),
                            models.Q(("key", "general"), _negated=True),
                        ),
                        name="contacts_list_key",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ("list", "topic"))),
                        name="contacts_list_kind",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ConsentEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("address_hash", models.BinaryField(null=True)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("action", models.TextField()),
                ("before", models.TextField(null=True)),
                ("after", models.TextField(null=True)),
                ("source", models.TextField()),
                ("actor", models.TextField()),
                ("text_version", models.TextField(db_default="")),
                ("ip", models.GenericIPAddressField(null=True)),
                ("detail", models.TextField(db_default="")),
                (
                    "workspace",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.workspace",
                    ),
                ),
                (
                    "contact",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="contacts.contact",
                    ),
                ),
                (
                    "list",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="contacts.list",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["contact", "-id"], name="contacts_consent_newest"),
                    models.Index(
                        condition=models.Q(("contact", None)),
                        fields=["workspace", "address_hash"],
                        name="contacts_consent_of_address",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "action__in",
                                (
                                    "bounced",
                                    "complained",
                                    "confirmed",
                                    "imported",
                                    "paused",
                                    "preferences_changed",
                                    "restored",
                                    "resumed",
                                    "subscribed",
                                    "suppressed",
                                    "undone",
                                    "unsubscribed",
                                ),
                            )
                        ),
                        name="contacts_consent_action",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("contact__isnull", False),
                            ("address_hash__isnull", False),
                            _connector="OR",
                        ),
                        name="contacts_consent_whose",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Subscription",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "changed_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("state", models.TextField()),
                ("locale", models.TextField(null=True)),
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
                (
                    "contact",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="contacts.contact",
                    ),
                ),
                (
                    "list",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="contacts.list",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["list", "state", "contact"], name="contacts_subscription_of_list"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("contact", "list"), name="contacts_subscription_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                ("active", "paused", "pending", "suppressed", "unsubscribed"),
                            )
                        ),
                        name="contacts_subscription_state",
                    ),
                    models.CheckConstraint(
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
                        name="contacts_subscription_window",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("max_notifications", None),
                            ("max_notifications__gte", 1),
                            _connector="OR",
                        ),
                        name="contacts_subscription_most",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Suppression",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("address", models.TextField(null=True)),
                ("address_hash", models.BinaryField()),
                ("reason", models.TextField()),
                ("has_left", models.BooleanField(db_default=False)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "list",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="contacts.list",
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
                        condition=models.Q(("reason", "by_hand")),
                        fields=["workspace"],
                        name="contacts_suppression_by_hand",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "address_hash", "list"),
                        name="contacts_suppression_once",
                        nulls_distinct=False,
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            django.db.models.functions.text.Length("address_hash"), 16
                        ),
                        name="contacts_suppression_hash",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("reason__in", ("bounced", "by_hand", "complained", "unsubscribed"))
                        ),
                        name="contacts_suppression_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("has_left", True),
                            models.Q(("reason", "unsubscribed"), _negated=True),
                            _connector="OR",
                        ),
                        name="contacts_suppression_left",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="FormBlock",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "workspace_id",
                        "mailbox_hash",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("mailbox_hash", models.BinaryField()),
                (
                    "created_at",
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
        ),
        migrations.RunSQL((_HERE / "consent.sql").read_text()),
        migrations.RunSQL((_HERE / "references.sql").read_text()),
        migrations.RunSQL("SELECT close_tables('contacts')"),
    ]
