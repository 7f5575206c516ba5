import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.datetime
import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0004_tests_and_zone"),
        ("contacts", "0006_planning"),
    ]

    operations = [
        migrations.CreateModel(
            name="SupabaseProblem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("row_hash", models.BinaryField()),
                ("way", models.TextField()),
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
            ],
        ),
        migrations.CreateModel(
            name="SupabaseSync",
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
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("read_count", models.BigIntegerField(db_default=0)),
                ("created_count", models.BigIntegerField(db_default=0)),
                ("renamed_count", models.BigIntegerField(db_default=0)),
                ("ended_count", models.BigIntegerField(db_default=0)),
                ("written_count", models.BigIntegerField(db_default=0)),
                ("trouble", models.TextField(null=True)),
                ("troubled_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.AddIndex(
            model_name="contact",
            index=models.Index(
                models.F("workspace"),
                django.db.models.functions.comparison.Collate(
                    django.db.models.functions.text.Lower("address"), "C"
                ),
                condition=models.Q(("deleted_at__isnull", False)),
                name="contacts_contact_deleted",
            ),
        ),
        migrations.AddField(
            model_name="supabaseproblem",
            name="workspace",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, to="accounts.workspace"
            ),
        ),
        migrations.AddConstraint(
            model_name="supabaseproblem",
            constraint=models.UniqueConstraint(
                fields=("workspace", "row_hash", "way"), name="contacts_supabase_problem_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="supabaseproblem",
            constraint=models.CheckConstraint(
                condition=models.Q(("way__in", ["taken", "written"])),
                name="contacts_supabase_problem_way",
            ),
        ),
    ]
