from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="campaign",
            name="deleted_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.RemoveConstraint(
            model_name="campaign",
            name="campaigns_campaign_once",
        ),
        migrations.AddConstraint(
            model_name="campaign",
            constraint=models.UniqueConstraint(
                condition=models.Q(("deleted_at", None)),
                fields=("workspace", "tag"),
                name="campaigns_campaign_once",
            ),
        ),
    ]
