from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_closed"), ("transactional", "0001_initial")]

    operations = [migrations.RunSQL("SELECT close_tables('transactional')", migrations.RunSQL.noop)]
