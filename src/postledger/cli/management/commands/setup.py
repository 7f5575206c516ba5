"""`postledger setup`: prepares an installation for its first mail. Idempotent."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import override

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.migrations.executor import MigrationExecutor

from postledger.accounts import integrations, workspaces
from postledger.accounts.models import Workspace
from postledger.accounts.queries import Organisation
from postledger.cli import base_command
from postledger.deliveries import partitions
from postledger.lib.errors import RefusedError
from postledger.observability import schema

# Of the first workspace and its sender.
_READ_ONCE = (
    *("FROM_EMAIL", "FROM_NAME"),
    *("ORG_NAME", "ORG_ADDRESS", "UNSUBSCRIBE_BASE_URL"),
    "TEST_EMAILS",
)


class Command(BaseCommand):
    help = "Applies migrations, and creates partitions and the first workspace."

    @override
    def handle(self, *args: object, **options: object) -> None:
        with _exclusive():
            self.stdout.write(_migrate())
            self.stdout.write(_create_partitions())
            self.stdout.write(_create_workspace())
            for line in _create_integrations():
                self.stdout.write(line)


@contextmanager
def _exclusive() -> Iterator[None]:
    """Containers that start together all run this; migrations must run one at a time.

    A transaction on a connection of its own holds the lock: behind a pooler only a transaction
    stays on its server connection.
    """
    waiting = connections.create_connection(DEFAULT_DB_ALIAS)
    try:
        waiting.set_autocommit(False)
        with waiting.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('postledger_setup'))")
        yield
    finally:
        waiting.close()


def _migrate() -> str:
    unknown = schema.unknown()
    if unknown:
        raise CommandError(
            f"This version does not know {len(unknown)} of the migrations that were run on this"
            f" database; the first is {unknown[0]}. Another version of Postledger set it up: run"
            " that version, or name another database in DATABASE_URL. Nothing was changed."
        )
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not plan:
        return "The tables were up to date."
    call_command("migrate", interactive=False, verbosity=0)
    return f"Brought the tables up to date; migrations applied: {len(plan)}."


def _create_partitions() -> str:
    months = partitions.create_missing()
    if not months:
        return "Partitions for the coming months already exist."
    return f"Created partitions for {', '.join(months)}."


def _create_workspace() -> str:
    try:
        workspace_id = workspaces.ensure_first_workspace(
            from_email=settings.FROM_EMAIL,
            from_name=settings.FROM_NAME,
            rate_per_second=settings.SEND_RATE_PER_SEC,
            organisation=Organisation(
                settings.ORG_NAME, settings.ORG_ADDRESS, settings.UNSUBSCRIBE_BASE_URL
            ),
            test_emails=settings.TEST_EMAILS,
            actor=base_command.actor(),
        )
    except RefusedError as refused:
        raise CommandError(
            f"The first workspace was not created: {refused}"
            " Correct the environment and run postledger setup again."
        ) from None
    if workspace_id is None:
        return _describe_existing()
    if not settings.FROM_EMAIL:
        return 'Created workspace "default".'
    return (
        f'Created workspace "default" with sender {settings.FROM_EMAIL}, which sends at most'
        f" {settings.SEND_RATE_PER_SEC:g} mails a second (postledger sender limit); attach an"
        " account with postledger sender attach."
    )


def _describe_existing() -> str:
    """Names the variables that somebody may have changed in vain."""
    given = [name for name in _READ_ONCE if getattr(settings, name)]
    if not given:
        return "There is a workspace already, which was not changed."
    return (
        f"There is a workspace already, which was not changed: {', '.join(given)} counted only when"
        " the first was created. Change these on the dashboard, or by postledger workspace and"
        " postledger sender."
    )


def _create_integrations() -> Iterator[str]:
    """Reports each integration of the environment; none of them can make setup fail."""
    first = Workspace.objects.order_by("pk")[0]
    for kind, given in integrations.read_environment().items():
        command = shlex.join(["postledger", "integration", "set", first.name, kind.value])
        variables = integrations.name_variables(kind, given)
        try:
            differing = integrations.fill_integration(
                first.id, kind, settings=given, actor=base_command.actor()
            )
        except RefusedError as refused:
            yield f"Ignored {variables}. {refused}"
            continue
        if differing is None:
            yield (
                f'Created integration "{kind.value}" from {variables}; from now on the database'
                f" counts, and {command} changes it."
            )
        elif differing:
            names = integrations.name_variables(kind, differing)
            yield f"Ignored {names}: the database has other values. {command} changes them."
