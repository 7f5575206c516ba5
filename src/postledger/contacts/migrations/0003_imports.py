import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
from django.db import migrations, models

# The rows of unfinished imports, to know an address that a file has twice, however far apart.
# Without a foreign key, which would be looked up for each of millions of rows; an import takes
# its own rows away at its end.
_SEEN = """
CREATE TABLE contacts_importedrow (
    import_id bigint NOT NULL,
    address_hash bytea NOT NULL,
    row_number bigint NOT NULL,
    PRIMARY KEY (import_id, address_hash)
)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_organisation"),
        ("contacts", "0002_consent"),
    ]

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
                ("actor", models.TextField()),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
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
                        to="contacts.import",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="import",
            index=models.Index(fields=["workspace", "-id"], name="contacts_import_newest"),
        ),
        migrations.AddConstraint(
            model_name="import",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["finished", "running"])),
                name="contacts_import_state",
            ),
        ),
        migrations.AddConstraint(
            model_name="import",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "cursor_row",
                        django.db.models.expressions.CombinedExpression(
                            django.db.models.expressions.CombinedExpression(
                                django.db.models.expressions.CombinedExpression(
                                    django.db.models.expressions.CombinedExpression(
                                        django.db.models.expressions.CombinedExpression(
                                            django.db.models.expressions.CombinedExpression(
                                                models.Value(2), "+", models.F("created_count")
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
                name="contacts_import_balances",
            ),
        ),
        migrations.AddIndex(
            model_name="importproblem",
            index=models.Index(fields=["of_import", "row_number"], name="contacts_import_problems"),
        ),
        migrations.RunSQL(_SEEN, reverse_sql="DROP TABLE contacts_importedrow"),
    ]
