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
    """Without a public name, those by which a machine calls itself."""
    public = urlsplit(public_url).hostname
    if public in {"localhost", "127.0.0.1", "::1"} or not (given or public):
        return [*given, "localhost", "127.0.0.1", "[::1]"]
    return [*given, *([public] if public else [])]


def _origins(public_url: str) -> list[str]:
    """Where forms may come from although a proxy changes the scheme of their requests."""
    parts = urlsplit(public_url)
    return [f"{parts.scheme}://{parts.netloc}"] if parts.netloc else []


_DEVELOPMENT_KEY = "development-only-and-known-to-everyone-who-reads-this-file"

DEBUG = _env.debug
SECRET_KEY = _env.secret_key.get_secret_value() or (_DEVELOPMENT_KEY if DEBUG else "")
SECRET_KEY_FALLBACKS = [
    key.strip() for key in _env.secret_key_previous.get_secret_value().split(",") if key.strip()
]
ALLOWED_HOSTS = _hosts(_env.allowed_hosts, _env.public_url)

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    # Before allauth, whose templates it replaces.
    "postledger.web.dashboard",
    "allauth",
    "allauth.account",
    "allauth.mfa",
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
    "postledger.notifications",
    "postledger.dispatch",
    "postledger.feedback",
    "postledger.privacy",
    "postledger.alerts",
    "postledger.cli",
]
# API keys and signed links identify callers; only the dashboard has sessions.
MIDDLEWARE = [
    "postledger.web.shared.requests.middleware",
    "postledger.web.shared.hosts.middleware",
    "postledger.web.shared.problems.middleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "postledger.web.dashboard.middleware.SessionMiddleware",
    "postledger.web.dashboard.middleware.CsrfMiddleware",
    "postledger.web.dashboard.middleware.UserMiddleware",
    "postledger.web.dashboard.middleware.MessageMiddleware",
    "postledger.web.shared.languages.middleware",
    "postledger.web.dashboard.middleware.page_middleware",
    "allauth.account.middleware.AccountMiddleware",
]
ROOT_URLCONF = "postledger.config.urls"
_WEB = Path(__file__).parents[1] / "web"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [
            _WEB / "public" / "templates",
            _WEB / "api" / "docs" / "templates",
        ],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": [
                "postledger.web.dashboard.formats",
                "postledger.web.dashboard.audience.import_words",
                "postledger.web.dashboard.components.finding_words",
            ],
        },
    }
]
FORM_RENDERER = "postledger.web.dashboard.forms.PageRenderer"

STATIC_URL = "/static/"
# From the installed packages, without a step that collects them; each URL names its content.
WHITENOISE_USE_FINDERS = True
WHITENOISE_MAX_AGE = 30 * 86_400
WHITENOISE_IMMUTABLE_FILE_TEST = r"(?!)"  # their names hold no hash
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "postledger.web.dashboard.static_files.VersionedFiles"},
}

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
    # Every statement is short: to compile one takes up to a second of processor time, which none
    # of them can win back.
    # A role or a database may be set to lose its last commits in a power cut, which would send
    # their mail again. The last option wins.
    "options": " ".join(
        ["-c jit=off", *_database.options.get("options", "").split(), "-c synchronous_commit=on"]
    ),
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

# The source of all texts is English; the others are in locale/. The first is the default.
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("ru", "Русский"), ("pt", "Português")]
# Of the pages and letters that readers see. A language that members lack has only their sentences.
READER_LANGUAGES = [*LANGUAGES, ("de", "Deutsch")]
LANGUAGE_COOKIE_NAME = "postledger_language"
LANGUAGE_COOKIE_SECURE = _env.public_url.startswith("https:")
LOCALE_PATHS = [Path(__file__).parents[1] / "locale"]
USE_TZ = True
TIME_ZONE = "UTC"

# People who sign in.
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("email", "name")},
    },
    {"NAME": "postledger.web.dashboard.sign_in.password_rules.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "postledger.web.dashboard.sign_in.adapter.Adapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
# An invitation or the first run's code has shown whose address it is.
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_LOGOUT_REDIRECT_URL = "/account/login/"
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_FORMS = {
    "login": "postledger.web.dashboard.sign_in.forms.SignInForm",
    "reset_password": "postledger.web.dashboard.sign_in.forms.ResetForm",
    "reset_password_from_key": "postledger.web.dashboard.sign_in.forms.NewPasswordForm",
    "change_password": "postledger.web.dashboard.sign_in.forms.ChangePasswordForm",
}
# Failures lock out the address (`key`) and the network (`ip`); the others slow a network down.
ACCOUNT_RATE_LIMITS = {
    "login_failed": "30/15m/ip,5/15m/key",
    "login": "30/m/ip",
    "reset_password": "20/15m/ip,3/15m/key",
    "reset_password_from_key": "20/m/ip",
    "change_password": "5/m/user",
    "change_address": "20/15m/ip,3/15m/key",
    "reauthenticate": "10/m/user",
}
PASSWORD_RESET_TIMEOUT = 3600  # seconds
# Not allauth's own, which writes people's addresses into a table of its own.
ACCOUNT_PASSWORD_RESET_TOKEN_GENERATOR = "django.contrib.auth.tokens.PasswordResetTokenGenerator"  # noqa: S105  the name of a class
MFA_ADAPTER = "postledger.web.dashboard.sign_in.second_factors.MfaAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "Postledger"
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = DEBUG
SESSION_COOKIE_NAME = "postledger_session"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _env.public_url.startswith("https://")
CSRF_COOKIE_NAME = "postledger_csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_TRUSTED_ORIGINS = _origins(_env.public_url)
CSRF_FAILURE_VIEW = "postledger.web.dashboard.refusals.csrf_failure"
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
if _env.proxy_count:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# Failed sign-ins are counted for all processes.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": _env.redis_url.get_secret_value(),
        "KEY_PREFIX": "postledger:cache",
        # Sign-in is refused without Redis, and must not wait for it.
        "OPTIONS": {"socket_connect_timeout": 2, "socket_timeout": 2},
    }
}

FILE_UPLOAD_HANDLERS = [
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "postledger.web.shared.upload_files.UnnamedFileUploadHandler",
]
# Room for the largest mail: its attachments in base64, its HTML and its text as JSON.
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024
API_RATE = _env.api_rate
# Confirmation mails that one network may cause.
FORM_MAILS_OF_ONE = "60/hour"
# Providers that one workspace may have asked whether they take its mail.
PROVIDER_CHECKS_OF_ONE = "60/hour"
# Times that one workspace may have the links of a mail asked.
LINK_CHECKS_OF_ONE = "200/hour"
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
DNS_RESOLVER = _env.dns_resolver
PRIVATE_HOSTS = frozenset(_env.private_hosts)
# Read by the workers that poll, and by web processes, which refuse other URLs at once.
SOURCE_HOSTS = frozenset(_env.source_hosts)
NOTION_TOKEN = _env.notion_token.get_secret_value()
NOTION_URL = _env.notion_url
# What a launch of a Notion page obeys; loaded with the first one.
PAGE_RULES = "postledger.campaigns.notion.mailouts.PageLaunchRules"
# What holds for notifications at the hand-over; loaded with the first one.
TOPIC_TERMS = "postledger.notifications.fan_out.terms.read_terms"
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
DEFAULT_LOCALE = _env.default_locale
PUBLIC_RATE = _env.public_rate
SUBSCRIBE_RATE = _env.subscribe_rate
ONE_CLICK_RATE = _env.one_click_rate
PROXY_COUNT = _env.proxy_count

LOGGING_CONFIG = "postledger.observability.logging.configure"
LOGGING = logging.dict_config(level=_env.log_level)
