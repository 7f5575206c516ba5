"""Whether an account was connected although its provider could not be checked."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_changes_of_contacts")]

    operations = [
        migrations.AddField(
            model_name="provideraccount",
            name="is_unchecked",
            field=models.BooleanField(db_default=False),
        ),
    ]
