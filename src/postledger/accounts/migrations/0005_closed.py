from pathlib import Path

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_tests_and_zone")]

    operations = [
        migrations.RunSQL(
            (Path(__file__).parent / "0005_closed.sql").read_text(),
            reverse_sql="DROP FUNCTION close_tables(text);",
        ),
    ]
