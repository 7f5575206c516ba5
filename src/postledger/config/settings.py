"""Django's settings: one file for every installation, fed by the environment alone."""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

from psycopg import IsolationLevel

from postledger.config import database_url, env
from postledger.deliveries.entries import Kind
from postledger.dispatch import retry
from postledger.dispatch.options import Options
from postledger.observability import logging

_env = env.load()
_database = database_url.parse(_env.database_url.get_secret_value())


def _state_folder(given: str) -> Path:
    """Where a worker keeps what must outlive the database: the place systemd or XDG names."""
    if given:
        return Path(given)
    home = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
    return Path(os.environ.get("STATE_DIRECTORY") or Path(home) / "postledger")


_DEVELOPMENT_KEY = "development-only-and-known-to-everyone-who-reads-this-file"

DEBUG = _env.debug
SECRET_KEY = _env.secret_key.get_secret_value() or (_DEVELOPMENT_KEY if DEBUG else "")
SECRET_KEY_FALLBACKS = [
    key.strip() for key in _env.secret_key_previous.get_secret_value().split(",") if key.strip()
]
ALLOWED_HOSTS = list(_env.allowed_hosts)

INSTALLED_APPS = [
    "django.contrib.postgres",
    "postledger.config",
    "postledger.lib",
    "postledger.observability",
    "postledger.accounts",
    "postledger.contacts",
    "postledger.content",
    "postledger.deliveries",
    "postledger.campaigns",
    "postledger.transactional",
    "postledger.dispatch",
    "postledger.privacy",
    "postledger.workers",
]
# No sessions: the API knows its callers by their keys, and public forms theirs by signed links.
MIDDLEWARE = ["postledger.web.shared.requests.middleware"]
ROOT_URLCONF = "postledger.config.urls"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [Path(__file__).parents[1] / "web" / "public" / "templates"],
    }
]

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
    # A network that dies in silence is noticed in half a minute, not in two hours.
    "connect_timeout": 5,
    "tcp_user_timeout": 30_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    **_database.options,
    # A role or a database may be set to forget its last commits after a power cut, which would send
    # their mail again. The last word of these options wins.
    "options": f"{_database.options.get('options', '')} -c synchronous_commit=on".strip(),
}
if _env.database_pool_size:
    # Who waits longer than this for a connection is told so: a request gets a 503.
    _database_options["pool"] = {
        "min_size": 0,
        "max_size": _env.database_pool_size,
        "timeout": 5,
    }

DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _database.name,
        "USER": _database.user,
        "PASSWORD": _database.password,
        "HOST": _database.host,
        "PORT": _database.port,
        # A pool keeps connections itself. Without one every thread keeps its own for a minute,
        # young enough not to be asked before each request whether it still lives.
        "CONN_MAX_AGE": 0 if _env.database_pool_size else 60,
        "CONN_HEALTH_CHECKS": bool(_env.database_pool_size),
        "OPTIONS": _database_options,
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

USE_TZ = True
TIME_ZONE = "UTC"

# Room for the largest mail: its attachments in base64, its HTML and its text as JSON.
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024
API_RATE = _env.api_rate

REDIS_URL = _env.redis_url.get_secret_value()
CELERY_BROKER_URL = _env.broker_url.get_secret_value()
QUEUE_PREFIX = _env.queue_prefix

DISPATCH_OPTIONS = Options(
    shortest_lease=timedelta(seconds=_env.lease_seconds),
    largest_window=_env.batch_size,
    is_sending=_env.sending == "on",
    redis_url=REDIS_URL,
    state_folder=_state_folder(_env.state_folder),
    stop_within=timedelta(seconds=_env.stop_seconds),
    policies={
        Kind.TRANSACTIONAL: retry.read(_env.retry_transactional),
        Kind.TOPIC: retry.read(_env.retry_topic),
        Kind.CAMPAIGN: retry.read(_env.retry_campaign),
    },
)

METRICS_TOKEN = _env.metrics_token.get_secret_value()

FROM_EMAIL = _env.from_email
FROM_NAME = _env.from_name
ORG_NAME = _env.org_name
ORG_ADDRESS = _env.org_address
UNSUBSCRIBE_BASE_URL = _env.unsubscribe_base_url
UNSUBSCRIBE_SECRET = (
    _env.unsubscribe_secret.get_secret_value() or _env.unsub_secret.get_secret_value()
)
NOTION_TOKEN = _env.notion_token.get_secret_value()
NOTION_URL = _env.notion_url
NOTION_DB_MAILOUTS = _env.notion_db_mailouts
NOTION_DB_ERRORS = _env.notion_db_errors
SUPABASE_URL = _env.supabase_url
SUPABASE_SERVICE_ROLE_KEY = _env.supabase_service_role_key.get_secret_value()
PICTURES_FOLDER = _env.pictures_folder
PICTURES_URL = _env.pictures_url
UNSUBSCRIBE_SECRET_PREVIOUS = _env.unsubscribe_secret_previous.get_secret_value()
TEST_EMAILS = _env.test_emails
ADMIN_PASSWORD = _env.admin_password.get_secret_value()
UNSUBSCRIBE_GET = _env.unsubscribe_get
PUBLIC_URL = _env.public_url
PUBLIC_RATE = _env.public_rate
ONE_CLICK_RATE = _env.one_click_rate
PROXY_COUNT = _env.proxy_count

LOGGING_CONFIG = "postledger.observability.logging.configure"
LOGGING = logging.dict_config(level=_env.log_level)
