from pathlib import Path

import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
from django.db import migrations, models

_HERE = Path(__file__).parent


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("contacts", "0001_initial"),
    ]

    # Not reversible: before the first migration there is no installation to go back to.
    operations = [
        migrations.CreateModel(
            name="Import",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("file_name", models.TextField()),
                ("sha256", models.TextField()),
                ("byte_count", models.BigIntegerField()),
                ("row_count", models.BigIntegerField()),
                ("mapping", models.JSONField()),
                ("state", models.TextField(db_default="running")),
                ("cursor_byte", models.BigIntegerField()),
                ("cursor_row", models.BigIntegerField(db_default=2)),
                ("created_count", models.BigIntegerField(db_default=0)),
                ("updated_count", models.BigIntegerField(db_default=0)),
                ("unchanged_count", models.BigIntegerField(db_default=0)),
                ("duplicate_count", models.BigIntegerField(db_default=0)),
                ("refused_count", models.BigIntegerField(db_default=0)),
                ("blank_count", models.BigIntegerField(db_default=0)),
                ("subscribed_count", models.BigIntegerField(db_default=0)),
                ("kept_back_count", models.BigIntegerField(db_default=0)),
                ("problem_count", models.BigIntegerField(db_default=0)),
                ("actor", models.TextField()),
                ("upload", models.JSONField(null=True)),
                ("preview", models.JSONField(null=True)),
                ("trouble", models.TextField(null=True)),
                (
                    "due_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("started_at", models.DateTimeField(null=True)),
                (
                    "changed_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("finished_at", models.DateTimeField(null=True)),
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
                    models.Index(fields=["workspace", "-id"], name="imports_import_newest"),
                    models.Index(
                        condition=models.Q(("state__in", ["previewing", "running"])),
                        fields=["due_at"],
                        name="imports_import_due",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                ["abandoned", "finished", "previewing", "running", "uploaded"],
                            )
                        ),
                        name="imports_import_state",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "cursor_row",
                                django.db.models.expressions.CombinedExpression(
                                    django.db.models.expressions.CombinedExpression(
                                        django.db.models.expressions.CombinedExpression(
                                            django.db.models.expressions.CombinedExpression(
                                                django.db.models.expressions.CombinedExpression(
                                                    django.db.models.expressions.CombinedExpression(
                                                        models.Value(2),
                                                        "+",
                                                        models.F("created_count"),
                                                    ),
                                                    "+",
                                                    models.F("updated_count"),
                                                ),
                                                "+",
                                                models.F("unchanged_count"),
                                            ),
                                            "+",
                                            models.F("duplicate_count"),
                                        ),
                                        "+",
                                        models.F("refused_count"),
                                    ),
                                    "+",
                                    models.F("blank_count"),
                                ),
                            )
                        ),
                        name="imports_import_balances",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="FilePart",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.IntegerField()),
                ("content", models.BinaryField()),
                (
                    "of_import",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="imports.import",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("of_import", "number"), name="imports_filepart_once"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ImportProblem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("row_number", models.BigIntegerField()),
                ("column_name", models.TextField()),
                ("value", models.TextField()),
                ("problem", models.TextField()),
                ("remedy", models.TextField()),
                (
                    "of_import",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="imports.import",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["of_import", "row_number"], name="imports_problem_of_import"
                    ),
                ],
            },
        ),
        migrations.RunSQL((_HERE / "0001_initial.sql").read_text()),
    ]
