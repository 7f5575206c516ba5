from pathlib import Path

from django.db import migrations, models

_BACK = """
DROP FUNCTION deliveries_keep_lane(bigint);
DROP TABLE deliveries_word;
ALTER SEQUENCE deliveries_single_position CACHE 100;
ALTER TABLE deliveries_body
    DROP COLUMN to_name, DROP COLUMN reply_to, DROP COLUMN tags, DROP COLUMN attachments;
ALTER TABLE deliveries_stream DROP COLUMN is_test;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("deliveries", "0002_seed_views"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    (Path(__file__).parent / "0003_requests.sql").read_text(), reverse_sql=_BACK
                ),
            ],
            state_operations=[
                migrations.AddField("stream", "is_test", models.BooleanField(db_default=False)),
                migrations.AddField("body", "to_name", models.TextField(db_default="")),
                migrations.AddField("body", "reply_to", models.TextField(db_default="")),
                migrations.AddField("body", "tags", models.JSONField(null=True)),
                migrations.AddField("body", "attachments", models.JSONField(null=True)),
                migrations.CreateModel(
                    name="Word",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "stream_id",
                                "word",
                                "position",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("stream_id", models.BigIntegerField()),
                        ("word", models.TextField(db_collation="C")),
                        ("position", models.BigIntegerField()),
                    ],
                ),
            ],
        ),
    ]
