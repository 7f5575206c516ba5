from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from postledger.accounts import hash_key

_HERE = Path(__file__).parent


def _create_hash_key(_apps: StateApps, _schema_editor: BaseDatabaseSchemaEditor) -> None:
    hash_key.create()


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("lib", "0001_initial"),
    ]

    # Not reversible: before the first migration there is no installation to go back to.
    operations = [
        migrations.CreateModel(
            name="User",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                (
                    "last_login",
                    models.DateTimeField(blank=True, null=True, verbose_name="last login"),
                ),
                ("email", models.EmailField(max_length=254, unique=True)),
                ("name", models.TextField(default="")),
                ("language", models.TextField(default="")),
                ("is_active", models.BooleanField(default=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
            options={"abstract": False},
        ),
        migrations.CreateModel(
            name="FirstRunCode",
            fields=[
                (
                    "id",
                    models.BooleanField(default=True, primary_key=True, serialize=False),
                ),
                ("code_hash", models.BinaryField()),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("id", True)), name="accounts_first_run_only"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Workspace",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.TextField()),
                ("org_name", models.TextField(db_default="")),
                ("org_address", models.TextField(db_default="")),
                ("unsubscribe_base_url", models.TextField(db_default="")),
                ("time_zone", models.TextField(db_default="UTC")),
                ("working_hours", models.JSONField(null=True)),
                ("test_emails", models.TextField(db_default="")),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        django.db.models.functions.text.Lower("name"),
                        name="accounts_workspace_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ProviderAccount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.TextField()),
                ("kind", models.TextField()),
                ("sealed_settings", models.BinaryField()),
                ("rate_per_second", models.FloatField(null=True)),
                ("tuned_rate", models.FloatField(null=True)),
                ("sealed_quota_source", models.BinaryField(null=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "updated_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("archived_at", models.DateTimeField(null=True)),
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
                        fields=("workspace", "name"), name="accounts_account_once"
                    ),
                    models.UniqueConstraint(
                        fields=("workspace", "id"), name="accounts_account_own"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Member",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("email", models.TextField()),
                ("name", models.TextField(default="")),
                ("role", models.TextField()),
                ("invitation_hash", models.BinaryField(null=True)),
                ("invited_until", models.DateTimeField(null=True)),
                ("removed_at", models.DateTimeField(null=True)),
                ("daily_limit", models.IntegerField(null=True)),
                ("counted_since", models.DateTimeField(null=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to=settings.AUTH_USER_MODEL,
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
                        models.F("workspace"),
                        django.db.models.functions.text.Lower("email"),
                        condition=models.Q(("removed_at", None)),
                        name="accounts_member_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("removed_at", None)),
                        fields=("user", "workspace"),
                        name="accounts_member_user_once",
                    ),
                    models.UniqueConstraint(
                        fields=("invitation_hash",), name="accounts_member_invitation_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("role__in", ("owner", "manager", "developer", "viewer"))
                        ),
                        name="accounts_member_role",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("daily_limit__gte", 1)), name="accounts_member_limit"
                    ),
                    models.UniqueConstraint(fields=("workspace", "id"), name="accounts_member_own"),
                ],
            },
        ),
        migrations.CreateModel(
            name="AccountQuota",
            fields=[
                (
                    "account",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        serialize=False,
                        to="accounts.provideraccount",
                    ),
                ),
                ("remaining", models.BigIntegerField(null=True)),
                ("size", models.BigIntegerField(null=True)),
                ("max_rate", models.FloatField(null=True)),
                ("is_limit", models.BooleanField(default=True)),
                ("sync_id", models.BigIntegerField(default=0)),
                ("mark_count_id", models.TextField(null=True)),
                ("mark_granted", models.BigIntegerField(null=True)),
                ("synced_at", models.DateTimeField(null=True)),
                (
                    "next_sync_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("failed_since", models.DateTimeField(null=True)),
                ("error", models.TextField(default="")),
            ],
        ),
        migrations.CreateModel(
            name="Integration",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.TextField()),
                ("sealed_settings", models.BinaryField(null=True)),
                (
                    "updated_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
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
                        fields=("workspace", "kind"), name="accounts_integration_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ("notion", "supabase", "admin"))),
                        name="accounts_integration_kind",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("actor", models.TextField()),
                ("action", models.TextField()),
                ("subject", models.TextField()),
                ("data", models.JSONField(default=dict)),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="accounts.workspace"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["workspace", "-at"], name="accounts_audit_newest"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.TextField()),
                ("prefix", models.TextField(unique=True)),
                ("secret_hash", models.BinaryField()),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                ("is_test", models.BooleanField(default=False)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("last_used_at", models.DateTimeField(null=True)),
                ("expires_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "member",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.member",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="accounts.workspace"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Sender",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("address", models.TextField()),
                ("name", models.TextField(default="")),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("is_default", models.BooleanField(db_default=False)),
                ("archived_at", models.DateTimeField(null=True)),
                ("rate_per_second", models.FloatField(null=True)),
                ("rate_per_hour", models.IntegerField(null=True)),
                ("daily_limit", models.IntegerField(null=True)),
                ("counted_since", models.DateTimeField(null=True)),
                ("working_hours", models.JSONField(null=True)),
                (
                    "account",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.provideraccount",
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
                        models.F("workspace"),
                        django.db.models.functions.text.Lower("address"),
                        name="accounts_sender_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("is_default", True)),
                        fields=("workspace",),
                        name="accounts_sender_default_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("is_default", False), ("archived_at", None), _connector="OR"
                        ),
                        name="accounts_sender_default_in_use",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("rate_per_second__gt", 0), ("rate_per_second__lte", 10000)
                        ),
                        name="accounts_sender_rate",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("rate_per_hour__gte", 1)),
                        name="accounts_sender_hourly_limit",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("daily_limit__gte", 1)),
                        name="accounts_sender_daily_limit",
                    ),
                ],
            },
        ),
        migrations.RunSQL((_HERE / "0001_initial.sql").read_text()),
        migrations.RunPython(_create_hash_key),
    ]
