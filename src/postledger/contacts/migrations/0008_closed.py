from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_closed"), ("contacts", "0007_supabase")]

    operations = [migrations.RunSQL("SELECT close_tables('contacts')", migrations.RunSQL.noop)]
