from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("contacts", "0009_forgetting")]

    operations = [
        migrations.AddField(
            model_name="contact",
            name="is_unconfirmed",
            field=models.BooleanField(db_default=False),
        ),
    ]
