"""Slices take moments of the years 1970 to 9000: others cannot be read or shown in every zone.

One that ends later than that has no end, and one that begins earlier has always begun.
"""

from datetime import UTC, datetime

from django.db import migrations, models

_NEAR = (datetime(1969, 12, 31, tzinfo=UTC), datetime(9001, 1, 2, tzinfo=UTC))
_MEND = """
UPDATE content_slice SET
    published_from = CASE
        WHEN published_from < '1970-01-01T00:00Z' THEN NULL
        WHEN published_from >= '9001-01-01T00:00Z' THEN timestamptz '9000-12-31T00:00Z'
        ELSE published_from END,
    published_until = CASE
        WHEN published_until < '1970-01-01T00:00Z' THEN timestamptz '1970-01-02T00:00Z'
        WHEN published_until >= '9001-01-01T00:00Z' THEN NULL
        ELSE published_until END
WHERE NOT (coalesce(published_from, now()) >= '1970-01-01T00:00Z'
       AND coalesce(published_from, now()) < '9001-01-01T00:00Z'
       AND coalesce(published_until, now()) >= '1970-01-01T00:00Z'
       AND coalesce(published_until, now()) < '9001-01-01T00:00Z')
"""


class Migration(migrations.Migration):
    dependencies = [("content", "0003_preheader")]

    operations = [
        migrations.RunSQL(_MEND, migrations.RunSQL.noop),
        migrations.AddConstraint(
            "slice",
            models.CheckConstraint(
                condition=(models.Q(published_from=None) | models.Q(published_from__range=_NEAR))
                & (models.Q(published_until=None) | models.Q(published_until__range=_NEAR)),
                name="content_slice_years",
            ),
        ),
    ]
