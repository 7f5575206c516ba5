from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("contacts", "0002_segments"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="consentevent",
            index=models.Index(
                condition=models.Q(("action", "unsubscribed")),
                fields=["workspace", "at"],
                name="contacts_consent_left",
            ),
        ),
    ]
