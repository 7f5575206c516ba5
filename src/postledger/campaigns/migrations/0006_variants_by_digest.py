from django.db import migrations, models

# Django cannot change a key of several columns by itself.
_BY_DIGEST = """
ALTER TABLE campaigns_variant ADD COLUMN digest bytea;
UPDATE campaigns_variant SET digest = sha256(convert_to(variant, 'UTF8'));
ALTER TABLE campaigns_variant
    ALTER COLUMN digest SET NOT NULL,
    DROP CONSTRAINT campaigns_variant_pkey,
    ADD CONSTRAINT campaigns_variant_pkey PRIMARY KEY (run_id, digest);
"""
_BY_TEXT = """
ALTER TABLE campaigns_variant
    DROP CONSTRAINT campaigns_variant_pkey,
    ADD CONSTRAINT campaigns_variant_pkey PRIMARY KEY (run_id, variant),
    DROP COLUMN digest;
"""


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0005_indexes")]

    operations = [
        migrations.RunSQL(
            _BY_DIGEST,
            _BY_TEXT,
            state_operations=[
                migrations.AddField("variant", "digest", models.BinaryField()),
                migrations.AlterField(
                    "variant",
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "digest",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
            ],
        ),
    ]
