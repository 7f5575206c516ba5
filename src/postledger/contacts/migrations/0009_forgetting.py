from pathlib import Path

from django.db import migrations

_HERE = Path(__file__).parent


class Migration(migrations.Migration):
    dependencies = [("contacts", "0008_closed")]

    operations = [
        migrations.RunSQL(
            (_HERE / "0009_forgetting.sql").read_text(),
            reverse_sql=(_HERE / "0009_forgetting_back.sql").read_text(),
        )
    ]
