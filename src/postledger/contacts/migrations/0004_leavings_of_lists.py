from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("contacts", "0003_unsubscribes_by_time"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="suppression",
            index=models.Index(
                condition=models.Q(("list__isnull", False)),
                fields=["workspace", "list"],
                name="contacts_suppression_of_list",
            ),
        ),
    ]
