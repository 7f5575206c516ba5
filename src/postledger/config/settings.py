"""Django's settings: one file for every installation, fed by the environment alone."""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from psycopg import IsolationLevel

from postledger.config import env
from postledger.deliveries.entries import StreamKind
from postledger.dispatch import retry
from postledger.dispatch.options import Options
from postledger.feedback import guard
from postledger.observability import logging
from postledger.pacing.limits import Reserve

_env = env.load()
_database = env.parse_database_url(_env.database_url.get_secret_value())


def _state_folder(given: str) -> Path:
    """The folder for state that must outlive the database, as systemd or XDG names it."""
    home = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
    return Path(given or os.environ.get("STATE_DIRECTORY") or Path(home) / "postledger")


def _hosts(given: tuple[str, ...], public_url: str) -> list[str]:
    """Without any name, those by which a machine calls itself."""
    public = urlsplit(public_url).hostname
    return [*given, *([public] if public else [])] or ["localhost", "127.0.0.1", "[::1]"]


_DEVELOPMENT_KEY = "development-only-and-known-to-everyone-who-reads-this-file"

DEBUG = _env.debug
SECRET_KEY = _env.secret_key.get_secret_value() or (_DEVELOPMENT_KEY if DEBUG else "")
SECRET_KEY_FALLBACKS = [
    key.strip() for key in _env.secret_key_previous.get_secret_value().split(",") if key.strip()
]
ALLOWED_HOSTS = _hosts(_env.allowed_hosts, _env.public_url)

INSTALLED_APPS = [
    "django.contrib.postgres",
    "postledger.config",
    "postledger.lib",
    "postledger.observability",
    "postledger.accounts",
    "postledger.contacts",
    "postledger.content",
    "postledger.imports",
    "postledger.supabase",
    "postledger.deliveries",
    "postledger.mailing",
    "postledger.campaigns",
    "postledger.transactional",
    "postledger.dispatch",
    "postledger.feedback",
    "postledger.privacy",
    "postledger.cli",
]
# No sessions: API keys and signed links identify callers.
MIDDLEWARE = [
    "postledger.web.shared.requests.middleware",
    "postledger.web.shared.hosts.middleware",
    "postledger.web.shared.problems.middleware",
]
ROOT_URLCONF = "postledger.config.urls"
_WEB = Path(__file__).parents[1] / "web"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [_WEB / "public" / "templates", _WEB / "api" / "docs" / "templates"],
    }
]

_database_options: dict[str, Any] = {
    "application_name": "postledger",
    # The ledger's conditional updates rely on this level.
    "isolation_level": IsolationLevel.READ_COMMITTED,
    # The ORM repeats some parameters and relies on PostgreSQL to see them as equal, so it binds on
    # the client. The ledger opens cursors of its own.
    "server_side_binding": False,
    # Without a number no statement is prepared, and the ledger's long ones are planned each time.
    "prepare_threshold": 5,
    # Notices a dead network in half a minute, not in two hours.
    "connect_timeout": 5,
    "tcp_user_timeout": 30_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    **_database.options,
    # A role or a database may be set to lose its last commits in a power cut, which would send
    # their mail again. The last option wins.
    "options": f"{_database.options.get('options', '')} -c synchronous_commit=on".strip(),
}
if _env.database_pool_size:
    # After the timeout a request gets a 503.
    _database_options["pool"] = {"min_size": 0, "max_size": _env.database_pool_size, "timeout": 5}

DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _database.name,
        "USER": _database.user,
        "PASSWORD": _database.password,
        "HOST": _database.host,
        "PORT": _database.port,
        # Without a pool every thread keeps its own connection for a minute: too short to need a
        # health check before each request.
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
# Confirmation mails that one network may cause.
FORM_MAILS_OF_ONE = "60/hour"
# Of one network, and of all together.
WRONG_KEYS_OF_ONE = "100/minute"
WRONG_KEYS_OF_ALL = "6000/minute"
WRONG_PASSWORDS_OF_ONE = "10/hour"
WRONG_PASSWORDS_OF_ALL = "100/hour"

REDIS_URL = _env.redis_url.get_secret_value()
CELERY_BROKER_URL = _env.broker_url.get_secret_value() or REDIS_URL
QUEUE_PREFIX = _env.queue_prefix

DISPATCH_OPTIONS = Options(
    shortest_lease=timedelta(seconds=_env.lease_seconds),
    largest_window=_env.batch_size,
    is_sending=_env.sending == "on",
    reserve=Reserve(of_rate=_env.reserved_rate, of_quota=_env.reserved_quota),
    redis_url=REDIS_URL,
    state_folder=_state_folder(_env.state_folder),
    stop_within=timedelta(seconds=_env.stop_seconds),
    policies={
        StreamKind.TRANSACTIONAL: retry.read(_env.retry_transactional),
        StreamKind.TOPIC: retry.read(_env.retry_topic),
        StreamKind.CAMPAIGN: retry.read(_env.retry_campaign),
    },
)

# None: the guard does not look at these reports.
GUARD_BOUNCES = guard.read_limits(_env.guard_bounces)
GUARD_COMPLAINTS = guard.read_limits(_env.guard_complaints)
METRICS_TOKEN = _env.metrics_token.get_secret_value()

FROM_EMAIL = _env.from_email
FROM_NAME = _env.from_name
SEND_RATE_PER_SEC = _env.send_rate_per_sec
ORG_NAME = _env.org_name
ORG_ADDRESS = _env.org_address
UNSUBSCRIBE_BASE_URL = _env.unsubscribe_base_url
UNSUBSCRIBE_SECRET = (
    _env.unsubscribe_secret.get_secret_value() or _env.unsub_secret.get_secret_value()
)
NOTION_TOKEN = _env.notion_token.get_secret_value()
NOTION_URL = _env.notion_url
# What a launch of a Notion page obeys; loaded with the first one.
PAGE_RULES = "postledger.campaigns.notion.mailouts.PageLaunchRules"
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
SES_TRANSIENT_BOUNCE = _env.ses_transient_bounce
PUBLIC_URL = _env.public_url
PUBLIC_RATE = _env.public_rate
SUBSCRIBE_RATE = _env.subscribe_rate
ONE_CLICK_RATE = _env.one_click_rate
PROXY_COUNT = _env.proxy_count

LOGGING_CONFIG = "postledger.observability.logging.configure"
LOGGING = logging.dict_config(level=_env.log_level)
