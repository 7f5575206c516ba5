"""What every test stands on: a made-up secret key, and a database without a connection pool."""

from django.conf import settings


def pytest_configure() -> None:
    settings.SECRET_KEY = "only-for-tests-" + "x" * 50
    # A pool holds connections open, and PostgreSQL drops no database that is in use.
    for database in settings.DATABASES.values():
        options = database["OPTIONS"]
        assert isinstance(options, dict)
        options.pop("pool", None)
