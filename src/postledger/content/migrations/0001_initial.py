from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
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
            name="Article",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.TextField()),
                ("title", models.TextField()),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
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
                        fields=("workspace", "key"), name="content_article_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("key__regex", "^[a-z0-9-]{1,200}$")),
                        name="content_article_key",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Letter",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.BinaryField()),
                ("source", models.JSONField()),
                (
                    "created_at",
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
                        fields=("workspace", "digest"), name="content_letter_once"
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            django.db.models.functions.text.Length("digest"), 32
                        ),
                        name="content_letter_digest",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Slice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("scope_ocd_id", models.TextField(null=True)),
                ("section", models.TextField(default="")),
                ("section_order", models.IntegerField(default=0)),
                ("sort_index", models.IntegerField(default=0)),
                ("is_headline", models.BooleanField(default=False)),
                ("title", models.TextField(default="")),
                ("dek", models.TextField(default="")),
                ("body_md", models.TextField(default="")),
                ("published_from", models.DateTimeField(null=True)),
                ("published_until", models.DateTimeField(null=True)),
                ("is_published", models.BooleanField(default=False)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "updated_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "article",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="content.article"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("scope_ocd_id", None),
                            ("scope_ocd_id__regex", "^\\S+$"),
                            _connector="OR",
                        ),
                        name="content_slice_scope",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("published_from", None),
                            ("published_until", None),
                            ("published_from__lt", models.F("published_until")),
                            _connector="OR",
                        ),
                        name="content_slice_window",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("is_headline", False),
                            ("title__regex", "\\S"),
                            ("dek__regex", "\\S"),
                            _connector="OR",
                        ),
                        name="content_slice_headline",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Template",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.TextField()),
                ("name", models.TextField()),
                (
                    "created_at",
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
                        fields=("workspace", "key"), name="content_template_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("key__regex", "^[a-z0-9][a-z0-9-]{0,63}$")),
                        name="content_template_key",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TemplateVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.IntegerField()),
                (
                    "required",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                (
                    "optional",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                ("fallback_locale", models.TextField(default="")),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "template",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="content.template"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("template", "number"), name="content_version_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("number__gte", 1)), name="content_version_number"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TemplateText",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("locale", models.TextField()),
                ("subject", models.TextField()),
                ("body", models.TextField()),
                ("format", models.TextField()),
                ("text", models.TextField(default="")),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="content.templateversion"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("version", "locale"), name="content_text_once"),
                    models.CheckConstraint(
                        condition=models.Q(("format__in", ("markdown", "mjml", "html"))),
                        name="content_text_format",
                    ),
                ],
            },
        ),
        migrations.RunSQL((_HERE / "0001_initial.sql").read_text()),
    ]
