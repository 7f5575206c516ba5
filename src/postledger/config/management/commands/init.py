"""`postledger init`: from an empty folder to an installation that can send. Idempotent."""

import secrets
import shlex
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable
from typing import override

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from pydantic import SecretStr

from postledger.accounts import queries
from postledger.accounts.models import Workspace
from postledger.cli import database_creation
from postledger.cli.doctor import broker, postgres
from postledger.cli.management.commands import sender
from postledger.config import checks, env, env_file
from postledger.lib.check_results import CheckResult, Level
from postledger.providers import addresses

_SENDER = "hello@example.com"  # nobody's address: a sandbox needs no real one
# What the new file has; these two are made up if they are not set.
_GENERATED = ("SECRET_KEY", "UNSUBSCRIBE_SECRET")
_WRITTEN = (
    *_GENERATED,
    "DATABASE_URL",
    "REDIS_URL",
    "BROKER_URL",
    "PUBLIC_URL",
    "PRIVATE_HOSTS",
)


class Command(BaseCommand):
    help = "Writes postledger.env, and creates the database, the first workspace and a sender."
    # It writes the settings that the checks miss.
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--from",
            dest="address",
            type=_check_address,
            metavar="ADDRESS",
            help="of the first sender",
        )
        parser.add_argument(
            "--smtp",
            type=_check_server,
            metavar="HOST:PORT",
            help="its server; default: the sandbox",
        )
        parser.add_argument("--tls", choices=["none", "starttls", "implicit"], help="with --smtp")

    @override
    def handle(
        self,
        *args: object,
        address: str | None = None,
        smtp: str | None = None,
        tls: str | None = None,
        **options: object,
    ) -> None:
        if tls and not smtp:
            raise CommandError("--tls requires --smtp HOST:PORT.")
        self.stdout.write(_ensure_file())
        self._check_services()
        call_command("setup", stdout=self.stdout)
        server = ["--smtp", smtp, *(["--tls", tls] if tls else [])] if smtp else ["--sandbox"]
        self._create_sender(address or _SENDER, server)
        self.stdout.write(
            "Next: postledger up starts it, and postledger key create"
            " default --name NAME prints a key for the API."
        )

    def _check_services(self) -> None:
        if database_creation.create_if_missing():
            self.stdout.write(f"Created database {settings.DATABASES['default']['NAME']}.")
        self._report(postgres.check_database())
        self._report(broker.check_redis())
        if settings.CELERY_BROKER_URL != settings.REDIS_URL:
            self._report(broker.check_broker())

    def _report(self, findings: Iterable[CheckResult]) -> None:
        for finding in findings:
            if finding.level is Level.PROBLEM or finding.is_out_of_reach:
                raise CommandError(
                    f"{finding.message} {finding.remedy} Then run postledger init again."
                )
            self.stdout.write(finding.message)

    def _create_sender(self, address: str, server: list[str]) -> None:
        first = Workspace.objects.order_by("pk")[0]
        if queries.senders(first.id):
            self.stdout.write(
                f'Workspace "{first.name}" has a sender already; none was created. For another'
                f" address: postledger sender create {shlex.quote(first.name)} ADDRESS."
            )
        else:
            call_command("sender", "create", first.name, address, *server, stdout=self.stdout)


def _check_address(text: str) -> str:
    """Before anything is written: what was half done would have to be undone by hand."""
    if not addresses.is_valid(text):
        raise ArgumentTypeError(f"{text!r} is not an email address; use the form news@example.com")
    return text


def _check_server(text: str) -> str:
    sender.parse_server(text)
    return text


def _ensure_file() -> str:
    """Creates the file of settings and uses its secrets; an existing file stays as it is."""
    path = env_file.find_path()
    if path is None or path.exists():
        problems = checks.secret_key()
        if problems:
            raise CommandError(f"{problems[0].msg} {problems[0].hint}")
        return f"{path} exists and was not changed." if path else "All settings are variables."
    values = _choose_values()
    try:
        env_file.create(path, values)
    except FileExistsError:
        raise CommandError(
            f"Another postledger init wrote {path} at the same time. Run postledger init again."
        ) from None
    except OSError as error:
        raise CommandError(
            f"{path} cannot be written ({type(error).__name__})."
            " Run this in a folder in which you may create files."
        ) from None
    # They were read before the file was there.
    settings.SECRET_KEY = values["SECRET_KEY"]
    settings.UNSUBSCRIBE_SECRET = values["UNSUBSCRIBE_SECRET"]
    return f"Wrote {path} with new secrets, readable only for you: keep a copy of it."


def _choose_values() -> dict[str, str]:
    """What the environment says, and new secrets where it says nothing."""
    current = env.load()
    values = {name: _as_text(getattr(current, name.lower())) for name in _WRITTEN}
    values["UNSUBSCRIBE_SECRET"] = settings.UNSUBSCRIBE_SECRET  # it has another name, too
    return values | {name: values[name] or secrets.token_urlsafe(48) for name in _GENERATED}


def _as_text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)
