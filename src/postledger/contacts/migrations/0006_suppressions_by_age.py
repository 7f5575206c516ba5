from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("contacts", "0005_look_ups_by_person"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="suppression",
            index=models.Index(fields=["workspace", "id"], name="contacts_suppression_by_age"),
        ),
    ]
