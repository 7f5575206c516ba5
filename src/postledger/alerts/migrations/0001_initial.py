import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
    ]

    # Not reversible: before the first migration there is no installation to go back to.
    operations = [
        migrations.CreateModel(
            name="Watch",
            fields=[
                ("id", models.BooleanField(default=True, primary_key=True, serialize=False)),
                ("watched_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Alert",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("cause", models.TextField()),
                ("subject", models.TextField(default="")),
                ("first_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                ("count", models.BigIntegerField()),
                ("times", models.IntegerField(default=1)),
                ("data", models.JSONField(default=dict)),
                ("opened_at", models.DateTimeField()),
                ("told_at", models.DateTimeField(null=True)),
                ("closed_at", models.DateTimeField(null=True)),
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
                "indexes": [models.Index(fields=["workspace", "-id"], name="alerts_alert_newest")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("closed_at", None)),
                        fields=("workspace", "cause", "subject"),
                        name="alerts_alert_open_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "cause__in",
                                (
                                    "no_worker",
                                    "books_unbalanced",
                                    "sender_held",
                                    "no_feedback",
                                    "in_doubt",
                                    "failed_notifications",
                                ),
                            )
                        ),
                        name="alerts_alert_cause",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Recount",
            fields=[
                ("stream_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("counted_at", models.DateTimeField()),
                ("seconds", models.FloatField()),
                ("wrong_since", models.DateTimeField(null=True)),
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
                        condition=models.Q(("wrong_since__isnull", False)),
                        fields=["workspace"],
                        name="alerts_recount_wrong",
                    )
                ],
            },
        ),
        migrations.RunSQL("SELECT close_tables('alerts')"),
    ]
