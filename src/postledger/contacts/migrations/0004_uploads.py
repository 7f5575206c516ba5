import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("contacts", "0003_imports"),
    ]

    operations = [
        migrations.CreateModel(
            name="ImportPart",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.IntegerField()),
                ("content", models.BinaryField()),
            ],
        ),
        migrations.RemoveConstraint(
            model_name="import",
            name="contacts_import_state",
        ),
        migrations.AddField(
            model_name="import",
            name="due_at",
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
        ),
        migrations.AddField(
            model_name="import",
            name="preview",
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name="import",
            name="started_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="import",
            name="trouble",
            field=models.TextField(null=True),
        ),
        migrations.AddField(
            model_name="import",
            name="upload",
            field=models.JSONField(null=True),
        ),
        migrations.AddIndex(
            model_name="import",
            index=models.Index(
                condition=models.Q(("state__in", ["previewing", "running"])),
                fields=["due_at"],
                name="contacts_import_due",
            ),
        ),
        migrations.AddConstraint(
            model_name="import",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("state__in", ["abandoned", "finished", "previewing", "running", "uploaded"])
                ),
                name="contacts_import_state",
            ),
        ),
        migrations.AddField(
            model_name="importpart",
            name="of_import",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, to="contacts.import"
            ),
        ),
        migrations.AddConstraint(
            model_name="importpart",
            constraint=models.UniqueConstraint(
                fields=("of_import", "number"), name="contacts_import_parts"
            ),
        ),
    ]
