from pathlib import Path

from django.db import migrations

_HERE = Path(__file__).parent


class Migration(migrations.Migration):
    dependencies = [
        ("content", "0002_closed"),
        ("deliveries", "0005_letters_of_a_stream"),
    ]

    operations = [
        migrations.RunSQL(
            (_HERE / "0006_words_of_many.sql").read_text(),
            reverse_sql=(_HERE / "0006_words_of_many_back.sql").read_text(),
        )
    ]
