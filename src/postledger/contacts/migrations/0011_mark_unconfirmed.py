from pathlib import Path

from django.db import migrations

_HERE = Path(__file__).parent


class Migration(migrations.Migration):
    dependencies = [("contacts", "0010_unconfirmed")]

    operations = [
        migrations.RunSQL(
            (_HERE / "0011_mark_unconfirmed.sql").read_text(), migrations.RunSQL.noop
        ),
        migrations.RemoveIndex(model_name="subscription", name="contacts_subscription_pending"),
    ]
