from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0004_tests_and_zone"),
        ("contacts", "0005_references"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="subscription",
            index=models.Index(
                condition=models.Q(("state", "pending")),
                fields=["contact"],
                name="contacts_subscription_pending",
            ),
        ),
        migrations.AddIndex(
            model_name="suppression",
            index=models.Index(
                condition=models.Q(("reason", "by_hand")),
                fields=["workspace"],
                name="contacts_suppression_by_hand",
            ),
        ),
    ]
