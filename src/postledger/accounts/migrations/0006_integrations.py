import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_closed")]

    operations = [
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
        migrations.RunSQL("SELECT close_tables('accounts')", migrations.RunSQL.noop),
    ]
