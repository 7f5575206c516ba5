from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_organisation"),
    ]

    operations = [
        migrations.AddField("workspace", "time_zone", models.TextField(db_default="UTC")),
        migrations.AddField("workspace", "test_emails", models.TextField(db_default="")),
    ]
