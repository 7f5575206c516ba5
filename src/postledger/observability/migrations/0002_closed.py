from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_closed"), ("observability", "0001_initial")]

    operations = [migrations.RunSQL("SELECT close_tables('observability')", migrations.RunSQL.noop)]
