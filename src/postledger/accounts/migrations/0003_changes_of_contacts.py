"""The story of a contact finds the changes of its address."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_email_changed_at")]

    operations = [
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(
                fields=["workspace", "subject"],
                condition=models.Q(action="contact.changed"),
                name="accounts_audit_of_contact",
            ),
        ),
    ]
