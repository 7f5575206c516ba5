from pathlib import Path

import django.db.models.deletion
from django.db import migrations, models

_HERE = Path(__file__).parent


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0005_closed"),
        ("contacts", "0011_mark_unconfirmed"),
    ]

    operations = [
        migrations.CreateModel(
            name="SupabaseSubscriber",
            fields=[
                (
                    "contact",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        serialize=False,
                        to="contacts.contact",
                    ),
                ),
                ("row_hash", models.BinaryField()),
                ("seen_in", models.BigIntegerField(db_default=0)),
                ("gone_at", models.DateTimeField(null=True)),
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
                        fields=("workspace", "row_hash"), name="contacts_supabase_subscriber_once"
                    )
                ],
            },
        ),
        migrations.AddField(
            model_name="supabasesync",
            name="pass_count",
            field=models.BigIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="supabasesync",
            name="gone_count",
            field=models.BigIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="supabasesync",
            name="returned_count",
            field=models.BigIntegerField(db_default=0),
        ),
        migrations.RemoveConstraint(
            model_name="supabaseproblem", name="contacts_supabase_problem_way"
        ),
        migrations.AddConstraint(
            model_name="supabaseproblem",
            constraint=models.CheckConstraint(
                condition=models.Q(("way__in", ["found", "taken", "written"])),
                name="contacts_supabase_problem_way",
            ),
        ),
        migrations.RunSQL("SELECT close_tables('contacts')", migrations.RunSQL.noop),
        migrations.RunSQL(
            (_HERE / "0012_supabase_subscribers.sql").read_text(), migrations.RunSQL.noop
        ),
    ]
