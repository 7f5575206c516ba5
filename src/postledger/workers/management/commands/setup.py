"""`postledger setup`: what an installation needs before its first mail; harmless when repeated."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import override

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.migrations.executor import MigrationExecutor

from postledger.accounts import actions, queries
from postledger.accounts.integrations import Kind
from postledger.accounts.queries import Organisation, WorkspaceFacts
from postledger.deliveries import partitions
from postledger.lib.errors import RefusedError
from postledger.workers import nouns, offers


class Command(BaseCommand):
    help = "Brings the tables up to date, makes room for the coming months and a first workspace."

    @override
    def handle(self, *args: object, **options: object) -> None:
        with _alone():
            self.stdout.write(_migrate())
            self.stdout.write(_make_room())
            self.stdout.write(_make_workspace())
            for told in _fill_integrations():
                self.stdout.write(told)


@contextmanager
def _alone() -> Iterator[None]:
    """Containers that start together all run this; migrations bear one at a time.

    The lock is that of a transaction on a connection of its own, which does nothing else: behind
    a pooler, nothing but a transaction stays with its connection.
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
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not plan:
        return "The tables were up to date."
    call_command("migrate", interactive=False, verbosity=0)
    return f"Brought the tables up to date; migrations applied: {len(plan)}."


def _make_room() -> str:
    made = partitions.ensure()
    return f"Made room for {', '.join(made)}." if made else "There was room for the coming months."


def _make_workspace() -> str:
    try:
        made = actions.ensure_default_workspace(
            from_email=settings.FROM_EMAIL,
            from_name=settings.FROM_NAME,
            organisation=Organisation(
                settings.ORG_NAME, settings.ORG_ADDRESS, settings.UNSUBSCRIBE_BASE_URL
            ),
            test_emails=settings.TEST_EMAILS,
            actor=nouns.actor(),
        )
    except RefusedError as refused:
        raise CommandError(
            f"No workspace was made of the environment's variables: {refused}"
            " Correct them and run postledger setup again."
        ) from None
    if made is None:
        return "There was a workspace already; FROM_EMAIL, ORG_NAME and others were not looked at."
    if made.sender_address is None:
        return "Created the workspace default; postledger sender create gives it a sender."
    return (
        f"Created the workspace default with the sender {made.sender_address}; postledger sender"
        " attach names the account that takes its mail."
    )


def _fill_integrations() -> Iterator[str]:
    first = min(queries.workspaces(), key=lambda workspace: workspace.id)
    for kind, offered in offers.made().items():
        yield from _fill(first, kind, offered)


def _fill(first: WorkspaceFacts, kind: Kind, offered: Mapping[str, object]) -> Iterator[str]:
    """Says what was taken and what was not. Nothing of it keeps mail from going, or stops here."""
    change = shlex.join(["postledger", "integration", "set", first.name, kind.value])
    try:
        filled = actions.fill_integration(first.id, kind, offered=offered, actor=nouns.actor())
    except RefusedError as refused:
        yield f"Not taken: {offers.named(kind, offered)}. {refused}"
        return
    if filled.is_taken:
        yield (
            f"Took {offers.named(kind, offered)} for {first.name}; from now on the database's row"
            f" counts, and {change} changes it."
        )
    elif filled.differing:
        yield (
            f"Not looked at, because {first.name} has a row that differs from it:"
            f" {offers.named(kind, filled.differing)}. {change} changes the row."
        )
