"""Django's settings: one file for every installation, fed by the environment alone."""

from typing import Any

from psycopg import IsolationLevel

from postledger.config import database_url, env
from postledger.observability import logging

_env = env.load()
_database = database_url.parse(_env.database_url.get_secret_value())
_DEVELOPMENT_KEY = "development-only-and-known-to-everyone-who-reads-this-file"

DEBUG = _env.debug
SECRET_KEY = _env.secret_key.get_secret_value() or (_DEVELOPMENT_KEY if DEBUG else "")
ALLOWED_HOSTS = list(_env.allowed_hosts)

INSTALLED_APPS = [
    "django.contrib.postgres",
    "postledger.config",
    "postledger.accounts",
    "postledger.contacts",
    "postledger.deliveries",
    "postledger.transactional",
    "postledger.dispatch",
    "postledger.workers",
]
MIDDLEWARE: list[str] = []
ROOT_URLCONF = "postledger.config.urls"

_database_options: dict[str, Any] = {
    "application_name": "postledger",
    # The ledger's conditional updates are argued for this level: each statement sees what
    # was committed before it began.
    "isolation_level": IsolationLevel.READ_COMMITTED,
    # Django's own queries bind on the client: the ORM writes some parameters twice and expects
    # PostgreSQL to see them as equal. The ledger opens cursors of its own on the connection.
    "server_side_binding": False,
    # Without a number here, even a statement that asks to be prepared is not, and the ledger's
    # long ones would be planned at every call.
    "prepare_threshold": 5,
    **_database.options,
}
if _env.database_pool_size:
    _database_options["pool"] = {"min_size": 0, "max_size": _env.database_pool_size}

DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _database.name,
        "USER": _database.user,
        "PASSWORD": _database.password,
        "HOST": _database.host,
        "PORT": _database.port,
        # Only the pool keeps connections: one kept by a thread is lost with the thread.
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": _database_options,
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

USE_TZ = True
TIME_ZONE = "UTC"

REDIS_URL = _env.redis_url.get_secret_value()
CELERY_BROKER_URL = _env.broker_url.get_secret_value()

LOGGING_CONFIG = "postledger.observability.logging.configure"
LOGGING = logging.dict_config(level=_env.log_level)
