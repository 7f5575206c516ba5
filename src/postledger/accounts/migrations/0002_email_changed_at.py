"""When people last changed the address with which they sign in."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="email_changed_at",
            field=models.DateTimeField(null=True),
        ),
    ]
