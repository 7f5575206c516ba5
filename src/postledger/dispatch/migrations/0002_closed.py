from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_closed"), ("dispatch", "0001_initial")]

    operations = [migrations.RunSQL("SELECT close_tables('dispatch')", migrations.RunSQL.noop)]
