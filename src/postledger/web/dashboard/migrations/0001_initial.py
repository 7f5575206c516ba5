from django.db import migrations

# The tables of the libraries that sign people in, closed like our own: others who may read the
# database have no business with sessions, second factors and password hashes.
_CLOSE = """
SELECT close_tables(app) FROM unnest(
    ARRAY['account', 'auth', 'django_content', 'django_session', 'mfa']
) AS app
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("lib", "0001_initial"),
        ("account", "0009_emailaddress_unique_primary_email"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("mfa", "0003_authenticator_type_uniq"),
        ("sessions", "0001_initial"),
    ]

    operations = [migrations.RunSQL(_CLOSE)]
