import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0004_tests_and_zone"),
        ("campaigns", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="article_key",
            field=models.TextField(db_default=""),
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
                ("told_at", models.DateTimeField(null=True)),
                ("sent_count", models.BigIntegerField(null=True)),
                ("failed_count", models.BigIntegerField(null=True)),
                ("word", models.TextField(db_default="")),
                ("trouble", models.TextField(db_default="")),
                ("tell_after", models.DateTimeField(null=True)),
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
        ),
        migrations.AddField(
            model_name="run",
            name="mailout",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                to="campaigns.mailout",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("mailout__isnull", False)),
                fields=["mailout"],
                name="campaigns_run_of_mailout",
            ),
        ),
        migrations.AddConstraint(
            model_name="mailout",
            constraint=models.UniqueConstraint(
                fields=("workspace", "page_id"), name="campaigns_mailout_once"
            ),
        ),
        migrations.AddIndex(
            model_name="errorrow",
            index=models.Index(
                condition=models.Q(("written_at", None)),
                fields=["id"],
                name="campaigns_errorrow_unwritten",
            ),
        ),
        migrations.AddConstraint(
            model_name="errorrow",
            constraint=models.UniqueConstraint(
                fields=("mailout", "reference", "code"), name="campaigns_errorrow_once"
            ),
        ),
    ]
