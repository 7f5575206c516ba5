"""A draft keeps its text while it has other content."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0004_lacks_list")]

    operations = [migrations.AddField("campaign", "kept_text", models.JSONField(null=True))]
