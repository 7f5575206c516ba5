from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_closed"), ("campaigns", "0003_seed_views")]

    operations = [migrations.RunSQL("SELECT close_tables('campaigns')", migrations.RunSQL.noop)]
