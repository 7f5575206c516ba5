from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_keys_and_accounts"),
    ]

    operations = [
        migrations.AddField("workspace", name, models.TextField(db_default=""))
        for name in ("org_name", "org_address", "unsubscribe_base_url")
    ]
